// MPI chapters 11 and 13: the MPI library creates and frees windows and files; Offramp gives each a group in
// which its members synchronize their clocks.
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "lib/run/mpi/api/entries.hpp"
#include "lib/run/mpi/runtime/native_calls.hpp"
#include "lib/run/native/pmpi.hpp"

namespace offramp {
namespace {

template <typename Handle, typename Constructor>
int open(Function function, MPI_Comm comm, Handle* made, Constructor constructor) {
  InterposedCall call(function);
  const MpiCommunicator* const parent = call.session.marshal().communicators.find(comm);
  ScopedSync sync(call, parent != nullptr ? parent->collective : nullptr);
  const int code = pass_through(call, function, constructor);
  if (participated(code)) open_sync_group(call, comm, code == MPI_SUCCESS ? *made : Handle());
  sync.end(participated(code));
  return code;
}

/// The members synchronize first: after the call, the handle may belong to another window or file.
template <typename Handle, typename Destructor>
int close(Function function, Handle* handle, Destructor destructor) {
  InterposedCall call(function);
  if (handle == nullptr) return pass_through(call, function, destructor);
  ScopedSync sync(call, sync_group_of(call.session, *handle));
  sync.before_call();
  call.session.sync_groups().close(*handle);
  const int code = pass_through(call, function, destructor);
  sync.end();
  return code;
}

// --- general active target synchronisation ---
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

template <typename Form>
int win_create(void* base, MPI_Aint size, typename Form::Displacement disp_unit, MPI_Info info, MPI_Comm comm,
               MPI_Win* win) {
  return open(Form::kWin_create, comm, win,
              [&] { return (native.*Form::Win_create)(base, size, disp_unit, info, comm, win); });
}
template <typename Form>
int win_allocate(MPI_Aint size, typename Form::Displacement disp_unit, MPI_Info info, MPI_Comm comm,
                 void* baseptr, MPI_Win* win) {
  return open(Form::kWin_allocate, comm, win,
              [&] { return (native.*Form::Win_allocate)(size, disp_unit, info, comm, baseptr, win); });
}
template <typename Form>
int win_allocate_shared(MPI_Aint size, typename Form::Displacement disp_unit, MPI_Info info, MPI_Comm comm,
                        void* baseptr, MPI_Win* win) {
  return open(Form::kWin_allocate_shared, comm, win,
              [&] { return (native.*Form::Win_allocate_shared)(size, disp_unit, info, comm, baseptr, win); });
}

}  // namespace

template <typename F>
void fill_windows(MpiTable& table) {
  table.*F::Win_create = win_create<F>;
  table.*F::Win_allocate = win_allocate<F>;
  table.*F::Win_allocate_shared = win_allocate_shared<F>;
}
OFFRAMP_IN_BOTH_FORMS(fill_windows)

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

int Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return open(Function::kWin_create_dynamic, comm, win,
              [&] { return native.Win_create_dynamic(info, comm, win); });
}
int Win_free(MPI_Win* win) {
  return close(Function::kWin_free, win, [&] { return native.Win_free(win); });
}

int File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* file) {
  return open(Function::kFile_open, comm, file,
              [&] { return native.File_open(comm, filename, amode, info, file); });
}
int File_close(MPI_File* file) {
  return close(Function::kFile_close, file, [&] { return native.File_close(file); });
}

}  // namespace api
}  // namespace offramp
