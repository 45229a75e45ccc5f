// A kernel is a loop over windows: acquire inputs and output, compute, release. A reduction acquires own data
// first, then the inputs in the order of the call, then the output; a late partner delays everything after
// it. acquire() and release() (window.cpp) add the times of locks, Timing those of loops.
#include "simulators/aie/kernels.hpp"

#include <algorithm>

namespace offramp::aie {
namespace {

void begin_call(Core core) {
  core.spend(core.timing.costs().call_head);
}

// Rounded up.
std::size_t elements_of(std::size_t bytes, std::size_t element) {
  return (bytes + element - 1) / element;
}

}  // namespace

Task<void> reduce_kernel(Core core, const ReduceCall& call) {
  const Timing& timing = core.timing;
  begin_call(core);
  for (std::size_t chunk = 0; chunk < call.chunks.count(); ++chunk) {
    if (call.local != nullptr) co_await acquire(core, *call.local, Acquire::kInLoop);
    for (Input* input : call.inputs) co_await acquire(core, *input, Acquire::kInLoop);
    if (call.output != nullptr) co_await acquire(core, *call.output, Acquire::kSingle);
    const std::size_t bytes = call.chunks.size(chunk);
    const Time begin = core.clock;
    co_await core.compute(timing.reduce(call.code, static_cast<int>(call.inputs.size()),
                                        elements_of(bytes, call.element_bytes), bytes, call.operations,
                                        call.meeting));
    core.span("reduce", begin);
    if (call.output != nullptr) co_await release(core, *call.output);
    for (auto input = call.inputs.rbegin(); input != call.inputs.rend(); ++input)
      co_await release(core, **input);
    if (call.local != nullptr) co_await release(core, *call.local);
  }
  core.spend(timing.costs().call - timing.costs().call_head);
  // Longer calls need two more cycles.
  core.clock += timing.step(elements_of(std::min(call.chunks.bytes, call.chunks.window), call.element_bytes));
}

Task<void> pack_kernel(Core core, const PackCall& call) {
  begin_call(core);
  std::size_t room = 0;  // bytes left in the open output window
  for (const Segment& segment : call.segments) {
    std::size_t need = segment.bytes;
    while (need > 0) {
      // Own data needs no window.
      std::size_t part = segment.input == nullptr ? need : std::min(need, segment.window);
      need -= part;
      if (segment.input != nullptr) co_await acquire(core, *segment.input, Acquire::kInLoop);
      while (part > 0) {
        if (call.output != nullptr && room == 0) {
          co_await acquire(core, *call.output, Acquire::kSingle);
          room = call.output_window;
        }
        const std::size_t moved = call.output == nullptr ? part : std::min(part, room);
        co_await core.compute(core.timing.copy(call.copies, moved, segment.input == nullptr));
        part -= moved;
        if (call.output == nullptr) continue;
        room -= moved;
        if (room == 0) co_await release(core, *call.output);
      }
      if (segment.input != nullptr) co_await release(core, *segment.input);
    }
  }
  if (room > 0) co_await release(core, *call.output);
}

Task<void> unpack_kernel(Core core, const UnpackCall& call) {
  begin_call(core);
  std::size_t have = 0;  // bytes left in the open input window
  bool open = false;
  std::size_t left = 0;
  for (const Share& share : call.shares) left += share.bytes;
  for (const Share& share : call.shares) {
    std::size_t need = share.bytes;
    std::size_t room = 0;
    while (need > 0) {
      if (call.input != nullptr && have == 0) {
        if (open) co_await release(core, *call.input);
        co_await acquire(core, *call.input, Acquire::kInLoop);
        // The last window may be shorter.
        have = std::min(call.input_window, left);
        open = true;
      }
      if (share.output != nullptr && room == 0) {
        co_await acquire(core, *share.output, Acquire::kSingle);
        room = share.window;
      }
      std::size_t moved = need;
      if (call.input != nullptr) moved = std::min(moved, have);
      if (share.output != nullptr) moved = std::min(moved, room);
      co_await core.compute(core.timing.copy(call.copies, moved, call.input == nullptr));
      need -= moved;
      left -= moved;
      if (call.input != nullptr) have -= moved;
      if (share.output == nullptr) continue;
      room -= moved;
      if (room > 0 && need > 0) continue;
      room = 0;
      co_await release(core, *share.output);
    }
  }
  if (open) co_await release(core, *call.input);
}

std::vector<std::size_t> forwarding_order(const std::vector<std::size_t>& windows, bool in_turns) {
  std::vector<std::size_t> order;
  std::vector<std::size_t> left = windows;
  if (!in_turns) {
    for (std::size_t input = 0; input < left.size(); ++input) order.insert(order.end(), left[input], input);
    return order;
  }
  for (bool more = true; more;) {
    more = false;
    for (std::size_t input = 0; input < left.size(); ++input) {
      if (left[input] == 0) continue;
      --left[input];
      more = true;
      order.push_back(input);
    }
  }
  return order;
}

Task<void> header_gather_kernel(Core core, const HeaderGatherCall& call) {
  constexpr double kReadCount = 2;  // assumed: cycles to read and add the count
  const Timing& timing = core.timing;
  begin_call(core);
  for (Input* input : call.inputs) {
    co_await acquire(core, *input, Acquire::kInLoop);
    core.spend(kReadCount);
    co_await release(core, *input);
  }
  if (call.output != nullptr) {
    co_await acquire(core, *call.output, Acquire::kSingle);
    core.spend(timing.costs().leaf_element);  // one element: the number of windows
    co_await release(core, *call.output);
  }
  for (std::size_t chunk = 0; chunk < call.own.count(); ++chunk) {
    if (call.output != nullptr) co_await acquire(core, *call.output, Acquire::kSingle);
    co_await core.compute(timing.copy(call.copies, call.own.size(chunk), true));
    if (call.output != nullptr) co_await release(core, *call.output);
  }
  for (const std::size_t input : call.order) {
    co_await acquire(core, *call.inputs[input], Acquire::kInLoop);
    if (call.output != nullptr) co_await acquire(core, *call.output, Acquire::kSingle);
    co_await core.compute(timing.copy(call.copies, call.window, false));
    if (call.output != nullptr) co_await release(core, *call.output);
    co_await release(core, *call.inputs[input]);
  }
}

Task<void> copy_kernel(Core core, const CopyCall& call) {
  begin_call(core);
  for (std::size_t chunk = 0; chunk < call.chunks.count(); ++chunk) {
    if (call.input != nullptr) co_await acquire(core, *call.input, Acquire::kSingle);
    if (call.output != nullptr) co_await acquire(core, *call.output, Acquire::kSingle);
    const Time begin = core.clock;
    co_await core.compute(core.timing.copy(call.copies, call.chunks.size(chunk), true));
    core.span("copy", begin);
    if (call.output != nullptr) co_await release(core, *call.output);
    if (call.input != nullptr) co_await release(core, *call.input);
  }
}

Task<void> butterfly_kernel(Core core, const ButterflyCall& call) {
  const Timing& timing = core.timing;
  begin_call(core);
  for (std::size_t chunk = 0; chunk < call.chunks.count(); ++chunk) {
    const std::size_t bytes = call.chunks.size(chunk);
    for (std::size_t round = 0; round < call.inputs.size(); ++round) {
      co_await acquire(core, *call.outputs[round], Acquire::kSingle);
      co_await core.compute(timing.copy(call.code, bytes, true));
      co_await release(core, *call.outputs[round]);
      // Sending first: both partners do, so neither waits in vain.
      co_await acquire(core, *call.inputs[round], Acquire::kSingle);
      co_await core.compute(
          timing.reduce(call.code, 1, elements_of(bytes, call.element_bytes), bytes, call.operations));
      co_await release(core, *call.inputs[round]);
    }
  }
}

}  // namespace offramp::aie
