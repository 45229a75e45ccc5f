// Reads the dependencies and symbols of an ELF program or library without running it.
#pragma once

#include <string>
#include <vector>

#include "lib/base/registry/registry.hpp"

namespace offramp::tool {

/// What the dynamic loader would learn from a file. Names are as in the file, and not resolved.
struct ElfImage {
  std::vector<std::string> needed;       // DT_NEEDED, in order
  std::vector<std::string> rpath;        // DT_RPATH with $ORIGIN resolved
  std::vector<std::string> runpath;      // DT_RUNPATH with $ORIGIN resolved
  std::vector<std::string> imports;      // undefined dynamic symbols
  std::vector<std::string> definitions;  // defined functions whose names begin with MPI_ or PMPI_
  bool is_static = false;
  std::size_t thread_local_bytes = 0;  // with what its alignment may take
};

/// Reads a file with any content. Returns an error unless it is an ELF file for this machine.
Result<ElfImage> read_elf(const std::string& path);

/// The linker's build ID of a program or library, in hexadecimal. Empty if it has none or cannot be read.
std::string build_id_of_file(const std::string& path);

/// The path at which the dynamic loader would find a library of the image. Empty if it would not.
std::string find_library(const std::string& name, const ElfImage& image);

/// The thread-local memory of programs or libraries and of all libraries that they need. Unreadable files are
/// left out.
std::size_t thread_local_bytes_of(std::vector<std::string> files);

}  // namespace offramp::tool
