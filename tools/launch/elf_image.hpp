// What an ELF program or library says of itself, without running it: what it needs and what it imports.
#pragma once

#include <string>
#include <vector>

#include "lib/base/registry/registry.hpp"

namespace offramp::tool {

struct ElfImage {
  std::vector<std::string> needed;       // DT_NEEDED, in order
  std::vector<std::string> rpath;        // DT_RPATH, $ORIGIN resolved
  std::vector<std::string> runpath;      // DT_RUNPATH, likewise
  std::vector<std::string> imports;      // undefined dynamic symbols
  std::vector<std::string> definitions;  // defined functions whose names begin with MPI_ or PMPI_
};

/// Reads a file of any content; what is not a dynamic ELF file for this machine is an error in words.
Result<ElfImage> read_elf(const std::string& path);

/// The linker's mark of one build of a program or library, in hexadecimal. Empty: it has none, or the file
/// cannot be read.
std::string build_id_of_file(const std::string& path);

/// Where the dynamic loader would find a library that an image needs. Empty: nowhere.
std::string find_library(const std::string& name, const ElfImage& image);

}  // namespace offramp::tool
