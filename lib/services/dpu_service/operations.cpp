// Both sides of one protocol: a rank describes and submits (Descriptor); a service process starts, drives,
// and finishes (Active). If the peer is lost, a rank's operations complete with DO_PEER_LOST, and the service
// process drops its own. A submitted descriptor can only be returned after its completion.
#include "lib/services/dpu_service/operations.hpp"

#include <utility>

#include "lib/services/dpu_service/bytes.hpp"
#include "lib/services/dpu_service/engine.hpp"

namespace offramp::dpu {
namespace {

constexpr std::size_t kMostActive = 65'536;

std::span<const std::byte> bytes_of(const void* data, std::size_t size) {
  return {static_cast<const std::byte*>(data), data == nullptr ? 0 : size};
}

}  // namespace

// --- At the service process ---

void Operations::start(Context& context, offload_ep& peer, std::span<const std::byte> message) {
  Reader reader(message);
  const auto op_id = reader.get<std::uint64_t>();
  const auto alg_id = reader.get<std::uint64_t>();
  if (!reader.is_valid()) return;
  const auto found = known_.find(alg_id);
  if (found == known_.end() || active_.size() >= kMostActive)
    return notify(context, peer, op_id, found == known_.end() ? DO_NOT_APPLICABLE : DO_ERROR, {});
  Active& active = active_.emplace_back();
  active.alg_id = alg_id;
  active.econtext = &context;
  active.client_id = peer.client_id;
  active.arguments.assign(reader.rest().begin(), reader.rest().end());
  active.args = active.arguments.empty() ? nullptr : active.arguments.data();
  active.args_size = active.arguments.size();
  active.op_id = op_id;
  active.op = &found->second;
  active.peer = &peer;
  const int begun = active.op->op_init == nullptr ? 0 : active.op->op_init(&active);
  if (begun >= 0) return;
  notify(context, peer, op_id, begun, {});
  active_.remove_if([&active](const Active& each) { return &each == &active; });
}

void Operations::progress() {
  if (std::exchange(progressing_, true)) return;
  for (auto it = active_.begin(); it != active_.end();) {
    it->abandoned = it->peer->link == nullptr;
    const int state = it->abandoned ? DO_PEER_LOST : it->op->op_progress(&*it);
    if (state == EVENT_INPROGRESS) {
      ++it;
      continue;
    }
    finish(*it, state);
    it = active_.erase(it);
  }
  progressing_ = false;
}

void Operations::finish(Active& active, dpu_offload_status_t status) {
  if (active.op->op_complete != nullptr) active.op->op_complete(&active);
  if (active.abandoned) return;
  const bool good = status == EVENT_DONE;
  notify(context_of(active.econtext), *active.peer, active.op_id, good ? DO_SUCCESS : status,
         good ? bytes_of(active.result, active.result_size) : std::span<const std::byte>());
}

void Operations::notify(Context& context, offload_ep& peer, std::uint64_t op_id, dpu_offload_status_t status,
                        std::span<const std::byte> result) {
  context.notify(&peer, kEndOperation,
                 Writer().put(op_id).put(static_cast<std::int32_t>(status)).put(result).release());
}

// --- At the rank ---

Descriptor& Operations::describe(Context& context, std::uint64_t alg_id) {
  auto made = std::make_unique<Descriptor>();
  Descriptor& descriptor = *made;
  descriptor.context = &context;
  descriptor.alg_id = alg_id;
  descriptor.op_id = ++numbers_;
  descriptors_.emplace(descriptor.op_id, std::move(made));
  return descriptor;
}

dpu_offload_status_t Operations::submit(Descriptor& descriptor) {
  Context& context = *descriptor.context;
  if (descriptor.submitted || (descriptor.args == nullptr && descriptor.args_size > 0)) return DO_ERROR;
  if (context.as_client.bs_phase != BOOTSTRAP_DONE)
    return context.as_client.status == DO_PEER_LOST ? DO_PEER_LOST : DO_ERROR;
  const Bytes message = Writer()
                            .put(descriptor.op_id)
                            .put(descriptor.alg_id)
                            .put(bytes_of(descriptor.args, descriptor.args_size))
                            .release();
  const dpu_offload_status_t status = context.notify(context.peer(0), kStartOperation, message);
  descriptor.submitted = status == DO_SUCCESS;
  return status;
}

bool Operations::release(Descriptor& descriptor) {
  return (!descriptor.submitted || descriptor.completed) && descriptors_.erase(descriptor.op_id) == 1;
}

void Operations::ended(std::span<const std::byte> message) {
  Reader reader(message);
  const auto op_id = reader.get<std::uint64_t>();
  const auto status = reader.get<std::int32_t>();
  const auto found = descriptors_.find(op_id);
  if (!reader.is_valid() || found == descriptors_.end() || !found->second->submitted ||
      found->second->completed)
    return;
  Descriptor& descriptor = *found->second;
  descriptor.kept.assign(reader.rest().begin(), reader.rest().end());
  descriptor.result = descriptor.kept.empty() ? nullptr : descriptor.kept.data();
  descriptor.result_size = descriptor.kept.size();
  complete(descriptor, status);
}

void Operations::lost(const Context& context) {
  std::vector<Descriptor*> waiting;  // the callback may return one
  for (const auto& [op_id, descriptor] : descriptors_) {
    if (descriptor->context == &context && descriptor->submitted && !descriptor->completed)
      waiting.push_back(descriptor.get());
  }
  for (Descriptor* descriptor : waiting) complete(*descriptor, DO_PEER_LOST);
}

void Operations::complete(Descriptor& descriptor, dpu_offload_status_t status) {
  descriptor.completed = true;
  descriptor.status = status;
  if (descriptor.completed_cb != nullptr) descriptor.completed_cb(&descriptor);
}

}  // namespace offramp::dpu
