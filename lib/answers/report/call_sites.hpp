// Where a call of the program is, in words that are the same on every run: addresses within the object that
// it is in, which addr2line understands.
#pragma once

#include <cstdint>
#include <string>

namespace offramp {

struct CallSite {
  std::string object;        // a file's name without its folder; empty: no object of the process
  std::string path;          // of the file, as the dynamic loader has it
  std::uint64_t offset = 0;  // of the call, as in the object's symbol table
  std::string symbol;        // the exported function around it; empty: none
};

/// A program or library that calls come from: where its symbols are to be looked for.
struct LoadedObject {
  std::string name;      // CallSite::object
  std::string build_id;  // see build_id_of()
  std::string path;
};

/// returns_to: the address behind the call.
CallSite call_site(const void* returns_to);

/// The build ID of an object of this process, in hexadecimal; empty without one.
std::string build_id_of(const std::string& path);

/// "solve (libsolver.so+0x12a4)", "jacobi+0x12a4".
std::string to_string(const CallSite& site);

}  // namespace offramp
