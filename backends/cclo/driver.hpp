// The host's driver: it talks to the engine only through the IO space, and pays for every access.
#pragma once

#include <string>
#include <vector>

#include "backends/cclo/parameters.hpp"
#include "simulators/cclo/codes.hpp"
#include "simulators/cclo/exchange_memory.hpp"
#include "simulators/cclo/firmware.hpp"

namespace offramp::cclo {

class Driver {
 public:
  /// Sets the engine up as [accl] Expected flow says: RX buffers, packetizers,
  /// communicators, ports and connections. `spec` gets what the configuration calls set.
  Driver(const Configuration& configuration, Spec& spec, int rank, int ranks);
  /// Asks the engine to reset its peripherals and to disable interrupts.
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// What was wrong at set-up: the return code of the first configuration call that failed, or too many RX
  /// buffers for the exchange memory.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The RX buffers and a communicator of two ranks do.
  [[nodiscard]] bool buffers_fit() const { return layout_.most_buffers(2) >= buffers_; }

  /// Words for communicators in all, and those that one of `ranks` ranks needs.
  [[nodiscard]] std::uint64_t free_words() const { return layout_.free_words(buffers_); }
  [[nodiscard]] std::uint64_t words(std::uint64_t ranks) const { return layout_.communicator_words(ranks); }

  /// Where a communicator lies; one that is not there is written, and others that were used longest ago have
  /// to go for it. It has to fit. peer: 0, or of a pair 1 + the other's world rank.
  struct Placed {
    std::uint32_t address = 0;
    Time cost;
  };
  Placed place(std::uint32_t ranks, std::uint32_t local, std::uint32_t peer);

  /// Writes a call's registers and starts it; the call as the control processor gets it.
  struct Started {
    CallWords words{};
    Time cost;
  };
  Started start(const CallWords& words);
  /// A SEND or RECV call with a rank of the communicator, in the registers only: those that go through RX
  /// buffers advance its sequence numbers.
  void message(Scenario scenario, const CallWords& words, const Spec& spec, std::uint32_t index);
  /// Sees that the call is done and reads the return code.
  struct Finished {
    Error error = Error::kNone;
    Time cost;
  };
  Finished finish();
  /// The same costs without the accesses.
  [[nodiscard]] Time start_cost() const { return host_.call + host_.read + host_.write * (kArguments + 1); }
  [[nodiscard]] Time finish_cost() const { return host_.read * 2; }

  /// Second generation: the address of arithmetic_configs()[index] in the exchange memory, behind the room
  /// for communicators, which may come and go.
  [[nodiscard]] std::uint32_t arithmetic_config(std::size_t index) const {
    return region_begin() + static_cast<std::uint32_t>(4 * free_words()) +
           static_cast<std::uint32_t>(index * sizeof(ArithmeticConfig::words));
  }
  [[nodiscard]] IoSpace& space() { return space_; }
  [[nodiscard]] EngineState& state() { return state_; }

 private:
  struct Entry {
    std::uint32_t ranks;
    std::uint32_t local;
    std::uint32_t peer;
    std::uint32_t address;
    std::uint64_t used;  // the newest is the largest
    [[nodiscard]] bool is(std::uint32_t r, std::uint32_t l, std::uint32_t p) const {
      return ranks == r && local == l && peer == p;
    }
  };

  void set_up_buffers();
  void set_up_gen2(const Tuning& tuning);
  void configure(Spec& spec, std::uint32_t function, std::uint32_t value);
  std::uint32_t make_room(std::uint32_t bytes);
  void write_communicator(const Entry& entry);
  void write_rank(std::uint32_t address, std::uint32_t index, std::uint32_t identity);
  [[nodiscard]] std::uint32_t region_begin() const { return layout_.communicators_offset(buffers_); }

  Layout layout_;
  HostCosts host_;
  Transport transport_;
  std::uint32_t buffers_;
  std::uint32_t buffer_bytes_;
  IoSpace space_;
  EngineState state_;
  std::vector<Entry> entries_;  // by address
  std::uint64_t uses_ = 0;
  std::string problem_;
};

/// The words of a call.
CallWords call_words(Generation generation, Scenario scenario, std::uint64_t count, std::uint32_t peer,
                     std::uint32_t communicator, std::uint32_t function = 0, std::uint32_t tag = kTagAny);

}  // namespace offramp::cclo
