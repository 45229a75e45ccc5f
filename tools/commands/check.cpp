// A verdict on each MPI function that a program imports, by the ELF files of the program and its libraries,
// except libraries loaded by dlopen(). Traces and recordings are rehearsed instead (check_program.cpp).
#include "tools/launch/check.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/mpi_family.hpp"
#include "lib/base/text_format.hpp"
#include "offramp/generated/function_list.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/launch/elf_image.hpp"
#include "tools/launch/launcher.hpp"

namespace offramp::tool {
namespace {

enum class CallTreatment : std::uint8_t { kOffloaded, kCarried, kHost, kNative, kRisk };

/// In the order of CallTreatment.
constexpr std::string_view kTreatments[] = {"offloaded", "carried", "host algorithm", "native", "risk"};
static_assert(std::size(kTreatments) == static_cast<std::size_t>(CallTreatment::kRisk) + 1);

std::string_view to_string(CallTreatment treatment) {
  return kTreatments[static_cast<std::size_t>(treatment)];
}

/// "mpi_send" for MPI_Send, PMPI_Send, mpi_send_, and mpi_send_f08_. `nullopt` for other symbols.
std::optional<std::string> mpi_name(const std::string& symbol, bool& fortran) {
  std::string name = in_lower_case(symbol.substr(0, symbol.find('@')));
  if (name.starts_with('p')) name.erase(0, 1);
  if (!name.starts_with("mpi_") && !name.starts_with("mpix_")) return std::nullopt;
  if (symbol.starts_with("mpi") || symbol.starts_with("pmpi")) {
    fortran = true;
    while (name.ends_with('_')) name.pop_back();
    if (name.ends_with("_f08")) name.resize(name.size() - 4);
  }
  if (name.starts_with("mpi_fortran_") || name == "mpi" || name == "mpix") return std::nullopt;
  return name;
}

/// All variants of a function map to the blocking operation.
std::optional<OperationKind> operation_of(std::string_view name) {
  std::string_view plain = name.substr(name.find('_') + 1);
  for (const std::string_view form : {"_c", "_init"}) {
    if (plain.ends_with(form)) plain.remove_suffix(form.size());
  }
  for (const std::string_view candidate : {plain, plain.starts_with('i') ? plain.substr(1) : plain}) {
    if (const auto kind = kind_of_function(candidate)) return kind;
  }
  return std::nullopt;
}

const ListedFunction* listed(const std::string& name) {
  const auto* const found =
      std::find_if(std::begin(kFunctionList), std::end(kFunctionList),
                   [&](const ListedFunction& f) { return in_lower_case(f.name) == name; });
  return found != std::end(kFunctionList) ? found : nullptr;
}

struct Verdicts {
  bool all = true;                                       // every backend, not only one
  std::map<OperationKind, std::vector<std::string>> by;  // backends besides the host, by operation

  Verdicts(const Registry& registry, const Configuration& configuration, const std::string& only)
      : all(only.empty()) {
    for (const BackendDescription* description : registry.all()) {
      if (is_baseline(description->name) || (!only.empty() && description->name != only)) continue;
      Result<Settings> settings = configuration.settings_for(*description);
      if (!settings) continue;
      const std::unique_ptr<Backend> backend = description->create({0, 2, *settings, {}, nullptr});
      if (backend == nullptr) continue;
      for (int i = 0; i < static_cast<int>(OperationKind::kCount); ++i) {
        Operation operation;
        operation.kind = static_cast<OperationKind>(i);
        operation.element = ElementType::kInt32;
        operation.function = ReduceFunction::kSum;
        operation.bytes = operation.kind == OperationKind::kBarrier ? 0 : 64;
        operation.elements = operation.bytes / 4;
        if (backend->supports(operation).yes()) by[operation.kind].emplace_back(description->name);
      }
    }
  }
};

struct Row {
  std::string name;
  CallTreatment treatment = CallTreatment::kNative;
  std::string detail;
};

/// A function's name in MPI's spelling.
std::string spelled(const std::string& name) {
  if (const ListedFunction* function = listed(name)) return std::string(function->name);
  std::string text = name;
  const std::size_t begin = text.find('_') + 1;
  for (std::size_t i = 0; i < text.size() && i <= begin; ++i) {
    if (text[i] >= 'a' && text[i] <= 'z') text[i] = static_cast<char>(text[i] - 'a' + 'A');
  }
  return text;
}

Row row_for(const std::string& name, const Verdicts& verdicts) {
  const ListedFunction* known = listed(name);
  // An extension may send on communicators that Offramp carries. Open MPI 4.1's unlisted ones only query.
  if (known == nullptr && name.starts_with("mpix_") && !name.starts_with("mpix_query_"))
    return {name, CallTreatment::kRisk, "an unknown extension: its messages may interfere with Offramp's"};
  if (known == nullptr || !known->own) return {name, CallTreatment::kNative, {}};
  const std::optional<OperationKind> operation = operation_of(name);
  if (!operation) return {name, CallTreatment::kCarried, "handled with the operations it belongs to"};
  const auto backends = verdicts.by.find(*operation);
  if (backends == verdicts.by.end())
    return {name, CallTreatment::kHost,
            verdicts.all ? "no hardware supports it" : "the chosen hardware does not support it"};
  return {name, CallTreatment::kOffloaded, fmt::format("{}", fmt::join(backends->second, ", "))};
}

/// The program and its libraries, recursively, except the MPI library.
struct Survey {
  std::set<std::string> functions;
  std::vector<std::string> images;
  std::vector<std::string> missing;
  std::string mpi;        // name of the MPI library
  std::string sanitizer;  // path of a shared AddressSanitizer library
  bool fortran = false;
  bool c = false;
  bool own_mpi = false;  // it defines MPI functions itself
  bool is_static = false;
  bool starts = false;  // it or a library starts programs
  bool loads = false;   // it or a library calls dlopen

