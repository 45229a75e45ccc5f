// Protects the process from toml++. The parser is compiled into this file, hidden, with its assertions turned
// into exceptions. Nesting is bounded line by line, and the input is escaped to ASCII, which from_ascii()
// reverses. Each measure closes a hole through which a file could end the process. Tables become a flat list
// of entries in the order of their lines, the order in which settings take effect.
#include "lib/base/configuration/configuration_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "lib/base/text_format.hpp"

// Compiled in and hidden: a preloaded library must not depend on, or clash with, a parser of the program.
// Input such as "[&" violates preconditions of toml++ 3.3, which aborts or, with NDEBUG, is undefined; here
// it throws.
#undef NDEBUG
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_ASSERT(expression) ((expression) ? void() : unexpected_character())
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 8
[[noreturn]] static void unexpected_character() {
  throw std::logic_error("unexpected character");
}
#include <toml++/toml.h>

namespace offramp {
namespace {

using std::string;
using std::string_view;

// toml++ destroys nested tables recursively, and dotted keys can nest deeper than TOML_MAX_NESTED_VALUES.
constexpr std::ptrdiff_t kMostDotsInALine = 128;

// Root may configure all users.
bool is_trusted(const struct stat& status) {
  return status.st_uid == geteuid() || status.st_uid == 0;
}

/// Returns the reason why an open file must not be used, if any.
FileText check_trust(int file, bool asked_for) {
  struct stat status {};
  if (fstat(file, &status) != 0) return {"", std::strerror(errno)};
  // A group with the same number as its user is usually that user's private group.
  const mode_t others = S_IWOTH | (status.st_gid == status.st_uid ? 0U : mode_t{S_IWGRP});
  if (!asked_for && (!is_trusted(status) || (status.st_mode & others) != 0)) {
    return {
        "",
        "it belongs to another user, or others may write it (chmod go-w); name it in OFFRAMP_CONFIG to use "
        "it",
        true};
  }
  // Each kind has its own message: a FIFO would block, a folder cannot be read.
  if (S_ISDIR(status.st_mode)) return {"", "it is a folder"};
  if (!S_ISREG(status.st_mode)) return {"", "it is not a regular file"};
  return {};
}

// The parser's table of white space is undefined for many non-ASCII characters, so it sees ASCII only: other
// bytes, and ` itself, become ` and two hexadecimal digits.
constexpr char kEscape = '`';

string to_ascii(string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // an editor's byte order mark
  string result;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 && c != kEscape) {
      result += c;
    } else {
      result += fmt::format("{}{:02x}", kEscape, static_cast<unsigned char>(c));
    }
  }
  return result;
}

// Reverses to_ascii(). Other escapes stay as they are.
string from_ascii(string_view text) {
  string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const digits = text.data() + i + 1;
    const bool escaped = text[i] == kEscape && i + 2 < text.size() &&
                         std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    result += escaped ? static_cast<char>(byte) : text[i];
    if (escaped) i += 2;
  }
  return result;
}

/// Converts a scalar: texts unchanged, numbers as parse_quantity reads them. Returns false for other nodes.
bool read_scalar(const toml::node& node, RawValue& value) {
  if (const auto* text = node.as_string()) {
    value.text = from_ascii(text->get());
    return true;
  }
  // Dates and arrays leave the text empty.
  value.type = node.is_boolean() ? RawValue::Type::kBoolean : RawValue::Type::kNumber;
  if (const auto* flag = node.as_boolean()) value.text = flag->get() ? "true" : "false";
  if (const auto* integer = node.as_integer()) value.text = fmt::format("{}", integer->get());
  if (const auto* real = node.as_floating_point()) value.text = fmt::format("{}", real->get());
  return !value.text.empty();
}

/// Flattens a document into entries in the order of its lines.
class FileReader {
 public:
  FileReader(string path, std::vector<Entry>& entries) : path_(std::move(path)), entries_(entries) {}

