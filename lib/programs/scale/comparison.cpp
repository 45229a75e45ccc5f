// A call is exact if function, peer, tag, size, and lists agree at the same position. A missing call
// therefore makes all later ones of the rank wrong. Call sites and communicator ids are excluded, since they
// differ between runs of the same program.
#include "lib/programs/scale/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/programs/scale/folding.hpp"

namespace offramp::scale {
namespace {

using recording::Event;
using recording::EventKind;
using recording::Reader;

// By content: numbers of lists differ between readers.
bool same_list(const Reader& a, std::uint32_t one, const Reader& b, std::uint32_t other) {
  return std::ranges::equal(a.list(one), b.list(other));
}

/// Describes the first difference. Null if there is none.
const char* difference(const Reader& recorded, Event event, const Reader& made, Event other) {
  if (recorded.call(event.call) != made.call(other.call)) return "is another function";
  if (event.peer != other.peer) return "has another peer";
  if (event.tag != other.tag) return "has another tag";
  if (event.bytes != other.bytes) return "has another size";
  if (!same_list(recorded, event.list, made, other.list) ||
      !same_list(recorded, event.second_list, made, other.second_list))
    return "has another list";
  // Everything compared so far is cleared, so that one comparison covers the rest.
  event.list = event.second_list = other.list = other.second_list = 0;
  event.call = other.call = 0;
  event.site = other.site = 0;
  if (event.kind == EventKind::kCommunicator) event.extra = other.extra = 0;
  return event == other ? nullptr : "is of another kind";
}

/// Compares one rank.
class Comparer {
 public:
  // Results go to the comparison, which outlives this object.
  Comparer(Comparison& comparison, int rank, std::string role)
      : comparison_(comparison), rank_(rank), role_(std::move(role)) {}

  /// made: null if the rank does not exist there. Returns false if several threads made the recorded calls.
  [[nodiscard]] bool compare(Reader& recorded, Reader* made) {
    Event event;
    Event other;
    std::uint32_t thread = 0;
    while (recorded.next(event)) {
      // The order of several threads' calls is accidental, so a comparison would be too.
      if (++number_ == 1) thread = recorded.thread();
      if (recorded.thread() != thread) return false;
      // After the end of the made program, all further calls are missing.
      const bool is_there = made != nullptr && made->next(other);
      const char* const what = made == nullptr ? nullptr
                               : !is_there     ? "is missing"
                                               : difference(recorded, event, *made, other);
      Share& share = comparison_.shares[{std::string(recorded.call(event.call)), role_}];
      ++(made == nullptr ? share.unknown : what == nullptr ? share.exact : share.wrong);
      if (what != nullptr) note(recorded.call(event.call), what);
    }
    // Calls beyond the recorded end count as wrong.
    for (; made != nullptr && made->next(other); ++number_) {
      ++comparison_.shares[{std::string(made->call(other.call)), role_}].wrong;
      note(made->call(other.call), "is extra");
    }
    return true;
  }

 private:
  // Only the first difference is described.
  void note(std::string_view call, std::string_view what) {
    if (comparison_.first_difference.empty())
      comparison_.first_difference = fmt::format("{}, call {} of rank {}, {}", call, number_, rank_, what);
  }

  Comparison& comparison_;
  int rank_;
  std::string role_;
  std::uint64_t number_ = 0;
};

}  // namespace

Share Comparison::total() const {
  Share total;
  for (const auto& [key, share] : shares) total.add(share);
  return total;
}

Result<Comparison> compare(const trace::Program& recorded,
                           const std::function<std::unique_ptr<Reader>(int rank)>& made,
                           const std::function<std::string(int rank)>& role) {
  Comparison comparison;
  for (int rank = 0; rank < recorded.description.ranks; ++rank) {
    const std::unique_ptr<Reader> reader = recorded.read(rank);
    const std::unique_ptr<Reader> other = made(rank);
    if (!Comparer(comparison, rank, role(rank)).compare(*reader, other.get()))
      return failure(several_threads_text(rank));
    if (!reader->error().empty()) return failure(reader->error());
    // A made program that breaks off is a difference rather than a failure.
    if (other != nullptr && !other->error().empty() && comparison.first_difference.empty())
      comparison.first_difference = other->error();
  }
  return comparison;
}

std::string first_difference(Reader& recorded, Reader& made) {
  Event event;
  Event other;
  // Ends at the first difference, or at the end of both.
  for (std::uint64_t number = 1;; ++number) {
    const bool is_there = recorded.next(event);
    const bool is_made = made.next(other);
    if (!is_there && !is_made) return {};
    const char* const what = !is_made    ? "is missing"
                             : !is_there ? "is extra"
                                         : difference(recorded, event, made, other);
    if (what != nullptr)
      return fmt::format("call {} ({}) {}", number,
                         is_there ? recorded.call(event.call) : made.call(other.call), what);
  }
}

}  // namespace offramp::scale
