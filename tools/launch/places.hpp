// Places of calls as a person names them: function, file and line, where the program is there as it was
// recorded and has symbols. addr2line (binutils) knows them; without it a place stays an offset.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/answers/report/call_sites.hpp"
#include "lib/answers/report/run_report.hpp"

namespace offramp::tool {

class Places {
 public:
  explicit Places(std::vector<LoadedObject> objects) : objects_(std::move(objects)) {}

  /// Asks for all of them at once: places as Reader::site() has them. Others stay what they are.
  void look_up(const std::vector<std::string>& sites);
  /// "solve, jacobi.c:42", "solve (libsolver.so+0x12a4)", or the place itself.
  [[nodiscard]] std::string text(std::string_view site) const;
  /// Why places have no names, for a person; empty: all objects were there.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  /// Of one object, by offset.
  void query(const std::string& name, const std::vector<std::string>& offsets);

  std::vector<LoadedObject> objects_;
  std::map<std::string, std::string, std::less<>> texts_;
  std::vector<std::string> problems_;
};

/// Names the places of a lane's calls.
void name_places(ReportAccounts& accounts, Places& places);

}  // namespace offramp::tool
