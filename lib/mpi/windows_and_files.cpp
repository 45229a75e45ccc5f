// Chapters 11 and 13: windows and files come and go in the MPI library; Offramp gives each a place where its
// members' clocks meet.
#include "lib/mpi/native_calls.hpp"

namespace offramp {
namespace {

template <typename Handle, typename Constructor>
int open(Function function, MPI_Comm comm, Handle* made, Constructor constructor) {
  Call call(function);
  const int code = pass_through(call, function, constructor);
  if (took_part(code)) open_meeting_place(call, comm, code == MPI_SUCCESS ? *made : nullptr);
  return code;
}

/// The members meet first: afterwards the handle may already be somebody else's.
template <typename Handle, typename Destructor>
int close(Function function, Handle* handle, Destructor destructor) {
  Call call(function);
  if (handle != nullptr) {
    meet(call, meeting_place(call.session, *handle));
    call.session.meetings.close(*handle);
  }
  return pass_through(call, function, destructor);
}

}  // namespace

namespace face {

int Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return open(Function::kWin_create, comm, win,
              [&] { return native.Win_create(base, size, disp_unit, info, comm, win); });
}
int Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return open(Function::kWin_allocate, comm, win,
              [&] { return native.Win_allocate(size, disp_unit, info, comm, baseptr, win); });
}
int Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                        MPI_Win* win) {
  return open(Function::kWin_allocate_shared, comm, win,
              [&] { return native.Win_allocate_shared(size, disp_unit, info, comm, baseptr, win); });
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

}  // namespace face
}  // namespace offramp
