#include "lib/live_clock/estimated_clock.hpp"

#include "offramp/kernel/frame_pool.hpp"

namespace offramp {

class EstimatedClock::Hardware final : public Fork, public detail::Pooled {
 public:
  Hardware(Member& member, Time issued)
      : member_(member), issued_(issued), units(member.units), at_issue_(member.units) {}

  Resources resources(int /*world_rank*/) override { return units.view(member_.backend.resources()); }
  Time join() override { return member_.units.join(units, at_issue_, issued_); }

 private:
  Member& member_;
  Time issued_;

 public:
  Units units;

 private:
  Units at_issue_;
};

EstimatedClock::EstimatedClock(Lane& lane) {
  for (const Lane::Member& member : lane.members()) members_.emplace_back(*member.backend);
  post_ = members_[lane.primary_index()].post;
}

Units& EstimatedClock::units_of(const Position& at) {
  return at.hardware == nullptr ? members_[at.backend].units : static_cast<Hardware*>(at.hardware)->units;
}

std::uint32_t EstimatedClock::next_number(std::uint8_t backend, int destination) {
  return members_[backend].numbers[destination]++;
}

ModelClock::Sent EstimatedClock::send(const Transfer& transfer, const Position& at) {
  const Departure departure = members_[at.backend].messages.depart(transfer, *at.time, units_of(at));
  *at.time = later(*at.time, departure.host_free);
  return {departure.stamp, departure.complete, departure.handshake};
}

Time EstimatedClock::post(const Position& at) {
  return *at.time += at.hardware == nullptr ? post_ : members_[at.backend].post;
}

Stamp EstimatedClock::match(std::uint8_t backend, const Transfer& transfer, const Stamp& departure,
                            Time posted) {
  return members_[backend].messages.match(transfer, departure, posted);
}

void EstimatedClock::received(const Transfer& transfer, const Stamp& departure, Time posted,
                              const Position& at) {
  const Time done =
      members_[at.backend].messages.receive(transfer, departure, posted, *at.time, units_of(at));
  *at.time = later(*at.time, done);
}

void EstimatedClock::sent(const Stamp& departure, const Stamp& answer, const Position& at) {
  const Time done = members_[at.backend].messages.complete_send(departure, answer, units_of(at));
  *at.time = later(*at.time, done);
}

std::unique_ptr<ModelClock::Fork> EstimatedClock::fork(std::uint8_t backend) {
  return std::make_unique<Hardware>(members_[backend], now);
}

}  // namespace offramp
