// Generates manual pages, and the option reference in Markdown.
#include <fmt/format.h>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/text_format.hpp"
#include "offramp/version.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/shell/catalogue.hpp"

namespace offramp::tool {
namespace {

constexpr const char* kAbout =
    "Offramp runs the messages and collectives of an unmodified MPI program on software models of "
    "communication hardware and reports the time that the hardware would need.";
constexpr const char* kFileAbout =
    "Settings of Offramp, in TOML. The file is offramp.toml in the working directory, or the one that "
    "OFFRAMP_CONFIG names. Environment variables override the file, and options of offramp run override "
    "both. Numbers may carry a unit, in quotes: \"2.5us\", \"64K\", \"25Gb/s\". offramp info -c prints a "
    "complete file with every key at its default.";

std::string unit_of(const Parameter& p) {
  return p.unit.empty() || p.unit == "1" ? std::string() : " " + std::string(p.unit);
}

std::string default_or_empty(std::string_view text) {
  return text.empty() ? std::string("empty") : std::string(text);
}

std::string command_line(const CommandEntry& command, bool program) {
  std::string line = program ? command.name : "offramp " + command.name;
  line += " [OPTIONS]";
  for (const OptionEntry& option : command.options) {
    if (option.positional)
      line += option.required ? " " + option.names.front() : " [" + option.names.front() + "]";
  }
  if (program) line += " SUBCOMMAND";
  if (command.runs_program) line += " [--] COMMAND [ARGUMENTS]";
  return line;
}

// --- troff ---

/// Escapes text for troff: no line becomes a request.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '|') {
      out += "|\\:";  // allows a line break in a long choice
    } else {
      out += c;
    }
  }
  const bool request = out.starts_with('.') || out.starts_with('\'');
  return request ? "\\&" + out : out;
}

class Page {
 public:
  Page(std::string_view name, int section, std::string_view summary)
      : text_(fmt::format(".TH {0} {1} \"\" \"offramp {2}\" \"Offramp\"\n.ad l\n.SH NAME\n{3} \\- {4}\n",
                          in_capitals(name), section, OFFRAMP_VERSION, troff(name), troff(summary))) {}

  void heading(std::string_view text) { text_ += fmt::format(".SH \"{}\"\n", text); }
  void synopsis(std::string_view line) { text_ += fmt::format(".nf\n{}\n.fi\n", troff(line)); }
  void paragraph(std::string_view text) { text_ += fmt::format(".PP\n{}\n", troff(text)); }
  /// A term with its value and description.
  void item(std::string_view term, std::string_view value, std::string_view text) {
    text_ += fmt::format(".TP\n\\fB{}\\fR", troff(term));
    if (!value.empty()) text_ += fmt::format(" \\fI{}\\fR", troff(value));
    text_ += fmt::format("\n{}\n", troff(text));
  }
  void add_line(std::string_view text) { text_ += fmt::format(".br\n{}\n", troff(text)); }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static std::string in_capitals(std::string_view name) {
    std::string out = troff(name);
    for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return out;
  }

  std::string text_;
};

void add_options(Page& page, const CommandEntry& command) {
  page.heading("OPTIONS");
  for (const OptionEntry& option : command.options) {
    const std::string text = default_or_empty(option.description);
    page.item(fmt::format("{}", fmt::join(option.names, ", ")), option.positional ? "" : option.value, text);
    if (!option.default_text.empty()) page.add_line("default: " + option.default_text);
  }
}

std::string page_name(const CommandEntry& command, bool program) {
  return program ? command.name : "offramp-" + command.name;
}

