// The exported MPI functions jump through one table. Until MPI_Init, after MPI_Finalize and with the backend
// "off" its entries are the MPI library's own functions, so that Offramp costs one jump and errors are the
// library's.
#pragma once

#include "lib/run/native/native.h"
#include "offramp/generated/mpi_table.hpp"

#define OFFRAMP_EXPORT __attribute__((visibility("default")))

namespace offramp {

// Hidden, or their addresses would be loaded first in every call.
extern MpiTable native __attribute__((visibility("hidden")));    // the MPI library's functions
extern MpiTable dispatch __attribute__((visibility("hidden")));  // what the exported functions do now

/// find(name) gives the next definition of a symbol after this library.
void resolve_natives(MpiTable& table, void* (*find)(const char* name));
/// Puts functions in place of the library's where those do not do what Offramp needs of them. By the family
/// of MPI libraries (lib/run/native).
void stand_in_for_natives(MpiTable& table);
/// Which table a call belongs to that goes on at this address.
inline const MpiTable& table_for(const void* caller) {
  return offramp_native_is_inside(caller) != 0 ? native : dispatch;
}
}  // namespace offramp
