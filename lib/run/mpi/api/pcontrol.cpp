// MPI_Pcontrol: no effect in the MPI library, but names phases in the recording. Variadic functions are not
// among those generated from mpi.h.
#include <mpi.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstring>
#include <string_view>

#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {
namespace {

constexpr std::size_t kLongestName = 64;

/// The name of a phase, or empty. Most programs only pass a level, and the second argument is then the random
/// content of a register. It may point anywhere, so the kernel reads it.
std::string_view name_at(const char* text, std::array<char, kLongestName>& copy) {
  // Reads page by page: the next page may not be mapped.
  constexpr std::uintptr_t kPage = 4096;
  const std::size_t in_page = kPage - reinterpret_cast<std::uintptr_t>(text) % kPage;
  const iovec to{copy.data(), copy.size()};
  std::array<iovec, 2> from{{{const_cast<char*>(text), std::min(in_page, copy.size())}, {}}};
  from[1] = {const_cast<char*>(text) + from[0].iov_len, copy.size() - from[0].iov_len};
  const ssize_t got = process_vm_readv(getpid(), &to, 1, from.data(), from.size(), 0);
  if (got <= 0) return {};
  const auto size = static_cast<std::size_t>(got);
  const void* const end = std::memchr(copy.data(), 0, size);
  if (end == nullptr) return {};
  const std::string_view name(copy.data(),
                              static_cast<std::size_t>(static_cast<const char*>(end) - copy.data()));
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return printable ? name : std::string_view();
}

void record_phase(int level, const char* text, CallPlace place) {
  if (Session::current == nullptr || Session::current->recorder() == nullptr) return;
  Session& session = *Session::current;
  const Session::Lock guard(session);
  std::array<char, kLongestName> copy{};
  session.recorder()->enter(Function::kCount, place);  // not a generated function
  session.recorder()->phase(level, name_at(text, copy));
  session.recorder()->leave(Function::kCount);
}

}  // namespace
}  // namespace offramp

extern "C" {
OFFRAMP_EXPORT int MPI_Pcontrol(const int level, ...) {
  va_list rest;
  va_start(rest, level);
  const char* const text = va_arg(rest, const char*);
  va_end(rest);
  offramp::record_phase(level, text, offramp::CallPlace::here());
  return MPI_SUCCESS;
}
OFFRAMP_EXPORT int PMPI_Pcontrol(const int level, ...) __attribute__((alias("MPI_Pcontrol")));
}
