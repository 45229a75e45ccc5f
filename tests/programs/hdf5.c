// Parallel HDF5: collective and independent writes of a chunked dataset, which is closed, opened again and
// read by other ranks than wrote it.
// usage: hdf5 FILE
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows_each = 12, columns = 70 };

static int value(hsize_t row, hsize_t column, int version) {
  return (int)(row * 1000 + column) + version * 1000000;
}

static void fail(const char* what) {
  fprintf(stderr, "hdf5: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void select_rows(hid_t space, int owner) {
  hsize_t start[2] = {(hsize_t)owner * rows_each, 0}, count[2] = {rows_each, columns};
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0) fail("selection");
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 2) fail("no file");
  static int data[rows_each][columns];
  hsize_t all[2] = {(hsize_t)size * rows_each, columns}, mine[2] = {rows_each, columns}, chunk[2] = {5, 16};
  hid_t access = H5Pcreate(H5P_FILE_ACCESS), layout = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_chunk(layout, 2, chunk);
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (file < 0) fail("create");
  hid_t on_disk = H5Screate_simple(2, all, NULL), in_memory = H5Screate_simple(2, mine, NULL);
  hid_t names[2];
  for (int collective = 0; collective < 2; ++collective) {
    names[collective] = H5Dcreate2(file, collective ? "collective" : "independent", H5T_NATIVE_INT, on_disk,
                                   H5P_DEFAULT, layout, H5P_DEFAULT);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT);
    select_rows(on_disk, rank);
    for (int i = 0; i < rows_each; ++i)
      for (int j = 0; j < columns; ++j)
        data[i][j] = value((hsize_t)(rank * rows_each + i), (hsize_t)j, collective);
    if (H5Dwrite(names[collective], H5T_NATIVE_INT, in_memory, on_disk, transfer, data) < 0) fail("write");
    H5Pclose(transfer);
    H5Dclose(names[collective]);
  }
  H5Fclose(file);
  file = H5Fopen(argv[1], H5F_ACC_RDONLY, access);
  if (file < 0) fail("open");
  int wrong = 0, wrong_anywhere = 0;
  const int owner = (rank + 1) % size;
  for (int collective = 0; collective < 2; ++collective) {
    hid_t set = H5Dopen2(file, collective ? "collective" : "independent", H5P_DEFAULT);
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, collective ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE);
    select_rows(on_disk, owner);
    if (H5Dread(set, H5T_NATIVE_INT, in_memory, on_disk, transfer, data) < 0) fail("read");
    for (int i = 0; i < rows_each; ++i)
      for (int j = 0; j < columns; ++j)
        wrong += data[i][j] != value((hsize_t)(owner * rows_each + i), (hsize_t)j, collective);
    H5Pclose(transfer);
    H5Dclose(set);
  }
  H5Fclose(file);
  H5Sclose(on_disk);
  H5Sclose(in_memory);
  H5Pclose(access);
  H5Pclose(layout);
  MPI_Allreduce(&wrong, &wrong_anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("hdf5 read %d values, %d wrong\n", size * rows_each * columns * 2, wrong_anywhere);
  MPI_Finalize();
  return wrong_anywhere != 0;
}
