// The C interface for programs (offramp/offramp.h).
#include "lib/run/mpi/runtime/session.hpp"
#include "offramp/offramp.h"
#include "offramp/version.hpp"

extern "C" {

OFFRAMP_EXPORT const char* offramp_version(void) {
  return OFFRAMP_VERSION;
}

OFFRAMP_EXPORT const char* offramp_backend(void) {
  const offramp::Session* session = offramp::Session::current;
  // A program that is only recorded is off, too: no backend carries it.
  return session != nullptr && session->carries() ? session->configuration().backend.c_str() : "off";
}

OFFRAMP_EXPORT int64_t offramp_modelled_time_ps(void) {
  return -1;
}
}