  std::string walk(const std::string& path, bool program) {
    Result<ElfImage> image = read_elf(path);
    if (!image) return program ? image.error() : std::string();
    images.push_back(path);
    is_static = is_static || image->is_static;
    for (const std::string& symbol : image->imports) {
      loads = loads || symbol.starts_with("dlopen");
      starts = starts || symbol.starts_with("exec") || symbol.starts_with("posix_spawn");
      bool in_fortran = false;
      const auto name = mpi_name(symbol, in_fortran);
      if (!name) continue;
      functions.insert(*name);
      (in_fortran ? fortran : c) = true;
    }
    own_mpi = own_mpi || std::find(image->definitions.begin(), image->definitions.end(), "MPI_Init") !=
                             image->definitions.end();
    for (const std::string& needed : image->needed) {
      if (is_mpi(needed)) {
        if (mpi.empty() || needed.starts_with("libmpi.so") || needed.starts_with("libmpich.so")) mpi = needed;
        continue;
      }
      const std::string found = find_library(needed, *image);
      if (needed.starts_with("libasan.so") || needed.starts_with("libclang_rt.asan")) sanitizer = found;
      if (found.empty()) {
        missing.push_back(needed);
      } else if (std::find(images.begin(), images.end(), found) == images.end()) {
        walk(found, false);
      }
    }
    return {};
  }

