// Reads what OSU's benchmarks print, and tables of their figures. Both are hostile: any bytes, of any length.
#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/configuration/configuration_file.hpp"
#include "lib/configuration/names.hpp"
#include "tools/measurement.hpp"

namespace offramp::tool {
namespace {

constexpr std::size_t kLargestFile = std::size_t{4} << 20;
constexpr std::size_t kMostFigures = 2000;  // of all files
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr int kMostRanks = 4096;  // whose collectives are modelled
constexpr double kMostValue = 1e12;

enum class BenchmarkKind : std::uint8_t { kLatency, kBandwidth, kRate, kCollective };

struct Benchmark {
  std::string_view program;  // as tables name it
  std::string_view title;    // of its output, behind "OSU MPI"
  BenchmarkKind kind;
  std::string_view operation = {};
};
constexpr std::array kBenchmarks = {
    Benchmark{"osu_latency", "Latency Test", BenchmarkKind::kLatency},
    Benchmark{"osu_bw", "Bandwidth Test", BenchmarkKind::kBandwidth},
    Benchmark{"osu_mbw_mr", "Multiple Bandwidth / Message Rate Test", BenchmarkKind::kRate},
    Benchmark{"osu_bcast", "Broadcast Latency Test", BenchmarkKind::kCollective, "bcast"},
    Benchmark{"osu_reduce", "Reduce Latency Test", BenchmarkKind::kCollective, "reduce"},
    Benchmark{"osu_gather", "Gather Latency Test", BenchmarkKind::kCollective, "gather"},
    Benchmark{"osu_scatter", "Scatter Latency Test", BenchmarkKind::kCollective, "scatter"},
    Benchmark{"osu_allreduce", "Allreduce Latency Test", BenchmarkKind::kCollective, "allreduce"},
    Benchmark{"osu_allgather", "Allgather Latency Test", BenchmarkKind::kCollective, "allgather"},
    Benchmark{"osu_alltoall", "All-to-All Personalized Exchange Latency Test", BenchmarkKind::kCollective,
              "alltoall"}};

template <typename Number>
std::optional<Number> number_in(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

/// The parts between separators; with a blank as separator, the words.
std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = line.find(separator);
    const std::string_view part = trimmed(line.substr(0, end));
    if (separator != ' ' || !part.empty()) parts.push_back(part);
    if (end == std::string_view::npos) return parts;
    line.remove_prefix(end + 1);
  }
}

class OsuFile {
 public:
  OsuFile(const std::string& path, const Placement& placement, Measurement& measurement)
      : path_(path), placement_(placement), measurement_(measurement) {}

  /// What is wrong; empty: all is read.
  std::string read(std::string_view text) {
    const std::size_t before = measurement_.figures.size();
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = trimmed(text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++line_;
      if (const std::string problem = take(line); !problem.empty())
        return fmt::format("{}:{}: {}", path_, line_, problem);
    }
    if (measurement_.figures.size() > before) return {};
    return fmt::format(
        "{} has no figure of osu_latency, osu_bw, osu_mbw_mr or a collective: it is neither their output nor "
        "a "
        "table with the columns {}",
        path_, kColumns);
  }

 private:
  static constexpr std::string_view kColumns = "benchmark,nodes,ranks_per_node,bytes,value";

  std::string take(std::string_view line) {
    if (line == kColumns) {
      is_table_ = true;
      return {};
    }
    if (line.starts_with('#')) return is_table_ ? std::string() : title(line);
    if (line.empty()) return {};
    return is_table_ ? table_row(line) : output_row(line);
  }

  /// "# OSU MPI Allreduce Latency Test v5.6.2"; and "[ pairs: 32 ]" of osu_mbw_mr, which says nothing that is
  /// needed.
  std::string title(std::string_view line) {
    constexpr std::string_view kBegin = "# OSU MPI";
    if (!line.starts_with(kBegin)) return {};
    const std::size_t version = line.rfind(" v");
    const std::string_view name = trimmed(line.substr(0, version).substr(kBegin.size()));
    benchmark_ = nullptr;
    for (const Benchmark& one : kBenchmarks) {
      if (name == one.title) benchmark_ = &one;
    }
    if (benchmark_ == nullptr) {
      measurement_.notes.push_back(
          fmt::format("{}:{}: the figures of {} are not used", path_, line_, in_quotes(name)));
      return {};
    }
    if (benchmark_->kind == BenchmarkKind::kCollective && placement_.ranks == 0)
      return "the output of a collective does not say on how many ranks: give --ranks and --ranks-per-node";
    return {};
  }