  Result<void> read(const string& text) {
    if (Result<void> done = check_lines(text); !done) return done;
    // The parser's exceptions end here: none may reach the program.
    toml::table document;
    try {
      document = toml::parse(to_ascii(text), string_view(path_));
    } catch (const toml::parse_error& error) {
      return failure(fmt::format("{}: not valid TOML: {}{}", where(error.source()),
                                 printable(from_ascii(error.description())),
                                 missing_quotes(line_of(text, error.source().begin.line))));
    } catch (const std::logic_error& error) {
      return failure(fmt::format("{}: not valid TOML: {}", path_, error.what()));
    }
    for (const auto& [key, node] : document) {
      if (Result<void> done = add(from_ascii(key.str()), node); !done) return done;
    }
    // toml++ orders tables by name, but settings take effect in the order of lines.
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.line < b.line; });
    return {};
  }

 private:
  [[nodiscard]] Result<void> check_lines(string_view text) const {
    for (std::size_t line = 1; !text.empty(); ++line) {
      const string_view one = text.substr(0, text.find('\n'));
      if (std::count(one.begin(), one.end(), '.') > kMostDotsInALine) {
        return failure(fmt::format("{}:{}: too many dots in one line", path_, line));
      }
      text.remove_prefix(std::min(text.size(), one.size() + 1));
    }
    return {};
  }

  // number: from 1, as the parser counts.
  static string_view line_of(string_view text, std::size_t number) {
    for (; number > 1 && !text.empty(); --number)
      text.remove_prefix(
          std::min(text.size(), text.find('\n') == string_view::npos ? text.size() : text.find('\n') + 1));
    return text.substr(0, text.find('\n'));
  }

  /// Suggests quotes for `backend = cclo` and `max_bytes = 1MiB`, which are invalid TOML.
  static string missing_quotes(string_view line) {
    const auto equals = line.find('=');
    if (equals == string_view::npos || equals == 0) return {};
    const auto first = line.find_first_not_of(" \t", equals + 1);
    // Values that begin otherwise are another mistake.
    if (first == string_view::npos || std::isalnum(static_cast<unsigned char>(line[first])) == 0) return {};
    const string_view word = line.substr(first, line.find_first_of(" \t\r#", first) - first);
    // A number alone is valid without quotes.
    if (std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::isalpha(c) != 0; }))
      return {};
    const string_view key = line.substr(0, line.find_last_not_of(" \t", equals - 1) + 1);
    return fmt::format("; write text in quotes: {} = {}", printable(key, 60), in_quotes(word));
  }

  [[nodiscard]] string where(const toml::source_region& source) const {
    return fmt::format("{}:{}", path_, source.begin.line);
  }

  // Tables become sections. [[route]] may come several times.
  Result<void> add(const string& key, const toml::node& node) {
    if (const auto* table = node.as_table()) return add_section(key, *table, 0);
    const auto* array = node.as_array();
    // Reported later as an unknown list, with the place of its heading.
    if (key != "route" && array != nullptr && !array->empty() && array->front().is_table())
      return add_section(key, *array->front().as_table(), 0, true);
    if (key != "route" || array == nullptr) return add_value("", key, node, 0);
    for (std::size_t i = 0; i < array->size(); ++i) {
      const auto* route = (*array)[i].as_table();
      if (route == nullptr)
        return failure(fmt::format("{}: write routes as [[route]]", where(node.source())));
      if (Result<void> done = add_section(key, *route, i); !done) return done;
    }
    return {};
  }

  Result<void> add_section(const string& section, const toml::table& table, std::size_t route,
                           bool in_list = false) {
    const auto& source = table.source();
    entries_.push_back(
        {section, "", {"", RawValue::Type::kText, where(source)}, route, source.begin.line, in_list});
    for (const auto& [key, node] : table) {
      if (Result<void> done = add_value(section, from_ascii(key.str()), node, route); !done) return done;
    }
    return {};
  }

  Result<void> add_value(const string& section, const string& name, const toml::node& node,
                         std::size_t route) {
    Entry entry{
        section, name, {"", RawValue::Type::kText, where(node.source())}, route, node.source().begin.line};
    // An empty text is a value too.
    if (!read_scalar(node, entry.value) && !node.is_string()) {
      return failure(fmt::format("{}: {} has to be a single string, number, or boolean", entry.value.origin,
                                 in_quotes(name)));
    }
    entries_.push_back(std::move(entry));
    return {};
  }

  string path_;
  std::vector<Entry>& entries_;
};

}  // namespace

FileText read_file(const string& path, bool asked_for, std::size_t largest) {
  struct stat link {};
  // A link in a shared folder could lead to any file.
  if (!asked_for && lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && !is_trusted(link))
    return {"", "it is a link of another user; name it in OFFRAMP_CONFIG to use it", true};
  // Non-blocking: a pipe or a device must not hang MPI_Init before it is refused.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    if (errno == ENOENT && !asked_for) return {"", "", true};
    // A found file that others keep private is no mistake of the user.
    return {"", std::strerror(errno), !asked_for && errno == EACCES};
  }
  FileText result = check_trust(file, asked_for);
  while (result.problem.empty()) {
    char block[1 << 16];
    const ssize_t got = read(file, block, sizeof block);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) result.problem = std::strerror(errno);
    if (got > 0) result.text.append(block, static_cast<std::size_t>(got));
    // Checked while reading: a file may grow.
    if (result.text.size() > largest) result.problem = fmt::format("it is larger than {} MiB", largest >> 20);
  }
  close(file);
  return result;
}

Result<void> read_entries(const string& path, const string& text, std::vector<Entry>& entries) {
  return FileReader(path, entries).read(text);
}

}  // namespace offramp
