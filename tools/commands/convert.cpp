// offramp convert: writes a program in another tool's format.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "lib/answers/otf2/otf2_output.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/export/writers.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/text/replay_output.hpp"

namespace offramp::tool {
namespace {

struct ConvertOptions {
  std::string file;  // as for replay
  std::string output;
  std::string format;  // name of a format
};

struct Format {
  std::string_view name;
  std::string_view suffix;  // of outputs that have it without --to; empty: none
  Result<void> (*write)(const trace::Program&, const std::string& path,
                        std::vector<std::string>& unsupported);
  /// Why the format cannot be written to the path. Null if it is a file.
  std::string (*problem)(const std::string& path) = nullptr;
  /// It writes further files beside that one.
  bool has_several_files = false;
};

/// Writes a single file from any format.
Result<void> write_recording(const trace::Program& program, const std::string& path,
                             std::vector<std::string>& /*unsaid*/) {
  return program.recording != nullptr ? program.recording->write(path)
                                      : trace::write_recording(program, path);
}

Result<void> write_archive(const trace::Program& program, const std::string& folder,
                           std::vector<std::string>& unsupported) {
  return success_or(write_otf2(program, folder, unsupported));
}

constexpr std::array kFormats = {Format{"recording", kRecordingSuffix, write_recording},
                                 Format{"smpi", "", trace::write_smpi, nullptr, true},
                                 Format{"goal", ".goal", trace::write_goal_text},
                                 Format{"goal-binary", ".bin", trace::write_goal_binary},
                                 Format{"chakra", "", trace::write_chakra, nullptr, true},
                                 Format{"otf2", ".otf2", write_archive, otf2_problem}};

constexpr auto kNames = [] {
  std::array<std::string_view, kFormats.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kFormats[i].name;
  return names;
}();

/// Warns on standard error about features that the format cannot express, once per kind.
int convert(const ConvertOptions& options) {
  const auto* const format = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& one) {
    return options.format.empty() ? !one.suffix.empty() && options.output.ends_with(one.suffix)
                                  : one.name == options.format;
  });
  if (format == kFormats.end() && options.format.empty())
    throw Misuse{fmt::format("--to is missing: {} has no suffix of a format; known formats: {}",
                             in_quotes(options.output), fmt::join(kNames, ", "))};
  if (format == kFormats.end())
    throw Misuse{fmt::format("--to: unknown format {}{}", in_quotes(options.format),
                             suggestion(options.format, kNames))};
  const Destination destination = format->has_several_files ? Destination::kRegular : Destination::kStream;
  const std::string unwritable =
      option_problem("--output", options.output,
                     format->problem == nullptr ? check_output(options.output, destination).error()
                                                : format->problem(options.output));
  if (!unwritable.empty()) throw Misuse{unwritable};
  const ReplayInput input(options.file, std::nullopt);
  std::vector<std::string> unsupported;
  const Result<void> written = format->write(input.program, options.output, unsupported);
  for (const std::string& one : unsupported) warn(fmt::format("note: {}: {}", format->name, one));
  if (written) return kDone;
  warn(problem_text(options.file, written.error()));
  return written.error().starts_with(kCannotWrite) ? kNotWritten : kUsage;
}

class ConvertCommand final : public Command {
 public:
  explicit ConvertCommand(CLI::App& app) : Command(app) {
    add_value(app, "file", options_.file, "FILE|PATTERN", "a recording, a trace, or a pattern")->required();
    add_value(app, "-o,--output", options_.output, "FILE", "the file to write; for otf2, the folder")
        ->required();
    add_value(
        app, "--to", options_.format, "FORMAT",
        fmt::format("{}; default: that of the suffix .rec, .goal, .bin, or .otf2", fmt::join(kNames, ", ")));
  }
  int execute(std::vector<std::string>) override { return convert(options_); }

 private:
  ConvertOptions options_;
};

const Registered<ConvertCommand> convert_command(
    {.name = "convert",
     .place = 45,
     .summary = "convert a recording, trace, or pattern",
     .about = "Standard error names, once per kind, the calls that the format cannot express.",
     .exits = {{kUsage,
                "the command line or the configuration is wrong, the format cannot represent the program, or "
                "the input is damaged"},
               {kNotWritten}}});

}  // namespace
}  // namespace offramp::tool
