// The functions that the table of exported functions gets while a backend is on: most of them are generated
// (generate.py), those here are written by hand.
#pragma once

#include "lib/run/native/table.hpp"

namespace offramp {

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

}  // namespace offramp
