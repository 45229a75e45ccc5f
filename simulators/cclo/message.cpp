// A message outside of a world. Each end is a call on a LoopbackTeam, which records sends as stamps and
// returns those stamps as receives. Firmware, processor, and units are therefore the same code as for
// collectives and in a world.
//
// A rendezvous is split where one end waits for the other (announce, write, finish), since the world may
// shift the parts in time. The watch_*() functions repeat one part at its actual time, for spans and packets.
#include "simulators/cclo/message.hpp"

namespace offramp::cclo {
namespace {

constexpr std::uint32_t kBuffersOfIdleEngine = 16;  // descriptors in the private IO space

// Only the table in the private IO space is limited. Times follow all RX buffers.
Spec with_table(Spec spec) {
  spec.rx_buffers = std::min(spec.rx_buffers, kBuffersOfIdleEngine);
  return spec;
}

}  // namespace

Team::Handle LoopbackTeam::start_send(int, Bytes, const Stamp* stamp) {
  if (stamp != nullptr) sent_.push_back(*stamp);
  return nullptr;
}

Team::Handle LoopbackTeam::start_receive(int, MutableBytes, bool) {
  return taken_ < arrivals_.size() ? &arrivals_[taken_++] : nullptr;
}

Team::Arrival LoopbackTeam::finish_token(Handle handle) {
  if (handle == nullptr) return {};
  const Stamp stamp = *static_cast<const Stamp*>(handle);
  return {stamp.failed() ? Outcome::kFault : Outcome::kOk, stamp};
}

void poke_buffers(IoSpace& space, const Spec& spec) {
  const Layout& layout = space.layout();
  space.poke(layout.exchange_base, spec.rx_buffers);
  if (layout.generation == Generation::kSecond) space.poke(kGen2BufferLength, spec.rx_buffer_bytes);
  const auto length = layout.offset(DescriptorField::kMaximumLength);
  for (std::uint32_t i = 0; length && i < spec.rx_buffers; ++i)
    space.poke(layout.descriptor_offset(i) + *length, spec.rx_buffer_bytes);
}

void poke_communicator(IoSpace& space, std::uint32_t address, std::uint32_t ranks, std::uint32_t local) {
  space.poke(address, ranks);
  space.poke(address + 4, local);
}

MessageRunner::MessageRunner(const Spec& spec, const Layout& layout) : spec_(spec), space_(layout) {
  const Spec table = with_table(spec);
  communicator_ = layout.communicators_offset(table.rx_buffers);
  poke_buffers(space_, table);
  poke_communicator(space_, communicator_, 2, 0);
}

CallContext MessageRunner::context_of(LoopbackTeam& team, const PacketFaults& packet_faults,
                                      const Watch& watch, Bytes memory) {
  CallContext context{spec_,
                      space_,
                      team,
                      communicator_,
                      packet_faults.rates,
                      packet_faults.first_packet,
                      watch.spans,
                      watch.operation,
                      watch.tap,
                      watch.tag,
                      watch.data,
                      memory.data(),
                      packet_faults.epoch};
  context.place = watch.place;
  return context;
}

MessageRunner::RunResult MessageRunner::run(LoopbackTeam& team, Scenario scenario, std::uint64_t bytes,
                                            Time begin, const PacketFaults& packet_faults, const Watch& watch,
                                            std::uint32_t function) {
  const MutableBytes memory = team.scratch(bytes);
  Processor processor(context_of(team, packet_faults, watch, memory), begin);
  CallWords words{};
  words[static_cast<std::size_t>(Argument::kScenario)] = *code_of(spec_.generation, scenario);
  words[static_cast<std::size_t>(Argument::kRootSourceDestination)] =
      static_cast<std::uint32_t>(packet_faults.destination);
  words[static_cast<std::size_t>(Argument::kFunction)] = function;
  Task<Error> task = run_call(processor, space_, words, {memory, memory, 1});
  task.start();
  RunResult run;
  run.error = task.result();
  run.complete = processor.now();
  run.wire = processor.wire();
  return run;
}

SendResult MessageRunner::send(std::uint64_t bytes, Time begin, const PacketFaults& packet_faults,
                               const Watch& watch) {
  LoopbackTeam team(packet_faults.source);
  const RunResult run = this->run(team, Scenario::kSend, bytes, begin, packet_faults, watch);
  SendResult result;
  result.complete = run.complete;
  result.segments = team.sent();
  result.wire = run.wire;
  // The first failed segment has the error of the call.
  for (const Stamp& stamp : result.segments) {
    if (!stamp.failed()) continue;
    result.error = static_cast<Error>(stamp.detail & kErrorMask);
    break;
  }
  return result;
}

ReceiveResult MessageRunner::receive(std::uint64_t bytes, Time begin, const std::vector<Stamp>& segments,
                                     const Watch& watch) {
  LoopbackTeam team(0, segments);
  const RunResult run = this->run(team, Scenario::kReceive, bytes, begin, {}, watch);
  return {run.complete, run.error};
}

MessageRunner::Rendezvous MessageRunner::rendezvous(std::uint64_t bytes, const PacketFaults& packet_faults) {
  // Each part has a processor of its own, which begins at time 0.
  Rendezvous result;
  LoopbackTeam receiver(packet_faults.destination);
  Processor announcing(context_of(receiver, {}, {}, {}), {});
  announce(announcing, packet_faults);
  // The sender knows the address once it has read the header.
  result.announce = receiver.sent().front().last + spec_.stream_time(kHeaderBytes);

  LoopbackTeam sender(packet_faults.source);
  Processor writing(context_of(sender, packet_faults, {}, {}), {});
  result.ready = spec_.cycles(spec_.firmware.fetch);
  write(writing, sender.scratch(bytes), {}, packet_faults);
  const Stamp& stamp = sender.sent().front();
  result.first = stamp.first;
  result.last = stamp.last;
  result.complete = writing.now();
  if (stamp.failed()) result.error = static_cast<Error>(stamp.detail & kErrorMask);
  result.wire = writing.wire();
  result.wire += announcing.wire();

  LoopbackTeam landing(packet_faults.destination, {{stamp.first, stamp.last, 0}});
  Processor finishing(context_of(landing, {}, {}, {}), {});
  finish(finishing, landing.scratch(bytes), packet_faults);
  result.received = finishing.now();
  return result;
}

void MessageRunner::announce(Processor& processor, const PacketFaults& packet_faults) const {
  const Time begin = processor.now();
  processor.spend(spec_.firmware.fetch);
  processor.announce(packet_faults.source);
  processor.span("control processor", "announce address", begin, processor.now());
}

void MessageRunner::write(Processor& processor, Bytes memory, Time begin,
                          const PacketFaults& packet_faults) const {
  processor.read_notification(begin);
  processor.write(packet_faults.destination, memory);
  processor.finish_moves();
  processor.spend(spec_.firmware.finish);
  processor.span("control processor", "rendezvous write", begin, processor.now());
}

void MessageRunner::finish(Processor& processor, MutableBytes memory,
                           const PacketFaults& packet_faults) const {
  Task<Time> task = processor.written_by(packet_faults.source, memory);
  task.start();
  const Time landed = task.result();
  processor.read_notification(landed);
  processor.spend(spec_.firmware.finish);
  processor.span("control processor", "write done", landed, processor.now());
}

void MessageRunner::watch_announcement(Time begin, const PacketFaults& packet_faults, const Watch& watch) {
  LoopbackTeam team(packet_faults.destination);
  Processor processor(context_of(team, {}, watch, {}), begin);
  announce(processor, packet_faults);
}

void MessageRunner::watch_write(std::uint64_t bytes, Time begin, const PacketFaults& packet_faults,
                                const Watch& watch) {
  LoopbackTeam team(packet_faults.source);
  const MutableBytes memory = team.scratch(bytes);
  Processor processor(context_of(team, packet_faults, watch, memory), begin);
  write(processor, memory, begin, packet_faults);
}

void MessageRunner::watch_landing(std::uint64_t bytes, Time first, Time last,
                                  const PacketFaults& packet_faults, const Watch& watch) {
  LoopbackTeam team(packet_faults.destination, {{first, last, 0}});
  const MutableBytes memory = team.scratch(bytes);
  Processor processor(context_of(team, {}, watch, memory), first);
  finish(processor, memory, packet_faults);
}

Time MessageRunner::copy(std::uint64_t bytes) {
  LoopbackTeam team(0);
  return run(team, Scenario::kCopy, bytes, {}, {}, {}).complete;
}

Time MessageRunner::call(Scenario scenario, std::uint32_t function) {
  LoopbackTeam team(0);
  return run(team, scenario, 0, {}, {}, {}, function).complete;
}

}  // namespace offramp::cclo
