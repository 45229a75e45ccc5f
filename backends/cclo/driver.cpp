// Writes the configuration in the order of the drivers of both generations, and caches communicators in the
// exchange memory, since a program may have more than fit. place() looks up the communicator of a call; if it
// is missing, make_room() finds a gap for it, evicting the least recently used ones if necessary.
#include "backends/cclo/driver.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "simulators/cclo/tap.hpp"

namespace offramp::cclo {
namespace {

constexpr std::uint32_t kBufferMemory = 0x10000000;  // RX buffers in device memory
constexpr std::uint32_t kFirstAddress = 0x0a0a0a01;  // 10.10.10.1

}  // namespace

CallWords call_words(Generation generation, Scenario scenario, std::uint64_t count, std::uint32_t peer,
                     std::uint32_t communicator, std::uint32_t function, std::uint32_t tag) {
  CallWords words{};
  const auto set = [&words](Argument a, std::uint32_t v) { words[static_cast<std::size_t>(a)] = v; };
  set(Argument::kScenario, code_of(generation, scenario).value_or(0xff));
  set(Argument::kCount, static_cast<std::uint32_t>(count));
  set(Argument::kCommunicator, communicator);
  set(Argument::kRootSourceDestination, peer);
  set(Argument::kFunction, function);
  set(Argument::kTag, tag);
  return words;
}

Driver::Driver(const Configuration& configuration, Spec& spec, int rank, int ranks)
    : layout_(configuration.layout),
      host_(configuration.host),
      transport_(spec.transport),
      buffers_(configuration.rx_buffers),
      buffer_bytes_(spec.rx_buffer_bytes),
      space_(configuration.layout) {
  HardwareId id;
  id.stack = transport_ == Transport::kUdp   ? HardwareId::Stack::kUdp
             : transport_ == Transport::kTcp ? HardwareId::Stack::kTcp
                                             : HardwareId::Stack::kRdma;
  id.compression = id.kernel_streams = spec.generation == Generation::kSecond;
  space_.reset(encode(id));  // the engine initialises itself when the design is loaded
  if (spec.generation == Generation::kFirst && transport_ == Transport::kRdma) {
    problem_ = "the first generation has UDP and TCP engines only";
    return;
  }
  if (!buffers_fit()) {
    problem_ = fmt::format("{} RX descriptors of {} words exceed the exchange memory: {} fit", buffers_,
                           layout_.descriptor_words(), layout_.most_buffers(2));
    return;
  }
  set_up_buffers();
  if (spec.generation == Generation::kSecond) set_up_gen2(configuration.tuning);
  const auto local = static_cast<std::uint32_t>(rank);
  // Otherwise messages use communicators of pairs.
  if (words(static_cast<std::uint64_t>(ranks)) <= free_words())
    place(static_cast<std::uint32_t>(ranks), local, 0);
  const auto call = [&](auto function, std::uint32_t value) {
    configure(spec, static_cast<std::uint32_t>(function), value);
  };
  // The register counts polls of the firmware's loop.
  const std::int64_t poll = std::max<std::int64_t>(1, spec.firmware.axi + spec.firmware.step);
  const auto timeout = static_cast<std::uint32_t>(spec.clock.cycles_in(spec.timeout) / poll);
  if (spec.generation == Generation::kFirst) {
    call(Gen1Config::kInterruptsOn, 0);
    call(Gen1Config::kPacketizersOn, 0);
    call(Gen1Config::kTransactionSize, spec.rx_buffer_bytes);
    call(Gen1Config::kTransactionsInFlight, spec.window);
    call(Gen1Config::kTimeout, timeout);
    call(transport_ == Transport::kTcp ? Gen1Config::kUseTcp : Gen1Config::kUseUdp, 0);
    if (transport_ != Transport::kTcp) return;
    // Every rank opens its port before any rank opens a connection.
    call(Gen1Config::kOpenPort, kFirstPort + local);
    call(Gen1Config::kOpenConnections, 0);
  } else {
    call(Gen2Config::kMaximumEager, static_cast<std::uint32_t>(spec.max_eager));
    // The firmware demands more than the largest eager message.
    call(Gen2Config::kMaximumRendezvous,
         static_cast<std::uint32_t>(std::max<std::uint64_t>(32768, 2 * spec.max_eager)));
    call(Gen2Config::kEnginesOn, 0);
  }
}

Driver::~Driver() {
  // An engine that was not set up has nothing to reset.
  if (!problem_.empty()) return;
  // Values of configuration calls have no effect any more.
  Spec scratch;
  scratch.generation = layout_.generation;
  if (layout_.generation == Generation::kFirst) {
    configure(scratch, static_cast<std::uint32_t>(Gen1Config::kReset), 0);
    configure(scratch, static_cast<std::uint32_t>(Gen1Config::kInterruptsOff), 0);
  } else {
    configure(scratch, static_cast<std::uint32_t>(Gen2Config::kReset), 0);
  }
}

/// The first generation writes the number of buffers first, the second one last, since its hardware polls it.
void Driver::set_up_buffers() {
  const bool first = layout_.generation == Generation::kFirst;
  if (first) space_.write(layout_.exchange_base, buffers_);
  if (!first) space_.write(kGen2BufferLength, buffer_bytes_);
  for (std::uint32_t i = 0; i < buffers_; ++i) {
    for (const WordOf<DescriptorField>& word : layout_.descriptor) {
      const std::uint64_t address = kBufferMemory + std::uint64_t{i} * buffer_bytes_;
      std::uint32_t value = 0;
      if (word.field == DescriptorField::kAddressLow) value = static_cast<std::uint32_t>(address);
      if (word.field == DescriptorField::kAddressHigh) value = static_cast<std::uint32_t>(address >> 32);
      if (word.field == DescriptorField::kMaximumLength) value = buffer_bytes_;
      space_.write(layout_.descriptor_offset(i) + *layout_.offset(word.field), value);
    }
  }
  if (!first) space_.write(layout_.exchange_base, buffers_);
}

void Driver::set_up_gen2(const Tuning& tuning) {
  space_.write(layout_.behind_tables(kGatherMaximumFanIn), tuning.gather_fan_in);
  space_.write(layout_.behind_tables(kGatherMaximumBytes), tuning.gather_flat_bytes);
  space_.write(layout_.behind_tables(kBcastMaximumRanks), tuning.bcast_flat_ranks);
  space_.write(layout_.behind_tables(kReduceMaximumRanks), tuning.reduce_flat_ranks);
  space_.write(layout_.behind_tables(kReduceMaximumBytes), tuning.reduce_flat_bytes);
  std::uint32_t at = arithmetic_config(0);
  for (const ArithmeticConfig& config : arithmetic_configs()) {
    for (const std::uint32_t word : config.words) {
      space_.write(at, word);
      at += 4;
    }
  }
  // From here on, the firmware trusts the tables.
  space_.write(layout_.behind_tables(kConfigured), 1);
}

/// Makes a configuration call and stores its value in `spec`.
void Driver::configure(Spec& spec, std::uint32_t function, std::uint32_t value) {
  (void)start(call_words(layout_.generation, Scenario::kConfig, value, 0, 0, function));
  // The engine's side of the call.
  const Error result = cclo::configure(spec, state_, function, value);
  if (is_reset(layout_.generation, function)) space_.reset(space_.peek(layout_.hardware_id));
  space_.complete(encode(layout_.generation, result));
  const Error error = finish().error;
  if (error != Error::kNone && problem_.empty())
    problem_ = fmt::format("configuration call {} with {} returned {}", function, value, to_string(error));
}

Driver::Placed Driver::place(std::uint32_t ranks, std::uint32_t local, std::uint32_t peer) {
  for (Entry& entry : entries_) {
    if (!entry.is(ranks, local, peer)) continue;
    entry.used = ++uses_;
    return {entry.address, {}};
  }
  const auto need = static_cast<std::uint32_t>(words(ranks));
  const Entry entry{ranks, local, peer, make_room(4 * need), ++uses_};
  const auto behind = std::find_if(entries_.begin(), entries_.end(),
                                   [&](const Entry& e) { return e.address > entry.address; });
  entries_.insert(behind, entry);
  write_communicator(entry);
  return {entry.address, host_.write * std::int64_t{need}};
}

std::uint32_t Driver::make_room(std::uint32_t bytes) {
  for (;;) {
    std::uint32_t at = region_begin();
    for (const Entry& entry : entries_) {
      if (entry.address - at >= bytes) return at;
      at = entry.address + static_cast<std::uint32_t>(4 * words(entry.ranks));
    }
    const std::uint32_t end = region_begin() + static_cast<std::uint32_t>(4 * free_words());
    if (end - at >= bytes || entries_.empty()) return at;
    entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                    [](const Entry& a, const Entry& b) { return a.used < b.used; }));
  }
}

