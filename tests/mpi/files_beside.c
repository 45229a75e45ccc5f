// Parallel files beside messages: a large message is outstanding during every call on the file; file requests
// and message requests in one array, split collectives, shared pointers, ordered access, errors of a file.
#include <unistd.h>

#include "check.h"

enum { bytes = 1 << 20, cells = 100 };

static char *out, *in;
static MPI_Request r[2];
static MPI_File file;

static void begin_ring(int mark) {
  fill_pattern(out, bytes, me, right_of(me, np), mark);
  memset(in, 0, 4096);
  MPI_Irecv(in, bytes, MPI_BYTE, left_of(me, np), 1, MPI_COMM_WORLD, &r[0]);
  MPI_Isend(out, bytes, MPI_BYTE, right_of(me, np), 1, MPI_COMM_WORLD, &r[1]);
}
static void end_ring(int mark) {
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  VERIFY(in, bytes, left_of(me, np), me, mark);
}

static void fill(int* values, int mark) {
  for (int i = 0; i < cells; ++i) values[i] = 1000 * me + 10 * i + mark;
}
static void check_cells(const int* values, int rank, int mark) {
  for (int i = 0; i < cells; ++i) CHECK_EQ(values[i], 1000 * rank + 10 * i + mark);
}

// Every rank has every np-th cell, so collective access has something to do.
static void collective_access(void) {
  int values[cells], got[cells];
  MPI_Datatype strided;
  MPI_Status s;
  MPI_Type_vector(cells, 1, np, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  begin_ring(1);
  MPI_File_set_view(file, (MPI_Offset)me * 4, MPI_INT, strided, "native", MPI_INFO_NULL);
  fill(values, 1);
  MPI_File_write_at_all(file, 0, values, cells, MPI_INT, &s);
  end_ring(1);
  begin_ring(2);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(got, 0, sizeof got);
  MPI_File_read_at_all(file, 0, got, cells, MPI_INT, &s);
  end_ring(2);
  check_cells(got, me, 1);
  begin_ring(3);
  memset(got, 0, sizeof got);
  MPI_File_read_at_all_begin(file, 0, got, cells, MPI_INT);
  comm_traffic(MPI_COMM_WORLD, 3);
  MPI_File_read_at_all_end(file, got, &s);
  end_ring(3);
  check_cells(got, me, 1);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_Type_free(&strided);
}

// Two file requests and two message requests, in all orders of completion.
static void mixed_requests(void) {
  for (int way = 0; way < 3; ++way) {
    int values[cells], got[cells], n = 0, index, count, indices[4];
    MPI_Request all[4];
    MPI_Status s[4];
    fill(values, 5 + way);
    begin_ring(10 + way);
    all[0] = r[0];
    all[2] = r[1];
    MPI_File_iwrite_at(file, (MPI_Offset)(np + me) * cells, values, cells, MPI_INT, &all[1]);
    MPI_File_iwrite_at(file, (MPI_Offset)(2 * np + me) * cells, values, cells, MPI_INT, &all[3]);
    if (way == 0) MPI_Waitall(4, all, s);
    for (; way == 1 && n < 4; ++n) MPI_Waitany(4, all, &index, &s[0]);
    for (; way == 2 && n < 4; n += count) {
      MPI_Waitsome(4, all, &count, indices, s);
      CHECK(count > 0);
    }
    for (int i = 0; i < 4; ++i) CHECK(all[i] == MPI_REQUEST_NULL);
    VERIFY(in, bytes, left_of(me, np), me, 10 + way);
    MPI_File_iread_at(file, (MPI_Offset)(2 * np + me) * cells, got, cells, MPI_INT, &all[0]);
    MPI_Wait(&all[0], &s[0]);
    MPI_Get_count(&s[0], MPI_INT, &count);
    CHECK_EQ(count, cells);
    check_cells(got, me, 5 + way);
  }
}

static void shared_pointer(void) {
  int values[cells], got[cells];
  MPI_Offset at = -1;
  begin_ring(20);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  fill(values, 7);
  MPI_File_write_ordered(file, values, cells, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_get_position_shared(file, &at);
  CHECK_EQ(at, np * cells);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_read_ordered(file, got, cells, MPI_INT, MPI_STATUS_IGNORE);
  end_ring(20);
  check_cells(got, me, 7);
}

// Files return errors by default; a mistake of one rank does not affect the others.
static void errors(const char* name) {
  MPI_File none = MPI_FILE_NULL;
  int code, kind = -1;
  code = MPI_File_open(MPI_COMM_WORLD, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &none);
  CHECK(code != MPI_SUCCESS);
  MPI_Error_class(code, &kind);
  CHECK(kind == MPI_ERR_NO_SUCH_FILE || kind == MPI_ERR_FILE);
  if (me == 0) {
    CHECK(MPI_File_open(MPI_COMM_SELF, name, 0, MPI_INFO_NULL, &none) != MPI_SUCCESS);
  }
  comm_traffic(MPI_COMM_WORLD, 9);
}

CASE(files_beside) {
  char name[64];
  MPI_Comm dup;
  MPI_Info info;
  out = malloc(bytes);
  in = malloc(bytes);
  snprintf(name, sizeof name, "/tmp/files_beside.%d", (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  begin_ring(0);
  MPI_File_open(dup, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  end_ring(0);
  MPI_Comm_free(&dup);  // the file stays open
  MPI_File_get_info(file, &info);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  collective_access();
  mixed_requests();
  shared_pointer();
  errors(name);
  begin_ring(30);
  MPI_File_set_size(file, 0);
  MPI_File_close(&file);
  CHECK(file == MPI_FILE_NULL);
  end_ring(30);
  free(out);
  free(in);
}
