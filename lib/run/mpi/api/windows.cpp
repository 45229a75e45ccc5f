// MPI chapter 11: the synchronization of the MPI library's windows.
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "lib/run/mpi/runtime/native_calls.hpp"
#include "lib/run/native/pmpi.hpp"

namespace offramp {
namespace {

// A target notifies its origins in MPI_Win_post, and they wait for that in MPI_Win_start. They notify it in
// MPI_Win_complete, once their accesses are complete, and it waits for that in MPI_Win_wait. A lock is an
// atomic operation on its target, that of all ranks one on rank 0. See docs/replay.md for the sources.

std::vector<int> ranks_in(MPI_Win window, MPI_Group group) {
  MPI_Group all = MPI_GROUP_NULL;
  int size = 0;
  // The group gives ranks in the window, in which the recording names its members.
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
  if (call.recorder() == nullptr) return;
  for (const int rank : to)
    call.recorder()->library_message(call.function(), recording::EventKind::kSend, epochs.recorded, rank,
                                     subject);
}

void record_wait(InterposedCall& call, const Context& epochs, Subject subject, std::span<const int> from) {
  if (call.recorder() == nullptr) return;
  for (const int rank : from)
    call.recorder()->library_message(call.function(), recording::EventKind::kReceive, epochs.recorded, rank,
                                     subject);
  call.recorder()->without_cost(call.function());
}

/// Ends the exposure epoch of a window, if it has one on this rank.
void end_exposure(InterposedCall& call, MPI_Win window) {
  SyncGroup* place = call.session.sync_groups().find(window);
  if (place != nullptr) record_wait(call, *place->epochs, kCompleted, std::exchange(place->origins, {}));
}

constexpr int kAllTargets = -1;

/// Records that this rank waits for its accesses to a target.
void record_flush(InterposedCall& call, SyncGroup& window, int target) {
  std::vector<std::uint32_t> requests;
  // The accesses that the flush completes end here. The others stay for a later flush.
  std::erase_if(window.accesses, [&](const SyncGroup::Access& access) {
    if (target != kAllTargets && access.target != target) return false;
    requests.push_back(access.request);
    return true;
  });
  if (call.recorder() != nullptr) call.recorder()->wait_all(call.function(), requests);
}

/// Records that this rank changes the lock of a target and waits for the result.
void record_lock(InterposedCall& call, const SyncGroup& window, int target) {
  constexpr std::uint64_t kLock = 8;  // bytes
  if (call.recorder() != nullptr && target >= 0)
    call.recorder()->access(call.function(), window.context->recorded, target, Access::kAtomic, kLock, kLock,
                            true);
}

/// Passes on a synchronization and records its parts: record(call, group).
int pass_and_record(Function function, MPI_Win window, auto body, auto record) {
  InterposedCall call(function);
  const int code = pass_through(call, function, body);
  SyncGroup* const place = call.session.sync_groups().find(window);
  if (code == MPI_SUCCESS && place == nullptr && call.recorder() != nullptr)
    // Windows without a group reach beyond MPI_COMM_WORLD: the recording notes only that the call
    // communicates.
    call.recorder()->communicates(function, 0);
  if (code != MPI_SUCCESS || place == nullptr) return code;
  record(call, *place);
  if (call.recorder() != nullptr) call.recorder()->without_cost(function);
  return code;
}

int flush(Function function, MPI_Win window, int target, auto body) {
  return pass_and_record(function, window, body, [target](InterposedCall& call, SyncGroup& place) {
    record_flush(call, place, target);
  });
}

int lock(Function function, MPI_Win window, int target, auto body) {
  return pass_and_record(function, window, body, [target](InterposedCall& call, SyncGroup& place) {
    record_lock(call, place, target);
  });
}

/// leader: the rank whose lock this is.
int unlock(Function function, MPI_Win window, int target, int leader, auto body) {
  return pass_and_record(function, window, body, [target, leader](InterposedCall& call, SyncGroup& place) {
    record_flush(call, place, target);
    record_lock(call, place, leader);
  });
}

}  // namespace

namespace api {

int Win_post(MPI_Group group, int assert, MPI_Win win) {
  InterposedCall call(Function::kWin_post);
  SyncGroup* place = group != MPI_GROUP_NULL ? call.session.sync_groups().find(win) : nullptr;
  if (place != nullptr && is_recorded_early(call))
    record_notify(call, *place->epochs, kPosted, ranks_in(win, group));
  const int code =
      pass_through(call, Function::kWin_post, [&] { return native.Win_post(group, assert, win); });
  if (code != MPI_SUCCESS || place == nullptr) return code;
  place->origins = ranks_in(win, group);
  if (!is_recorded_early(call)) record_notify(call, *place->epochs, kPosted, place->origins);
  return code;
}

int Win_start(MPI_Group group, int assert, MPI_Win win) {
  InterposedCall call(Function::kWin_start);
  const int code =
      pass_through(call, Function::kWin_start, [&] { return native.Win_start(group, assert, win); });
  SyncGroup* place = call.session.sync_groups().find(win);
  if (code != MPI_SUCCESS || place == nullptr || group == MPI_GROUP_NULL) return code;
  place->targets = ranks_in(win, group);
  record_wait(call, *place->epochs, kPosted, place->targets);
  return code;
}

int Win_complete(MPI_Win win) {
  InterposedCall call(Function::kWin_complete);
  SyncGroup* place = call.session.sync_groups().find(win);
  const auto record = [&] {
    record_flush(call, *place, kAllTargets);
    record_notify(call, *place->epochs, kCompleted, std::exchange(place->targets, {}));
  };
  if (place != nullptr && is_recorded_early(call)) record();
  const int code = pass_through(call, Function::kWin_complete, [&] { return native.Win_complete(win); });
  if (code == MPI_SUCCESS && place != nullptr && !is_recorded_early(call)) record();
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

/// The library waits for this rank's accesses, and then for a barrier, whatever the assertions.
int Win_fence(int assert, MPI_Win win) {
  InterposedCall call(Function::kWin_fence);
  SyncGroup* const place = call.session.sync_groups().find(win);
  if (place != nullptr) record_flush(call, *place, kAllTargets);
  ScopedSync sync = ScopedSync::barrier(call, place != nullptr ? place->context : nullptr);
  const int code = pass_through(call, Function::kWin_fence, [&] { return native.Win_fence(assert, win); });
  sync.end(participated(code));
  if (place == nullptr && call.recorder() != nullptr) call.recorder()->communicates(call.function(), 0);
  return code;
}

int Win_lock(int type, int rank, int assert, MPI_Win win) {
  return lock(Function::kWin_lock, win, rank, [&] { return native.Win_lock(type, rank, assert, win); });
}
int Win_lock_all(int assert, MPI_Win win) {
  return lock(Function::kWin_lock_all, win, 0, [&] { return native.Win_lock_all(assert, win); });
}
int Win_unlock(int rank, MPI_Win win) {
  return unlock(Function::kWin_unlock, win, rank, rank, [&] { return native.Win_unlock(rank, win); });
}
int Win_unlock_all(MPI_Win win) {
  return unlock(Function::kWin_unlock_all, win, kAllTargets, 0, [&] { return native.Win_unlock_all(win); });
}

// A flush of local completion is recorded as one of both, which lasts longer.
int Win_flush(int rank, MPI_Win win) {
  return flush(Function::kWin_flush, win, rank, [&] { return native.Win_flush(rank, win); });
}
int Win_flush_all(MPI_Win win) {
  return flush(Function::kWin_flush_all, win, kAllTargets, [&] { return native.Win_flush_all(win); });
}
int Win_flush_local(int rank, MPI_Win win) {
  return flush(Function::kWin_flush_local, win, rank, [&] { return native.Win_flush_local(rank, win); });
}
int Win_flush_local_all(MPI_Win win) {
  return flush(Function::kWin_flush_local_all, win, kAllTargets,
               [&] { return native.Win_flush_local_all(win); });
}

}  // namespace api
}  // namespace offramp
