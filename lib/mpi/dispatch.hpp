// The exported MPI functions jump through one table. Until MPI_Init, after MPI_Finalize and with the backend
// "off" its entries are the MPI library's own functions, so that Offramp costs one jump and errors are the
// library's.
#pragma once

#include "lib/native/native.h"
#include "offramp/generated/mpi_table.hpp"

#define OFFRAMP_EXPORT __attribute__((visibility("default")))

namespace offramp {

// Hidden, or their addresses would be loaded first in every call.
extern MpiTable native __attribute__((visibility("hidden")));    // the MPI library's functions
extern MpiTable dispatch __attribute__((visibility("hidden")));  // what the exported functions do now

/// find(name) gives the next definition of a symbol after this library.
void resolve_natives(MpiTable& table, void* (*find)(const char* name));
/// Puts functions in place of the library's where those do not do what Offramp needs of them. By the family
/// of MPI libraries (lib/native).
void stand_in_for_natives(MpiTable& table);
/// Which table a call belongs to that goes on at this address.
inline const MpiTable& table_for(const void* caller) {
  return offramp_native_is_inside(caller) != 0 ? native : dispatch;
}
/// The entries while a backend is on.
void fill_active(MpiTable& table);

// Those among them that are written by hand and have two forms. Form: IntForm or LargeForm.
template <typename Form>
void fill_messages(MpiTable& table);
template <typename Form>
void fill_persistent_messages(MpiTable& table);
template <typename Form>
void fill_matched_receives(MpiTable& table);
template <typename Form>
void fill_buffered(MpiTable& table);
template <typename Form>
void fill_windows(MpiTable& table);
template <typename Form>
void fill_forms(MpiTable& table) {
  fill_messages<Form>(table);
  fill_persistent_messages<Form>(table);
  fill_matched_receives<Form>(table);
  fill_buffered<Form>(table);
  fill_windows<Form>(table);
}
/// Instantiates one, behind its definition. NOLINTBEGIN(bugprone-macro-parentheses)
#ifdef OFFRAMP_HAS_LARGE_COUNTS
#define OFFRAMP_IN_BOTH_FORMS(fill)              \
  template void fill<IntForm>(MpiTable & table); \
  template void fill<LargeForm>(MpiTable & table);
#else
#define OFFRAMP_IN_BOTH_FORMS(fill) template void fill<IntForm>(MpiTable & table);
#endif  // NOLINTEND(bugprone-macro-parentheses)

/// A call that the MPI library carries while a backend is on: counted, and seen by the hang report.
class NativeCall {
 public:
  explicit NativeCall(Function function);
  ~NativeCall();
  NativeCall(const NativeCall&) = delete;
  NativeCall& operator=(const NativeCall&) = delete;

 private:
  Function function_;
};

}  // namespace offramp
