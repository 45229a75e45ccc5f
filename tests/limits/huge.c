// Messages of more than 2 GiB: a count that fits into an int, of a large type; elements that are not
// contiguous; and, if MPI has such functions, counts beyond an int and one element of such a size.
#include "tests/limits/memory.h"

enum { page = 4096, pages = 550000 };
static const size_t bytes = (size_t)page * pages;
static char* data;

static void fill(size_t length, int word) {
  for (size_t i = 0; i < length; i += 512) memcpy(data + i, &(long){word + (long)i}, sizeof(long));
}
// The sent data repeats after `period` bytes.
static void check(size_t period, int word) {
  for (size_t i = 0; i < bytes; i += 512) {
    long seen;
    memcpy(&seen, data + i, sizeof seen);
    CHECK_EQ(seen, word + (long)(i % period));
  }
}

static void receive(int count, MPI_Datatype type) {
  MPI_Status s;
  MPI_Count elements;
  memset(data, -1, bytes);
  MPI_Recv(data, count, type, 0, 1, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, 0, 1, count, type);
  MPI_Get_elements_x(&s, type, &elements);
  CHECK_EQ(elements, bytes / 8);
}

int main(int argc, char** argv) {
  MPI_Datatype type, same_place;
  check_start(&argc, &argv);
  MPI_Type_contiguous(page / 8, MPI_LONG, &type);
  MPI_Type_commit(&type);
  MPI_Type_create_resized(type, 0, 0, &same_place);
  MPI_Type_commit(&same_place);
  data = malloc(bytes);
  CHECK(data && np == 2);
  if (me == 0) {
    fill(bytes, 1);
    MPI_Send(data, pages, type, 1, 1, MPI_COMM_WORLD);
    // The message is packed into a separate buffer: the memory is too small for that and the data.
    data = realloc(data, page);
    fill(page, 2);
    MPI_Send(data, pages, same_place, 1, 1, MPI_COMM_WORLD);
  } else {
    receive(pages, type);
    check(bytes, 1);
    receive(pages, type);
    check(page, 2);
  }
#if MPI_VERSION >= 4 && (!defined(OPEN_MPI) || OMPI_MAJOR_VERSION >= 6)
  MPI_Datatype one;
  MPI_Type_contiguous_c(pages, same_place, &one);
  MPI_Type_commit(&one);
  if (me == 0) {
    fill(page, 3);
    MPI_Send_c(data, 1, one, 1, 1, MPI_COMM_WORLD);
    data = realloc(data, bytes);
    fill(bytes, 4);
    MPI_Send_c(data, (MPI_Count)bytes / 8, MPI_LONG, 1, 1, MPI_COMM_WORLD);
    MPI_Send_c(data, (MPI_Count)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Status s;
    MPI_Count seen;
    receive(pages, type);
    check(page, 3);
    receive(pages, type);
    check(bytes, 4);
    memset(data, -1, bytes);
    MPI_Recv_c(data, (MPI_Count)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &s);
    check(bytes, 4);
    MPI_Get_count_c(&s, MPI_BYTE, &seen);
    CHECK_EQ(seen, bytes);
    memset(data, -1, bytes);
  }
  MPI_Bcast_c(data, (MPI_Count)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  check(bytes, 4);
  MPI_Type_free(&one);
#endif
  free(data);
  MPI_Type_free(&type);
  MPI_Type_free(&same_place);
  return check_finish("huge");
}
