// The active operations of ranks at a service process, and the operations that a rank has submitted.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>

#include "lib/services/dpu_service/transport.hpp"
#include "offramp/dpu/ops.h"

struct offload_ep;

namespace offramp::dpu {

class Context;

inline constexpr std::uint64_t kStartOperation = 36;
inline constexpr std::uint64_t kEndOperation = 37;
inline constexpr std::uint64_t kAddKey = 38;
inline constexpr std::uint64_t kRevokeKey = 39;

/// A region of host memory that a rank has lent.
struct LentKey {
  std::uint64_t address = 0;
  std::uint64_t length = 0;
  Bytes key;
};

class Descriptor : public offload_op_desc {
 public:
  Context* context = nullptr;
  bool submitted = false;
  Bytes kept;  // the result
};

class Operations {
 public:
  bool add(const offload_op_t& op) {
    return op.op_progress != nullptr && known_.try_emplace(op.alg_id, op).second;
  }
  /// At the service process: starts a rank's request, and drives all active ones.
  void start(Context& context, offload_ep& peer, std::span<const std::byte> message);
  void progress();
  [[nodiscard]] std::size_t active() const { return active_.size(); }

  /// At the rank.
  Descriptor& describe(Context& context, std::uint64_t alg_id);
  dpu_offload_status_t submit(Descriptor& descriptor);
  bool release(Descriptor& descriptor);
  void ended(std::span<const std::byte> message);
  /// The server of a context has disconnected.
  void lost(const Context& context);

 private:
  struct Active : offload_active_op_t {
    std::uint64_t op_id = 0;
    const offload_op_t* op = nullptr;
    offload_ep* peer = nullptr;
    Bytes arguments;
  };

  static void notify(Context& context, offload_ep& peer, std::uint64_t op_id, dpu_offload_status_t status,
                     std::span<const std::byte> result);
  static void finish(Active& active, dpu_offload_status_t status);
  static void complete(Descriptor& descriptor, dpu_offload_status_t status);

  std::map<std::uint64_t, offload_op_t> known_;
  std::list<Active> active_;
  bool progressing_ = false;
  std::map<std::uint64_t, std::unique_ptr<Descriptor>> descriptors_;  // by op_id
  std::uint64_t numbers_ = 0;
};

}  // namespace offramp::dpu
