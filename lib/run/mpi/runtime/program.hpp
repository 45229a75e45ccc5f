// The process into which this library is loaded: the program's MPI library, and preloading.
#pragma once

#include <string>
#include <string_view>

namespace offramp {

/// The path from which this library was loaded.
std::string own_path();

/// The library for LD_AUDIT (lib/run/audit), for calls that LD_PRELOAD misses. Empty if not installed.
std::string audit_path();

/// The path of the MPI library to which the program is linked. Empty if it is the one that this library was
/// built for. Dependencies of this library do not count.
std::string other_mpi_of_program();

/// As other_mpi_of_program(), for all libraries loaded so far, including those opened at run time.
std::string other_mpi_loaded();

/// The path of an MPI library of this process that is or was initialised. Empty if none was.
std::string initialized_mpi();

/// Returns true if the program itself, without its libraries, calls a function or uses its address.
bool program_calls(std::string_view function);

/// The library beside this one for programs of that other MPI library. Empty if none was built.
std::string interposer_for(const std::string& other_mpi);

/// Removes this library from LD_PRELOAD and its helper from LD_AUDIT, or replaces it. False: it was not
/// there.
bool clear_preload(const std::string& instead = {});

}  // namespace offramp
