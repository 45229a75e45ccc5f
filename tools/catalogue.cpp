#include "tools/catalogue.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

namespace offramp::tool {
namespace {

constexpr std::string_view kExitMark = "Exit codes: ";

constexpr ExitText kExitTexts[] = {
    {"0", "all went well; also info with a configuration that is wrong, which it reports"},
    {"1", "this installation is incomplete (libofframp.so is not found), or something unexpected went wrong"},
    {"2",
     "the command line or the configuration is wrong; check: there is nothing to put Offramp in front of; "
     "report: a file is no report; replay: the file is no recording, or what it says makes no sense"},
    {"3",
     "predict: the hardware declines the operation at every point; check: it works, with a risk; "
     "fuzz-faults: no "
     "fault happened"},
    {"4", "fuzz-faults: some runs ended otherwise than well or with an MPI error"},
    {"74",
     "an output could not be written, although its name was right; run: the same, and the program ended "
     "well"},
    {"126",
     "run: the program is not an executable file, or is linked to another MPI library, or mpirun cannot be "
     "started"},
    {"127", "run: the program or mpirun is not found"},
    {"130", "replay: interrupted; what was replayed by then is printed"},
    {"any other", "run: mpirun's. mpirun may also return one of those above"}};

std::vector<std::string> split(const std::string& text, std::string_view separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return parts;
}

/// One line: the help's own line breaks are for a terminal.
std::string joined(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  const auto first = text.find_first_not_of(' ');
  const auto last = text.find_last_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
}

std::string without_full_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  entry.positional = option.get_positional();
  entry.required = option.get_required();
  entry.several = option.get_items_expected_max() > 1;
  entry.description = option.get_description();
  entry.default_text = option.get_default_str();
  if (entry.positional) {
    entry.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  }
  // Behind a colon CLI11 names the checks.
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    entry.value = type.substr(0, type.find(':'));
  }
  return entry;
}

CommandEntry entry_of(const CLI::App& app, std::string name) {
  CommandEntry entry;
  entry.name = std::move(name);
  entry.summary = without_full_stop(app.get_description());
  entry.runs_program = app.get_prefix_command();
  for (const std::string& paragraph : split(app.get_footer(), "\n\n")) {
    const std::string text = joined(paragraph);
    if (text.starts_with(kExitMark)) {
      entry.exit_codes = split(without_full_stop(text.substr(kExitMark.size())), "; ");
    } else if (!text.empty()) {
      entry.paragraphs.push_back(text);
    }
  }
  for (const CLI::Option* option : app.get_options()) entry.options.push_back(entry_of(*option));
  return entry;
}

}  // namespace

std::vector<CommandEntry> catalogue(const CLI::App& app) {
  std::vector<CommandEntry> all = {entry_of(app, app.get_name())};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_group().empty()) all.push_back(entry_of(*sub, sub->get_name()));
  }
  return all;
}

std::span<const ExitText> exit_texts() {
  return kExitTexts;
}

}  // namespace offramp::tool
