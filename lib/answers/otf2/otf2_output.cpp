// otf2_problem() is for commands, which call it before a replay that may take long. A build without the OTF2
// library has the same functions, which return the reason, so callers need no conditional code.
#include "lib/answers/otf2/otf2_output.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/otf2.hpp"
#ifdef OFFRAMP_OTF2
#include "lib/answers/otf2/writer.hpp"
#endif

namespace offramp {

#ifdef OFFRAMP_OTF2

namespace fs = std::filesystem;

std::string otf2_problem(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    const fs::path above = fs::path(folder).parent_path();
    return above.empty() || fs::is_directory(above, error)
               ? std::string()
               : fmt::format("there is no folder {}", in_quotes(above.string()));
  }
  if (!fs::is_directory(folder, error)) return "it is a file, but an archive is a folder";
  const Result<std::optional<std::string>> found = trace::otf2_anchor(folder);
  const bool is_free = found && !found->has_value();
  return is_free ? std::string() : "an archive already exists there: name another folder, or remove it";
}

std::string write_otf2(const Timeline& timeline, const std::string& program, const std::string& folder) {
  const std::string problem = otf2_problem(folder);
  return problem.empty() ? otf2::write_archive(timeline, program, folder) : problem;
}

std::string write_otf2(const trace::Program& program, const std::string& folder,
                       std::vector<std::string>& unsupported) {
  const std::string problem = otf2_problem(folder);
  return problem.empty() ? otf2::write_program(program, folder, unsupported) : problem;
}

#else

std::string otf2_problem(const std::string&) {
  return trace::otf2_is_missing();
}
std::string write_otf2(const Timeline&, const std::string&, const std::string&) {
  return trace::otf2_is_missing();
}
std::string write_otf2(const trace::Program&, const std::string&, std::vector<std::string>&) {
  return trace::otf2_is_missing();
}

#endif

}  // namespace offramp
