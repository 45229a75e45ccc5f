// The MPI families for which Offramp has interposing libraries. A program of one family needs the library of
// that family.
#pragma once

#include <string>
#include <string_view>

namespace offramp {

/// "openmpi" or "mpich", by the library name that a program requests from the loader; empty if it is unknown.
/// libmpi.so.12 is MPICH or a derivative: Intel MPI, MVAPICH, Cray MPICH.
inline std::string_view family_of_mpi_library(std::string_view soname) {
  if (soname.starts_with("libmpich") || soname.starts_with("libmpi.so.12")) return "mpich";
  return soname.starts_with("libmpi") || soname.starts_with("libopen-") ? "openmpi" : "";
}

/// The display name.
inline std::string_view name_of_mpi_family(std::string_view family) {
  return family == "mpich" ? "MPICH" : "Open MPI";
}

/// The interposing library for programs of a family, if libofframp.so itself is for another family.
inline std::string interposer_of_family(std::string_view family) {
  return "libofframp-" + std::string(family) + ".so";
}

/// "Open MPI v4.1.4" or "MPICH 4.0.2", from the text of MPI_Get_library_version.
inline std::string release_of_mpi_library(std::string_view said) {
  constexpr std::string_view kBefore = " Version:";  // MPICH's
  const std::string_view first = said.substr(0, said.find_first_of(",\n"));
  const std::size_t at = first.find(kBefore);
  if (at == std::string_view::npos) return std::string(first);
  const std::size_t number = first.find_first_not_of(" \t", at + kBefore.size());
  if (number == std::string_view::npos) return std::string(first.substr(0, at));
  return std::string(first.substr(0, at)) + " " + std::string(first.substr(number));
}

}  // namespace offramp