void Driver::write_communicator(const Entry& entry) {
  space_.write(entry.address, entry.ranks);
  // In a pair, the own rank is 0.
  space_.write(entry.address + 4, entry.peer == 0 ? entry.local : 0);
  for (std::uint32_t i = 0; i < entry.ranks; ++i) {
    const std::uint32_t identity = entry.peer == 0 ? i : i == 0 ? entry.local : entry.peer - 1;
    write_rank(entry.address, i, identity);
  }
}

void Driver::write_rank(std::uint32_t address, std::uint32_t index, std::uint32_t identity) {
  const std::uint32_t record = address + 4 * (kCommunicatorHeadWords + index * layout_.rank_words());
  for (const WordOf<RankField>& word : layout_.rank) {
    std::uint32_t value = 0;
    if (word.field == RankField::kIp) value = kFirstAddress + identity;
    if (word.field == RankField::kPort)
      // UDP distinguishes ranks by port only.
      value = transport_ == Transport::kUdp ? identity : kFirstPort + identity;
    if (word.field == RankField::kSession)
      value = transport_ == Transport::kUdp ? kNoSession : identity;  // sessions stay open
    if (word.field == RankField::kMaximumSegment) value = buffer_bytes_;
    space_.write(record + *layout_.offset(word.field), value);
  }
}

