// Bases of patterns: the events of a round are made on reading (PatternRounds) or listed (PatternScript).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/import/pattern.hpp"
#include "lib/programs/recording/unrecorded_reader.hpp"

namespace offramp {

/// A send or a receive on all ranks. tag: must agree at both ends.
recording::Event pattern_message(recording::EventKind kind, int peer, std::uint64_t bytes, bool blocking,
                                 int tag = 0);

/// The first side of a grid with sides as equal as possible.
int side_of_grid(int ranks, int dimensions);

/// Fibonacci hashing: neighbouring numbers give unrelated results.
constexpr std::uint64_t drawn_for(std::uint64_t number) {
  return number * 0x9E3779B97F4A7C15U;
}

/// One rank's events, with the same number in each round.
class PatternRounds : public recording::UnrecordedReader {
 public:
  PatternRounds(const Pattern& pattern, int rank) : pattern_(pattern), rank_(rank) {}

  /// Communicators first, then round after round.
  bool next(recording::Event& given) final;
  /// Patterns compute nothing: all times are 0.
  [[nodiscard]] recording::Times times() const final { return {}; }
  /// Numbers begin at 1; 0 is an event without a list.
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const final {
    return number == 0 || number > lists_.size() ? std::span<const std::uint64_t>() : lists_[number - 1];
  }
  [[nodiscard]] std::string_view call(std::uint16_t number) const final;
  [[nodiscard]] const std::string& error() const final { return error_; }

 protected:
  /// The number of events in a round.
  [[nodiscard]] virtual std::size_t count() const = 0;
  /// The number-th event of a round, both counted from 0.
  [[nodiscard]] virtual recording::Event event(std::size_t number, int round) = 0;

  /// The arguments of the pattern. bytes(): per message.
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return pattern_.ranks; }
  [[nodiscard]] std::uint64_t bytes() const { return pattern_.bytes; }
  [[nodiscard]] std::uint64_t parameter() const { return pattern_.parameter; }
  /// The rank at this distance, periodic.
  [[nodiscard]] int around(std::int64_t distance) const {
    const std::int64_t to = (rank_ + distance) % ranks();
    return static_cast<int>(to < 0 ? to + ranks() : to);
  }
  /// A wait for the newest `requests` requests.
  recording::Event wait_for(std::size_t requests);
  /// Makes a communicator before the first round and returns its number. id: see recording::Event::extra.
  std::uint32_t communicator(std::vector<std::uint64_t> members, std::uint64_t id);
  /// Returns the list's number for events. The values may be changed each round.
  std::uint32_t intern(std::vector<std::uint64_t> values);
  /// The values of a list, by the number from intern().
  std::vector<std::uint64_t>& interned(std::uint32_t number) { return lists_[number - 1]; }
  /// Reductions add 32-bit floats, or combine bytes if the size does not allow that.
  [[nodiscard]] recording::Event collective(OperationKind operation, bool blocking,
                                            std::uint32_t on = recording::kWorld) const;

 private:
  Pattern pattern_;
  int rank_;
  int round_ = 0;
  /// The next event of the round.
  std::size_t at_ = 0;
  std::vector<recording::Event> communicators_;  // made first
  /// Communicators that the reader has returned.
  std::size_t made_ = 0;
  std::vector<std::vector<std::uint64_t>> lists_;
  std::string error_;
};

/// A pattern whose rounds are equal, listed once.
class PatternScript : public PatternRounds {
 public:
  using PatternRounds::PatternRounds;

 protected:
  void send(int peer) { add(pattern_message(recording::EventKind::kSend, peer, bytes(), true)); }
  void receive(int peer) { add(pattern_message(recording::EventKind::kReceive, peer, bytes(), true)); }
  void begin_send(int peer, int tag = 0) {
    add(pattern_message(recording::EventKind::kSend, peer, bytes(), false, tag));
  }
  void begin_receive(int peer, int tag = 0) {
    add(pattern_message(recording::EventKind::kReceive, peer, bytes(), false, tag));
  }
  /// Counts requests for the next wait().
  void add(const recording::Event& event) {
    if (begins_request(event)) ++begun_;
    events_.push_back(event);
  }
  /// Waits for everything begun since the last wait.
  void wait() {
    if (begun_ > 0) events_.push_back(wait_for(begun_));
    begun_ = 0;
  }
  /// Sends to one rank while receiving from another, and waits for both.
  void exchange(int to, int from) {
    begin_receive(from);
    begin_send(to);
    wait();
  }

 private:
  [[nodiscard]] std::size_t count() const final { return events_.size(); }
  /// All rounds are equal, so only the number matters.
  [[nodiscard]] recording::Event event(std::size_t number, int round) final {
    if (number == 0 && round == 0) events_.shrink_to_fit();  // large worlds have many
    return events_[number];
  }

  /// The events of one round.
  std::vector<recording::Event> events_;
  /// Requests since the last wait.
  std::size_t begun_ = 0;
};

}  // namespace offramp
