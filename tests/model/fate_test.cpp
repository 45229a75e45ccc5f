// The messages of a run that faults of the modelled links end: fates.txt has the results of the stages for
// the same messages.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "lib/base/configuration/fault_script.hpp"
#include "tests/model/support.hpp"

namespace offramp {
namespace {

struct Recorded {
  std::string backend;
  Section settings;
  MachineLayout machine;
  FaultRates faults;
  std::string failures;
  std::string line;
};

Recorded parse(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, '|');) {
    const std::size_t begin = std::min(field.find_first_not_of(' '), field.size());
    fields.push_back(field.substr(begin, field.find_last_not_of(' ') + 1 - begin));
  }
  fields.resize(6);
  Recorded row{fields[0], {}, {}, {}, fields[5], line};
  std::istringstream settings(fields[1]);
  for (std::string setting; settings >> setting;) {
    const std::size_t sign = setting.find('=');
    row.settings[setting.substr(0, sign)] = {setting.substr(sign + 1), RawValue::Type::kText, "fates.txt"};
  }
  row.machine.ranks_per_node = std::stoi(fields[2]);
  row.faults.seed = std::stoull(fields[3]);
  if (fields[4].empty()) {
    row.faults.loss = 0.2;
    for (double* rate :
         {&row.faults.duplication, &row.faults.reordering, &row.faults.corruption, &row.faults.delay})
      *rate = 0.1;
  } else {
    row.faults.script = std::make_shared<const FaultScript>(*parse_fault_script(fields[4]));
  }
  return row;
}

std::vector<Recorded> recorded() {
  std::vector<Recorded> rows;
  std::ifstream file(OFFRAMP_TEST_FATES);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') rows.push_back(parse(line));
  }
  return rows;
}

/// The failures among 60 messages between four ranks.
std::string failures_of(const Recorded& row) {
  constexpr std::size_t kSizes[] = {0, 64, 3000, 20000, 70000};
  const BackendDescription& description = test::built_in(row.backend);
  const Result<Settings> settings = read_settings(description, row.settings);
  EXPECT_TRUE(settings) << settings.error();
  const std::unique_ptr<Backend> backend =
      description.create({0, 4, *settings, row.faults, nullptr, nullptr, row.machine});
  std::map<std::pair<int, int>, std::uint32_t> numbers;
  std::string failures;
  for (int n = 0; n < 60; ++n) {
    Transfer transfer;
    transfer.source = n % 3;
    transfer.destination = (transfer.source + 1 + n / 3 % 2) % 4;
    transfer.bytes = kSizes[n % 5];
    transfer.element = ElementType::kInt32;
    transfer.synchronous = n % 7 == 0;
    transfer.number = numbers[{transfer.source, transfer.destination}]++;
    const DeliveryFault fault = backend->delivery_fault(transfer);
    if (!fault.failed) continue;
    failures += fmt::format("{}{}", failures.empty() ? "" : " ", n);
    if (fault.reason != 0) failures += fmt::format("/{}", fault.reason);
  }
  return failures;
}

TEST(AFate, IsThatOfTheStages) {
  const std::vector<Recorded> rows = recorded();
  ASSERT_EQ(rows.size(), 26U);
  for (const Recorded& row : rows) EXPECT_EQ(failures_of(row), row.failures) << row.line;
}

TEST(AFate, HasNoMoment) {
  const FaultScript script(*parse_fault_script("lose 0>1 from 1us; corrupt 0>1 packet 2; delay 0>1 to 5us"));
  FaultRates rates;
  rates.outage = 1;
  rates.script = std::make_shared<const FaultScript>(script);
  const FaultRates timeless = rates.timeless();
  for (const Time at : {Time(), Time::us(3), Time::us(9)}) {
    EXPECT_NE(fault_of(rates, Link::id(0, 1), 1, at), Fault::kNone);
    EXPECT_EQ(fault_of(timeless, Link::id(0, 1), 1, at), Fault::kNone);
    EXPECT_EQ(fault_of(timeless, Link::id(0, 1), 2, at), Fault::kCorrupted);
  }
}

}  // namespace
}  // namespace offramp
