// Mistakes with windows and files, and their error handlers: lines of a table that the suite `errors`
// compares with those of a native run.
#include <unistd.h>

#include "error_rows.h"

#define WORLD MPI_COMM_WORLD

static int value, other;
static MPI_Request r;
static MPI_Status s;

// ---- windows ----

static int window_errors, file_errors;

static void on_window(MPI_Win* window, int* code, ...) {
  if (*window != MPI_WIN_NULL && *code != MPI_SUCCESS) ++window_errors;
}

static void on_file(MPI_File* file, int* code, ...) {
  if (*file != MPI_FILE_NULL && *code != MPI_SUCCESS) ++file_errors;
}

static void accesses(MPI_Win window) {
  SHOW(MPI_Put(&value, 1, MPI_INT, np, 0, 1, MPI_INT, window));
  SHOW(MPI_Put(&value, 1, MPI_INT, -7, 0, 1, MPI_INT, window));
  SHOW(MPI_Put(&value, -1, MPI_INT, 0, 0, 1, MPI_INT, window));
  SHOW(MPI_Put(&value, 1, MPI_INT, 0, 0, -1, MPI_INT, window));
  SHOW(MPI_Put(&value, 1, MPI_INT, 0, -1, 1, MPI_INT, window));
  SHOW(MPI_Put(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, window));
  SHOW(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, window));
  SHOW(MPI_Get(&value, 1, MPI_INT, np, 0, 1, MPI_INT, window));
  SHOW(MPI_Get(&value, 1, MPI_INT, 0, -1, 1, MPI_INT, window));
  SHOW(MPI_Get(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, window));
  SHOW(MPI_Accumulate(&value, 1, MPI_INT, np, 0, 1, MPI_INT, MPI_SUM, window));
  SHOW(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, window));
  SHOW(MPI_Accumulate(&value, 1, MPI_FLOAT, 0, 0, 1, MPI_FLOAT, MPI_BAND, window));
  SHOW(MPI_Get_accumulate(&value, 1, MPI_INT, &other, 1, MPI_INT, np, 0, 1, MPI_INT, MPI_SUM, window));
  SHOW(MPI_Fetch_and_op(&value, &other, MPI_DATATYPE_NULL, 0, 0, MPI_SUM, window));
  SHOW(MPI_Fetch_and_op(&value, &other, MPI_INT, np, 0, MPI_SUM, window));
  SHOW(MPI_Compare_and_swap(&value, &value, &other, MPI_INT, np, 0, window));
  SHOW(MPI_Compare_and_swap(&value, &value, &other, MPI_DATATYPE_NULL, 0, 0, window));
  SHOW(MPI_Rput(&value, 1, MPI_INT, np, 0, 1, MPI_INT, window, &r));
  SHOW(MPI_Rget(&value, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, window, &r));
}

static void synchronisation(MPI_Win window) {
  SHOW(MPI_Win_lock(77, 0, 0, window));
  SHOW(MPI_Win_lock(MPI_LOCK_SHARED, np, 0, window));
  SHOW(MPI_Win_lock(MPI_LOCK_SHARED, 0, 77, window));
  SHOW(MPI_Win_unlock(np, window));
  SHOW(MPI_Win_unlock(0, window));
  SHOW(MPI_Win_unlock_all(window));
  SHOW(MPI_Win_fence(-1, window));
}

static void windows(void) {
  MPI_Win window, none = MPI_WIN_NULL;
  MPI_Errhandler own, found;
  int room[4] = {0};
  SHOW(MPI_Win_create(room, -1, 1, MPI_INFO_NULL, WORLD, &window));
  SHOW(MPI_Win_create(room, sizeof room, 0, MPI_INFO_NULL, WORLD, &window));
  SHOW(MPI_Win_create(room, sizeof room, 1, MPI_INFO_NULL, WORLD, NULL));
  SHOW(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, WORLD, &found, &window));
  MPI_Win_create(room, sizeof room, 1, MPI_INFO_NULL, WORLD, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  accesses(window);
  synchronisation(window);
  accesses(none);
  synchronisation(none);
  SHOW(MPI_Win_free(&none));
  SHOW(MPI_Win_set_errhandler(none, MPI_ERRORS_RETURN));
  MPI_Win_create_errhandler(on_window, &own);
  MPI_Win_set_errhandler(window, own);
  MPI_Win_get_errhandler(window, &found);
  CHECK(found == own);
  SHOW(MPI_Put(&value, 1, MPI_INT, np, 0, 1, MPI_INT, window));
  SHOW(MPI_Win_lock(77, 0, 0, window));
  SHOW(MPI_Win_fence(-1, window));
  CHECK(window_errors > 0);
  if (me == 0) printf("class-table %-24d calls of the window's handler\n", window_errors);
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&own);
  MPI_Win_free(&window);
  // Afterwards all works as before.
  MPI_Win_create(room, sizeof room, 1, MPI_INFO_NULL, WORLD, &window);
  value = 5;
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_INT, right_of(me, np), 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  CHECK_EQ(room[0], 5);
  MPI_Win_free(&window);
}

