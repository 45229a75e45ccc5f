// Message headers from the wire, and the register space with arbitrary values of the
// host: the tables that the firmware reads there may contain anything.
#include "simulators/cclo/exchange_memory.hpp"
#include "simulators/cclo/header.hpp"
#include "simulators/cclo/io_space.hpp"
#include "tests/fuzz/support.hpp"

using namespace offramp::cclo;  // NOLINT: one file

namespace {

void decode_headers(std::span<const std::byte> bytes) {
  for (const Generation generation : {Generation::kFirst, Generation::kSecond}) {
    const auto header = decode(generation, bytes);
    if (!header) continue;
    offramp::fuzz::require(decode(generation, encode(generation, *header)) == header);
  }
}

void use_tables(IoSpace& space, offramp::fuzz::Input& input) {
  RxPool pool(space);
  Communicator communicator(space, input.take<std::uint32_t>());
  const auto rank = input.take<std::uint32_t>();
  const auto buffer = input.take<std::uint32_t>();
  static_cast<void>(pool.enqueue());
  static_cast<void>(pool.fill(
      {input.take<std::uint32_t>(), input.take<std::uint32_t>(), rank, communicator.expected_inbound(rank)}));
  static_cast<void>(pool.seek(rank, input.take<std::uint32_t>(), communicator.next_outbound(rank)));
  static_cast<void>(pool.message(buffer));
  static_cast<void>(pool.status(buffer));
  pool.release(buffer);
  communicator.count_inbound(rank);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  offramp::fuzz::Input input(data, size);
  decode_headers(input.rest());
  const auto profile = static_cast<Profile>(input.take<std::uint8_t>() % 3);
  IoSpace space(layout_of(profile));
  while (!input.empty()) {
    const auto what = input.take<std::uint8_t>();
    const auto offset = input.take<std::uint32_t>();
    const auto value = input.take<std::uint32_t>();
    switch (what % 8) {
      case 0:
        space.write(offset, value);
        break;
      case 1:
        static_cast<void>(space.read(offset));
        break;
      case 2:
        space.write_control(offset, value);
        break;
      case 3:
        static_cast<void>(space.read_control(offset));
        break;
      case 4:
        static_cast<void>(space.pop_call());
        break;
      case 5:
        space.complete(value);
        break;
      case 6:
        use_tables(space, input);
        break;
      default:
        space.write(offset % 8192, value);  // usually at a register
    }
  }
  return 0;
}
