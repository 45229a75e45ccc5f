// Tables on standard output.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace offramp::tool {

/// Text columns: the first to the left, the others to the right.
class Columns {
 public:
  explicit Columns(std::vector<std::string> heads) { add(std::move(heads)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const {
    for (const std::string& line : lines()) fmt::print("{}\n", line);
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::vector<std::string> all;
    for (const auto& row : rows_) {
      std::string& line = all.emplace_back();
      for (std::size_t i = 0; i < row.size(); ++i)
        line +=
            i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    return all;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace offramp::tool