// ---- files ----

static void transfers(MPI_File file) {
  MPI_Offset place;
  SHOW(MPI_File_read(file, &value, 1, MPI_DATATYPE_NULL, &s));
  SHOW(MPI_File_read(file, &value, -1, MPI_INT, &s));
  SHOW(MPI_File_iread(file, &value, 1, MPI_DATATYPE_NULL, &r));
  SHOW(MPI_File_read_all(file, &value, 1, MPI_DATATYPE_NULL, &s));
  SHOW(MPI_File_read_at_all(file, 0, &value, -1, MPI_INT, &s));
  SHOW(MPI_File_read_shared(file, &value, 1, MPI_DATATYPE_NULL, &s));
  SHOW(MPI_File_read_ordered(file, &value, 1, MPI_DATATYPE_NULL, &s));
  SHOW(MPI_File_write(file, &value, 1, MPI_DATATYPE_NULL, &s));
  SHOW(MPI_File_write_at(file, 0, &value, -1, MPI_INT, &s));
  SHOW(MPI_File_write_all(file, &value, 1, MPI_DATATYPE_NULL, &s));
  SHOW(MPI_File_write_ordered(file, &value, 1, MPI_DATATYPE_NULL, &s));
  SHOW(MPI_File_set_view(file, 0, MPI_DATATYPE_NULL, MPI_INT, "native", MPI_INFO_NULL));
  SHOW(MPI_File_set_view(file, 0, MPI_INT, MPI_DATATYPE_NULL, "native", MPI_INFO_NULL));
  SHOW(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "no such form", MPI_INFO_NULL));
  SHOW(MPI_File_seek(file, 0, 77));
  SHOW(MPI_File_seek(file, -5, MPI_SEEK_SET));
  SHOW(MPI_File_preallocate(file, -1));
  SHOW(MPI_File_get_position(file, &place));
}

static void files(void) {
  MPI_File file = MPI_FILE_NULL, none = MPI_FILE_NULL;
  MPI_Errhandler own;
  char name[64];
  const int create = MPI_MODE_CREATE | MPI_MODE_RDWR;
  snprintf(name, sizeof name, "/tmp/offramp-errors-%d", (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, WORLD);
  SHOW(MPI_File_open(WORLD, "/tmp/no/such/folder/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  SHOW(MPI_File_open(WORLD, "/tmp/offramp-no-such-file", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  SHOW(MPI_File_open(WORLD, name, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  SHOW(MPI_File_open(WORLD, name, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  SHOW(MPI_File_open(WORLD, name, 0, MPI_INFO_NULL, &file));
  SHOW(MPI_File_open(MPI_COMM_SELF, "/tmp/offramp-no-such-file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  SHOW(MPI_File_delete("/tmp/offramp-no-such-file", MPI_INFO_NULL));
  transfers(none);
  SHOW(MPI_File_close(&none));
  CHECK_EQ(MPI_File_open(WORLD, name, create, MPI_INFO_NULL, &file), MPI_SUCCESS);
  transfers(file);
  MPI_File_create_errhandler(on_file, &own);
  MPI_File_set_errhandler(file, own);
  SHOW(MPI_File_read(file, &value, 1, MPI_DATATYPE_NULL, &s));
  SHOW(MPI_File_seek(file, 0, 77));
  CHECK(file_errors > 0);
  if (me == 0) printf("class-table %-24d calls of the file's handler\n", file_errors);
  MPI_Errhandler_free(&own);
  CHECK_EQ(MPI_File_close(&file), MPI_SUCCESS);
  // A file that may only be read, and one that is already there.
  CHECK_EQ(MPI_File_open(WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_SUCCESS);
  SHOW(MPI_File_write_at(file, 0, &value, 1, MPI_INT, &s));
  SHOW(MPI_File_write_all(file, &value, 1, MPI_INT, &s));
  MPI_File_close(&file);
  SHOW(MPI_File_open(WORLD, name, create | MPI_MODE_EXCL, MPI_INFO_NULL, &file));
  MPI_Barrier(WORLD);
  if (me == 0) MPI_File_delete(name, MPI_INFO_NULL);
}

int main(int argc, char** argv) {
  check_start(&argc, &argv);
  MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
  windows();
  files();
  comm_traffic(WORLD, 1);
  return check_finish("errors_beside");
}