  static bool is_mpi(const std::string& name) {
    return name.starts_with("libmpi") || name.starts_with("libopen-") || name.starts_with("libmpich") ||
           name.starts_with("libmca_");
  }
  /// Why Offramp cannot intercept the program, after its name. Empty if it can.
  [[nodiscard]] std::string obstacle() const {
    if (own_mpi_only())
      return "contains its own MPI library: link it to a shared one, which Offramp can intercept";
    if (is_static) return "is linked statically: Offramp cannot intercept its MPI calls";
    if (mpi.empty() && functions.empty())
      return "is not linked to MPI, or loads it only at run time, as interpreters do";
    if (mpi.empty()) return "calls MPI functions but is not linked to an MPI library";
    return other_mpi();
  }
  [[nodiscard]] bool own_mpi_only() const { return mpi.empty() && own_mpi; }
  [[nodiscard]] std::string other_mpi() const {
    const std::string_view family = family_of_mpi_library(mpi);
    if (family.empty() || !library_path(family).empty() || library_path().empty()) return {};
    return fmt::format(
        "is linked to {} ({}), but this Offramp was built for {}; rebuild Offramp where {} is installed, too",
        name_of_mpi_family(family), mpi, name_of_mpi_family(kMpiFamily), name_of_mpi_family(family));
  }
};

std::string languages(const Survey& survey) {
  if (survey.c && survey.fortran) return "C and Fortran";
  return survey.fortran ? "Fortran" : "C";
}

void print_json(const CheckOptions& options, const Survey& survey, const std::string& obstacle,
                const std::vector<Row>& rows) {
  nlohmann::ordered_json all = {
      {"program", options.program},         {"mpi", survey.mpi},    {"language", languages(survey)},
      {"works", obstacle.empty()},          {"obstacle", obstacle}, {"missing_libraries", survey.missing},
      {"preloaded_first", survey.sanitizer}};
  all["functions"] = nlohmann::ordered_json::array();
  for (const Row& row : rows)
    all["functions"].push_back(
        {{"name", spelled(row.name)}, {"how", to_string(row.treatment)}, {"detail", row.detail}});
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const CheckOptions& options, const Survey& survey, const std::vector<Row>& rows) {
  fmt::print("{}: {}, MPI from {}, {} MPI functions\n", printable(options.program), languages(survey),
             survey.mpi, rows.size());
  if (!survey.sanitizer.empty())
    fmt::print(
        "note: AddressSanitizer has to be loaded before Offramp: offramp run preloads {} first; under "
        "another launcher, put it first in LD_PRELOAD\n",
        printable(survey.sanitizer));
  for (const std::string& name : survey.missing)
    fmt::print("note: {} was not found; MPI functions that it calls are not listed\n", printable(name));
  std::size_t width = 28;
  for (const Row& row : rows) width = std::max(width, printable(spelled(row.name)).size());
  for (const Row& row : rows)
    fmt::print("  {:<{}} {:<15} {}\n", printable(spelled(row.name)), width, to_string(row.treatment),
               row.detail);
}

}  // namespace

MpiUse survey_of(const std::string& path) {
  Survey survey;
  const std::string problem = survey.walk(path, true);  // a script may still start an ELF program
  const std::string obstacle = survey.obstacle();
  return {std::string(family_of_mpi_library(survey.mpi)),
          survey.own_mpi_only() ? obstacle : survey.other_mpi(),
          survey.sanitizer,
          problem.empty() && !obstacle.empty() ? fmt::format("{} {}", in_quotes(path), obstacle) : problem,
          problem.empty() && !survey.is_static && survey.missing.empty() && survey.mpi.empty() &&
              survey.functions.empty() && !survey.own_mpi && !survey.loads,
          survey.starts};
}

namespace {

int check(const CheckOptions& options) {
  if (const auto code = check_program(options)) return *code;
  Registry registry(built_in_backends());
  ConfigSources config_sources = ConfigSources::of_process();
  config_sources.overrides = options.overrides;
  auto configuration = load_configuration(config_sources, registry);
  if (!configuration) {
    warn(configuration.error());
    return kUsage;
  }
  if (!options.backend.empty() && registry.find(options.backend) == nullptr) {
    warn(fmt::format("unknown backend {}{}", in_quotes(options.backend),
                     suggestion(options.backend, registry.names())));
    return kUsage;
  }
  std::string path = options.program;
  if (path.find('/') == std::string::npos) path = find_program(path);
  if (path.empty()) {
    const bool here = access(options.program.c_str(), F_OK) == 0;
    warn(here ? fmt::format("{} is not in PATH; did you mean ./{}?", in_quotes(options.program),
                            printable(options.program))
              : fmt::format("cannot read {}: {}", printable(options.program), std::strerror(ENOENT)));
    return kUsage;
  }
  if (const std::string sources = settings_read(*configuration); !sources.empty()) warn(sources);
  Survey survey;
  std::string obstacle = survey.walk(path, true);
  if (obstacle.empty() && !survey.obstacle().empty())
    obstacle = fmt::format("{} {}", in_quotes(options.program), survey.obstacle());
  const Verdicts verdicts(registry, *configuration, options.backend);
  std::vector<Row> rows;
  for (const std::string& name : survey.functions) rows.push_back(row_for(name, verdicts));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.treatment < b.treatment; });
  if (options.json) {
    print_json(options, survey, obstacle, rows);
  } else if (obstacle.empty()) {
    print_text(options, survey, rows);
  }
  if (!obstacle.empty()) {
    if (!options.json) warn(obstacle);
    return kUsage;
  }
  const bool risky =
      std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.treatment == CallTreatment::kRisk; });
  return risky ? kDeclined : kDone;
}

class CheckCommand final : public Command {
 public:
  explicit CheckCommand(CLI::App& app) : Command(app), keys_(app, kWorldKeys) {
    add_value(app, "program", options_.program, "PROGRAM|FILE|PATTERN",
              "a compiled program, a recording, a trace, or a pattern")
        ->required();
    add_value(app, "--backend", options_.backend, "BACKEND", "check for this backend only");
    add_json(app, options_.json);
  }
  int execute(std::vector<std::string>) override {
    const std::string problem = keys_.collect(names_in({options_.backend}), options_.overrides);
    return problem.empty() ? check(options_) : refuse(problem);
  }

 private:
  KeyOptions keys_;
  CheckOptions options_;
};

const Registered<CheckCommand> check_command(
    {.name = "check",
     .place = 40,
     .summary = "list which MPI calls of a program Offramp carries, or check that a trace is consistent",
     .exits = {
         {kDone, "Offramp can run the program, or the trace is consistent"},
         {kUsage,
          "Offramp cannot intercept the program's calls, or the command line or the configuration is wrong"},
         {kDeclined, "Offramp can run the program, with a risk that the output names"},
         {kFoundFailures, "the recording, trace, or pattern is inconsistent"}}});

}  // namespace

}  // namespace offramp::tool
