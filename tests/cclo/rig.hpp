// Cards that their drivers have set up, on one network; calls go through the register blocks.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "backends/cclo/driver.hpp"
#include "tests/cclo/card/machine.hpp"
#include "tests/cclo/support.hpp"

namespace offramp::cclo {

/// Positions in arithmetic_configs().
enum class Config : std::uint8_t { kHalf, kFloatHalf, kFloat, kDouble, kInt32, kInt64 };

/// A call that has not been made yet.
struct CallArguments {
  Scenario scenario = Scenario::kNop;
  std::uint64_t count = 0;  // bytes; elements in the second generation
  std::uint32_t peer = 0;
  std::uint32_t function = 0;
  std::uint32_t tag = kTagAny;
  Config config = Config::kFloat;
  std::uint32_t compression = 0;
  std::uint32_t flags = 0;  // streams, host memory
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

/// Cards of several ranks on one network, set up by their drivers. One thread.
class Rig {
 public:
  /// values: settings beside those of settings_with(). A driver that fails fails the test.
  explicit Rig(int ranks, const Values& values = {})
      : configuration_(configuration_of(settings_with(values))) {
    for (int rank = 0; rank < ranks; ++rank) {
      Card& card = cards_.emplace_back();
      card.spec = configuration_.spec;
      card.driver = std::make_unique<Driver>(configuration_, card.spec, rank, ranks);
      EXPECT_EQ(card.driver->problem(), "");
      card.engine = &machine_.add(card.spec, card.driver->space(), card.driver->state());
    }
  }

  [[nodiscard]] bool second() const { return configuration_.spec.generation == Generation::kSecond; }
  OffloadEngine& engine(int rank) { return *cards_[static_cast<std::size_t>(rank)].engine; }
  Driver& driver(int rank) { return *cards_[static_cast<std::size_t>(rank)].driver; }
  Spec& spec(int rank) { return cards_[static_cast<std::size_t>(rank)].spec; }
  Machine& machine() { return machine_; }
  [[nodiscard]] const Layout& layout() const { return configuration_.layout; }
  [[nodiscard]] std::uint32_t communicator() const {
    return layout().communicators_offset(configuration_.rx_buffers);
  }

  /// The words that the driver would write for the call.
  CallWords words(int rank, const CallArguments& call) {
    CallWords words = call_words(configuration_.spec.generation, call.scenario, call.count, call.peer,
                                 communicator(), call.function, call.tag);
    const auto set = [&words](Argument a, std::uint64_t v) {
      words[static_cast<std::size_t>(a)] = static_cast<std::uint32_t>(v);
    };
    if (second()) {
      set(Argument::kType0, driver(rank).arithmetic_config(static_cast<std::size_t>(call.config)));
      set(Argument::kType1, call.compression);
      set(Argument::kType2, call.flags);
    }
    set(Argument::kAddress0Low, call.a);
    set(Argument::kAddress0High, call.a >> 32);
    set(Argument::kAddress1Low, call.b);
    set(Argument::kAddress1High, call.b >> 32);
    set(Argument::kAddress2Low, call.c);
    set(Argument::kAddress2High, call.c >> 32);
    return words;
  }
  /// Starts a call through the register block.
  std::size_t start(int rank, const CallWords& words, Time at = {}) {
    IoSpace& space = driver(rank).space();
    space.write_arguments(words);
    space.write_control(kApCtrl, kApStart);
    return engine(rank).call(at);
  }
  // Variants with the arguments of a call.
  std::size_t start(int rank, const CallArguments& call, Time at = {}) {
    return start(rank, words(rank, call), at);
  }
  /// A kernel on the card starts the call, without the host.
  std::size_t start_from_kernel(int rank, const CallArguments& call, Time at = {}) {
    return engine(rank).call_from_kernel(words(rank, call), at);
  }
  /// Runs to the end and returns RETVAL as the host reads it.
  std::uint32_t finish(int rank) {
    waits = machine_.run();
    return return_value(rank);
  }
  std::uint32_t return_value(int rank) { return driver(rank).space().read(layout().return_value); }
  /// Starts a call, and runs it to its end.
  std::uint32_t call(int rank, const CallArguments& arguments, Time at = {}) {
    start(rank, arguments, at);
    return finish(rank);
  }
  /// Runs a configuration call. Returns its RETVAL.
  template <typename Function>
  std::uint32_t configure(int rank, Function function, std::uint32_t value = 0) {
    CallArguments arguments;
    arguments.scenario = Scenario::kConfig;
    arguments.function = static_cast<std::uint32_t>(function);
    arguments.count = value;
    return call(rank, arguments);
  }

  /// Copies values into new memory of the card or its host. Returns their address.
  template <typename T>
  std::uint64_t put(int rank, const std::vector<T>& values, BufferLocation place = BufferLocation::kDevice) {
    const std::uint64_t address = engine(rank).memory().allocate(values.size() * sizeof(T), place);
    const auto bytes = std::as_bytes(std::span(values));
    std::copy(bytes.begin(), bytes.end(), engine(rank).memory().at(address, bytes.size(), place).begin());
    return address;
  }
  /// Returns values from the memory of the card or its host.
  template <typename T>
  std::vector<T> get(int rank, std::uint64_t address, std::size_t count,
                     BufferLocation place = BufferLocation::kDevice) {
    std::vector<T> values(count);
    const MutableBytes bytes = engine(rank).memory().at(address, count * sizeof(T), place);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  std::string waits;  // the last return value of Machine::run()

 private:
  struct Card {
    Spec spec;
    std::unique_ptr<Driver> driver;
    OffloadEngine* engine = nullptr;
  };
  Configuration configuration_;
  std::deque<Card> cards_;
  Machine machine_;
};

/// Returns numbers from a list, and records what it receives.
class TestKernel final : public Kernel {
 public:
  Buffer supplies;
  bool ends = false;  // with the last of them
  Buffer taken;
  std::vector<std::uint32_t> streams;
  Time last;

  Supply supply(MutableBytes into, Time from) override {
    const std::size_t bytes = std::min(into.size(), supplies.size() - given_);
    std::copy_n(supplies.begin() + static_cast<std::ptrdiff_t>(given_), bytes, into.begin());
    given_ += bytes;
    return {bytes, ends && given_ == supplies.size(), {from, from}};
  }
  void consume(std::uint32_t stream, Bytes data, const Flow& when) override {
    streams.push_back(stream);
    taken.insert(taken.end(), data.begin(), data.end());
    last = when.last;
  }
  /// The larger one of each pair of bytes.
  Flow combine(Bytes a, Bytes b, MutableBytes out, const Flow& in) override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::max(a[i], b[i]);
    return in;
  }

  /// Sets the numbers to supply.
  template <typename T>
  void fill(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    supplies.assign(bytes.begin(), bytes.end());
  }
  /// The received bytes as numbers.
  template <typename T>
  [[nodiscard]] std::vector<T> got() const {
    std::vector<T> values(taken.size() / sizeof(T));
    std::memcpy(values.data(), taken.data(), values.size() * sizeof(T));
    return values;
  }

 private:
  std::size_t given_ = 0;
};

}  // namespace offramp::cclo
