// Numbers of a file are limited to 2^60 ns when they are read, and so is the sum over call sites, so later
// sums cannot overflow. Names are made printable here. At most kMostCallTimes sites are written.
#include "lib/programs/recording/native_run.hpp"

#include <algorithm>
#include <numeric>

#include "lib/base/printable.hpp"
#include "lib/programs/recording/format.hpp"

namespace offramp::recording {
namespace {

// Bytes of a function's or a site's name.
constexpr std::size_t kLongestName = 4096;

void put(Payload& payload, std::string_view text) {
  text = text.substr(0, kLongestName);
  payload.put(text.size());
  payload.put(byte_span(text));
}

std::string get_text(Cursor& cursor) {
  return printable(text_of(cursor.bytes(cursor.number(kLongestName, "a name is too long"))));
}

}  // namespace

std::uint64_t NativeRun::in_mpi() const {
  return std::accumulate(calls.begin(), calls.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const CallTimes& one) { return sum + one.sum; });
}

void put_native_run(Payload& payload, const NativeRun& run) {
  put(payload, run.host);
  for (const std::uint64_t number : {run.cores, run.run, run.init, run.ready ? *run.ready + 1 : 0})
    payload.put(number);
  const std::size_t count = std::min(run.calls.size(), kMostCallTimes);
  payload.put(count);
  for (std::size_t i = 0; i < count; ++i) {
    const CallTimes& call = run.calls[i];
    put(payload, call.function);
    put(payload, call.site);
    for (const std::uint64_t number : {call.count, call.sum, call.least, call.greatest}) payload.put(number);
  }
}

NativeRun get_native_run(Cursor& cursor) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 60U;  // 36 years, so that sums do not overflow
  const auto time = [&cursor] { return cursor.number(kMost, "a native time is out of range"); };
  NativeRun run;
  run.host = get_text(cursor);
  run.cores = time();
  run.run = time();
  run.init = time();
  if (const std::uint64_t ready = time(); ready > 0) run.ready = ready - 1;
  std::uint64_t left = cursor.number(kMostCallTimes, "it has too many call sites");
  std::uint64_t sum = 0;
  for (; left > 0 && cursor.problem() == nullptr; --left) {
    CallTimes& call = run.calls.emplace_back();
    call.function = get_text(cursor);
    call.site = get_text(cursor);
    for (std::uint64_t* const number : {&call.count, &call.sum, &call.least, &call.greatest})
      *number = time();
    if ((sum += call.sum) > kMost) cursor.fail("a native time is out of range");
  }
  return run;
}

}  // namespace offramp::recording