Driver::Started Driver::start(const CallWords& words) {
  // A collective that waits for its peers: the block accepts the next call meanwhile.
  if ((space_.read_control(kApCtrl) & kApIdle) == 0) space_.yield_call();
  space_.write_arguments(words);
  space_.write_control(kApCtrl, kApStart);
  return {space_.pop_call().value_or(words), start_cost()};
}

void Driver::message(Scenario scenario, const CallWords& words, const Spec& spec, std::uint32_t index) {
  const CallWords taken = start(words).words;
  const auto word = [&taken](Argument a) { return taken[static_cast<std::size_t>(a)]; };
  const std::uint64_t bytes = word(Argument::kCount);
  if (!is_rendezvous(spec, scenario, bytes)) {
    Communicator communicator(space_, word(Argument::kCommunicator));
    const RankField field =
        scenario == Scenario::kSend ? RankField::kOutboundSequence : RankField::kInboundSequence;
    const auto segments = static_cast<std::uint32_t>(spec.segments(bytes));
    // As the firmware counts, so that later calls continue with the right number.
    communicator.set(index, field, communicator.get(index, field) + segments);
  }
  space_.complete(0);
  (void)finish();
}

Driver::Finished Driver::finish() {
  (void)space_.read_control(kApCtrl);
  const std::uint32_t value = space_.read(layout_.return_value);
  return {decode(layout_.generation, value), finish_cost()};
}

}  // namespace offramp::cclo
