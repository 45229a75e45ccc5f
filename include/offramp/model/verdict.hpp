// What a backend says to an operation: yes, or no and why.
//
// There is no yes without a list of kinds. A backend that was written, or compiled, before a kind of
// operation existed cannot have it in its list, and so declines it whatever else its supports() looks at. A
// switch over kinds would give that only to authors who remember its default, and a list in the description
// would be a second place that has to agree with supports().
#pragma once

#include <string_view>

#include "offramp/model/operation.hpp"

namespace offramp {

struct Verdict {
  std::string_view reason;  // for the user; empty: yes. Lives as long as the backend.

  [[nodiscard]] bool yes() const { return reason.empty(); }

  /// Yes to the kinds in `carried`; `otherwise` is the reason for the others.
  static Verdict accept(const Operation& operation, OperationSet carried,
                        std::string_view otherwise = "the hardware has no such collective") {
    return Verdict(carried.contains(operation.kind) ? std::string_view() : otherwise);
  }
  /// why: not empty.
  static Verdict decline(std::string_view why) { return Verdict(why); }

  /// This verdict where it is a no; else a decline for the objection, if there is one (not empty).
  [[nodiscard]] Verdict unless(std::string_view objection) const {
    return Verdict(yes() ? objection : reason);
  }

 private:
  explicit Verdict(std::string_view why) : reason(why) {}
};

}  // namespace offramp
