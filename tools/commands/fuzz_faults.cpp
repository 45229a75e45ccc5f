// offramp fuzz-faults: runs a program under many different faults of the modelled wires, and makes the
// shortest script of what broke it.

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/base/format.hpp"
#include "lib/base/registry/registry.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/launch/child.hpp"

namespace offramp::tool {
namespace {

struct FuzzOptions {
  std::vector<std::string> backends;
  std::vector<std::string> kinds;
  std::vector<std::string> rates;
  int ranks = 2;
  int runs = 100;
  int first_seed = 1;
  double time_limit = 60;  // seconds, of one run
  std::string expect;      // has to be in the output of a good run
  std::string folder;      // where scripts of failures go
  int shrink_runs = 200;   // at most, per failure; 0: failures are not shrunk
  bool json = false;
  bool verbose = false;
  std::vector<std::string> settings;  // KEY=VALUE
  std::vector<std::string> command;
};

enum class Class : std::uint8_t { kOk, kNoFault, kError, kWrong, kHang, kCrash };
constexpr std::array<const char*, 6> kClassNames = {"ok", "no fault", "MPI error", "wrong", "hang", "crash"};

const char* name_of(Class c) {
  return kClassNames[static_cast<std::size_t>(c)];
}
/// Data and errors are right, or there was no fault that could spoil them; anything else is a fault of the
/// model or of the program.
bool is_good(Class c) {
  return c == Class::kOk || c == Class::kNoFault || c == Class::kError;
}

using Lines = std::vector<std::string>;

struct Case {
  std::string backend;
  std::string kind;
  std::string rate;
  int seed = 0;
};

std::string text_of(const Case& c) {
  return fmt::format("{} {} {} seed {}", c.backend, c.kind, c.rate, c.seed);
}

struct Outcome {
  Class kind = Class::kOk;
  ChildResult child;
};

/// A folder of our own under TMPDIR, gone at the end.
class Workplace {
 public:
  Workplace() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "offramp-faults-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] bool ok() const { return !path_.empty(); }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Lines read_lines(const std::string& path) {
  std::ifstream file(path);
  Lines lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  // The ranks of both ends may have seen the same fault.
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

bool write_lines(const std::string& path, const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return write_file(path, text) == kDone;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool crashed(const ChildResult& child) {
  // Open MPI's words for what a rank died of, on two lines from 5.0 on. Signals 9 and 15 are its own way to
  // end the others.
  if (contains(child.output, "Process received signal")) return true;
  for (const int signal : {4, 6, 7, 8, 11}) {
    for (const char gap : {' ', '\n'}) {
      if (contains(child.output, fmt::format("exited on{}signal {} ", gap, signal))) return true;
    }
    if (contains(child.output, fmt::format(" (signal {})\n", signal))) return true;  // Hydra's words
  }
  return child.status > 128 && child.status != 128 + 15;
}

class Campaign {
 public:
  explicit Campaign(const FuzzOptions& options) : options_(options) {}

  int run() {
    std::error_code error;
    self_ = std::filesystem::read_symlink("/proc/self/exe", error).string();
    if (self_.empty() || !place_.ok()) {
      complain("cannot make a folder for the records; is TMPDIR right?");
      return kBroken;
    }
    for (const std::string& backend : options_.backends) {
      const Outcome whole = execute(backend, {}, kFirstRun);
      if (whole.kind == Class::kOk) continue;
      complain(fmt::format("the program fails over {} without any fault ({}):\n{}", backend,
                           name_of(whole.kind), whole.child.output));
      return kUsage;
    }
    for (int i = 0; i < options_.runs; ++i) one(case_of(i));
    report();
    if (!failures_.empty()) return kFoundFailures;
    if (faults_ > 0) return kDone;
    complain("no fault happened, so nothing was tried; raise --rates or --runs");
    return kDeclined;
  }

 private:
  struct Failure {
    Case of;
    Class kind = Class::kWrong;
    std::size_t recorded = 0;
    bool again = false;
    Lines script;
    std::string file;
    std::string output;
  };

  struct Run {
    Case of;
    Class kind = Class::kOk;
    std::size_t faults = 0;
    double seconds = 0;
  };

  static constexpr double kFirstRun = 60;  // more seconds, to find the program and its libraries

  /// The seed chooses all of it, so that campaigns with other seeds meet other combinations. Backends change
  /// fastest, then kinds, then rates.
  [[nodiscard]] Case case_of(int i) const {
    Case c;
    c.seed = options_.first_seed + i;
    int left = c.seed;
    const auto pick = [&left](const std::vector<std::string>& of) {
      const auto n = static_cast<int>(of.size());
      const std::string& word = of[static_cast<std::size_t>(left % n)];
      left /= n;
      return word;
    };
    c.backend = pick(options_.backends);
    c.kind = pick(options_.kinds);
    c.rate = pick(options_.rates);
    return c;
  }

  [[nodiscard]] Outcome execute(const std::string& backend, const Lines& settings,
                                double patience = 0) const {
    Lines words = {self_, "run", "-n", fmt::format("{}", options_.ranks), "--backend", backend};
    const auto set = [&words](const std::string& setting) { words.insert(words.end(), {"--set", setting}); };
    set("summary=false");
    for (const std::string& setting : options_.settings) set(setting);
    for (const std::string& setting : settings) set(setting);
    words.emplace_back("--");
    words.insert(words.end(), options_.command.begin(), options_.command.end());
    Outcome outcome{Class::kOk, run_child(words, options_.time_limit + patience)};
    // Open MPI 4's mpirun now and then takes a rank that has ended well for one that vanished
    // (github.com/open-mpi/ompi/issues/7833). Says nothing about the program.
    if (contains(outcome.child.output, "with PID 0 on") &&
        contains(outcome.child.output, "exiting improperly"))
      outcome.child = run_child(words, options_.time_limit + patience);
    outcome.kind = judge(outcome.child);
    return outcome;
  }

  [[nodiscard]] Class judge(const ChildResult& child) const {
    if (child.timed_out) return Class::kHang;
    if (crashed(child)) return Class::kCrash;
    // What a rank says once when it gets an MPI error for a fault: what its program makes of it is its own.
    if (contains(child.output, "offramp: rank ") && contains(child.output, " gave up ")) return Class::kError;
    return child.status == 0 && contains(child.output, options_.expect) ? Class::kOk : Class::kWrong;
  }

  void one(const Case& c) {
    const std::string record = place_.file("record");
    std::error_code ignored;
    std::filesystem::remove(record, ignored);
    Lines settings = {fmt::format("faults.seed={}", c.seed), "faults.record=" + record};
    if (c.kind == "all") {
      for (const char* kind : kEvenly) settings.push_back(fmt::format("faults.{}={}", kind, c.rate));
    } else {
      settings.push_back(fmt::format("faults.{}={}", c.kind, c.rate));
    }
    Outcome outcome = execute(c.backend, settings);
    const Lines happened = read_lines(record);
    if (outcome.kind == Class::kOk && happened.empty()) outcome.kind = Class::kNoFault;
    ++counts_[static_cast<std::size_t>(outcome.kind)];
    longest_ = std::max(longest_, outcome.child.seconds);
    faults_ += happened.size();
    runs_.push_back({c, outcome.kind, happened.size(), outcome.child.seconds});
    if (options_.verbose)
      complain(fmt::format("{}: {} faults: {}, {:.1f} s", text_of(c), happened.size(), name_of(outcome.kind),
                           outcome.child.seconds));
    if (is_good(outcome.kind)) return;
    complain(fmt::format("{}: {}", text_of(c), name_of(outcome.kind)));
    Failure failure{c, outcome.kind, happened.size(), false, happened, {}, outcome.child.output};
    if (options_.shrink_runs > 0) shrink(failure);
    failure.file = fmt::format("{}/faults-{}-{}-{}.txt", options_.folder, c.backend, c.kind, c.seed);
    if (!write_lines(failure.file, failure.script)) complain(fmt::format("cannot write {}", failure.file));
    failures_.push_back(std::move(failure));
  }

  bool fails_again(const Failure& failure, const Lines& script) {
    const std::string path = place_.file("script");
    --shrinks_left_;
    if (!write_lines(path, script)) return false;
    return execute(failure.of.backend, {"faults.script=@" + path}).kind == failure.kind;
  }

  /// Delta debugging (Zeller and Hildebrandt, ddmin): leaves out parts, from halves down to single faults, as
  /// long as the program still fails in the same way.
  void shrink(Failure& failure) {
    shrinks_left_ = options_.shrink_runs;
    failure.again = fails_again(failure, failure.script);
    if (!failure.again) return;
    Lines& script = failure.script;
    for (std::size_t parts = 2; script.size() > 1 && shrinks_left_ > 0;) {
      bool shorter = false;
      for (std::size_t i = 0; i < parts && shrinks_left_ > 0; ++i) {
        const auto begin = script.begin() + static_cast<std::ptrdiff_t>(script.size() * i / parts);
        const auto end = script.begin() + static_cast<std::ptrdiff_t>(script.size() * (i + 1) / parts);
        Lines rest(script.begin(), begin);
        rest.insert(rest.end(), end, script.end());
        if (!fails_again(failure, rest)) continue;
        script = std::move(rest);
        shorter = true;
        break;
      }
      if (shorter) {
        parts = std::max<std::size_t>(2, parts - 1);
      } else if (parts < script.size()) {
        parts = std::min(script.size(), parts * 2);
      } else {
        return;
      }
      parts = std::min(parts, std::max<std::size_t>(1, script.size()));
    }
  }

  /// Shows it again.
  [[nodiscard]] std::string command_of(const Failure& f) const {
    std::string line = fmt::format("offramp run -n {} --backend {}", options_.ranks, f.of.backend);
    for (const std::string& setting : options_.settings)
      line += fmt::format(" --set {}", shell_word(setting));
    line += fmt::format(" --set {} --", shell_word("faults.script=@" + f.file));
    for (const std::string& word : options_.command) line += fmt::format(" {}", shell_word(word));
    return line;
  }

  void report() const {
    if (options_.json) return report_json();
    fmt::print("{}, {}, longest {:.1f} s\n", counted(static_cast<std::uint64_t>(options_.runs), "run"),
               counted(faults_, "fault"), longest_);
    for (std::size_t i = 0; i < counts_.size(); ++i) fmt::print("  {:<10} {}\n", kClassNames[i], counts_[i]);
    for (const Failure& f : failures_) {
      fmt::print("\n{}: {}, {}", text_of(f.of), name_of(f.kind), counted(f.recorded, "fault"));
      if (options_.shrink_runs > 0 && !f.again)
        fmt::print("; their script alone does not make it fail again");
      fmt::print("\n  script of {} in {}:\n", f.script.size(), f.file);
      constexpr std::size_t kShown = 10;
      for (std::size_t i = 0; i < std::min(kShown, f.script.size()); ++i) fmt::print("    {}\n", f.script[i]);
      if (f.script.size() > kShown) fmt::print("    ...\n");
      fmt::print("  {}\n", command_of(f));
    }
  }

  void report_json() const {
    nlohmann::ordered_json json;
    json["runs"] = options_.runs;
    json["faults"] = faults_;
    json["longest_s"] = longest_;
    for (std::size_t i = 0; i < counts_.size(); ++i) json["results"][kClassNames[i]] = counts_[i];
    json["each"] = nlohmann::ordered_json::array();
    for (const Run& r : runs_)
      json["each"].push_back({{"backend", r.of.backend},
                              {"kind", r.of.kind},
                              {"rate", r.of.rate},
                              {"seed", r.of.seed},
                              {"result", name_of(r.kind)},
                              {"faults", r.faults},
                              {"seconds", r.seconds}});
    json["failures"] = nlohmann::ordered_json::array();
    for (const Failure& f : failures_)
      json["failures"].push_back({{"backend", f.of.backend},
                                  {"kind", f.of.kind},
                                  {"rate", f.of.rate},
                                  {"seed", f.of.seed},
                                  {"result", name_of(f.kind)},
                                  {"recorded", f.recorded},
                                  {"again", f.again},
                                  {"script", f.script},
                                  {"file", f.file},
                                  {"output", f.output}});
    // Programs may print anything, and JSON is UTF-8.
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }

  // Without outages, which a run does not have.
  static constexpr std::array kEvenly = {"loss", "duplication", "reordering", "corruption", "delay"};

  const FuzzOptions& options_;
  Workplace place_;
  std::string self_;
  std::array<std::uint64_t, kClassNames.size()> counts_{};
  std::uint64_t faults_ = 0;
  double longest_ = 0;
  int shrinks_left_ = 0;
  std::vector<Run> runs_;
  std::vector<Failure> failures_;
};

class FuzzCommand final : public Command {
 public:
  explicit FuzzCommand(CLI::App& app) : Command(app) {
    const auto list = [&app](const char* name, std::vector<std::string>& values, const char* type,
                             const char* description) {
      return app.add_option(name, values, description)
          ->type_name(type)
          ->delimiter(',')
          ->allow_extra_args(false)
          ->capture_default_str();
    };
    for (const BackendDescription* backend : built_in_backends())
      options_.backends.emplace_back(backend->name);
    options_.kinds = {"loss", "duplication", "reordering", "corruption", "delay", "all"};
    options_.rates = {"1e-4", "1e-3", "1e-2", "1e-1"};
    options_.folder = ".";
    list("--backend", options_.backends, "NAMES", "the hardware");
    const auto known = CLI::IsMember(options_.kinds);
    list("--kinds", options_.kinds, "KINDS", "the faults")->check(known);
    list("--rates", options_.rates, "RATES",
         "their probabilities; with the kind all, the rate of each kind (at most 0.2)")
        ->check(CLI::Range(0.0, 1.0));
    add_ranks(app, options_.ranks)->capture_default_str();
    app.add_option("--runs", options_.runs, "number of runs")
        ->type_name("N")
        ->check(CLI::Range(1, 1 << 30))
        ->capture_default_str();
    app.add_option("--seed", options_.first_seed, "seed of the first run; each further run counts up")
        ->type_name("N")
        ->check(CLI::Range(0, 1 << 30))
        ->capture_default_str();
    app.add_option("--time-limit", options_.time_limit, "a run that takes longer counts as a hang")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 1e6))
        ->capture_default_str();
    app.add_option("--expect", options_.expect, "a text that every run without an MPI error prints")
        ->type_name("TEXT");
    app.add_option("--folder", options_.folder, "folder for the scripts of failures")
        ->type_name("FOLDER")
        ->check(CLI::ExistingDirectory)
        ->capture_default_str();
    app.add_option("--shrink-runs", options_.shrink_runs,
                   "number of runs to spend on making a script shorter")
        ->type_name("N")
        ->check(CLI::Range(0, 1 << 20))
        ->capture_default_str();
    app.add_option("--set", options_.settings, "set a key as in the file; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    add_json(app, options_.json);
    app.add_flag("-v,--verbose", options_.verbose, "print every run's result");
  }
  int execute(std::vector<std::string> program) override {
    options_.command = std::move(program);
    return Campaign(options_).run();
  }

 private:
  FuzzOptions options_;
};

const Registered<FuzzCommand> fuzz_command(
    {.name = "fuzz-faults",
     .place = 130,
     .summary = "search for wire faults that break a program",
     .about =
         R"(Runs the program again and again, each time with other faults on the modelled wires. A run is good when it ends well, or
with an MPI error for a fault that the hardware's protocol cannot repair. For each failure (wrong, hang, crash) a script
of faults is written that makes it happen again, as short as can be found.)",
     .exits = {{kDone, "all runs were good"},
               {kUsage, "the command line is wrong, or the program fails without faults"},
               {kDeclined, "no fault happened"},
               {kFoundFailures, "some runs ended otherwise than well or with an MPI error"}},
     .runs_program = true});

}  // namespace

}  // namespace offramp::tool
