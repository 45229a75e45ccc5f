// Encoder and decoder walk over one table, whose first four fields are those of the first generation.
// Packetizers differ: TCP and RDMA cut one stream of header and payload; UDP of the second generation fills
// the last word; TCP never sends a header alone.
#include "simulators/cclo/header.hpp"

#include "simulators/cclo/codes.hpp"

namespace offramp::cclo {
namespace {

using F = HeaderField;
constexpr std::array<HeaderFieldSpec, static_cast<std::size_t>(F::kNumber)> kFields = {{
    {F::kCount, 0, 4, "count"},
    {F::kTag, 4, 4, "tag"},
    {F::kSource, 8, 4, "src"},
    {F::kSequence, 12, 4, "seqn"},
    {F::kStream, 16, 4, "strm"},
    {F::kDestination, 20, 2, "dst"},
    {F::kType, 22, 1, "msg_type"},
    {F::kHost, 23, 1, "host"},
    {F::kAddress, 24, 8, "vaddr"},
}};

}  // namespace

std::span<const HeaderFieldSpec> header_fields(Generation generation) {
  return std::span(kFields).first(generation == Generation::kFirst ? 4 : kFields.size());
}

HeaderImage encode(Generation generation, const Header& header) {
  HeaderImage image{};
  for (const HeaderFieldSpec& f : header_fields(generation)) {
    for (std::uint32_t i = 0; i < f.width; ++i)
      image.at(f.offset + i) = static_cast<std::byte>(header.get(f.field) >> (8 * i));
  }
  return image;
}

std::optional<Header> decode(Generation generation, std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  Header header;
  for (const HeaderFieldSpec& f : header_fields(generation)) {
    std::uint64_t value = 0;
    for (std::uint32_t i = f.width; i > 0; --i)
      value = value << 8 | std::to_integer<std::uint64_t>(bytes[f.offset + i - 1]);
    header.set(f.field, value);
  }
  if (generation == Generation::kFirst) {
    if (header.get(F::kCount) > kMaximumTransactionBytes) return std::nullopt;
  } else if (header.get(F::kType) >= static_cast<std::uint64_t>(MessageType::kNumber)) {
    return std::nullopt;
  }
  return header;
}

}  // namespace offramp::cclo
