// One message of more than 2 GiB: a count that fits into an int, of a large type.
#include "tests/limits/memory.h"

int main(int argc, char** argv) {
  enum { page = 4096, pages = 550000 };
  const size_t bytes = (size_t)page * pages;
  MPI_Datatype type;
  MPI_Status s;
  MPI_Count elements;
  check_start(&argc, &argv);
  MPI_Type_contiguous(page / 8, MPI_LONG, &type);
  MPI_Type_commit(&type);
  long* data = malloc(bytes);
  CHECK(data && np == 2);
  for (size_t i = 0; i < bytes / 8; i += 64) data[i] = me == 0 ? (long)i : -1;
  if (me == 0) {
    MPI_Send(data, pages, type, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(data, pages, type, 0, 1, MPI_COMM_WORLD, &s);
    CHECK_STATUS(s, 0, 1, pages, type);
    MPI_Get_elements_x(&s, type, &elements);
    CHECK_EQ(elements, bytes / 8);
    for (size_t i = 0; i < bytes / 8; i += 64) CHECK_EQ(data[i], i);
  }
  free(data);
  MPI_Type_free(&type);
  return check_finish("huge");
}
