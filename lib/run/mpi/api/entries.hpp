// Entries for the table of exported functions while a backend is active. Most are generated (generate.py);
// those here are written by hand.
#pragma once

#include "lib/run/native/table.hpp"

namespace offramp {

/// Sets all entries.
void fill_active(MpiTable& table);

// Handwritten entries with two forms. Form: IntForm or LargeForm.
template <typename Form>
void fill_messages(MpiTable& table);
template <typename Form>
void fill_persistent_messages(MpiTable& table);
template <typename Form>
void fill_matched_receives(MpiTable& table);
template <typename Form>
void fill_buffered(MpiTable& table);
/// All handwritten entries of one form, with int or with large counts.
template <typename Form>
void fill_forms(MpiTable& table) {
  fill_messages<Form>(table);
  fill_persistent_messages<Form>(table);
  fill_matched_receives<Form>(table);
  fill_buffered<Form>(table);
}
/// Instantiates such a function in both forms, after its definition. NOLINTBEGIN(bugprone-macro-parentheses)
#ifdef OFFRAMP_HAS_LARGE_COUNTS
#define OFFRAMP_IN_BOTH_FORMS(fill)              \
  template void fill<IntForm>(MpiTable & table); \
  template void fill<LargeForm>(MpiTable & table);
#else
#define OFFRAMP_IN_BOTH_FORMS(fill) template void fill<IntForm>(MpiTable & table);
#endif  // NOLINTEND(bugprone-macro-parentheses)

}  // namespace offramp
