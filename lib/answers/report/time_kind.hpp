// What time in MPI calls is spent on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "offramp/kernel/time.hpp"

namespace offramp {

enum class TimeKind : std::uint8_t {
  kTransfer,        // hardware or wires work for the call's operations, at either end
  kSoftware,        // the rank's own processor does
  kLateSender,      // a receive waits for its sender
  kLateReceiver,    // a send waits for its receiver
  kCollectiveWait,  // a collective or a meeting waits for other ranks' part of it
  kLinkWait,        // other messages are on the links
  kBusyHardware,    // the rank's own hardware is busy with something else
  kCount
};

/// For other ranks.
constexpr bool is_waiting(TimeKind kind) {
  return kind == TimeKind::kLateSender || kind == TimeKind::kLateReceiver ||
         kind == TimeKind::kCollectiveWait;
}

/// What each kind has of some time.
class TimeParts {
 public:
  static constexpr std::size_t kKinds = static_cast<std::size_t>(TimeKind::kCount);

  [[nodiscard]] Time& at(TimeKind kind) { return parts_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] const Time& at(TimeKind kind) const { return parts_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] Time sum() const {
    Time all;
    for (const Time part : parts_) all += part;
    return all;
  }
  /// The time spent waiting for other ranks.
  [[nodiscard]] Time waiting() const {
    return at(TimeKind::kLateSender) + at(TimeKind::kLateReceiver) + at(TimeKind::kCollectiveWait);
  }
  void operator+=(const TimeParts& more) {
    for (std::size_t i = 0; i < kKinds; ++i) parts_[i] += more.parts_[i];
  }

 private:
  std::array<Time, kKinds> parts_{};
};

/// The names of a kind in columns and in reports.
struct TimeKindName {
  TimeKind kind;
  const char* field;  // of a report
  const char* head;   // of a column
  const char* what;
};
inline constexpr TimeKindName kTimeKinds[] = {
    {TimeKind::kTransfer, "transfer", "transfer", "hardware or links work on the call, at either end"},
    {TimeKind::kSoftware, "software", "software", "the rank's own processor works on it"},
    {TimeKind::kLateSender, "late_sender", "late send", "a receive waits for its sender"},
    {TimeKind::kLateReceiver, "late_receiver", "late recv", "a send waits for its receiver"},
    {TimeKind::kCollectiveWait, "collective_wait", "coll. wait",
     "a collective or a synchronization waits for other ranks"},
    {TimeKind::kLinkWait, "shared_link", "link", "other messages are on the links"},
    {TimeKind::kBusyHardware, "busy_hardware", "busy hw.",
     "the rank's own hardware is busy with something else"},
};
static_assert(std::size(kTimeKinds) == TimeParts::kKinds);

}  // namespace offramp
