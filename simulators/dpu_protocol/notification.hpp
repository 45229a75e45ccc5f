// The wire format of a notification (read in [dpu-service-src]): a header of 56 bytes, then the payload. One
// table of fields, from which codec, printer and tests come. Little endian, as both x86 and Arm are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace offramp::dpu {

enum class Scope : std::int32_t { kHostDpu = 0, kInterProcess = 1, kSelf = 2, kUnknown = 3 };
enum class Role : std::int32_t { kUnknown = 0, kClient = 1, kServer = 2, kSelf = 3 };

struct NotificationHeader {
  std::uint64_t id = 0;  // of the sender's execution context
  std::uint64_t type = 0;
  std::uint64_t payload_size = 0;
  std::uint64_t event_id = 0;  // counts per event system
  std::uint64_t client_id = 0;
  std::uint64_t server_id = 0;
  Scope scope = Scope::kUnknown;
  Role sender = Role::kUnknown;
  friend bool operator==(const NotificationHeader&, const NotificationHeader&) = default;
};

inline constexpr std::size_t kHeaderBytes = 56;
/// Longer payloads are not ours: a decoder must not believe a size and allocate it.
inline constexpr std::uint64_t kMostPayload = std::uint64_t{1} << 30;
/// Handlers exist for types below this. The published table begins with 5000 and grows with registrations;
/// its tests use 5000 to 5002.
inline constexpr std::uint64_t kTypes = 65536;

struct NotificationField {
  std::string_view name;
  std::size_t offset;
  std::size_t bytes;
  std::uint64_t (*get)(const NotificationHeader& header);
  void (*set)(NotificationHeader& header, std::uint64_t value);
  std::uint64_t maximum;
};
std::span<const NotificationField> notification_fields();

using HeaderBytes = std::array<std::byte, kHeaderBytes>;
HeaderBytes encode(const NotificationHeader& header);
/// Nothing: too short, or a field with a value that is not allowed.
std::optional<NotificationHeader> decode(std::span<const std::byte> bytes);
std::string to_text(const NotificationHeader& header);

/// Types that the service itself uses; programs may not.
struct ReservedType {
  std::uint64_t type;
  std::string_view name;
};
std::span<const ReservedType> reserved_types();
/// Empty: not reserved.
std::string_view reserved_name(std::uint64_t type);

}  // namespace offramp::dpu
