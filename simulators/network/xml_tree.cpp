// Expat, a C library, calls back into a C++ object. An error is therefore stored as text, stops the parser,
// and is reported once expat has returned. Depth and number of elements are limited. Documents that declare
// entities are refused, because a few lines can expand to gigabytes.
#include "simulators/network/xml_tree.hpp"

#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <type_traits>

namespace offramp {
namespace {

constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostElements = std::size_t{1} << 20;
constexpr std::size_t kAtOnce = std::size_t{1} << 20;  // bytes; expat uses int

/// The parser's callbacks, which must not throw.
class Handler {
 public:
  Handler(XML_Parser parser, int lines_before) : parser_(parser), lines_before_(lines_before) {
    XML_SetUserData(parser, this);
    XML_SetElementHandler(
        parser,
        [](void* self, const XML_Char* name, const XML_Char** attributes) {
          static_cast<Handler*>(self)->begin(name, attributes);
        },
        [](void* self, const XML_Char*) { static_cast<Handler*>(self)->end(); });
    XML_SetEntityDeclHandler(parser, [](void* self, const XML_Char*, int, const XML_Char*, int,
                                        const XML_Char*, const XML_Char*, const XML_Char*, const XML_Char*) {
      static_cast<Handler*>(self)->stop("it declares an entity");
    });
  }

  /// Expat 2.9 replaces the function by one with 64 bits, and deprecates the old one.
  [[nodiscard]] int line_now() const {
#if XML_MAJOR_VERSION == 2 && XML_MINOR_VERSION < 9
    return lines_before_ + static_cast<int>(XML_GetCurrentLineNumber(parser_));
#else
    return lines_before_ + static_cast<int>(XML_GetCurrentLineNumber64(parser_));
#endif
  }

  XmlElement root;
  std::string problem;
  int line = 0;

 private:
  void begin(const XML_Char* name, const XML_Char** attributes) {
    // Expat may still call back after it was stopped.
    if (!problem.empty()) return;
    if (++elements_ > kMostElements) return stop(fmt::format("it has more than {} elements", kMostElements));
    if (open_.size() == kDeepest) return stop(fmt::format("its elements are more than {} deep", kDeepest));
    XmlElement element;
    element.name = name;
    element.line = line_now();
    for (; *attributes != nullptr; attributes += 2)
      element.attributes.emplace_back(attributes[0], attributes[1]);
    open_.push_back(std::move(element));
  }
  void end() {
    if (!problem.empty()) return;
    XmlElement done = std::move(open_.back());
    open_.pop_back();
    (open_.empty() ? root : open_.back().children.emplace_back()) = std::move(done);
  }
  void stop(std::string what) {
    if (!problem.empty()) return;
    problem = std::move(what);
    line = line_now();
    XML_StopParser(parser_, XML_FALSE);
  }

  XML_Parser parser_;
  int lines_before_;
  std::vector<XmlElement> open_;
  std::size_t elements_ = 0;
};

/// Blanks out comments: SimGrid accepts "--" within them, XML and expat do not.
std::string without_comments(std::string_view text) {
  std::string out(text);
  for (std::size_t at = 0; (at = out.find("<!--", at)) != std::string::npos;) {
    // Line breaks stay, so that errors name the right lines.
    const std::size_t end = std::min(out.find("-->", at + 4), out.size());
    for (at += 4; at < end; ++at) out[at] = out[at] == '\n' ? '\n' : ' ';
  }
  return out;
}

}  // namespace

Result<XmlElement> read_xml(std::string_view document, const std::string& file) {
  const std::string readable = without_comments(document);
  std::string_view text = readable;
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, decltype(&XML_ParserFree)> parser(
      XML_ParserCreate(nullptr), XML_ParserFree);
  // Expat requires the declaration at the very beginning; SimGrid accepts blank lines before it.
  const std::size_t blank = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  Handler handler(parser.get(),
                  static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(blank), '\n')));
  text.remove_prefix(blank);
  bool good = true;
  std::size_t at = 0;
  do {
    const std::string_view part = text.substr(at, kAtOnce);
    at += part.size();
    good = XML_Parse(parser.get(), part.data(), static_cast<int>(part.size()), at == text.size()) !=
           XML_STATUS_ERROR;
  } while (good && at < text.size());
  if (good) return std::move(handler.root);
  if (handler.problem.empty()) {
    handler.problem = XML_ErrorString(XML_GetErrorCode(parser.get()));
    handler.line = handler.line_now();
  }
  return failure(fmt::format("{}:{}: {}", file, handler.line, handler.problem));
}

}  // namespace offramp
