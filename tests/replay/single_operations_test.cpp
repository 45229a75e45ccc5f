// One operation on otherwise idle hardware keeps its modelled time, to the picosecond.
//
// single_operations.tsv has a row for each forecast. A change of a model changes rows; write them anew with
//   OFFRAMP_WRITE_FIGURES=1 build/tests/replay_test --gtest_filter=SingleOperations.*
// and explain the difference that version control shows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "lib/answers/replay/forecast.hpp"
#include "tests/engine/support.hpp"

namespace offramp::single_operations_test {
namespace {

constexpr std::string_view kColumns =
    "backend\tsettings\toperation\tranks\tbytes\ttime_ps\tpackets\twire_bytes";

constexpr std::array kKinds = {
    OperationKind::kSend,      OperationKind::kBcast,         OperationKind::kReduce,
    OperationKind::kGather,    OperationKind::kScatter,       OperationKind::kAllgather,
    OperationKind::kAllreduce, OperationKind::kReduceScatter, OperationKind::kAlltoall,
    OperationKind::kBarrier,   OperationKind::kScan};

/// Hardware, and the ranks and sizes that a test has time for.
struct Hardware {
  const char* backend;
  const char* settings;  // NAME=VALUE, separated by commas; "-": the defaults
  std::vector<int> ranks;
  std::vector<std::size_t> bytes;
  std::size_t most;  // bytes of payload that one operation moves
};

const std::vector<Hardware>& hardware() {
  constexpr std::size_t kKi = 1024, kMi = 1024 * kKi;
  static const std::vector<int> kRanks = {5, 17}, kFewRanks = {5};
  static const std::vector<std::size_t> kBytes = {8, 64 * kKi + 8}, kFewBytes = {4 * kKi};
  static const std::vector<Hardware> all = {
      {"host", "-", kRanks, kBytes, 1024 * kMi},
      {"cclo", "profile=seed,transport=tcp", kRanks, kBytes, 512 * kMi},
      {"cclo", "profile=seed,transport=udp", kFewRanks, kFewBytes, 512 * kMi},
      {"cclo", "profile=dump,transport=tcp", kFewRanks, kFewBytes, 512 * kMi},
      {"cclo", "profile=dump,transport=udp", kFewRanks, kFewBytes, 512 * kMi},
      {"cclo", "profile=gen2,transport=rdma", kRanks, kBytes, 512 * kMi},
      {"cclo", "profile=gen2,transport=tcp", kFewRanks, kFewBytes, 512 * kMi},
      {"cclo", "profile=gen2,transport=udp", kFewRanks, kFewBytes, 512 * kMi},
      {"zrlmpi", "preset=seed", kRanks, kBytes, 64 * kMi},
      {"zrlmpi", "preset=mpe2", kRanks, kBytes, 64 * kMi},
      {"dpu", "-", kRanks, kBytes, 512 * kMi},
      {"dpu", "ranks_per_node=2", kFewRanks, kFewBytes, 512 * kMi},
      {"aie", "-", kRanks, kBytes, kMi},
      {"tinsel", "-", kRanks, kBytes, kMi},
      {"tinsel", "placement=apart", kFewRanks, kFewBytes, kMi},
      {"sharp", "-", kRanks, kBytes, 512 * kMi},
      {"sharp", "ranks_per_node=2", kFewRanks, kFewBytes, 512 * kMi},
  };
  return all;
}

/// The figures of a row; its key is a text beside them.
struct Figures {
  std::string time, packets, wire_bytes;
  bool operator==(const Figures&) const = default;
  [[nodiscard]] std::string text() const { return fmt::format("{}\t{}\t{}", time, packets, wire_bytes); }
};
using Table = std::vector<std::pair<std::string, Figures>>;

std::string backend_of(const std::string& row) {
  return row.substr(0, row.find('\t'));
}

std::size_t payload_of(OperationKind kind, std::size_t bytes, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  switch (kind) {
    case OperationKind::kSend:
      return bytes;
    case OperationKind::kAllgather:
    case OperationKind::kReduceScatter:
    case OperationKind::kAlltoall:
      return bytes * n * n;
    default:
      return bytes * n;
  }
}

ForecastSetting setting_of(const Hardware& hardware) {
  const BackendDescription& backend = test::backend_named(hardware.backend);
  Section section;
  MachineLayout machine;
  std::istringstream words(hardware.settings);
  for (std::string word; hardware.settings != std::string("-") && std::getline(words, word, ',');) {
    const std::size_t equals = word.find('=');
    if (word.starts_with("ranks_per_node=")) {
      machine.ranks_per_node = std::stoi(word.substr(equals + 1));
      continue;
    }
    section[word.substr(0, equals)] = {word.substr(equals + 1), RawValue::Type::kText, "settings"};
  }
  Result<Settings> settings = read_settings(backend, section);
  EXPECT_TRUE(settings) << settings.error();
  return {backend, *settings, {}, machine};
}

Operation operation_of(OperationKind kind, std::size_t bytes, int ranks) {
  const bool reduces = kind == OperationKind::kReduce || kind == OperationKind::kAllreduce ||
                       kind == OperationKind::kReduceScatter || kind == OperationKind::kScan;
  Operation operation;
  operation.kind = kind;
  operation.element = reduces ? ElementType::kInt32 : ElementType::kByte;
  operation.function = reduces ? ReduceFunction::kSum : ReduceFunction::kNone;
  operation.bytes = bytes;
  operation.elements = bytes / element_bytes(operation.element);
  operation.ranks = ranks;
  return operation;
}

void add_forecasts(Table& table, const Hardware& hardware, OperationKind kind, int ranks) {
  const ForecastSetting setting = setting_of(hardware);
  for (const std::size_t bytes : hardware.bytes) {
    if (kind == OperationKind::kBarrier && bytes != hardware.bytes.front()) continue;
    const Operation operation = operation_of(kind, kind == OperationKind::kBarrier ? 0 : bytes, ranks);
    if (payload_of(kind, operation.bytes, ranks) > hardware.most) continue;
    Result<Forecast> result = forecast(setting, operation);
    ASSERT_TRUE(result) << result.error();
    if (!result->declined.empty()) continue;
    table.emplace_back(fmt::format("{}\t{}\t{}\t{}\t{}", hardware.backend, hardware.settings, to_string(kind),
                                   ranks, operation.bytes),
                       Figures{std::to_string(result->time.count()), std::to_string(result->wire.packets),
                               std::to_string(result->wire.wire_bytes)});
  }
}

Table forecasts() {
  Table table;
  for (const Hardware& one : hardware()) {
    for (const OperationKind kind : kKinds) {
      for (const int ranks : one.ranks) {
        add_forecasts(table, one, kind, ranks);
        if (kind == OperationKind::kSend) break;  // between two ranks
      }
    }
  }
  return table;
}

std::map<std::string, Figures> read_table() {
  std::map<std::string, Figures> rows;
  std::ifstream file(OFFRAMP_TEST_FIGURES);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, kColumns) << OFFRAMP_TEST_FIGURES;
  while (std::getline(file, line)) {
    std::size_t end = 0;
    for (int column = 0; column < 5; ++column) end = line.find('\t', end) + 1;
    Figures figures;
    std::istringstream(line.substr(end)) >> figures.time >> figures.packets >> figures.wire_bytes;
    rows[line.substr(0, end - 1)] = figures;
  }
  return rows;
}

void write_table(const Table& table) {
  std::ofstream file(OFFRAMP_TEST_FIGURES);
  file << kColumns << '\n';
  for (const auto& [row, figures] : table) file << row << '\t' << figures.text() << '\n';
  ASSERT_TRUE(file.flush()) << OFFRAMP_TEST_FIGURES;
}

/// The differences in the rows of one backend.
struct Difference {
  int rows = 0;
  int changed = 0;
  int gone = 0;                    // rows without a forecast
  int added = 0;                   // forecasts without a row
  double least = 0, greatest = 0;  // new time over old time, where a row changed