std::string command_page(const CommandEntry& command) {
  Page page(page_name(command, false), 1, command.summary);
  page.heading("SYNOPSIS");
  page.synopsis(command_line(command, false));
  if (!command.paragraphs.empty()) page.heading("DESCRIPTION");
  for (const std::string& paragraph : command.paragraphs) page.paragraph(paragraph);
  add_options(page, command);
  if (!command.exits.empty()) page.heading("EXIT STATUS");
  for (const ExitMeaning& exit : command.exits) page.item(exit_label(exit.code), "", meaning_of(exit));
  page.heading("SEE ALSO");
  page.paragraph("offramp(1), offramp.toml(5)");
  return page.text();
}

std::string program_page(const std::vector<CommandEntry>& all) {
  const CommandEntry& program = all.front();
  Page page(program.name, 1, program.summary);
  page.heading("SYNOPSIS");
  page.synopsis(command_line(program, true));
  page.heading("DESCRIPTION");
  page.paragraph(kAbout);
  page.heading("SUBCOMMANDS");
  for (std::size_t i = 1; i < all.size(); ++i) page.item(all[i].name, "", all[i].summary);
  add_options(page, program);
  page.heading("EXIT STATUS");
  for (const ExitText& exit : exit_texts(all)) page.item(exit.code, "", exit.text);
  page.heading("ENVIRONMENT");
  for (const Key& key : configuration_keys()) {
    if (!key.variable.empty()) page.item(key.variable, "", key.description);
  }
  page.paragraph("Parameters of backends have variables as well: see offramp.toml(5).");
  page.heading("SEE ALSO");
  std::string pages;
  for (std::size_t i = 1; i < all.size(); ++i) pages += page_name(all[i], false) + "(1), ";
  page.paragraph(pages + "offramp.toml(5), mpirun(1)");
  return page.text();
}

std::string file_page(const Registry& registry) {
  Page page("offramp.toml", 5, "settings of offramp");
  page.heading("DESCRIPTION");
  page.paragraph(kFileAbout);
  page.heading("KEYS");
  for (const Key& key : configuration_keys()) {
    if (key.path.empty()) continue;
    page.item(key.path, "", key.description);
    page.add_line(fmt::format("default: {}; allowed: {}", default_or_empty(key.default_text),
                              allowed_text(key, registry)));
    if (!key.variable.empty()) page.add_line(fmt::format("variable: {}", key.variable));
  }
  for (const BackendDescription* backend : registry.all()) {
    page.heading(fmt::format("SECTION [{}]", backend->name));
    page.paragraph(backend->description);
    for (const Parameter& p : backend->parameters) {
      page.item(p.name, "", p.description);
      page.add_line(fmt::format("default: {}{}; allowed: {}", default_text(p), unit_of(p), allowed_text(p)));
      page.add_line(fmt::format("source: {}", p.source));
      page.add_line(fmt::format("variable: {}", variable_name(backend->name, p.name)));
    }
  }
  page.heading("SEE ALSO");
  page.paragraph("offramp(1), offramp-info(1), offramp-run(1)");
  return page.text();
}

int write_pages(const std::vector<CommandEntry>& all, const std::string& folder) {
  if (const std::string problem = option_problem("manual", folder + "/offramp.1"); !problem.empty()) {
    warn(problem);
    return kUsage;
  }
  int code = kDone;
  const auto write = [&](const std::string& name, const std::string& text) {
    if (code == kDone) code = write_file(folder + "/" + name, text, Naming::kDerived);
  };
  write("offramp.1", program_page(all));
  for (std::size_t i = 1; i < all.size(); ++i) write(page_name(all[i], false) + ".1", command_page(all[i]));
  write("offramp.toml.5", file_page(Registry(built_in_backends())));
  return code;
}

// --- Markdown ---

/// Escapes text for a table cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

void print_row(std::initializer_list<std::string> cells) {
  fmt::print("| {} |\n", fmt::join(cells, " | "));
}

void print_table_head(std::initializer_list<std::string> names) {
  print_row(names);
  fmt::print("|");
  for (std::size_t i = 0; i < names.size(); ++i) fmt::print("---|");
  fmt::print("\n");
}

