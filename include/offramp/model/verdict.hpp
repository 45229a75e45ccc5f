// What a backend says to an operation: yes, or no and why.
//
// There is no yes without a list of kinds. A backend that was written, or compiled, before a kind of
// operation existed cannot have it in its list, and so declines it whatever else its supports() looks at. A
// switch over kinds would give that only to authors who remember its default, and a list in the description
// would be a second place that has to agree with supports().
#pragma once

#include <string>
#include <string_view>

#include "offramp/model/operation.hpp"

namespace offramp {

/// Hardware that would carry what this one declines because a memory is full: the same with a parameter
/// raised to `value`. There may be further reasons behind the one that it lifts: offramp predict --what-if
/// asks again.
struct Remedy {
  std::string_view parameter;  // a literal: a number of the backend's table
  double value = 0;
  std::string note;  // "with an exchange memory of 16384 bytes"
};

struct Verdict {
  std::string_view reason;         // for the user; empty: yes. Lives as long as the backend.
  const Remedy* remedy = nullptr;  // of a decline only; lives as long as the backend

  [[nodiscard]] bool yes() const { return reason.empty(); }

  /// Yes to the kinds in `carried`; `otherwise` is the reason for the others.
  static Verdict accept(const Operation& operation, OperationSet carried,
                        std::string_view otherwise = "the hardware has no such collective") {
    return {carried.contains(operation.kind) ? std::string_view() : otherwise, nullptr};
  }
  /// why: not empty.
  static Verdict decline(std::string_view why, const Remedy* remedy = nullptr) { return {why, remedy}; }

  /// This verdict where it is a no; else a decline for the objection, if there is one (not empty).
  [[nodiscard]] Verdict unless(std::string_view objection, const Remedy* lifts_it = nullptr) const {
    return yes() ? Verdict(objection, lifts_it) : *this;
  }

 private:
  Verdict(std::string_view why, const Remedy* lifts_it) : reason(why), remedy(lifts_it) {}
};

}  // namespace offramp
