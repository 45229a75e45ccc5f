// Converts recorded places of calls to function, file, and line, if the recorded build of the program is
// present and has symbols. Uses addr2line (binutils); without it, places stay offsets.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/answers/report/call_sites.hpp"
#include "lib/answers/report/run_report.hpp"

namespace offramp::tool {

/// Places of calls and their text. Looks up each place once.
class Places {
 public:
  explicit Places(std::vector<LoadedObject> objects) : objects_(std::move(objects)) {}

  /// Looks up places from Reader::site(), all at once. Unknown places stay unchanged.
  void look_up(const std::vector<std::string>& sites);
  /// "solve, jacobi.c:42", "solve (libsolver.so+0x12a4)", or the place itself.
  [[nodiscard]] std::string text(std::string_view site) const;
  /// Why places have no names. Empty if all objects were found.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  /// Looks up the offsets of one object.
  void query(const std::string& name, const std::vector<std::string>& offsets);

  std::vector<LoadedObject> objects_;
  std::map<std::string, std::string, std::less<>> texts_;
  std::vector<std::string> problems_;
};

/// Replaces the places of a lane's calls by their text.
void name_places(ReportAccounts& accounts, Places& places);

}  // namespace offramp::tool
