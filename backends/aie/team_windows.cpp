// The double buffer between two ranks: each end of an edge has two buffers, used alternately. From the third
// window on, a producer waits for the consumer's credit for a buffer; the last two windows return none. Both
// ends of an edge count the same windows, so tokens need no numbers.
#include "backends/aie/team_windows.hpp"

namespace offramp::aie {

Task<void> TeamInput::wait_full() {
  if (credits_ != nullptr && taken_ > 0 && taken_ + 1 < windows_) {  // for the previous window
    Team::PendingToken credit = team_.receive_token(peer_, {});
    const Team::Arrival arrival = co_await credit;
    note(traffic_.outcome, arrival.outcome);
    credits_->push_back(arrival.stamp.first);
  }
  Team::PendingToken token = team_.receive_token(peer_, bytes_(taken_++));
  const Team::Arrival arrival = co_await token;
  note(traffic_.outcome, arrival.outcome);
  team_.clock = later(team_.clock, arrival.stamp.first);
}

Task<void> TeamInput::set_empty() {
  if (emptied_++ + 2 >= windows_) return {};  // the producer does not need this buffer any more
  return send_empty();
}

Task<void> TeamInput::send_empty() {
  // A credit has no data, so it is one moment.
  const Stamp stamp{team_.clock, team_.clock, 0};
  Team::PendingToken token = team_.send_token(peer_, {}, stamp);
  const Team::Arrival arrival = co_await token;
  note(traffic_.outcome, arrival.outcome);
}

Task<void> TeamOutput::wait_for_credits(Time& until) {
  if (credits_ != nullptr) {
    until = later(until, credits_->front());
    credits_->pop_front();
    co_return;
  }
  for (const Target& target : targets_) {
    // A multicast continues when all targets have a free buffer.
    Team::PendingToken token = team_.receive_token(target.peer, {});
    const Team::Arrival arrival = co_await token;
    note(traffic_.outcome, arrival.outcome);
    until = later(until, arrival.stamp.first);
  }
}

Task<void> TeamOutput::wait_empty() {
  return filled_ < 2 ? Task<void>() : wait_for_buffer();
}

Task<void> TeamOutput::wait_for_buffer() {
  if (shared_) {
    co_await wait_for_credits(team_.clock);
  } else {
    team_.clock = later(team_.clock, freed_[filled_ & 1U]);
  }
}

Task<void> TeamOutput::set_full() {
  const std::size_t window = filled_++;
  if (window >= 2) return set_full_later(window);
  send(window, later(team_.clock, engine_free_));
  return {};
}

Task<void> TeamOutput::set_full_later(std::size_t window) {
  Time begin = later(team_.clock, engine_free_);
  if (!shared_) co_await wait_for_credits(begin);
  co_await drain({&sent_[window & 1U], 1});
  send(window, begin);
}

void TeamOutput::send(std::size_t window, Time begin) {
  Time visible = team_.clock;
  // Through DMA, a window is visible when its last word has left.
  if (!shared_) visible = engine_free_ = freed_[window & 1U] = begin + occupied_;
  const std::size_t bytes = bytes_(window);
  Sent& sent = sent_[window & 1U];
  for (const Target& target : targets_) {
    const Time arrival = visible + target.passage;
    const Stamp stamp{arrival, arrival, 0};
    sent.push_back(team_.send_token(target.peer, bytes, stamp));
    ++traffic_.wire.packets;
    traffic_.wire.payload_bytes += bytes;
    traffic_.wire.wire_bytes += window_bytes_;
  }
}

Task<void> TeamOutput::drain(std::span<Sent> buffers) {
  for (Sent& sent : buffers) {
    for (const Team::PendingToken& token : sent) {
      const Team::Arrival arrival = co_await token;
      note(traffic_.outcome, arrival.outcome);
    }
    sent.clear();
  }
}

}  // namespace offramp::aie
