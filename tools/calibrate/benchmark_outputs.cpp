// Reads outputs of the OSU and Intel (IMB) benchmarks, and tables of figures. The input may be hostile.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/configuration/configuration_file.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/lines.hpp"
#include "lib/programs/recording/format.hpp"
#include "simulators/world/text_fields.hpp"
#include "tools/calibrate/measurement.hpp"

namespace offramp::tool {
namespace {

using trace::number_in;

constexpr std::size_t kLargestFile = std::size_t{4} << 20;
constexpr std::size_t kMostFigures = 2000;  // over all files
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr int kMostRanks = 4096;  // the most ranks whose collectives are modelled
constexpr double kMostValue = 1e12;

enum class BenchmarkKind : std::uint8_t {
  kLatency,
  kBandwidth,
  kBothWays,
  kPairsLatency,
  kRate,
  kCollective,
  kBarrier
};

struct Benchmark {
  std::string_view program;  // name in tables
  std::string_view title;    // title of its output, after "OSU MPI"
  BenchmarkKind kind;
  std::string_view operation = {};
  std::string_view of_imb = {};  // IMB's name, if its figures have the same meaning
};
constexpr std::array kBenchmarks = {
    Benchmark{"osu_latency", "Latency Test", BenchmarkKind::kLatency, "", "PingPong"},
    Benchmark{"osu_bw", "Bandwidth Test", BenchmarkKind::kBandwidth, "", "Uniband"},
    Benchmark{"osu_bibw", "Bi-Directional Bandwidth Test", BenchmarkKind::kBothWays, "", "Biband"},
    Benchmark{"imb_sendrecv", "", BenchmarkKind::kBothWays, "", "Sendrecv"},
    Benchmark{"osu_multi_lat", "Multi Latency Test", BenchmarkKind::kPairsLatency},
    Benchmark{"osu_mbw_mr", "Multiple Bandwidth / Message Rate Test", BenchmarkKind::kRate},
    Benchmark{"osu_bcast", "Broadcast Latency Test", BenchmarkKind::kCollective, "bcast", "Bcast"},
    Benchmark{"osu_reduce", "Reduce Latency Test", BenchmarkKind::kCollective, "reduce", "Reduce"},
    Benchmark{"osu_gather", "Gather Latency Test", BenchmarkKind::kCollective, "gather", "Gather"},
    Benchmark{"osu_scatter", "Scatter Latency Test", BenchmarkKind::kCollective, "scatter", "Scatter"},
    Benchmark{"osu_allreduce", "Allreduce Latency Test", BenchmarkKind::kCollective, "allreduce",
              "Allreduce"},
    Benchmark{"osu_allgather", "Allgather Latency Test", BenchmarkKind::kCollective, "allgather",
              "Allgather"},
    Benchmark{"osu_alltoall", "All-to-All Personalized Exchange Latency Test", BenchmarkKind::kCollective,
              "alltoall", "Alltoall"},
    Benchmark{"osu_barrier", "Barrier Latency Test", BenchmarkKind::kBarrier, "barrier", "Barrier"}};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  trace::split(line, words);
  return words;
}

/// Removes what launchers print before each line: "[1,0]<stdout>:" (mpirun --tag-output, optionally with the
/// time before it), "0: " (srun -l), "[0] " (mpiexec -l).
std::string_view without_prefix(std::string_view line) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::size_t kLongestPrefix = 120;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:"}) {
    const std::size_t at = line.substr(0, kLongestPrefix).find(stream);
    if (at != std::string_view::npos) return trimmed(line.substr(at + stream.size()));
  }
  const bool is_bracketed = line.starts_with('[');
  const std::string_view number = line.substr(is_bracketed ? 1 : 0);
  const std::size_t end = number.find_first_not_of(kDigits);
  if (end == 0 || end == std::string_view::npos || number[end] != (is_bracketed ? ']' : ':')) return line;
  return trimmed(number.substr(end + 1));
}

class BenchmarkFile {
 public:
  BenchmarkFile(const std::string& path, const Placement& placement, Measurement& measurement)
      : path_(path), placement_(placement), measurement_(measurement) {}

