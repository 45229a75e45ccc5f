// The C interface of the event channels. As the header promises, the caller's pointer becomes null when an
// event is returned. EventObject contains both events, C's and that of simulators/dpu_protocol, which are
// valid or null together. Users cannot register types that the service reserves.
#include "lib/services/dpu_service/engine.hpp"

using namespace offramp::dpu;

namespace {

bool is_reserved(std::uint64_t type) {
  return type >= META_EVENT_TYPE && type <= OFFLOAD_RESERVED_TYPES_END;
}

std::unique_ptr<BufferPool> pool_of(const notification_info_t& info) {
  auto pool = std::make_unique<BufferPool>();
  pool->get = [info](std::size_t) {
    return static_cast<std::byte*>(info.get_buf(info.mem_pool, info.get_buf_args));
  };
  if (info.return_buf != nullptr)
    pool->give_back = [info](std::byte* buffer) { info.return_buf(info.mem_pool, buffer); };
  pool->element_size = info.element_size;
  return pool;
}

/// The pool of a handler. Null if it has none.
BufferPool* handler_pool(dpu_offload_ev_sys_t& system, const notification_info_t* info) {
  if (info == nullptr) return nullptr;
  auto& pool = system.pools[info];
  if (!pool) pool = pool_of(*info);
  return pool.get();
}

void run_handler(Context& context, notification_cb cb, const NotificationHeader& header,
                 std::span<const std::byte> data) {
  am_header_t shown{header.id,
                    header.type,
                    header.payload_size,
                    header.event_id,
                    header.client_id,
                    header.server_id,
                    static_cast<std::int32_t>(header.scope),
                    static_cast<std::int32_t>(header.sender)};
  void* const bytes = data.empty() ? nullptr : const_cast<std::byte*>(data.data());
  (void)cb(&context.events, &context, &shown, sizeof shown, bytes, data.size());
}

int result_of(EventResult result, const offload_ep_t* ep) {
  if (result == EventResult::kDone) return EVENT_DONE;
  if (result == EventResult::kInProgress) return EVENT_INPROGRESS;
  return ep != nullptr && ep->status == DO_PEER_LOST ? DO_PEER_LOST : DO_ERROR;
}

EventObject& object_of(dpu_offload_event_t* event) {
  return static_cast<EventObject&>(*event);
}

void complete(EventObject& object) {
  object.status = object.event->failed() ? DO_PEER_LOST : DO_SUCCESS;
  if (object.completion_cb != nullptr) object.completion_cb(&object);
}

/// Only the caller's pointer refers to the library's event, so both become null together.
int emit(dpu_offload_event_t** event, void* ctx, const offload_ep_t* ep, auto&& how) {
  EventObject& object = object_of(*event);
  object.ctx = ctx;
  Event* inner = object.event;
  const EventResult result = how(object.event_system->system, inner);
  if (inner == nullptr) *event = nullptr;
  return result_of(result, ep);
}

/// Finds the destination. Returns false if there is none.
bool find_connection(dpu_offload_event_t* event, offload_ep_t*& ep, std::uint64_t dest_id,
                     PeerConnection& connection) {
  Context& context = event->event_system->context;
  if (context.type == CONTEXT_SELF) return ep == nullptr;
  if (ep == nullptr) ep = context.peer(dest_id);
  if (ep == nullptr || ep->context != &context) return false;
  connection = ep->connection();
  return true;
}

}  // namespace

dpu_offload_status_t event_channel_register(dpu_offload_ev_sys_t* ev_sys, uint64_t type, notification_cb cb,
                                            notification_info_t* info) {
  if (ev_sys == nullptr || cb == nullptr || is_reserved(type)) return DO_ERROR;
  if (info != nullptr && info->get_buf == nullptr) return DO_ERROR;
  Context& context = ev_sys->context;
  const auto handler = [&context, cb](EventSystem&, const NotificationHeader& header,
                                      std::span<const std::byte> data) {
    run_handler(context, cb, header, data);
  };
  return ev_sys->system.register_handler(type, handler, handler_pool(*ev_sys, info)) ? DO_SUCCESS : DO_ERROR;
}

dpu_offload_status_t event_channel_update(dpu_offload_ev_sys_t* ev_sys, uint64_t type,
                                          notification_info_t* info) {
  if (ev_sys == nullptr || info == nullptr || info->get_buf == nullptr || is_reserved(type)) return DO_ERROR;
  return ev_sys->system.update_pool(type, handler_pool(*ev_sys, info)) ? DO_SUCCESS : DO_ERROR;
}

