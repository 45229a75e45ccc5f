// Programs at more ranks than were recorded, for several subcommands.
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

/// Opens the files and learns from them. Throws Misuse with all contradictions.
scale::LearnedProgram learned_program(const ScaledOptions& options);
/// Scales to so many ranks. Prints notes on standard error. Throws Misuse.
scale::Scaling scaled_program(const scale::LearnedProgram& learned, int ranks);
/// Learns and scales to options.ranks. Prints notes on standard error. Throws Misuse.
scale::Scaling scaled_program(const ScaledOptions& options);
/// Prints notes on standard error.
void print_program_notes(const scale::Scaling& scaling);

/// How the program was made, and how well that is confirmed. output: path to write, or empty.
ReportAnswer answer_of(const scale::Scaling& scaling, const ScaledOptions& options,
                       const std::string& output);
/// Prints what was learned from which files, and how much of the largest recording the others predict.
/// Without options.ranks: for any number of ranks.
void print_scaling(const scale::Scaling& scaling, const ScaledOptions& options);
/// "strong scaling, as the recordings show": how CPU times depend on the number of ranks.
std::string scaling_text(const scale::Scaling& scaling);
/// "held out 100.0 % of 792 calls": how well the largest recording was predicted.
std::string held_out_text(const scale::Scaling& scaling);
/// Prints the shares of calls by function and role.
void print_shares(const scale::Comparison& comparison);

}  // namespace offramp::tool
