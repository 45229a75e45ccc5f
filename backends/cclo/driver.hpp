// The host's driver: accesses the engine through the IO space only, and accounts for every access.
#pragma once

#include <string>
#include <vector>

#include "backends/cclo/parameters.hpp"
#include "simulators/cclo/codes.hpp"
#include "simulators/cclo/exchange_memory.hpp"
#include "simulators/cclo/firmware.hpp"

namespace offramp::cclo {

/// One per rank. Not thread-safe: calls of a rank come one after the other.
class Driver {
 public:
  /// Sets the engine up in the steps of [accl] Expected flow: RX buffers, packetizers, communicators, ports,
  /// and connections. The configuration calls store their values in `spec`.
  Driver(const Configuration& configuration, Spec& spec, int rank, int ranks);
  /// Resets the engine's peripherals and disables interrupts.
  ~Driver();
  Driver& operator=(Driver&&) = delete;

  /// The failure of the set-up, or "": the first failed configuration call with its return code, or too many
  /// RX buffers for the exchange memory.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// True if the RX buffers and a communicator of two ranks fit.
  [[nodiscard]] bool buffers_fit() const { return layout_.most_buffers(2) >= buffers_; }

  /// Total words for communicators, and the words of one communicator of `ranks` ranks.
  [[nodiscard]] std::uint64_t free_words() const { return layout_.free_words(buffers_); }
  [[nodiscard]] std::uint64_t words(std::uint64_t ranks) const { return layout_.communicator_words(ranks); }

  /// Returns the address of a communicator, which must fit. A missing one is written, replacing the least
  /// recently used ones if necessary. peer: 0, or 1 + the world rank of the other member of a pair.
  struct Placed {
    std::uint32_t address = 0;
    Time cost;
  };
  Placed place(std::uint32_t ranks, std::uint32_t local, std::uint32_t peer);

  /// Writes a call's registers and starts it. Returns the call as the control processor receives it.
  struct Started {
    CallWords words{};
    Time cost;
  };
  Started start(const CallWords& words);
  /// A SEND or RECV call with a rank of the communicator, in the registers only. Calls that use RX buffers
  /// advance its sequence numbers.
  void message(Scenario scenario, const CallWords& words, const Spec& spec, std::uint32_t index);
  /// Detects that the call is done and reads the return code.
  struct Finished {
    Error error = Error::kNone;
    Time cost;
  };
  Finished finish();
  /// The costs of start() and finish().
  [[nodiscard]] Time start_cost() const { return host_.call + host_.read + host_.write * (kArguments + 1); }
  [[nodiscard]] Time finish_cost() const { return host_.read * 2; }

  /// Second generation: the address of arithmetic_configs()[index] in the exchange memory, after the region
  /// of communicators.
  [[nodiscard]] std::uint32_t arithmetic_config(std::size_t index) const {
    return region_begin() + static_cast<std::uint32_t>(4 * free_words()) +
           static_cast<std::uint32_t>(index * sizeof(ArithmeticConfig::words));
  }
  /// The engine's registers and memory, for calls on it.
  [[nodiscard]] IoSpace& space() { return space_; }
  [[nodiscard]] const EngineState& state() const { return state_; }

 private:
  /// A communicator in the exchange memory.
  struct Entry {
    std::uint32_t ranks;
    std::uint32_t local;
    std::uint32_t peer;
    std::uint32_t address;
    std::uint64_t used;  // time stamp of the last use
    /// True for the communicator of these ranks.
    [[nodiscard]] bool is(std::uint32_t r, std::uint32_t l, std::uint32_t p) const {
      return ranks == r && local == l && peer == p;
    }
  };

  /// These write the configuration before the first call.
  void set_up_buffers();
  /// Writes the limits of algorithms and the arithmetic configurations.
  void set_up_gen2(const Tuning& tuning);
  /// A failure goes to problem_.
  void configure(Spec& spec, std::uint32_t function, std::uint32_t value);
  /// Returns the address of a gap, evicting communicators until there is one.
  std::uint32_t make_room(std::uint32_t bytes);
  /// Writes all words of a communicator, with sequence numbers of 0.
  void write_communicator(const Entry& entry);
  /// identity: the rank by which the network knows it.
  void write_rank(std::uint32_t address, std::uint32_t index, std::uint32_t identity);
  [[nodiscard]] std::uint32_t region_begin() const { return layout_.communicators_offset(buffers_); }

  Layout layout_;
  HostCosts host_;
  Transport transport_;
  std::uint32_t buffers_;
  std::uint32_t buffer_bytes_;
  IoSpace space_;
  EngineState state_;
  std::vector<Entry> entries_;  // sorted by address
  std::uint64_t uses_ = 0;
  std::string problem_;
};

/// The registers of a call. Others are 0.
CallWords call_words(Generation generation, Scenario scenario, std::uint64_t count, std::uint32_t peer,
                     std::uint32_t communicator, std::uint32_t function = 0, std::uint32_t tag = kTagAny);

}  // namespace offramp::cclo
