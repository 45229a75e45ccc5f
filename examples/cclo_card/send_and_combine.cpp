// Drives two of cclo's cards register by register, as their hosts would: card 0 sends a vector, and card 1
// receives it and adds it to its own. MPI programs use the same firmware through the backend.
//
// The program needs the source tree, because the card is a library for tests (tests/cclo/card):
//
//   cmake --build build --target cclo_card && build/examples/cclo_card
//
// Steps of a host, in the first generation over TCP:
//   1. writes the RX descriptors and the communicator into the exchange memory
//   2. makes configuration calls, which switch the units on
//   3. writes the arguments of a call, starts it with AP_CTRL, and reads RETVAL when it is done
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/cclo/card/machine.hpp"

namespace {

using namespace offramp::cclo;  // NOLINT: one file
using offramp::Time;

constexpr std::uint32_t kCards = 2;
constexpr std::uint32_t kBuffers = 4;
constexpr std::uint32_t kBufferBytes = 65536;
constexpr std::uint32_t kBufferMemory = 0x10000000;
constexpr std::uint32_t kFloatSum = 0;  // the argument `function`
constexpr std::uint32_t kTag = 5;

using Vector = std::vector<float>;
using Arguments = std::vector<std::pair<Argument, std::uint64_t>>;

/// A card and its host.
class Card {
 public:
  Card(Machine& machine, std::uint32_t rank) : rank_(rank), space_(layout_of(Profile::kSeed)) {
    write_descriptors();
    write_communicator();
    engine_ = &machine.add(spec_, space_);
  }

  void configure(Machine& machine, Gen1Config function, std::uint32_t value = 0) {
    start(Scenario::kConfig,
          {{Argument::kFunction, static_cast<std::uint32_t>(function)}, {Argument::kCount, value}});
    machine.run();
  }

  /// Writes the arguments and starts the call.
  void start(Scenario scenario, const Arguments& arguments) {
    space_.write(offset_of(Argument::kScenario), *code_of(spec_.generation, scenario));
    space_.write(offset_of(Argument::kCommunicator), communicator());
    for (const auto& [argument, value] : arguments)
      space_.write(offset_of(argument), static_cast<std::uint32_t>(value));
    space_.write(kApCtrl, kApStart);
    begin_ = end_;
    call_ = engine_->call(begin_);
  }

  /// Reads what the call has left in the registers.
  void finish(std::string_view name) {
    end_ = engine_->result(call_).end;
    const bool done = (space_.read(kApCtrl) & kApDone) != 0;
    const Error error = decode(spec_.generation, space_.read(space_.layout().return_value));
    std::printf("card %u  %-7.*s  %s  %-22s %8.3f us\n", rank_, static_cast<int>(name.size()), name.data(),
                done ? "done" : "open", std::string(to_string(error)).c_str(),
                static_cast<double>((end_ - begin_).count()) * 1e-6);
  }

  std::uint64_t put(const Vector& values) {
    const auto bytes = std::as_bytes(std::span(values));
    const std::uint64_t address = engine_->memory().allocate(bytes.size());
    std::copy(bytes.begin(), bytes.end(), engine_->memory().at(address, bytes.size()).begin());
    return address;
  }
  Vector get(std::uint64_t address, std::size_t count) {
    Vector values(count);
    std::memcpy(values.data(), engine_->memory().at(address, count * sizeof(float)).data(),
                count * sizeof(float));
    return values;
  }

  /// A word of an RX descriptor, and one of a rank in the communicator.
  std::uint32_t descriptor(std::uint32_t buffer, DescriptorField field) {
    return space_.read(space_.layout().descriptor_offset(buffer) + *space_.layout().offset(field));
  }
  std::uint32_t of_rank(std::uint32_t rank, RankField field) { return space_.read(place(rank, field)); }

 private:
  [[nodiscard]] std::uint32_t communicator() const { return space_.layout().communicators_offset(kBuffers); }
  [[nodiscard]] std::uint32_t place(std::uint32_t rank, RankField field) const {
    const Layout& layout = space_.layout();
    return communicator() + 4 * (kCommunicatorHeadWords + rank * layout.rank_words()) + *layout.offset(field);
  }
  void write_descriptors() {
    const Layout& layout = space_.layout();
    space_.write(layout.exchange_base, kBuffers);
    for (std::uint32_t i = 0; i < kBuffers; ++i) {
      const std::uint32_t at = layout.descriptor_offset(i);
      space_.write(at + *layout.offset(DescriptorField::kAddressLow), kBufferMemory + i * kBufferBytes);
      space_.write(at + *layout.offset(DescriptorField::kMaximumLength), kBufferBytes);
    }
  }
  void write_communicator() {
    space_.write(communicator(), kCards);
    space_.write(communicator() + 4, rank_);
    for (std::uint32_t rank = 0; rank < kCards; ++rank) space_.write(place(rank, RankField::kSession), rank);
  }

  std::uint32_t rank_;
  Spec spec_;
  IoSpace space_;
  OffloadEngine* engine_ = nullptr;
  std::size_t call_ = 0;
  Time begin_;  // of the last call
  Time end_;
};

}  // namespace

int main() {
  Machine machine;
  Card sender(machine, 0);
  Card receiver(machine, 1);
  for (Card* const card : {&sender, &receiver}) {
    card->configure(machine, Gen1Config::kInterruptsOn);
    card->configure(machine, Gen1Config::kPacketizersOn);
    card->configure(machine, Gen1Config::kOpenPort);
    card->configure(machine, Gen1Config::kOpenConnections);
  }

  const Vector sent = {1, 2, 3, 4};
  const std::uint64_t bytes = sent.size() * sizeof(float);
  const std::uint64_t source = sender.put(sent);
  const std::uint64_t landing = receiver.put(Vector(sent.size()));
  const std::uint64_t sum = receiver.put({10, 20, 30, 40});

  sender.start(Scenario::kSend, {{Argument::kCount, bytes},
                                 {Argument::kRootSourceDestination, 1},
                                 {Argument::kTag, kTag},
                                 {Argument::kAddress0Low, source}});
  receiver.start(Scenario::kReceive, {{Argument::kCount, bytes},
                                      {Argument::kRootSourceDestination, 0},
                                      {Argument::kTag, kTag},
                                      {Argument::kAddress0Low, landing}});
  machine.run();
  sender.finish("SEND");
  receiver.finish("RECV");
  std::printf("        RX buffer 0 had %u bytes with tag %u; rank 0's messages are counted to %u\n",
              receiver.descriptor(0, DescriptorField::kRxLength),
              receiver.descriptor(0, DescriptorField::kRxTag),
              receiver.of_rank(0, RankField::kInboundSequence));

  receiver.start(Scenario::kCombine, {{Argument::kCount, bytes},
                                      {Argument::kFunction, kFloatSum},
                                      {Argument::kAddress0Low, landing},
                                      {Argument::kAddress1Low, sum}});
  machine.run();
  receiver.finish("COMBINE");
  std::printf("        sum:");
  for (const float value : receiver.get(sum, sent.size())) std::printf(" %g", static_cast<double>(value));
  std::printf("\n");
}
