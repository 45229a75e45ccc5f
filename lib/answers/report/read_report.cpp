// The reading archive of report_fields.hpp. A field is read through a Node, which carries its path for
// messages and its bounds; the first thing that is wrong leaves by an exception (Malformed) that does not
// leave this file.
#include "lib/answers/report/read_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/answers/report/lanes.hpp"
#include "lib/answers/report/report_fields.hpp"
#include "lib/base/configuration/configuration_file.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/recording/format.hpp"
#include "offramp/version.hpp"

namespace offramp {
namespace {

using Json = nlohmann::ordered_json;

/// What is wrong with a report; does not leave this file.
struct Malformed {
  std::string text;
};

/// Looks at a text before it becomes a document: an ordered object compares each key with all before it, so
/// that a few megabytes of keys would take hours. Also finds what is no report at its first value.
class Preview : public nlohmann::json_sax<Json> {
 public:
  [[nodiscard]] const std::string& problem() const { return problem_; }

  bool start_object(std::size_t) override {
    keys_.push_back(0);
    return true;
  }
  bool key(string_t& name) override {
    is_report_ = is_report_ || (keys_.size() == 1 && depth_of_arrays_ == 0 && name == "offramp");
    std::uint64_t& keys = keys_.back();
    if (++keys > kFewKeys) comparisons_ += keys;
    return comparisons_ <= kMostComparisons || refuse("it has far too many keys");
  }
  bool end_object() override {
    keys_.pop_back();
    return !keys_.empty() || depth_of_arrays_ > 0 || is_report_ || refuse(kForeign);
  }
  bool start_array(std::size_t) override {
    ++depth_of_arrays_;
    return is_in_object();
  }
  bool end_array() override {
    --depth_of_arrays_;
    return true;
  }
  bool null() override { return is_in_object(); }
  bool boolean(bool) override { return is_in_object(); }
  bool number_integer(number_integer_t) override { return is_in_object(); }
  bool number_unsigned(number_unsigned_t) override { return is_in_object(); }
  bool number_float(number_float_t, const string_t&) override { return is_in_object(); }
  bool string(string_t&) override { return is_in_object(); }
  bool binary(binary_t&) override { return is_in_object(); }
  /// Said by the parser proper.
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  static constexpr const char* kForeign = "Offramp did not write this file";
  static constexpr std::uint64_t kFewKeys = 256;
  static constexpr std::uint64_t kMostComparisons = 200'000'000;

  bool refuse(const char* problem) {
    problem_ = problem;
    return false;
  }
  bool is_in_object() { return !keys_.empty() || refuse(kForeign); }

  std::vector<std::uint64_t> keys_;  // of the objects that are open, in number
  std::size_t depth_of_arrays_ = 0;
  std::uint64_t comparisons_ = 0;
  bool is_report_ = false;
  std::string problem_;
};

/// A value in the document, with its place for messages.
class Node {
 public:
  /// times_left: how long all times together may be, in picoseconds; null: any.
  Node(const Json& json, std::string path, std::uint64_t* times_left = nullptr)
      : json_(json), path_(std::move(path)), times_left_(times_left) {}

  [[nodiscard]] bool has(const std::string& key) const { return json_.is_object() && json_.contains(key); }

  [[nodiscard]] Node at(const std::string& key) const {
    if (!json_.is_object()) fail("has to be an object");
    const auto found = json_.find(key);
    const std::string path = path_.empty() ? key : path_ + "." + key;
    if (found == json_.end()) throw Malformed{path + " is missing"};
    return {*found, path, times_left_};
  }