  /// Batch systems print their own lines in between: those do not begin with a number.
  std::string output_row(std::string_view line) {
    const std::vector<std::string_view> words = split(line, ' ');
    const auto bytes = number_in<std::size_t>(words.front());
    if (!bytes || benchmark_ == nullptr) return {};
    if (words.size() < 2) return "there is no figure behind the size";
    if (benchmark_->kind == BenchmarkKind::kCollective)
      return add(*benchmark_, *bytes, words[1], placement_.ranks, placement_.ranks_per_node);
    return add(*benchmark_, *bytes, words[1], 2, placement_.within_node ? 2 : 1);
  }

  std::string table_row(std::string_view line) {
    const std::vector<std::string_view> cells = split(line, ',');
    constexpr std::size_t kCells = 5;
    if (cells.size() != kCells)
      return fmt::format("{} columns in place of {}: {}", cells.size(), kCells, kColumns);
    const Benchmark* benchmark = nullptr;
    for (const Benchmark& one : kBenchmarks) {
      if (cells[0] == one.program) benchmark = &one;
    }
    if (benchmark == nullptr) return fmt::format("there is no benchmark {}", in_quotes(cells[0]));
    const auto nodes = number_in<int>(cells[1]);
    const auto each = number_in<int>(cells[2]);
    const auto bytes = number_in<std::size_t>(cells[3]);
    if (!nodes || *nodes < 1 || *nodes > kMostRanks)
      return fmt::format("{} is no number of nodes (1 .. {})", in_quotes(cells[1]), kMostRanks);
    if (!each || *each < 1 || *each > kMostRanks)
      return fmt::format("{} is no number of ranks on a node (1 .. {})", in_quotes(cells[2]), kMostRanks);
    if (!bytes) return fmt::format("{} is no number of bytes", in_quotes(cells[3]));
    return add(*benchmark, *bytes, cells[4], *nodes * *each, *each);
  }

  std::string add(const Benchmark& benchmark, std::size_t bytes, std::string_view word, int ranks,
                  int ranks_per_node) {
    if (bytes > kMostBytes) return fmt::format("{} bytes are more than {}", bytes, kMostBytes);
    if (ranks < 2 || ranks > kMostRanks)
      return fmt::format("figures of {} ranks cannot be compared (2 .. {})", ranks, kMostRanks);
    const auto value = number_in<double>(word);
    if (!value || !std::isfinite(*value) || *value <= 0 || *value > kMostValue)
      return fmt::format("{} is no figure (above 0, up to {:g})", in_quotes(word), kMostValue);
    if (measurement_.figures.size() == kMostFigures) return fmt::format("more than {} figures", kMostFigures);
    if (bytes == 0) return {};  // its message has no size to be compared by
    const std::string place = ranks_per_node == ranks ? "node" : "network";
    constexpr double kMicro = 1e-6;
    constexpr double kMega = 1e6;
    const double each = static_cast<double>(bytes) / (*value * kMega);
    switch (benchmark.kind) {
      case BenchmarkKind::kLatency:
        return pair(ranks, {place, "message", bytes, *value * kMicro});
      case BenchmarkKind::kBandwidth:
        return pair(ranks, {place, "window", bytes, each});
      case BenchmarkKind::kRate:
        measurement_.figures.push_back({place, "rate", bytes, each});
        return {};
      case BenchmarkKind::kCollective:
        measurement_.figures.push_back(
            {"all", std::string(benchmark.operation), bytes, *value * kMicro, ranks, ranks_per_node, true});
        return {};
    }
    return {};
  }

  std::string pair(int ranks, Measured one) {
    if (ranks != 2) return "messages are measured between two ranks: of one node, or one on each of two";
    measurement_.figures.push_back(std::move(one));
    return {};
  }

  const std::string& path_;
  const Placement& placement_;
  Measurement& measurement_;
  std::size_t line_ = 0;
  bool is_table_ = false;
  const Benchmark* benchmark_ = nullptr;  // of the output that is being read; null: none that is used
};

}  // namespace

Result<bool> read_osu(const std::string& path, const Placement& placement, Measurement& measurement) {
  const FileText file = read_file(path, true, kLargestFile);
  if (!file.problem.empty())
    return Result<bool>::failure(fmt::format("cannot read {}: {}", path, file.problem));
  if (std::string problem = OsuFile(path, placement, measurement).read(file.text); !problem.empty())
    return Result<bool>::failure(std::move(problem));
  return true;
}

}  // namespace offramp::tool
