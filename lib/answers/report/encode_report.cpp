// Two archives of report_fields.hpp without names, which have to go over the same fields in the same order:
// they do, since both are given the same describe(). The decoder trusts nothing: lists are bounded by the
// bytes that are left, times by what can be added up.
#include "lib/answers/report/encode_report.hpp"

#include <fmt/format.h>

#include <limits>

#include "lib/answers/report/report_fields.hpp"
#include "lib/programs/recording/bytes.hpp"
#include "offramp/version.hpp"

namespace offramp {
namespace {

/// Numbers as varints, lists and texts behind their lengths.
class Encoder : public PlainArchive<Encoder> {
 public:
  static constexpr bool kReads = false;

  template <typename Value>
  void rest(const char*, const std::vector<Value>& values, std::size_t) {
    items(std::span(values).subspan(1));
  }
  bool has(const char*, bool has) {
    item(has, 0);
    return has;
  }
  [[nodiscard]] std::string bytes() {
    out_.commit();
    return std::string(recording::text_of(out_.bytes()));
  }

  void item(Time time, std::size_t) { out_.put(static_cast<std::uint64_t>(time.count())); }
  void item(const std::string& text, std::size_t) {
    out_.put(text.size());
    out_.put(recording::byte_span(text));
  }
  template <typename Value>
  void item(const std::vector<Value>& values, std::size_t) {
    items(std::span(values));
  }
  template <typename Value>
  void item(const std::optional<Value>& value, std::size_t) {
    if (has("", value.has_value())) item(*value, 0);
  }
  template <typename Value>
  void item(const Value& value, std::size_t) {
    if constexpr (std::is_integral_v<Value>) {
      out_.put(static_cast<std::uint64_t>(value));
    } else {
      item_of_struct(value);
    }
  }

 private:
  template <typename Value>
  void items(std::span<const Value> values) {
    out_.put(values.size());
    for (const Value& value : values) item(value, 0);
  }

  recording::Payload out_;
};

class Decoder : public PlainArchive<Decoder> {
 public:
  static constexpr bool kReads = true;
  explicit Decoder(std::string_view bytes) : in_(recording::byte_span(bytes)) {}

  template <typename Value>
  void rest(const char*, std::vector<Value>& values, std::size_t most) {
    item(values, most);
  }
  bool has(const char*, bool = true) { return in_.number(1, "a truth value is above 1") != 0; }
  /// `nullptr` without a problem.
  [[nodiscard]] const char* problem() {
    if (!in_.empty()) in_.fail("something follows it");
    return in_.problem();
  }

  void item(Time& time, std::size_t) {
    time = Time::ps(static_cast<std::int64_t>(in_.number(times_left_, "its times are too long")));
    times_left_ -= static_cast<std::uint64_t>(time.count());
  }
  void item(std::string& text, std::size_t) {
    text = recording::text_of(
        in_.bytes(static_cast<std::size_t>(in_.number(kLongestText, "a text is too long"))));
  }
  template <typename Value>
  void item(std::vector<Value>& values, std::size_t most) {
    // Each entry has a byte at least.
    for (auto count = in_.number(std::min(most, in_.left()), "a list is too long"); count > 0; --count)
      item(values.emplace_back(), most);
  }
  template <typename Value>
  void item(std::optional<Value>& value, std::size_t) {
    if (has("")) item(value.emplace(), 0);
  }
  template <typename Value>
  void item(Value& value, std::size_t) {
    if constexpr (std::is_same_v<Value, bool>) {
      value = has("");
    } else if constexpr (std::is_integral_v<Value>) {
      constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Value>::max());
      value = static_cast<Value>(in_.number(std::min(kMost, kLargestNumber), "a number is too large"));
    } else {
      item_of_struct(value);
    }
  }

 private:
  recording::Cursor in_;
  // All of them together, in picoseconds: a week, so that no sum of what is not trusted overflows.
  std::uint64_t times_left_ = std::uint64_t{1} << 59;
};

}  // namespace

std::string encode(const RunReport& report) {
  Encoder encoder;
  describe(encoder, report);
  return encoder.bytes();
}

Result<RunReport> decode_report(std::string_view bytes) {
  RunReport report;
  Decoder decoder(bytes);
  describe(decoder, report);
  if (const char* const problem = decoder.problem(); problem != nullptr) return failure(problem);
  if (report.version != OFFRAMP_VERSION) return failure("another version of Offramp wrote it");
  return report;
}

}  // namespace offramp
