// The C interface of operations and lent keys: checks arguments, and passes them to Operations of the
// context's engine. Descriptors and keys belong to contexts of clients; a server reads the keys that a client
// has lent to it, and gets DO_NOT_APPLICABLE for unknown ones.
#include "lib/services/dpu_service/bytes.hpp"
#include "lib/services/dpu_service/engine.hpp"

using namespace offramp::dpu;

namespace {

Context* client_of(execution_context_t* econtext) {
  return econtext == nullptr || econtext->type != CONTEXT_CLIENT ? nullptr : &context_of(econtext);
}

}  // namespace

dpu_offload_status_t register_new_op(offloading_engine_t* engine, const offload_op_t* op) {
  if (engine == nullptr || op == nullptr) return DO_ERROR;
  ServiceEngine& own = engine_of(engine);
  return own.operations().add(*op)
             ? DO_SUCCESS
             : own.fail("operation " + std::to_string(op->alg_id) + " is registered, or does nothing");
}

size_t num_active_ops(const offloading_engine_t* engine) {
  return engine == nullptr
             ? 0
             : const_cast<ServiceEngine*>(static_cast<const ServiceEngine*>(engine))->operations().active();
}

void progress_active_ops(offloading_engine_t* engine) {
  if (engine != nullptr) engine_of(engine).operations().progress();
}

dpu_offload_status_t op_desc_get(execution_context_t* econtext, uint64_t alg_id, offload_op_desc_t** desc) {
  Context* const context = client_of(econtext);
  if (context == nullptr || desc == nullptr) return DO_ERROR;
  *desc = &context->owner().operations().describe(*context, alg_id);
  return DO_SUCCESS;
}

dpu_offload_status_t op_desc_submit(offload_op_desc_t* desc) {
  if (desc == nullptr) return DO_ERROR;
  auto& descriptor = static_cast<Descriptor&>(*desc);
  return descriptor.context->owner().operations().submit(descriptor);
}

dpu_offload_status_t op_desc_return(offload_op_desc_t** desc) {
  if (desc == nullptr || *desc == nullptr) return DO_ERROR;
  auto& descriptor = static_cast<Descriptor&>(**desc);
  if (!descriptor.context->owner().operations().release(descriptor)) return DO_ERROR;
  *desc = nullptr;
  return DO_SUCCESS;
}

dpu_offload_status_t send_key_to_dpu(execution_context_t* econtext, const xgvmi_key_t* key) {
  Context* const context = client_of(econtext);
  if (context == nullptr || key == nullptr || key->key_size > XGVMI_MAX_KEY ||
      (key->key == nullptr && key->key_size > 0))
    return DO_ERROR;
  const std::span bytes(static_cast<const std::byte*>(key->key), key->key_size);
  return context->notify(context->peer(0), kAddKey,
                         Writer().put(key->key_id).put(key->addr).put(key->length).put(bytes).release());
}

dpu_offload_status_t revoke_key_on_dpu(execution_context_t* econtext, uint64_t key_id) {
  Context* const context = client_of(econtext);
  if (context == nullptr) return DO_ERROR;
  return context->notify(context->peer(0), kRevokeKey, Writer().put(key_id).release());
}

dpu_offload_status_t get_key_of_client(execution_context_t* econtext, uint64_t client_id, uint64_t key_id,
                                       xgvmi_key_t* key) {
  offload_ep_t* const ep = offload_client_ep(econtext, client_id);
  if (key == nullptr || econtext == nullptr || econtext->type != CONTEXT_SERVER) return DO_ERROR;
  if (ep == nullptr || ep->link == nullptr) return DO_NOT_APPLICABLE;
  const auto found = ep->keys.find(key_id);
  if (found == ep->keys.end()) return DO_NOT_APPLICABLE;
  const LentKey& lent = found->second;
  *key = {key_id, lent.address, lent.length, lent.key.size(), lent.key.empty() ? nullptr : lent.key.data()};
  return DO_SUCCESS;
}
