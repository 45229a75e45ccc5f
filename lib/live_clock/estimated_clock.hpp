// The one ModelClock: each rank estimates modelled time by itself, in the order in which its program issues
// operations. It knows no network and nothing that ranks share; what a settled run says is more.
#pragma once

#include <deque>
#include <memory>

#include "lib/engine/lane.hpp"
#include "lib/engine/model_clock.hpp"
#include "lib/live_clock/live_messages.hpp"
#include "simulators/model/rank_table.hpp"

namespace offramp {

class EstimatedClock final : public ModelClock {
 public:
  /// The backends of the lane outlive this.
  explicit EstimatedClock(Lane& lane);

  std::uint32_t next_number(std::uint8_t backend, int destination) override;
  Sent send(const Transfer& transfer, const Position& at) override;
  Time post(const Position& at) override;
  Stamp match(std::uint8_t backend, const Transfer& transfer, const Stamp& departure, Time posted) override;
  void received(const Transfer& transfer, const Stamp& departure, Time posted, const Position& at) override;
  void sent(const Stamp& departure, const Stamp& answer, const Position& at) override;
  std::unique_ptr<Fork> fork(std::uint8_t backend) override;

  /// The rank's own, of one backend's hardware.
  [[nodiscard]] Units& units(std::uint8_t backend) { return members_[backend].units; }

 private:
  class Hardware;
  struct Member {
    explicit Member(Backend& backend_)
        : backend(backend_),
          messages(backend_),
          units(messages.units()),
          post(backend_.post_receive_cost()) {}
    Backend& backend;
    LiveMessages messages;
    Units units;
    Time post;
    RankTable<std::uint32_t> numbers;  // of messages, by destination
  };
  Units& units_of(const Position& at);

  std::deque<Member> members_;
  Time post_;  // what posting a receive costs the program: a constant of the primary hardware
};

}  // namespace offramp
