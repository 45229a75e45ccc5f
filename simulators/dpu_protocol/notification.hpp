// The wire format of a notification (read in [dpu-service-src]): a header of 56 bytes and the payload,
// little-endian as on x86 and Arm. Encoder, decoder, printer, and tests share one table of fields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace offramp::dpu {

// Scope and role, with the numbers of the wire format.
enum class Scope : std::int32_t { kHostDpu = 0, kInterProcess = 1, kSelf = 2, kUnknown = 3 };
enum class Role : std::int32_t { kUnknown = 0, kClient = 1, kServer = 2, kSelf = 3 };

/// The header of a notification. Enumerations and sizes are checked by decode().
struct NotificationHeader {
  std::uint64_t id = 0;  // the sender's execution context
  std::uint64_t type = 0;
  std::uint64_t payload_size = 0;
  std::uint64_t event_id = 0;  // counted per event system
  std::uint64_t client_id = 0;
  std::uint64_t server_id = 0;
  Scope scope = Scope::kUnknown;
  Role sender = Role::kUnknown;
  friend bool operator==(const NotificationHeader&, const NotificationHeader&) = default;
};

inline constexpr std::size_t kHeaderBytes = 56;
/// Decoders refuse larger sizes instead of allocating them.
inline constexpr std::uint64_t kMostPayload = std::uint64_t{1} << 30;
/// Upper bound of types with handlers. The published table begins with 5000 and grows with registrations; its
/// tests use 5000 to 5002.
inline constexpr std::uint64_t kTypes = 65536;

/// A field of the header in the wire format.
struct NotificationField {
  std::string_view name;
  std::size_t offset;
  std::size_t bytes;
  std::uint64_t (*get)(const NotificationHeader& header);
  void (*set)(NotificationHeader& header, std::uint64_t value);
  std::uint64_t maximum;
};
/// All fields, in the order of the wire.
std::span<const NotificationField> notification_fields();

using HeaderBytes = std::array<std::byte, kHeaderBytes>;
HeaderBytes encode(const NotificationHeader& header);
/// `nullopt` if there are too few bytes or a field has an invalid value.
std::optional<NotificationHeader> decode(std::span<const std::byte> bytes);

/// Types reserved for the service; programs must not use them.
struct ReservedType {
  std::uint64_t type;
  std::string_view name;
};
std::span<const ReservedType> reserved_types();

}  // namespace offramp::dpu
