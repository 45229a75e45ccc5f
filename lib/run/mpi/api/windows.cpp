// MPI chapter 11: general active target synchronization of the MPI library's windows.
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "lib/run/mpi/runtime/native_calls.hpp"
#include "lib/run/native/pmpi.hpp"

namespace offramp {
namespace {

// A target sends its clock to its origins in MPI_Win_post. They receive it in MPI_Win_complete, their first
// call that always waits for the post, and send theirs to MPI_Win_wait. Sending a clock never blocks.

std::vector<int> ranks_in(MPI_Win window, MPI_Group group) {
  MPI_Group all = MPI_GROUP_NULL;
  int size = 0;
  pmpi::Win_get_group(window, &all);
  pmpi::Group_size(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size));
  std::vector<int> ranks(own.size());
  std::iota(own.begin(), own.end(), 0);
  pmpi::Group_translate_ranks(group, size, own.data(), all, ranks.data());
  pmpi::Group_free(&all);
  return ranks;
}

/// With threads, the event precedes the call after which the others have the clock: what another thread does
/// as a consequence may be recorded before that call returns.
bool is_recorded_early(InterposedCall& call) {
  return call.session.has_threads();
}

void record_notify(InterposedCall& call, const Context& epochs, Subject subject, std::span<const int> to) {
  if (!is_recorded_early(call)) record_exchange(call, epochs, subject, to, {}, true);
}

void record_wait(InterposedCall& call, const Context& epochs, Subject subject, std::span<const int> from) {
  record_exchange(call, epochs, subject, {}, from, true);
}

/// Ends the exposure epoch of a window, if it has one on this rank.
void end_exposure(InterposedCall& call, MPI_Win window) {
  SyncGroup* place = call.session.sync_groups().find(window);
  if (place != nullptr) record_wait(call, *place->epochs, kCompleted, std::exchange(place->origins, {}));
}

}  // namespace

namespace api {

int Win_post(MPI_Group group, int assert, MPI_Win win) {
  InterposedCall call(Function::kWin_post);
  SyncGroup* place = group != MPI_GROUP_NULL ? call.session.sync_groups().find(win) : nullptr;
  if (place != nullptr && is_recorded_early(call))
    record_exchange(call, *place->epochs, kPosted, ranks_in(win, group), {}, true);
  const int code =
      pass_through(call, Function::kWin_post, [&] { return native.Win_post(group, assert, win); });
  if (code != MPI_SUCCESS || place == nullptr) return code;
  place->origins = ranks_in(win, group);
  record_notify(call, *place->epochs, kPosted, place->origins);
  return code;
}

int Win_start(MPI_Group group, int assert, MPI_Win win) {
  InterposedCall call(Function::kWin_start);
  const int code =
      pass_through(call, Function::kWin_start, [&] { return native.Win_start(group, assert, win); });
  SyncGroup* place = call.session.sync_groups().find(win);
  if (code == MPI_SUCCESS && place != nullptr && group != MPI_GROUP_NULL)
    place->targets = ranks_in(win, group);
  return code;
}

int Win_complete(MPI_Win win) {
  InterposedCall call(Function::kWin_complete);
  SyncGroup* place = call.session.sync_groups().find(win);
  if (place != nullptr && is_recorded_early(call))
    record_exchange(call, *place->epochs, kCompleted, place->targets, {}, true);
  const int code = pass_through(call, Function::kWin_complete, [&] { return native.Win_complete(win); });
  if (code != MPI_SUCCESS || place == nullptr) return code;
  const std::vector<int> targets = std::exchange(place->targets, {});
  record_wait(call, *place->epochs, kPosted, targets);
  record_notify(call, *place->epochs, kCompleted, targets);
  return code;
}

int Win_wait(MPI_Win win) {
  InterposedCall call(Function::kWin_wait);
  const int code = pass_through(call, Function::kWin_wait, [&] { return native.Win_wait(win); });
  if (code == MPI_SUCCESS) end_exposure(call, win);
  return code;
}

int Win_test(MPI_Win win, int* flag) {
  InterposedCall call(Function::kWin_test);
  const int code = pass_through(call, Function::kWin_test, [&] { return native.Win_test(win, flag); });
  if (code != MPI_SUCCESS) return code;
  if (*flag != 0) {
    end_exposure(call, win);
  } else {
    call.engine.count_arrival_order_dependence(Dependence::kPolling);
    if (call.recorder() != nullptr) call.recorder()->polled(call.function());
  }
  return code;
}

}  // namespace api
}  // namespace offramp
