// The process that this library was loaded into: which MPI library the program brings, and what preloads us.
#pragma once

#include <string>
#include <string_view>

namespace offramp {

/// Where this library was loaded from.
std::string own_path();

/// The library for LD_AUDIT that brings Offramp's functions to calls that LD_PRELOAD does not reach
/// (lib/run/audit). Empty: it is not installed.
std::string audit_path();

/// The file of the MPI library that the program is linked to, if that is not the one that this library was
/// built for; else empty. What only this library needs does not count.
std::string other_mpi_of_program();

/// The same of all libraries that are loaded by now, those that the program opened while it ran included.
std::string other_mpi_loaded();

/// The file of an MPI library of this process that is or was initialised. Empty: none was.
std::string initialized_mpi();

/// Whether the program itself, apart from the libraries that it needs, calls a function or has its address.
bool program_calls(std::string_view function);

/// The file beside this library that goes in front of programs of that other MPI library; empty: none was
/// built.
std::string interposer_for(const std::string& other_mpi);

/// Takes this library out of LD_PRELOAD, and the one for LD_AUDIT out of that. Or puts another one in its
/// place in LD_PRELOAD. False: it was not there.
bool clear_preload(const std::string& instead = {});

/// The program begins again with what is in LD_PRELOAD now, and as it was called. Returns only if that fails,
/// with the reason.
std::string restart_program();

}  // namespace offramp