dpu_offload_status_t event_channel_deregister(dpu_offload_ev_sys_t* ev_sys, uint64_t type) {
  if (ev_sys == nullptr || is_reserved(type)) return DO_ERROR;
  return ev_sys->system.deregister(type) ? DO_SUCCESS : DO_ERROR;
}

dpu_offload_status_t engine_register_default_notification_handler(offloading_engine_t* engine, uint64_t type,
                                                                  notification_cb cb,
                                                                  notification_info_t* info) {
  return engine == nullptr ? DO_ERROR : engine_of(engine).add_default(type, cb, info);
}

dpu_offload_status_t event_get(dpu_offload_ev_sys_t* ev_sys, dpu_offload_event_info_t* info,
                               dpu_offload_event_t** event) {
  if (ev_sys == nullptr || event == nullptr) return DO_ERROR;
  *event = nullptr;
  if (info != nullptr && info->pool != nullptr && info->pool->get_buf == nullptr) return DO_ERROR;
  if (ev_sys->free_objects.empty()) ev_sys->free_objects.push_back(&ev_sys->objects.emplace_back());
  EventObject* const object = ev_sys->free_objects.front();
  EventInfo inner;
  if (info != nullptr) {
    inner.payload_bytes = info->payload_size;
    inner.explicit_return = info->explicit_return;
    if (info->pool != nullptr) {
      object->pool = *pool_of(*info->pool);
      inner.pool = &object->pool;
    }
  }
  Event* const got = inner.payload_bytes > kMostPayload ? nullptr : ev_sys->system.get(inner);
  if (got == nullptr) return DO_ERROR;
  ev_sys->free_objects.pop_front();
  static_cast<dpu_offload_event&>(*object) = {};
  object->event = got;
  object->payload = got->payload().empty() ? nullptr : got->payload().data();
  object->payload_size = got->payload().size();
  object->event_system = ev_sys;
  got->on_complete = [object] { complete(*object); };
  got->on_release = [object, ev_sys] { ev_sys->free_objects.push_back(object); };
  *event = object;
  return DO_SUCCESS;
}

dpu_offload_status_t event_return(dpu_offload_event_t** event) {
  if (event == nullptr || *event == nullptr) return DO_ERROR;
  Event* inner = object_of(*event).event;
  if (!(*event)->event_system->system.return_event(inner)) return DO_ERROR;
  *event = nullptr;
  return DO_SUCCESS;
}

bool event_completed(dpu_offload_event_t* event) {
  return event != nullptr && event->event_system->system.completed(*object_of(event).event);
}

int event_channel_emit(dpu_offload_event_t** event, uint64_t type, offload_ep_t* ep, uint64_t dest_id,
                       void* ctx) {
  if (event == nullptr || *event == nullptr) return DO_ERROR;
  if (type == META_EVENT_TYPE) {
    return emit(event, ctx, nullptr, [](EventSystem& system, Event*& inner) {
      (void)system.make_meta(*inner);  // it may already be one
      return system.emit_meta(inner);
    });
  }
  PeerConnection connection;
  if (is_reserved(type) || !find_connection(*event, ep, dest_id, connection)) return DO_ERROR;
  return emit(event, ctx, ep,
              [&](EventSystem& system, Event*& inner) { return system.emit(inner, type, connection); });
}

int event_channel_emit_with_payload(dpu_offload_event_t** event, uint64_t type, offload_ep_t* ep,
                                    uint64_t dest_id, void* ctx, void* payload, size_t payload_size) {
  PeerConnection connection;
  if (event == nullptr || *event == nullptr || is_reserved(type) ||
      !find_connection(*event, ep, dest_id, connection) || (payload == nullptr && payload_size > 0))
    return DO_ERROR;
  const std::span bytes(static_cast<const std::byte*>(payload), payload_size);
  return emit(event, ctx, ep, [&](EventSystem& system, Event*& inner) {
    return system.emit(inner, type, bytes, connection);
  });
}

dpu_offload_status_t event_queue_subevent(dpu_offload_event_t* meta, dpu_offload_event_t* sub) {
  if (meta == nullptr || sub == nullptr ||
      meta->event_system->context.engine != sub->event_system->context.engine)
    return DO_ERROR;
  Event& parent = *object_of(meta).event;
  EventSystem& system = meta->event_system->system;
  (void)system.make_meta(parent);  // it may already be one
  return system.queue_sub(parent, *object_of(sub).event) ? DO_SUCCESS : DO_ERROR;
}

size_t event_channel_num_ongoing(const dpu_offload_ev_sys_t* ev_sys) {
  return ev_sys == nullptr ? 0 : ev_sys->system.ongoing();
}

size_t event_channel_capacity(const dpu_offload_ev_sys_t* ev_sys) {
  return ev_sys == nullptr ? 0 : ev_sys->system.capacity();
}