  [[nodiscard]] std::uint64_t whole(std::uint64_t most = kLargestNumber) const {
    // A number that was not read from a text may have a sign.
    const bool is_whole =
        json_.is_number_integer() && (json_.is_number_unsigned() || json_.get<std::int64_t>() >= 0);
    if (!is_whole || json_.get<std::uint64_t>() > most)
      fail(most < kLargestNumber ? fmt::format("has to be a whole number from 0 to {}", most).c_str()
                                 : "has to be a whole number from 0");
    return json_.get<std::uint64_t>();
  }
  [[nodiscard]] Time nanoseconds() const {
    constexpr double kMost = static_cast<double>(kLargestNumber) / 1000;
    if (!json_.is_number() || !(json_.get<double>() >= 0) || json_.get<double>() > kMost)
      fail("has to be a number from 0");
    return within_limit(static_cast<std::uint64_t>(std::llround(json_.get<double>() * 1000)));
  }
  [[nodiscard]] Time within_limit(std::uint64_t picoseconds) const {
    if (times_left_ != nullptr && picoseconds > *times_left_) fail("is too long");
    if (times_left_ != nullptr) *times_left_ -= picoseconds;
    return Time::ps(static_cast<std::int64_t>(picoseconds));
  }
  [[nodiscard]] bool truth() const {
    if (!json_.is_boolean()) fail("has to be true or false");
    return json_.get<bool>();
  }
  [[nodiscard]] std::string text() const {
    if (!json_.is_string()) fail("has to be a string");
    auto text = json_.get<std::string>();
    if (text.size() > kLongestText) fail(fmt::format("is longer than {} KiB", kLongestText >> 10).c_str());
    return text;
  }

  void each_element(std::size_t most, auto body) const {
    if (!json_.is_array()) fail("has to be a list");
    limit(most);
    std::size_t index = 0;
    for (const Json& element : json_) body(Node(element, fmt::format("{}[{}]", path_, index++), times_left_));
  }
  void each_member(std::size_t most, auto body) const {
    if (!json_.is_object()) fail("has to be an object");
    limit(most);
    for (const auto& [key, value] : json_.items())
      body(printable(key), Node(value, fmt::format("{}.{}", path_, printable(key)), times_left_));
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Malformed{fmt::format("{} {}", path_.empty() ? "the document" : path_, what)};
  }
  void limit(std::size_t most) const {
    if (json_.size() > most) fail(fmt::format("has more than {} entries", most).c_str());
  }

  const Json& json_;
  std::string path_;
  std::uint64_t* times_left_;
};

/// An archive as report_fields.hpp has it. Older reports have most times in whole picoseconds.
class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(const Node& node) : node_(&node) {}

  template <typename Value>
  void field(const char* name, Value& value, std::size_t most = kMostRows) {
    if constexpr (std::is_same_v<Value, Time> || std::is_same_v<Value, std::vector<Time>>) {
      const std::string older = fmt::format("{}_ps", name);
      const bool is_older = node_->has(older);
      read(node_->at(is_older ? older : fmt::format("{}_ns", name)), value, {most, is_older});
    } else {
      read(node_->at(name), value, {most});
    }
  }
  void later(const char* name, auto& value, std::size_t most = kMostRows) {
    if (has(name)) field(name, value, most);
  }
  void if_any(const char* name, auto& value, std::size_t most = kMostRows) { later(name, value, most); }
  template <typename Value>
  void if_any(const char* name, std::optional<Value>& value) {
    if (has(name)) field(name, value.emplace());
  }
  void exact(const char* name, Time& time, const char* older = nullptr) {
    field(older != nullptr && !has(name) ? older : name, time);
  }
  template <typename Value>
  void rest(const char* name, std::vector<Value>& values, std::size_t most) {
    field(name, values, most);
  }
  template <typename Value>
  void named(const char* name, std::vector<Value>& values) {
    node_->at(name).each_member(kMostRows, [&](const std::string& key, const Node& node) {
      name_of(values.emplace_back()) = key;
      read(node, values.back(), {});
    });
  }
  void counters(auto& value, const auto& fields) {
    for (const auto& field : fields) later(field.name, value.*field.value);
  }
  void object(const char* name, auto body) {
    const Node* const outer = node_;
    const Node inner = node_->at(name);
    node_ = &inner;
    body();
    node_ = outer;
  }
  [[nodiscard]] bool has(const std::string& name, bool = true) const {
    return node_->has(name) || node_->has(name + "_ns") || node_->has(name + "_ps");
  }
  static void derived(const char*, const auto&) {}

