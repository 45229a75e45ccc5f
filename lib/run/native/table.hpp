// The exported MPI functions jump through one table. Before MPI_Init, after MPI_Finalize, and with backend
// "off" it has the MPI library's own functions: Offramp costs one jump, and errors are the library's.
#pragma once

#include "lib/run/native/native.h"
#include "offramp/generated/mpi_table.hpp"

#define OFFRAMP_EXPORT __attribute__((visibility("default")))

namespace offramp {

// Hidden, which saves each call a load of their addresses.
extern MpiTable native __attribute__((visibility("hidden")));    // the MPI library's functions
extern MpiTable dispatch __attribute__((visibility("hidden")));  // the present targets

/// find(name) returns the next definition of a symbol after this library's.
void resolve_natives(MpiTable& table, void* (*find)(const char* name));
/// Replaces library functions that lack what Offramp needs, per family of MPI libraries (lib/run/native).
void replace_natives(MpiTable& table);
/// The table for a call with this return address.
inline const MpiTable& table_for(const void* caller) {
  return offramp_native_is_inside(caller) != 0 ? native : dispatch;
}
}  // namespace offramp
