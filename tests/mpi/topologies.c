// Traffic on cart_create (plain, periodic, reordered), cart_sub, graph_create, dist_graph_create and
// dist_graph_create_adjacent, and on the intracommunicator of intercomm_create + merge; shifts with
// MPI_PROC_NULL at the edges; neighbour collectives.
#include "check.h"

static void cart(int periodic) {
  MPI_Comm grid, row;
  int dims[2] = {0, 0}, periods[2] = {periodic, 0}, rank, from, to, mine, got = -1, remain[2] = {0, 1};
  MPI_Status s;
  MPI_Dims_create(np, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  comm_traffic(grid, 1);
  for (int d = 0; d < 2; ++d) {
    MPI_Cart_shift(grid, d, 1, &from, &to);
    mine = rank * 10 + d;
    got = -1;
    s = spoiled_status();
    MPI_Sendrecv(&mine, 1, MPI_INT, to, 2, &got, 1, MPI_INT, from, 2, grid, &s);
    CHECK_EQ(got, from == MPI_PROC_NULL ? -1 : from * 10 + d);
    CHECK_STATUS(s, from, from == MPI_PROC_NULL ? MPI_ANY_TAG : 2, from == MPI_PROC_NULL ? 0 : 1, MPI_INT);
  }
  MPI_Cart_sub(grid, remain, &row);
  comm_traffic(row, 2);
  int* around = malloc(4 * sizeof *around);
  for (int i = 0; i < 4; ++i) around[i] = -5;
  MPI_Neighbor_allgather(&rank, 1, MPI_INT, around, 1, MPI_INT, grid);
  for (int d = 0; d < 2; ++d) {
    MPI_Cart_shift(grid, d, 1, &from, &to);
    CHECK_EQ(around[2 * d], from == MPI_PROC_NULL ? -5 : from);
    CHECK_EQ(around[2 * d + 1], to == MPI_PROC_NULL ? -5 : to);
  }
  free(around);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
}

static void graph(void) {
  MPI_Comm comm;
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
  int before[left_kinds], after[left_kinds];
  free_numbers(before);
#endif
  int *index = malloc((size_t)np * sizeof *index), *edges = malloc((size_t)np * sizeof *edges);
  for (int i = 0; i < np; ++i) index[i] = i + 1, edges[i] = right_of(i, np);
  MPI_Graph_create(MPI_COMM_WORLD, np, index, edges, 0, &comm);
  comm_traffic(comm, 3);
  MPI_Comm_free(&comm);
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
  free_numbers(after);
  check_tolerated[left_group] += after[left_group] - before[left_group];  // Open MPI 5.0 leaks a group
#endif
  free(index);
  free(edges);
}

static void neighbours(MPI_Comm comm) {
  int rank, got = -1, mine, in = -1, zero = 0, one = 1;
  MPI_Aint displacement = 0;
  MPI_Datatype type = MPI_INT;
  MPI_Request r;
  MPI_Comm_rank(comm, &rank);
  mine = rank * 3;
  int left = left_of(rank, np) * 3;
  MPI_Neighbor_allgather(&mine, 1, MPI_INT, &got, 1, MPI_INT, comm);
  CHECK_EQ(got, left);
  got = -1;
  MPI_Neighbor_allgatherv(&mine, 1, MPI_INT, &got, &one, &zero, MPI_INT, comm);
  CHECK_EQ(got, left);
  got = -1;
  MPI_Neighbor_alltoall(&mine, 1, MPI_INT, &got, 1, MPI_INT, comm);
  CHECK_EQ(got, left);
  got = -1;
  MPI_Neighbor_alltoallv(&mine, &one, &zero, MPI_INT, &got, &one, &zero, MPI_INT, comm);
  CHECK_EQ(got, left);
  got = -1;
  MPI_Neighbor_alltoallw(&mine, &one, &displacement, &type, &got, &one, &displacement, &type, comm);
  CHECK_EQ(got, left);
  got = -1;
  MPI_Ineighbor_alltoall(&mine, 1, MPI_INT, &got, 1, MPI_INT, comm, &r);
  MPI_Sendrecv(&rank, 1, MPI_INT, right_of(rank, np), 4, &in, 1, MPI_INT, left_of(rank, np), 4, comm,
               MPI_STATUS_IGNORE);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK(got == left && in == left_of(rank, np));
}

static void dist_graphs(void) {
  MPI_Comm comm;
  int right = right_of(me, np), left = left_of(me, np), one = 1;
  int* volatile unweighted = MPI_UNWEIGHTED;  // volatile: gcc mistakes the constant for an empty array
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, unweighted, 1, &right, unweighted, MPI_INFO_NULL,
                                 0, &comm);
  comm_traffic(comm, 4);
  neighbours(comm);
  MPI_Comm_free(&comm);
  MPI_Comm base = MPI_COMM_WORLD;
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5
  MPI_Comm_dup(MPI_COMM_WORLD, &base);  // 5.0.7 hangs if its tags meet those of other constructors
#endif
  MPI_Dist_graph_create(base, 1, &me, &one, &right, unweighted, MPI_INFO_NULL, 0, &comm);
  comm_traffic(comm, 5);
  neighbours(comm);
  MPI_Comm_free(&comm);
  if (base != MPI_COMM_WORLD) MPI_Comm_free(&base);
}

static void merged(void) {
  MPI_Comm half, inter, whole;
  int rank, high = me % 2;
  MPI_Comm_split(MPI_COMM_WORLD, high, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, high ? 0 : 1, 99, &inter);
  for (int turn = 0; turn < 2; ++turn) {
    MPI_Intercomm_merge(inter, turn ? !high : high, &whole);
    MPI_Comm_rank(whole, &rank);
    CHECK_EQ(world_rank(whole, rank), me);
    CHECK_EQ(world_rank(whole, 0), turn ? 1 : 0);
    comm_traffic(whole, 6 + turn);
    MPI_Comm_free(&whole);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

CASE(topologies) {
  cart(0);
  cart(1);
  graph();
  dist_graphs();
  if (np > 1) merged();
}
