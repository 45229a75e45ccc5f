// The control processor of a card: the steps in which an engine with memory, kernels, and units that may fail
// does more than the engine of an MPI program. It extends the hook of Processor. One object per call.
//
//   calls.cpp             which call it is, and whether the firmware refuses it
//   acknowledgements.cpp  DMA and packetizer commands, posted RX buffers
//   lanes.cpp             casting lanes, kernels' streams, external kernels
//
// The first generation abandons a call at its first error: the hook's steps then return false, and run() and
// fan_out() do nothing for the rest of the call.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "simulators/cclo/firmware.hpp"
#include "tests/cclo/card/card_state.hpp"
#include "tests/cclo/card/datapath.hpp"
#include "tests/cclo/card/engine_ports.hpp"

namespace offramp::cclo {

/// The buffers of any call.
struct CardMemory : CallMemory {
  Bytes second = {};  // COMBINE and EXT_REDUCE; empty: `receive` is also the second operand
};

/// What a call uses of its card. References must outlive it.
struct CardCall {
  EnginePorts& ports;
  CardState& state;
  Spec& settings;            // changed by configuration calls
  const Datapath& datapath;  // first generation: plain
  bool from_kernel = false;  // started by a kernel, unknown to the call block
};

/// Sets RETVAL, and the completion word of a call from the host.
void complete_call(IoSpace& space, std::uint32_t return_value, bool from_kernel);

/// The RX buffers, with the firmware's operations on single descriptors, including those beyond buffers().
class CardPool final : public RxPool {
 public:
  using RxPool::RxPool;
  using RxPool::store;
  void post(std::uint32_t i, std::uint32_t tag) {
    set(i, DescriptorField::kDmaTag, tag);
    set(i, DescriptorField::kStatus, static_cast<std::uint32_t>(BufferStatus::kEnqueued));
  }
  [[nodiscard]] std::uint32_t tag(std::uint32_t i) const { return get(i, DescriptorField::kDmaTag); }
  [[nodiscard]] std::uint64_t address(std::uint32_t i) const {
    return std::uint64_t{get(i, DescriptorField::kAddressHigh)} << 32 | get(i, DescriptorField::kAddressLow);
  }
};

class CardProcessor final : public Processor {
 public:
  CardProcessor(const CallContext& context, Time begin, const CardCall& card)
      : Processor(context, begin), card_(card), buffers_(context.space) {}

  /// Works like the firmware's run_call(), for any words.
  Task<Error> run_call(CallWords words, CardMemory memory);

  Task<void> run(Primitive primitive) override;
  Task<void> fan_out(Slots slots, int root) override;

  using Processor::Wanted;
  [[nodiscard]] const Wanted& blocked_on() const { return wanted_; }
  [[nodiscard]] std::uint32_t tag() const { return context_.tag; }

 protected:
  bool configure_switch(const Primitive& primitive) override;
  std::optional<Time> land(const Team::Arrival& arrival, std::uint64_t bytes, int from,
                           Flight& flight) override;
  std::uint32_t count_message(int to, std::uint64_t bytes) override;
  void issued(const Primitive& primitive, std::uint64_t offset, std::uint64_t bytes) override;
  bool retired(const Flight& flight) override;
  bool fan_out_read(const Primitive& message) override;
  bool fan_out_sent() override;

 private:
  struct DmaCommand {
    DmaChannel channel = DmaChannel::kRead1;
    bool silent = false;
    DmaStatus status;  // second generation
  };
  /// The commands of one segment or move in flight, and its message.
  struct Issued {
    std::uint32_t commands = 0;
    std::array<DmaCommand, 3> command;
    int to = Primitive::kNobody;
    std::uint32_t sequence = 0;
  };
  /// One move of the second generation between memory, messages, kernels and lanes.
  struct Piece {
    std::uint64_t elements = 0;
    bool has_own = false;
    Bytes own;
    bool has_second = false;
    Bytes second;
    bool second_compressed = false;
    bool second_is_message = false;
    bool result_compressed = false;
  };

  // calls.cpp
  Task<void> execute(Scenario scenario, const CallWords& words, CardMemory memory);
  [[nodiscard]] Error obstacle(Scenario scenario) const;
  [[nodiscard]] Error objection(Scenario scenario, std::uint32_t count) const;
  Error configure_engine(std::uint32_t function, std::uint32_t value);
  Task<void> run_in_memory(Scenario scenario, CardMemory memory);
  void combine_memory(Bytes in, MutableBytes inout);

  // acknowledgements.cpp
  void command(DmaChannel channel, Bytes target, std::uint64_t bytes);
  void launch(const Flight& flight);
  void acknowledge_dma(const Issued& move);
  void acknowledge_in_order(const Issued& move);
  void acknowledge_packet(const Issued& move);
  void finish_arithmetic();
  void post_buffers();
  void land_in_posted(std::uint64_t bytes, Flight& flight);
  void abandon(Error error);
  void drop_moves();
  void unwind(const Issued& move);

  // lanes.cpp
  [[nodiscard]] bool has_lanes() const { return !card_.datapath.plain(); }
  void spend_lane_move(const Primitive& primitive);
  [[nodiscard]] std::uint64_t elements_in(std::uint64_t bytes, bool compressed) const;
  Flow port(Unit unit, const Flow& in, std::uint64_t bytes);
  Bytes operand(const Piece& piece, Time command_at, Flow& flow);
  Bytes convert(Unit lane, Bytes data, bool from, bool to, std::uint64_t elements, Flow& flow);
  Flow produce(const Piece& piece, const Commands& commands, MutableBytes result);
  void deliver(const Flow& flow, MutableBytes result, Time command_at, Flight& flight);
  void move_through_lanes(const Primitive& primitive, Piece piece, MutableBytes into);
  void copy_through_lanes(Bytes from, MutableBytes into);
  void combine_through_lanes(Bytes a, Bytes b, MutableBytes into);
  Task<void> run_lanes(Primitive primitive);
  /// First generation: through an external kernel and back. b: empty except for EXT_REDUCE.
  void run_external(Bytes a, Bytes b, MutableBytes into);

  CardCall card_;
  CardPool buffers_;
  Issued issuing_;                // the move whose commands are being issued
  std::deque<Issued> issued_;     // those in flight, in order
  std::uint32_t issued_tag_ = 0;  // last DMA command (first generation)
  std::uint32_t sequence_ = 0;    // last eager message
  bool abandoned_ = false;
};

}  // namespace offramp::cclo