  Result<void> read(std::string_view text) {
    if (text.starts_with(recording::kFileMagic))
      return failure(
          fmt::format("{} is a recording: its calls waited for their partners, so they do not tell "
                      "what messages cost; run offramp calibrate where it was recorded",
                      path_));
    const std::size_t before = measurement_.figures.size();
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = without_prefix(trimmed(text.substr(0, end)));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      ++line_;
      if (const Result<void> done = parse_line(line); !done)
        return failure(fmt::format("{}:{}: {}", path_, line_, done.error()));
    }
    if (measurement_.figures.size() > before || has_title_) return {};
    return failure(
        fmt::format("{} has no results of osu_latency, osu_bw, osu_mbw_mr, or a collective; expected: output "
                    "of OSU's or Intel's benchmarks, or a table with the columns {}",
                    path_, kColumns));
  }

 private:
  static constexpr std::string_view kColumns = "benchmark,nodes,ranks_per_node,bytes,value";

  Result<void> parse_line(std::string_view line) {
    if (line == kColumns) {
      is_table_ = true;
      return {};
    }
    if (line.empty()) return {};
    if (line.starts_with('#')) return is_table_ ? Result<void>() : comment(line);
    return is_table_ ? table_row(line) : output_row(line);
  }

  /// Reads a title, or IMB's lines below its titles. Ignores other comments.
  Result<void> comment(std::string_view line) {
    constexpr std::string_view kOsu = "# OSU MPI";
    constexpr std::string_view kImb = "# Benchmarking ";
    constexpr std::string_view kProcesses = "# #processes = ";
    constexpr std::string_view kPairs = "# [ pairs: ";
    if (line.starts_with(kOsu)) {  // "# OSU MPI Allreduce Latency Test v5.6.2"
      const std::string_view name = trimmed(line.substr(0, line.rfind(" v")).substr(kOsu.size()));
      return begin(name, &Benchmark::title, placement_.ranks);
    }
    if (line.starts_with(kImb)) return begin(trimmed(line.substr(kImb.size())), &Benchmark::of_imb, 0);
    if (line.starts_with(kProcesses)) {  // "# #processes = 4", or with -map "# #processes = 4; rank order"
      const std::string_view number = line.substr(kProcesses.size());
      ranks_ = number_in<int>(number.substr(0, number.find(';'))).value_or(0);
    }
    if (line.find("additional processes waiting") != std::string_view::npos) return whole_job();
    if (line.starts_with(kPairs)) {  // "# [ pairs: 8 ] [ window size: 64 ]"
      const std::string_view number = line.substr(kPairs.size());
      ranks_ = 2 * std::min(number_in<int>(number.substr(0, number.find(' '))).value_or(0), kMostRanks);
    }
    if (line.find("#repetitions") != std::string_view::npos) read_columns(line);
    return {};
  }
  Result<void> begin(std::string_view name, std::string_view Benchmark::*named, int ranks) {
    has_title_ = true;
    benchmark_ = nullptr;
    is_imb_ = named == &Benchmark::of_imb;
    ranks_ = ranks;
    is_within_node_ = placement_.within_node;
    columns_.clear();
    for (const Benchmark& one : kBenchmarks) {
      if (!name.empty() && name == one.*named) benchmark_ = &one;
    }
    if (benchmark_ != nullptr && benchmark_->kind == BenchmarkKind::kRate) ranks_ = 0;  // its output has it
    const bool is_placed = !is_of_all() || placement_.ranks_per_node > 0;
    // An output of IMB contains messages and collectives; messages do not need --ranks and --ranks-per-node.
    if (!is_placed && !is_imb_)
      return failure("the output does not name the nodes of its ranks: add --ranks and --ranks-per-node");
    if (benchmark_ == nullptr || !is_placed) ignore(name, is_placed ? "" : " without --ranks-per-node");
    return {};
  }
  void ignore(std::string_view name, std::string_view why) {
    measurement_.notes.push_back(
        fmt::format("{}:{}: results of {} are ignored{}", path_, line_, in_quotes(name), why));
    benchmark_ = nullptr;
  }
  /// Two ranks of a larger job (IMB) are neighbours, on one node if it has several ranks.
  Result<void> whole_job() {
    if (benchmark_ == nullptr || is_of_all() || is_within_node_) return {};
    if (placement_.ranks_per_node == 0)
      ignore(benchmark_->of_imb, " without --ranks-per-node: its ranks are neighbours in a larger job");
    is_within_node_ = placement_.ranks_per_node > 1;
    return {};
  }
  [[nodiscard]] bool is_of_all() const {
    return benchmark_ != nullptr &&
           (benchmark_->kind == BenchmarkKind::kCollective || benchmark_->kind == BenchmarkKind::kBarrier ||
            benchmark_->kind == BenchmarkKind::kPairsLatency);
  }
  /// Column titles: "#bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec", or some of these.
  void read_columns(std::string_view line) {
    columns_.clear();
    for (const std::string_view word : words_of(line)) columns_.emplace_back(word);
  }
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] == name) return i;
    }
    return std::nullopt;
  }

  /// Batch systems print their own lines in between; these do not begin with a number.
  Result<void> output_row(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (benchmark_ == nullptr || !number_in<double>(words.front())) return {};
    if (words.back() == "Fail") {  // OSU's validation of the data
      measurement_.notes.push_back(
          fmt::format("{}:{}: the result is ignored, because its validation failed", path_, line_));
      return {};
    }
    const bool has_size = benchmark_->kind != BenchmarkKind::kBarrier;
    const auto bytes = has_size ? number_in<std::size_t>(words.front()) : std::optional<std::size_t>(0);
    if (!bytes) return {};
    std::optional<std::size_t> value = has_size ? std::size_t{1} : std::size_t{0};
    const bool is_latency = benchmark_->kind == BenchmarkKind::kLatency;
    const bool is_exchange = benchmark_->of_imb == "Sendrecv";
    if (is_imb_) {
      if (words.size() > 1 && !number_in<double>(words[1])) {  // "4194304 time-out.; Time limit ... is over"
        measurement_.notes.push_back(fmt::format("{}:{}: no result: {}", path_, line_, in_quotes(words[1])));
        return {};
      }
      value = column(is_of_all()   ? "t_avg[usec]"
                     : is_latency  ? "t[usec]"
                     : is_exchange ? "t_max[usec]"
                                   : "Msg/sec");
    }
    if (!value || words.size() <= *value) return failure("no value follows the size");
    std::string word(words[*value]);
    if (const auto number = number_in<double>(word); is_imb_ && !is_of_all() && !is_latency && number) {
      // IMB's "Mbytes/sec" are 2^20 bytes in version 4.1, and 10^6 from 2018 on: the other columns are read.
      // In t_max, each of two ranks sends and receives a message.
      const auto size = static_cast<double>(*bytes);
      word = fmt::format("{}", is_exchange ? 2 * size / *number : size * *number / 1e6);
    }
    if (is_of_all()) return add(*benchmark_, *bytes, word, ranks_, placement_.ranks_per_node);
    const int ranks = benchmark_->kind == BenchmarkKind::kRate && ranks_ > 0 ? ranks_ : 2;
    if (is_imb_ && ranks_ > 2) {
      if (!is_exchange) return {};  // of several pairs: IMB does not print their sum
      const int each = is_within_node_ ? ranks_ : placement_.ranks_per_node;
      return each > 0 ? add(*benchmark_, *bytes, word, ranks_, each) : Result<void>();
    }
    return add(*benchmark_, *bytes, word, ranks, is_within_node_ ? ranks : ranks / 2);
  }

  Result<void> table_row(std::string_view line) {
    std::vector<std::string_view> cells = split(line, ',');
    std::ranges::transform(cells, cells.begin(), trimmed);
    constexpr std::size_t kCells = 5;
    if (cells.size() != kCells)
      return failure(fmt::format("{} columns instead of {}: {}", cells.size(), kCells, kColumns));
    const Benchmark* benchmark = nullptr;
    for (const Benchmark& one : kBenchmarks) {
      if (cells[0] == one.program) benchmark = &one;
    }
    if (benchmark == nullptr) return failure(fmt::format("unknown benchmark {}", in_quotes(cells[0])));
    const auto nodes = number_in<int>(cells[1]);
    const auto each = number_in<int>(cells[2]);
    const auto bytes = number_in<std::size_t>(cells[3]);
    if (!nodes || *nodes < 1 || *nodes > kMostRanks)
      return failure(fmt::format("{} is not a number of nodes (1 .. {})", in_quotes(cells[1]), kMostRanks));
    if (!each || *each < 1 || *each > kMostRanks)
      return failure(
          fmt::format("{} is not a number of ranks per node (1 .. {})", in_quotes(cells[2]), kMostRanks));
    if (!bytes) return failure(fmt::format("{} is not a number of bytes", in_quotes(cells[3])));
    return add(*benchmark, *bytes, cells[4], *nodes * *each, *each);
  }

  Result<void> add(const Benchmark& benchmark, std::size_t bytes, std::string_view word, int ranks,
                   int ranks_per_node) {
    if (bytes > kMostBytes)
      return failure(fmt::format("{} bytes exceed the maximum of {}", bytes, kMostBytes));
    if (ranks < 2 || ranks > kMostRanks)
      return failure(
          fmt::format("results on {} ranks cannot be compared (allowed: 2 .. {})", ranks, kMostRanks));
    const auto value = number_in<double>(word);
    const bool is_barrier = benchmark.kind == BenchmarkKind::kBarrier;
    if (bytes == 0 && !is_barrier) return {};  // empty messages are not compared
    if (!value || !std::isfinite(*value) || *value <= 0 || *value > kMostValue)
      return failure(fmt::format("{} is not a result (above 0, up to {:g})", in_quotes(word), kMostValue));
    if (measurement_.figures.size() == kMostFigures)
      return failure(fmt::format("more than {} results", kMostFigures));
    const std::string place = ranks_per_node == ranks ? "node" : "network";
    constexpr double kMicro = 1e-6;
    constexpr double kMega = 1e6;
    const double each = static_cast<double>(bytes) / (*value * kMega);
    switch (benchmark.kind) {
      case BenchmarkKind::kLatency:
        return pair(ranks, {place, "message", bytes, *value * kMicro});
      case BenchmarkKind::kBandwidth:
        return pair(ranks, {place, "window", bytes, each});
      case BenchmarkKind::kBothWays:
        if (ranks == 2 || benchmark.of_imb != "Sendrecv")
          return pair(ranks, {place, "both ways", bytes, each});
        measurement_.figures.push_back({place, "exchange", bytes, 2 * each, ranks, ranks_per_node});
        return {};
      case BenchmarkKind::kPairsLatency:
        measurement_.figures.push_back({place, "loaded", bytes, *value * kMicro, ranks, ranks_per_node});
        return {};
      case BenchmarkKind::kRate:
        measurement_.figures.push_back({place, "rate", bytes, each, ranks, ranks_per_node});
        return {};
      case BenchmarkKind::kCollective:
      case BenchmarkKind::kBarrier:
        measurement_.figures.push_back(
            {"all", std::string(benchmark.operation), bytes, *value * kMicro, ranks, ranks_per_node, true});
        return {};
    }
    return {};
  }

  Result<void> pair(int ranks, Measured one) {
    if (ranks != 2)
      return failure("message benchmarks need two ranks: both on one node, or one on each of two nodes");
    measurement_.figures.push_back(std::move(one));
    return {};
  }

  const std::string& path_;
  const Placement& placement_;
  Measurement& measurement_;
  std::size_t line_ = 0;
  bool is_table_ = false;
  bool has_title_ = false;
  // State of the output that is being read.
  const Benchmark* benchmark_ = nullptr;  // null: no known benchmark
  bool is_imb_ = false;
  int ranks_ = 0;
  bool is_within_node_ = false;
  std::vector<std::string> columns_;  // of IMB
};

}  // namespace

Result<void> read_benchmarks(const std::string& path, const Placement& placement, Measurement& measurement) {
  const FileText file = read_file(path, true, kLargestFile);
  if (!file.problem.empty()) return failure(fmt::format("cannot read {}: {}", path, file.problem));
  return BenchmarkFile(path, placement, measurement).read(file.text);
}

}  // namespace offramp::tool
