// The code of a rank's native times, the only block of its column: host, cores, run, init, ready + 1 (0: not
// known), the number of calls; then for each the names of function and site, count, sum, least, greatest.
#pragma once

#include "lib/programs/recording/bytes.hpp"
#include "lib/programs/recording/reader.hpp"

namespace offramp::recording {

/// Longer lists of call sites than the format allows are cut off.
void put_native_run(Payload& payload, const NativeRun& run);
/// Problems are those of the cursor.
NativeRun get_native_run(Cursor& cursor);

}  // namespace offramp::recording
