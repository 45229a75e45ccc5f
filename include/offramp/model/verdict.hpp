// A backend's answer about an operation: accepted, or declined with a reason.
//
// Acceptance requires a list of kinds. A backend that was written or compiled before a kind existed cannot
// list it, and so declines it, whatever else its supports() checks. A switch over kinds would depend on its
// default, and a list in the description would have to agree with supports().
#pragma once

#include <string>
#include <string_view>

#include "offramp/model/operation.hpp"

namespace offramp {

/// A change of a parameter with which the hardware would carry an operation that it declines because a memory
/// is full. Further reasons may remain: offramp predict --what-if checks again.
struct Remedy {
  std::string_view parameter;  // a literal: a numeric parameter of the backend
  double value = 0;
  std::string note;  // "with an exchange memory of 16384 bytes"
};

/// Cheap to copy. The texts belong to the backend.
struct Verdict {
  std::string_view reason;         // for the user; empty: accepted. Lives as long as the backend.
  const Remedy* remedy = nullptr;  // for declines only; lives as long as the backend

  [[nodiscard]] bool yes() const { return reason.empty(); }

  /// Accepts the kinds in `carried`; `otherwise` is the reason for the others.
  static Verdict accept(const Operation& operation, OperationSet carried,
                        std::string_view otherwise = "the hardware has no such collective") {
    return {carried.contains(operation.kind) ? std::string_view() : otherwise, nullptr};
  }
  /// why: must not be empty.
  static Verdict decline(std::string_view why, const Remedy* remedy = nullptr) { return {why, remedy}; }

  /// Returns this verdict if it is a decline, else declines for the objection unless that is empty.
  [[nodiscard]] Verdict unless(std::string_view objection, const Remedy* lifts_it = nullptr) const {
    return yes() ? Verdict(objection, lifts_it) : *this;
  }

 private:
  Verdict(std::string_view why, const Remedy* lifts_it) : reason(why), remedy(lifts_it) {}
};

}  // namespace offramp
