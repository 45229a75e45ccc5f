// digest() is XXH3 of xxHash. It is not in the header, since xxHash would then be compiled in every source
// that includes it.
#include "lib/base/certificate.hpp"

// Header-only: a preloaded library must not load another library into the program.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace offramp {

std::uint64_t Certificate::digest(Bytes bytes, std::uint64_t before) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), before);
}

}  // namespace offramp