  void change(const Figures& before, const Figures& after) {
    const double old_time = std::max(std::stod(before.time), 1.0);
    const double ratio = std::stod(after.time) / old_time;
    least = changed == 0 ? ratio : std::min(least, ratio);
    greatest = changed == 0 ? ratio : std::max(greatest, ratio);
    ++changed;
  }
  [[nodiscard]] bool none() const { return changed + gone + added == 0; }
  [[nodiscard]] std::string text() const {
    const std::string ratios =
        changed == 0 ? "" : fmt::format(" (new over old time {:.6g} to {:.6g})", least, greatest);
    return fmt::format("{} of {} rows changed{}, {} gone, {} added", changed, rows, ratios, gone, added);
  }
};

/// The rows that differ, one after the other, then a line for each backend; empty if none differs.
std::string differences(std::map<std::string, Figures> before, const Table& after) {
  std::string text;
  std::map<std::string, Difference> backends;
  for (const auto& [row, figures] : after) {
    Difference& difference = backends[backend_of(row)];
    const auto found = before.find(row);
    if (found == before.end()) {
      ++difference.added;
      text += fmt::format("{}: no row\n  new {}\n", row, figures.text());
      continue;
    }
    ++difference.rows;
    if (!(found->second == figures)) {
      difference.change(found->second, figures);
      text += fmt::format("{}\n  old {}\n  new {}\n", row, found->second.text(), figures.text());
    }
    before.erase(found);
  }
  for (const auto& [row, figures] : before) {
    ++backends[backend_of(row)].rows;
    ++backends[backend_of(row)].gone;
    text += fmt::format("{}: no forecast\n  old {}\n", row, figures.text());
  }
  for (const auto& [name, difference] : backends) {
    if (!difference.none()) text += fmt::format("{}: {}\n", name, difference.text());
  }
  return text;
}

TEST(SingleOperations, KeepTheirFigures) {
  const Table now = forecasts();
  if (std::getenv("OFFRAMP_WRITE_FIGURES") != nullptr) write_table(now);
  const std::string text = differences(read_table(), now);
  EXPECT_TRUE(text.empty()) << kColumns << '\n' << text;
}

TEST(SingleOperations, ThatChangeAreShownAndCounted) {
  const std::map<std::string, Figures> before = {{"a\t-\tsend\t2\t0", {"100", "1", "8"}},
                                                 {"a\t-\tsend\t2\t8", {"100", "1", "8"}},
                                                 {"a\t-\tscan\t2\t0", {"7", "1", "8"}},
                                                 {"b\t-\tsend\t2\t0", {"5", "1", "8"}}};
  const Table after = {{"a\t-\tsend\t2\t0", {"50", "1", "8"}},
                       {"a\t-\tsend\t2\t8", {"100", "2", "16"}},
                       {"b\t-\tsend\t2\t0", {"5", "1", "8"}},
                       {"b\t-\tsend\t2\t8", {"6", "1", "8"}}};
  EXPECT_EQ(differences(before, after),
            "a\t-\tsend\t2\t0\n  old 100\t1\t8\n  new 50\t1\t8\n"
            "a\t-\tsend\t2\t8\n  old 100\t1\t8\n  new 100\t2\t16\n"
            "b\t-\tsend\t2\t8: no row\n  new 6\t1\t8\n"
            "a\t-\tscan\t2\t0: no forecast\n  old 7\t1\t8\n"
            "a: 2 of 3 rows changed (new over old time 0.5 to 1), 1 gone, 0 added\n"
            "b: 0 of 1 rows changed, 0 gone, 1 added\n");
  EXPECT_EQ(differences({before.begin(), before.begin()}, {}), "");
}

}  // namespace
}  // namespace offramp::single_operations_test
