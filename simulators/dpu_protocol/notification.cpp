// Notifications come from other processes. A value above its field's maximum makes the decoder refuse the
// whole header, so an excessive size is never allocated. The reserved types are those of [dpu-service-src],
// 32 to 50.
#include "simulators/dpu_protocol/notification.hpp"

#include <limits>

namespace offramp::dpu {
namespace {

using Header = NotificationHeader;
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

template <std::uint64_t Header::*kMember>
constexpr NotificationField wide_field(std::string_view name, std::size_t offset, std::uint64_t maximum) {
  return {name,
          offset,
          8,
          [](const Header& header) { return header.*kMember; },
          [](Header& header, std::uint64_t value) { header.*kMember = value; },
          maximum};
}

// Both enumerations have the values 0 to 3.
template <auto kMember, typename Value>
constexpr NotificationField choice(std::string_view name, std::size_t offset) {
  return {name,
          offset,
          4,
          [](const Header& header) { return static_cast<std::uint64_t>(header.*kMember); },
          [](Header& header, std::uint64_t value) { header.*kMember = static_cast<Value>(value); },
          3};
}

constexpr std::array<NotificationField, 8> kFields = {
    {wide_field<&Header::id>("id", 0, kAny), wide_field<&Header::type>("type", 8, kTypes - 1),
     wide_field<&Header::payload_size>("payload_size", 16, kMostPayload),
     wide_field<&Header::event_id>("event_id", 24, kAny),
     wide_field<&Header::client_id>("client_id", 32, kAny),
     wide_field<&Header::server_id>("server_id", 40, kAny), choice<&Header::scope, Scope>("scope_id", 48),
     choice<&Header::sender, Role>("sender_type", 52)}};

constexpr std::array<ReservedType, 19> kReserved = {{{32, "meta-event"},
                                                     {33, "term"},
                                                     {34, "event message"},
                                                     {35, "event header"},
                                                     {36, "operation start"},
                                                     {37, "operation completion"},
                                                     {38, "XGVMI key"},
                                                     {39, "XGVMI key revoked"},
                                                     {40, "cache request"},
                                                     {41, "cache entries"},
                                                     {42, "cache entries request"},
                                                     {43, "add rank to group"},
                                                     {44, "revoke group, from rank"},
                                                     {45, "revoke group, from service process"},
                                                     {46, "service process data"},
                                                     {47, "test"},
                                                     {48, "end marker"},
                                                     {49, "group revoked (internal)"},
                                                     {50, "end"}}};

}  // namespace

std::span<const NotificationField> notification_fields() {
  return kFields;
}

HeaderBytes encode(const NotificationHeader& header) {
  HeaderBytes bytes{};
  for (const NotificationField& field : kFields) {
    std::uint64_t value = field.get(header);
    for (std::size_t i = 0; i < field.bytes; ++i, value >>= 8U)
      bytes[field.offset + i] = static_cast<std::byte>(value & 0xffU);
  }
  return bytes;
}

std::optional<NotificationHeader> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  NotificationHeader header;
  for (const NotificationField& field : kFields) {
    std::uint64_t value = 0;
    for (std::size_t i = field.bytes; i-- > 0;)
      value = (value << 8U) | static_cast<std::uint64_t>(bytes[field.offset + i]);
    if (value > field.maximum) return std::nullopt;
    field.set(header, value);
  }
  return header;
}

std::span<const ReservedType> reserved_types() {
  return kReserved;
}

}  // namespace offramp::dpu