std::string code(std::string_view text) {
  return "`" + cell(text) + "`";
}

std::string sentence(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

void print_command(const CommandEntry& command, bool program) {
  fmt::print("\n## {}{}\n\n{}\n\n```\n{}\n```\n\n", program ? "" : "offramp ", command.name,
             sentence(command.summary), command_line(command, program));
  for (const std::string& paragraph : command.paragraphs) fmt::print("{}\n\n", cell(paragraph));
  print_table_head({"option", "value", "default", "what"});
  for (const OptionEntry& option : command.options) {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + code(name);
    print_row({names, option.positional ? "" : cell(option.value), cell(option.default_text),
               cell(option.description)});
  }
  std::vector<std::string> exits;
  for (const ExitMeaning& exit : command.exits)
    exits.push_back(fmt::format("{} {}", exit_label(exit.code), meaning_of(exit)));
  if (!exits.empty()) fmt::print("\nExit codes: {}.\n", cell(fmt::format("{}", fmt::join(exits, "; "))));
}

void print_keys_of_file(const Registry& registry) {
  fmt::print("\n## Keys of offramp.toml\n\n");
  print_table_head({"key", "variable", "default", "allowed", "what"});
  for (const Key& key : configuration_keys()) {
    print_row({key.path.empty() ? "variable only" : code(key.path),
               key.variable.empty() ? "file only" : code(key.variable),
               code(default_or_empty(key.default_text)), cell(allowed_text(key, registry)),
               cell(key.description)});
  }
}

void print_parameters(const BackendDescription& backend) {
  fmt::print("\n## Section [{}]\n\n{}. Variables: `{}` and so on.\n\n", backend.name,
             cell(backend.description), variable_name(backend.name, backend.parameters.front().name));
  print_table_head({"key", "default", "allowed", "what", "source of the default"});
  for (const Parameter& p : backend.parameters) {
    print_row({code(p.name), code(default_text(p)) + unit_of(p), cell(allowed_text(p)), cell(p.description),
               cell(p.source)});
  }
}

int print_reference(const std::vector<CommandEntry>& all) {
  const Registry registry(built_in_backends());
  fmt::print(
      "# Options, keys and parameters\n\n"
      "Made by `offramp manual markdown` from the tables that the program itself uses. How they work "
      "together is in\n[configuration.md](configuration.md).\n");
  for (const CommandEntry& command : all) print_command(command, &command == &all.front());
  fmt::print("\n## Exit codes\n\n");
  print_table_head({"code", "when"});
  for (const ExitText& exit : exit_texts(all)) print_row({exit.code, cell(exit.text)});
  print_keys_of_file(registry);
  for (const BackendDescription* backend : registry.all()) {
    if (!backend->parameters.empty()) print_parameters(*backend);
  }
  return kDone;
}

class ManualCommand final : public Command {
 public:
  explicit ManualCommand(CLI::App& app) : Command(app) {
    app.add_option("format", format_, "man: write manual pages into FOLDER; markdown: print one page")
        ->type_name("FORMAT")
        ->required();
    app.add_option("folder", folder_, "the folder of the manual pages")->type_name("FOLDER");
  }
  int execute(std::vector<std::string>) override {
    const std::vector<CommandEntry> all = catalogue(whole());
    if (format_ == "man") return write_pages(all, folder_);
    if (format_ == "markdown") return print_reference(all);
    constexpr std::string_view kFormats[] = {"man", "markdown"};
    warn(fmt::format("unknown format {}{}", in_quotes(format_), suggestion(format_, kFormats)));
    return kUsage;
  }

 private:
  std::string format_;
  std::string folder_;
};

const Registered<ManualCommand> manual_command({.name = "manual",
                                                .place = 120,
                                                .summary = "make the manual pages or the option reference",
                                                .exits = {{kUsage}, {kNotWritten}},
                                                .hidden = true});  // for the build

}  // namespace
}  // namespace offramp::tool
