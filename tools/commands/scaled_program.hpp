// A program at more ranks than were run, for the subcommands that take one.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/report/answer.hpp"
#include "lib/programs/scale/scaling.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/scaled_options.hpp"

namespace offramp::tool {

/// --compute-scaling
class ComputeScalingOption {
 public:
  explicit ComputeScalingOption(CLI::App& app);
  [[nodiscard]] scale::ComputeScaling value() const;

 private:
  std::string name_;
};

/// --phase
void add_phase(CLI::App& app, std::string& phase);

/// Opens the files and learns from them. Throws Misuse with all that does not fit.
scale::LearnedProgram learned_program(const ScaledOptions& options);
/// The same at options.ranks, with what is to be said of it on standard error.
scale::Scaling scaled_program(const ScaledOptions& options);
/// What is to be said of it on standard error.
void print_program_notes(const scale::Scaling& scaling);

/// How the program was made, and how far that is confirmed. output: the recording that is written; may be
/// empty.
ReportAnswer answer_of(const scale::Scaling& scaling, const ScaledOptions& options,
                       const std::string& output);
/// What was learned, from what, and how much of the largest recording the others foretell. Without
/// options.ranks: for any number of them.
void print_scaling(const scale::Scaling& scaling, const ScaledOptions& options);
/// "held out 100.0 % of 792 calls"
std::string held_out_text(const scale::Scaling& scaling);
/// By function and role. what: "exact"
void print_shares(const scale::Comparison& comparison);

}  // namespace offramp::tool
