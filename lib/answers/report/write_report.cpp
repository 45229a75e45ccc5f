// The writing archive of report_fields.hpp, and JSON of single parts for commands. Receipts are long and
// already JSON: they are put into the text as they are.
#include "lib/answers/report/write_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/answers/report/report_fields.hpp"
#include "offramp/model/parameter.hpp"
#include "simulators/world/text_fields.hpp"

namespace offramp {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongList = 64;  // elements
/// A list in the text of an output. Quotes within a string have a backslash before them.
constexpr std::string_view kListMark = "\": <discarded>";

/// An archive as report_fields.hpp has it. Times are nanoseconds with three decimals, which lose nothing
/// below 2^53 ps (two and a half hours).
class Writer {
 public:
  static constexpr bool kReads = false;
  /// lists: gets the long lists of the object itself; null: none.
  explicit Writer(Json& json, LongLists* lists = nullptr) : json_(&json), lists_(lists) {}

  void field(const char* name, const auto& value, std::size_t = 0) {
    (*json_)[key_of(name, value)] = json_of_value(value);
  }
  void later(const char* name, const auto& value, std::size_t = 0) { field(name, value); }
  void if_any(const char* name, const auto& value, std::size_t = 0) {
    if (!value.empty()) field(name, value);
  }
  template <typename Value>
  void if_any(const char* name, const std::optional<Value>& value) {
    if (value) field(name, *value);
  }
  void exact(const char* name, Time time, const char* = nullptr) {
    field(name, time);
    (*json_)[fmt::format("{}_ps", name)] = time.count();
  }
  template <typename Value>
  void rest(const char* name, const std::vector<Value>& values, std::size_t) {
    Json all = Json::array();
    for (std::size_t i = 1; i < values.size(); ++i) all.push_back(json_of_value(values[i]));
    (*json_)[name] = std::move(all);
  }
  template <typename Value>
  void named(const char* name, const std::vector<Value>& values) {
    Json all = Json::object();
    for (const Value& value : values) all[name_of(value)] = json_of_value(value);
    (*json_)[name] = std::move(all);
  }
  void counters(const auto& value, const auto& fields) {
    for (const auto& field : fields) (*json_)[field.name] = value.*field.value;
  }
  void object(const char* name, auto body) {
    Json* const outer = json_;
    json_ = &(*json_)[name];
    body();
    json_ = outer;
  }
  static bool has(const char*, bool has) { return has; }
  void derived(const char* name, auto make) { (*json_)[name] = make(); }

 private:
  Writer() = default;
  template <typename Value>
  static std::string key_of(const char* name, const Value&) {
    const bool is_time = std::is_same_v<Value, Time> || std::is_same_v<Value, std::vector<Time>>;
    return is_time ? fmt::format("{}_ns", name) : std::string(name);
  }
  static Json json_of_value(Time time) { return in_nanoseconds(time); }
  template <typename Value>
  Json json_of_value(const std::vector<Value>& values) {
    if (lists_ != nullptr && values.size() > kLongList)
      return lists_->add(values.size(),
                         [&values](std::size_t i) { return Writer().json_of_value(values[i]); });
    Json all = Json::array();
    for (const Value& value : values) all.push_back(json_of_value(value));
    return all;
  }
  template <typename Value>
  Json json_of_value(const Value& value) {
    if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
      return value;
    } else {
      Json json = Json::object();
      Writer writer(json);
      describe(writer, value);
      return json;
    }
  }

  Json* json_ = nullptr;
  LongLists* lists_ = nullptr;
};

Json written(auto body, LongLists* lists = nullptr) {
  Json json = Json::object();
  Writer writer(json, lists);
  body(writer);
  return json;
}

}  // namespace

std::string report_text(const RunReport& report) {
  const Json json = written([&](Writer& writer) { describe(writer, report); });
  // Reasons may come from a plugin, in whatever encoding, and JSON is UTF-8.
  std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace);
  // They may be long: not parsed to be written again.
  if (!report.receipts.empty())
    text.replace(text.rfind('}'), 1, ",\n\"receipts\": " + report.receipts + "\n}");
  return text + "\n";
}

std::string encode(const RunReport& report) {
  return written([&](Writer& writer) { describe(writer, report); })
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const ReportAnswer& answer) {
  return written([&](Writer& writer) { describe(writer, answer); });
}

Json json_of(const ReportLane& lane, LongLists* lists) {
  return written([&](Writer& writer) { describe(writer, lane); }, lists);
}

Json LongLists::add(std::size_t size, MakeElement element) {
  lists_.push_back({size, std::move(element)});
  return Json::value_t::discarded;
}

void LongLists::write(const Json& output, const std::function<void(std::string_view)>& sink) const {
  constexpr std::size_t kPiece = std::size_t{1} << 16U;
  const std::string text = output.dump(2, ' ', false, Json::error_handler_t::replace);
  std::string_view rest = text;
  std::string piece;
  for (const List& list : lists_) {
    std::size_t mark = rest.find(kListMark);
    while (rest[mark - 1] == '\\') mark = rest.find(kListMark, mark + 1);
    const std::size_t line = rest.rfind('\n', mark) + 1;
    const std::size_t indent = rest.find_first_not_of(' ', line) - line;
    piece.append(rest.substr(0, mark)).append("\": [");
    for (std::size_t i = 0; i < list.size; ++i) {
      const std::string element = list.element(i).dump(2, ' ', false, Json::error_handler_t::replace);
      piece.append(i > 0 ? ",\n" : "\n");
      for (const std::string_view part : split(element, '\n')) {
        if (part.data() != element.data()) piece.append("\n");
        piece.append(indent + 2, ' ').append(part);
      }
      if (piece.size() < kPiece) continue;
      sink(piece);
      piece.clear();
    }
    piece.append("\n").append(indent, ' ').append("]");
    rest.remove_prefix(mark + kListMark.size());
  }
  sink(piece.append(rest));
}

Json json_of(const std::vector<ReportCallRow>& rows) {
  return written([&](Writer& writer) { writer.field("rows", rows); })["rows"];
}

Json json_of_facts(const RunReport& report) {
  return written([&](Writer& writer) {
    describe_facts(writer, report);
    describe_computing(writer, report.computing, report.ranks);
  });
}

Json json_of(const Deployment& deployment) {
  return written([&](Writer& writer) { describe(writer, deployment); });
}

Json json_of(const WireCounters& wire) {
  return written([&](Writer& writer) { writer.counters(wire, kWireFields); });
}

Json json_of(const ReportDependences& dependences) {
  return written([&](Writer& writer) { writer.counters(dependences, kDependenceFields); });
}

}  // namespace offramp
