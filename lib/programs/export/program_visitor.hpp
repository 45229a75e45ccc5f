// Base of the writers of all formats: visits a program rank by rank, with world ranks as peers and with
// wildcards and waits resolved as recorded. A neighbourhood collective is visited as its messages.
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

/// Reads one rank's events and hands each on with its communicator, in program order. Writers derive from it.
class ProgramVisitor {
 public:
  /// unsaid: receives a line for each kind of construct that the format cannot express.
  ProgramVisitor(const Program& program, std::vector<std::string>& unsupported)
      : program_(program), unsupported_(unsupported) {}
  virtual ~ProgramVisitor() = default;

  /// Visits one rank. Ranks must come in order.
  Result<void> visit(int rank);

 protected:
  /// A message as a trace writes it. Requests are numbered by this rank, from 0.
  struct MessageCall {
    bool sends = false;
    bool blocking = false;
    int peer = 0;  // world rank, or any
    int tag = 0;   // distinct per communicator, or any
    std::uint64_t bytes = 0;
    bool synchronous = false;
    bool buffered = false;
    std::uint64_t request = 0;  // its id on this rank, unless it is blocking or buffered
  };

  /// Computing before the next call.
  virtual void compute(std::uint64_t nanoseconds) = 0;
  // A send or a receive. The writer waits for `request` if the message is neither blocking nor buffered.
  virtual void message(const MessageCall& message) = 0;
  /// Waits for recorded requests that have not been waited for yet.
  virtual void wait(std::span<const std::uint64_t> requests) = 0;
  /// members: in the order of the communicator. request: its number on this rank, if it is nonblocking and
  /// the format supports that.
  virtual void collective(const recording::Event& event, const recording::Reader& reader,
                          std::span<const int> members, std::optional<std::uint64_t> request) = 0;
  /// False: they are visited as blocking collectives, and reported as unsupported.
  [[nodiscard]] virtual bool holds_nonblocking_collectives() const { return false; }
  // The rank has no further events.
  virtual void end() = 0;

  /// Adds the line once.
  void unsupported(std::string_view kind);
  /// Only the first failure counts; it ends the walk.
  void fail(std::string what);
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return program_.description.ranks; }
  /// The number of operations begun and not waited for.
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }

 private:
  /// What the visitor remembers of a communicator that the rank has made.
  struct Communicator {
    std::vector<int> members;  // empty: all ranks
    std::uint32_t number = 0;
  };

  /// These hand one event on. They return at once after an error.
  void event(recording::Reader& reader, const recording::Event& event);
  void one_message(recording::Reader& reader, const recording::Event& event);
  void one_wait(const recording::Reader& reader, const recording::Event& event);
  void neighbours(const recording::Reader& reader, const recording::Event& event);
  /// Fills in the tag, and the world rank of the peer, which may be any. Passes on the message if both exist.
  void pass_on(MessageCall message, std::uint32_t communicator, int tag);
  void make_communicator(const recording::Reader& reader, const recording::Event& event);
  // A tag that differs between communicators. Fails if the format's tags do not suffice.
  [[nodiscard]] int tag_of(const Communicator& communicator, int tag);

  const Program& program_;
  std::vector<std::string>& unsupported_;
  /// The communicator's number, equal on all members. Key: members, id, and how many of those the rank has
  /// made before.
  std::map<std::tuple<std::vector<int>, std::uint64_t, std::uint32_t>, std::uint32_t> numbers_;
  int rank_ = 0;
  std::uint64_t number_ = 0;                                     // of the current event
  std::uint64_t begun_ = 0;                                      // requests so far
  std::map<std::uint64_t, std::vector<std::uint64_t>> pending_;  // by request: what the writer waits for
  std::uint64_t parts_ = 0;  // messages of neighbourhood collectives so far
  std::vector<Communicator> communicators_;
  std::map<std::pair<std::vector<int>, std::uint64_t>, std::uint32_t> made_;
  std::string problem_;
};

}  // namespace offramp::trace
