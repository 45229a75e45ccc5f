// What the writers of all formats share: a program rank by rank, with peers as ranks of the world, and with
// what the order of arrival decided settled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

class Walk {
 public:
  /// unsaid: gets one line for each kind of thing that the format cannot say.
  Walk(const Program& program, std::vector<std::string>& unsaid) : program_(program), unsaid_(unsaid) {}
  virtual ~Walk() = default;

  /// One rank; they come in order.
  Result<void> walk(int rank);

 protected:
  struct Message {
    bool sends = false;
    bool blocking = false;
    int peer = 0;  // of the world, or any
    int tag = 0;   // those of different communicators differ, or any
    std::uint64_t bytes = 0;
    bool synchronous = false;
    bool buffered = false;
    std::uint64_t request = 0;  // its number on this rank, unless it is blocking or buffered
  };

  virtual void compute(std::uint64_t nanoseconds) = 0;
  virtual void message(const Message& message) = 0;
  /// Waits for the requests that have an event here and have not been waited for.
  virtual void wait(std::span<const std::uint64_t> requests) = 0;
  /// members: in the order of the communicator. request: its number on this rank, where it goes on beside the
  /// program and the format can say so.
  virtual void collective(const recording::Event& event, const recording::Reader& reader,
                          std::span<const int> members, std::optional<std::uint64_t> request) = 0;
  [[nodiscard]] virtual bool holds_nonblocking_collectives() const { return false; }
  virtual void end() = 0;

  void unsaid(std::string_view kind);
  /// The first one counts, and ends the walk.
  void fail(std::string what);
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return program_.description.ranks; }
  /// How many operations were begun and not waited for.
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }

 private:
  struct Communicator {
    std::vector<int> members;  // empty: all ranks
    std::uint32_t number = 0;
  };

  void event(recording::Reader& reader, const recording::Event& event);
  void one_message(recording::Reader& reader, const recording::Event& event);
  void one_wait(const recording::Reader& reader, const recording::Event& event);
  void make_communicator(const recording::Reader& reader, const recording::Event& event);
  [[nodiscard]] int tag_of(const Communicator& communicator, int tag);

  const Program& program_;
  std::vector<std::string>& unsaid_;
  /// By members, id and how many of those a rank has made before: the same number for all members.
  std::map<std::tuple<std::vector<int>, std::uint64_t, std::uint32_t>, std::uint32_t> numbers_;
  int rank_ = 0;
  std::uint64_t number_ = 0;  // of the event
  std::uint64_t begun_ = 0;   // requests
  std::map<std::uint64_t, bool> pending_;
  std::vector<Communicator> communicators_;
  std::map<std::pair<std::vector<int>, std::uint64_t>, std::uint32_t> made_;
  std::string problem_;
};

}  // namespace offramp::trace
