// Programs as functions of rank and number of ranks, for the tests of scaling: compares the program learned
// at few ranks with the function at more ranks.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/programs/scale/scaling.hpp"
#include "tests/replay/tape.hpp"

namespace offramp::scale {

using test::Tape;
using Body = std::function<void(Tape& tape, int rank, int ranks)>;

/// Owns the tape that it reads.
class OwningReader final : public recording::Reader {
 public:
  explicit OwningReader(Tape tape) : tape_(std::move(tape)), reader_(tape_) {}
  bool next(recording::Event& event) override { return reader_.next(event); }
  [[nodiscard]] recording::Times times() const override { return reader_.times(); }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const override {
    return reader_.list(number);
  }
  [[nodiscard]] std::optional<recording::Match> match() override { return reader_.match(); }
  [[nodiscard]] std::span<const std::uint32_t> choice() const override { return reader_.choice(); }
  [[nodiscard]] std::uint64_t polls() const override { return reader_.polls(); }
  [[nodiscard]] recording::Gaps gaps() const override { return reader_.gaps(); }
  [[nodiscard]] bool has_threads() const override { return reader_.has_threads(); }
  [[nodiscard]] std::uint32_t thread() const override { return reader_.thread(); }
  [[nodiscard]] std::string_view call(std::uint16_t number) const override { return reader_.call(number); }
  [[nodiscard]] std::string_view site(std::uint32_t number) const override { return reader_.site(number); }
  [[nodiscard]] std::string_view cut() const override { return reader_.cut(); }
  [[nodiscard]] const std::string& error() const override { return reader_.error(); }

 private:
  Tape tape_;
  test::TapeReader reader_;
};

/// The program of a function. Each reading calls the function again.
inline trace::Program written(const Body& body, int ranks) {
  trace::Program program;
  program.kind = "recording";
  program.description.ranks = ranks;
  program.read = [body, ranks](int rank) {
    Tape tape;
    body(tape, rank, ranks);
    return std::make_unique<OwningReader>(std::move(tape));
  };
  return program;
}

/// Learns the recorded programs, and extrapolates to `ranks`.
inline Result<Scaling> scale(const std::vector<NamedProgram>& recorded, int ranks, ComputeScaling compute) {
  const Result<LearnedProgram> learned = LearnedProgram::learn(recorded, compute);
  return learned ? learned->at(ranks) : failure(learned.error());
}

/// recorded: the numbers of ranks at which the function is recorded.
inline Result<Scaling> scaled(const Body& body, const std::vector<int>& recorded, int ranks,
                              ComputeScaling compute = ComputeScaling::kRecorded) {
  std::vector<NamedProgram> programs;
  for (const int one : recorded) programs.push_back({std::to_string(one) + ".rec", written(body, one)});
  return scale(programs, ranks, compute);
}

/// The share of exactly predicted calls at this number of ranks, or the problem.
struct Outcome {
  Share share;
  Share held_out;
  std::string problem;
};
inline Outcome outcome(const Body& body, const std::vector<int>& recorded, int ranks) {
  const Result<Scaling> scaling = scaled(body, recorded, ranks);
  if (!scaling) return {{}, {}, scaling.error()};
  const auto role = [](int) { return std::string("all"); };
  const trace::Program& program = scaling->program;
  const auto comparison = compare(written(body, ranks), program.read, role);
  if (!comparison) return {{}, {}, comparison.error()};
  return {comparison->total(), scaling->held_out.total(), comparison->first_difference};
}

/// All calls are exact.
inline void expect_exact(const Body& body, const std::vector<int>& recorded, int ranks) {
  const Outcome found = outcome(body, recorded, ranks);
  EXPECT_EQ(found.problem, "");
  EXPECT_GT(found.share.exact, 0U);
  EXPECT_EQ(found.share.exact, found.share.count());
}
/// All calls are exact, and the smaller recordings predict all of the largest one.
inline void expect_foretold(const Body& body, const std::vector<int>& recorded, int ranks) {
  expect_exact(body, recorded, ranks);
  const Outcome found = outcome(body, recorded, ranks);
  EXPECT_GT(found.held_out.exact, 0U);
  EXPECT_EQ(found.held_out.exact, found.held_out.count());
}

}  // namespace offramp::scale