 private:
  struct Limits {
    std::size_t most = kMostRows;
    bool in_picoseconds = false;
  };

  static void read(const Node& node, Time& time, const Limits& limits) {
    time = limits.in_picoseconds ? node.within_limit(node.whole()) : node.nanoseconds();
  }
  static void read(const Node& node, std::string& text, const Limits&) { text = node.text(); }
  template <typename Value>
  static void read(const Node& node, std::vector<Value>& values, const Limits& limits) {
    node.each_element(limits.most, [&](const Node& one) { read(one, values.emplace_back(), limits); });
  }
  template <typename Value>
  static void read(const Node& node, Value& value, const Limits&) {
    if constexpr (std::is_same_v<Value, bool>) {
      value = node.truth();
    } else if constexpr (std::is_integral_v<Value>) {
      constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Value>::max());
      value = static_cast<Value>(node.whole(std::min(kMost, kLargestNumber)));
    } else {
      Reader reader(node);
      describe(reader, value);
    }
  }

  const Node* node_;
};

/// byte: as the parser counts them, from 1.
std::string place_of(std::string_view text, std::size_t byte) {
  if (byte > text.size()) return "it ends too early";
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return fmt::format("line {}, column {}", line, column + 1);
}

Result<RunReport> parsed(std::string_view text, const std::string& file, std::uint64_t* times_left) {
  const auto refusal = [&file](const std::string& what) {
    return failure(fmt::format("{} is not a report: {}", printable(file), what));
  };
  try {
    Preview preview;
    (void)Json::sax_parse(text, &preview);
    if (!preview.problem().empty()) return refusal(preview.problem());
    const Json document = Json::parse(text);
    if (!document.is_object() || !document.contains("offramp"))
      return refusal("Offramp did not write this file");
    if (!document.contains("schema"))
      return refusal("it has no schema: an older Offramp wrote it; run the program again");
    const Node root(document, "", times_left);
    if (const std::uint64_t schema = root.at("schema").whole(); schema != kReportSchema)
      return refusal(fmt::format("its schema is {}, but this Offramp reads {}", schema, kReportSchema));
    RunReport report;
    Reader reader(root);
    describe(reader, report);
    add_efficiencies(report);
    report.file = file;
    return report;
  } catch (const Malformed& malformed) {
    return refusal(malformed.text);
  } catch (const Json::parse_error& e) {
    return refusal("it is not valid JSON, " + place_of(text, e.byte));
  } catch (const Json::exception&) {  // a number that no type holds, say
    return refusal("a value has the wrong type");
  }
}

}  // namespace

Result<RunReport> parse_report(std::string_view text, const std::string& file) {
  return parsed(text, file, nullptr);
}

Result<RunReport> decode_report(std::string_view text) {
  std::uint64_t a_week = std::uint64_t{1} << 59;
  Result<RunReport> report = parsed(text, "it", &a_week);
  if (report && report->version != OFFRAMP_VERSION) return failure("another version of Offramp wrote it");
  return report;
}

Result<RunReport> read_report(const std::string& file) {
  const auto refusal = [&file](const std::string& what) {
    return failure(fmt::format("cannot read {}: {}", printable(file), what));
  };
  const FileText read = read_file(file, true, kLargestReport);
  if (!read.problem.empty()) return refusal(read.problem);
  if (read.text.empty()) return refusal("it is empty");
  if (read.text.starts_with(recording::kFileMagic))
    return failure(
        fmt::format("{0} is a recording; offramp replay {0} --report FILE makes a report", printable(file)));
  return parse_report(read.text, file);
}

}  // namespace offramp
