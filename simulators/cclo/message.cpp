#include "simulators/cclo/message.hpp"

namespace offramp::cclo {
namespace {

constexpr std::uint32_t kBuffersOfIdleEngine = 16;  // descriptors in the private IO space

Spec with_table(Spec spec) {
  spec.rx_buffers = std::min(spec.rx_buffers, kBuffersOfIdleEngine);
  return spec;
}

}  // namespace

Team::Handle SoloTeam::start_send(int, Bytes, const Stamp* stamp) {
  if (stamp != nullptr) sent_.push_back(*stamp);
  return nullptr;
}

Team::Handle SoloTeam::start_receive(int, MutableBytes, bool) {
  return taken_ < arrivals_.size() ? &arrivals_[taken_++] : nullptr;
}

Team::Arrival SoloTeam::take(Handle handle) {
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

MessageRunner::Run MessageRunner::run(SoloTeam& team, Scenario scenario, std::uint64_t bytes, Time begin,
                                      const Fate& fate, SpanSink* spans, std::uint64_t operation,
                                      std::uint32_t function, std::uint32_t value) {
  CallContext context{spec_, space_,    team,      communicator_, fate.rates, fate.first_packet,
                      spans, operation, fate.epoch};
  Processor processor(context, begin);
  CallWords words{};
  words[static_cast<std::size_t>(Argument::kScenario)] = *code_of(spec_.generation, scenario);
  words[static_cast<std::size_t>(Argument::kRootSourceDestination)] =
      static_cast<std::uint32_t>(fate.destination);
  words[static_cast<std::size_t>(Argument::kFunction)] = function;
  words[static_cast<std::size_t>(Argument::kCount)] = value;
  const MutableBytes memory = team.scratch(bytes);
  Task<Error> task = run_call(processor, space_, words, {memory, memory, 1});
  task.start();
  Run run;
  run.error = task.result();
  run.complete = processor.now();
  run.wire = processor.wire();
  return run;
}

SendResult MessageRunner::send(std::uint64_t bytes, Time begin, const Fate& fate, SpanSink* spans,
                               std::uint64_t operation) {
  SoloTeam team(fate.source);
  const Run run = this->run(team, Scenario::kSend, bytes, begin, fate, spans, operation);
  SendResult result;
  result.complete = run.complete;
  result.segments = team.sent();
  result.wire = run.wire;
  for (const Stamp& stamp : result.segments) {
    if (!stamp.failed()) continue;
    result.error = static_cast<Error>(stamp.detail & kErrorMask);
    break;
  }
  return result;
}

ReceiveResult MessageRunner::receive(std::uint64_t bytes, Time begin, const std::vector<Stamp>& segments,
                                     SpanSink* spans, std::uint64_t operation) {
  SoloTeam team(0, segments);
  const Run run = this->run(team, Scenario::kReceive, bytes, begin, {}, spans, operation);
  return {run.complete, run.error};
}

MessageRunner::Rendezvous MessageRunner::rendezvous(std::uint64_t bytes, const Fate& fate) {
  Rendezvous result;
  SoloTeam receiver(fate.destination);
  Processor announcing({spec_, space_, receiver, communicator_, {}, 0, nullptr, 0}, {});
  announcing.spend(spec_.firmware.fetch);
  announcing.announce(fate.source);
  result.announce = receiver.sent().front().last + spec_.stream_time(kHeaderBytes);

  SoloTeam sender(fate.source);
  CallContext context{spec_,   space_, sender,    communicator_, fate.rates, fate.first_packet,
                      nullptr, 0,      fate.epoch};
  Processor writing(context, {});
  result.ready = spec_.cycles(spec_.firmware.fetch);
  writing.take_notification({});
  writing.write(fate.destination, Bytes(sender.scratch(bytes)));
  writing.finish_moves();
  writing.spend(spec_.firmware.finish);
  const Stamp& stamp = sender.sent().front();
  result.first = stamp.first;
  result.last = stamp.last;
  result.complete = writing.now();
  if (stamp.failed()) result.error = static_cast<Error>(stamp.detail & kErrorMask);
  result.wire = writing.wire();
  result.wire += announcing.wire();

  SoloTeam landing(fate.destination, {{stamp.first, stamp.last, 0}});
  Processor finishing({spec_, space_, landing, communicator_, {}, 0, nullptr, 0}, {});
  Task<Time> task = finishing.written_by(fate.source, landing.scratch(bytes));
  task.start();
  finishing.take_notification(task.result());
  finishing.spend(spec_.firmware.finish);
  result.received = finishing.now();
  return result;
}

Time MessageRunner::copy(std::uint64_t bytes) {
  SoloTeam team(0);
  return run(team, Scenario::kCopy, bytes, {}, {}, nullptr, 0).complete;
}

Time MessageRunner::call(Scenario scenario, std::uint32_t function, std::uint32_t value) {
  SoloTeam team(0);
  return run(team, scenario, 0, {}, {}, nullptr, 0, function, value).complete;
}

}  // namespace offramp::cclo
