// Special cases of derived datatypes: a struct of different types whose padding is preserved, MPI_BOTTOM with
// absolute addresses, types freed while their messages are in flight, partly filled receives, large types,
// every send mode, empty types.
#include "check.h"

static int right, left;

struct record {
  char letter;
  double number;
  short few[3];
  int count;
};

static MPI_Datatype record_type(void) {
  struct record r = {0};
  MPI_Datatype bare, type, parts[4] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT};
  MPI_Aint base, at[4];
  int lengths[4] = {1, 1, 3, 1};
  MPI_Get_address(&r, &base);
  MPI_Get_address(&r.letter, &at[0]);
  MPI_Get_address(&r.number, &at[1]);
  MPI_Get_address(r.few, &at[2]);
  MPI_Get_address(&r.count, &at[3]);
  for (int i = 0; i < 4; ++i) at[i] = MPI_Aint_diff(at[i], base);
  MPI_Type_create_struct(4, lengths, at, parts, &bare);
  MPI_Type_create_resized(bare, 0, sizeof(struct record), &type);
  MPI_Type_free(&bare);
  MPI_Type_commit(&type);
  return type;
}

static void records(int count) {
  MPI_Datatype type = record_type();
  struct record *out = malloc((size_t)count * sizeof *out), *in = malloc((size_t)count * sizeof *in);
  MPI_Status s;
  memset(in, 0xEE, (size_t)count * sizeof *in);
  for (int i = 0; i < count; ++i)
    out[i] =
        (struct record){(char)('a' + i % 26), me + i / 4.0, {(short)i, (short)(i + 1), (short)me}, i * me};
  MPI_Sendrecv(out, count, type, right, 1, in, count, type, left, 1, MPI_COMM_WORLD, &s);
  CHECK_STATUS(s, left, 1, count, type);
  for (int i = 0; i < count; ++i) {
    CHECK(in[i].letter == 'a' + i % 26 && in[i].number == left + i / 4.0 && in[i].count == i * left);
    CHECK(in[i].few[0] == (short)i && in[i].few[1] == (short)(i + 1) && in[i].few[2] == left);
    const unsigned char* padding = (unsigned char*)&in[i] + 1;
    for (int k = 0; k < 7; ++k) CHECK_EQ(padding[k], 0xEE);
  }
  MPI_Type_free(&type);
  free(out);
  free(in);
}

static MPI_Datatype absolute(void* a, int na, void* b, int nb) {
  MPI_Datatype type, parts[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Aint at[2];
  int lengths[2] = {na, nb};
  MPI_Get_address(a, &at[0]);
  MPI_Get_address(b, &at[1]);
  MPI_Type_create_struct(2, lengths, at, parts, &type);
  MPI_Type_commit(&type);
  return type;
}

// Both ends name their data by absolute address; the second round goes through a persistent pair and Bcast.
static void bottom(int na, int nb) {
  int *a = calloc((size_t)na * 2, sizeof *a), *c = a + na;
  double *b = calloc((size_t)nb * 2, sizeof *b), *d = b + nb;
  MPI_Datatype out = absolute(a, na, b, nb), in = absolute(c, na, d, nb);
  MPI_Request r[2];
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < na; ++i) a[i] = me * 7 + i + round;
    for (int i = 0; i < nb; ++i) b[i] = me * 9 + i + round;
    if (round < 2) {
      MPI_Irecv(MPI_BOTTOM, 1, in, left, 2, MPI_COMM_WORLD, &r[0]);
      MPI_Isend(MPI_BOTTOM, 1, out, right, 2, MPI_COMM_WORLD, &r[1]);
    } else {
      MPI_Recv_init(MPI_BOTTOM, 1, in, left, 2, MPI_COMM_WORLD, &r[0]);
      MPI_Send_init(MPI_BOTTOM, 1, out, right, 2, MPI_COMM_WORLD, &r[1]);
      MPI_Startall(2, r);
    }
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < na; ++i) CHECK_EQ(c[i], left * 7 + i + round);
    for (int i = 0; i < nb; ++i) CHECK(d[i] == left * 9 + i + round);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
  MPI_Bcast(MPI_BOTTOM, 1, me == np - 1 ? out : in, np - 1, MPI_COMM_WORLD);
  for (int i = 0; i < na && me != np - 1; ++i) CHECK_EQ(c[i], (np - 1) * 7 + i + 2);
  MPI_Type_free(&out);
  MPI_Type_free(&in);
  free(a);
  free(b);
}

// The type is freed, and others are made, between the start and the end of its messages.
static void freed_early(int n) {
  MPI_Datatype type, other[10];
  MPI_Request r[2];
  int *out = malloc((size_t)n * 8), *in = malloc((size_t)n * 8);
  for (int i = 0; i < 2 * n; ++i) out[i] = me + i, in[i] = -1;
  MPI_Type_vector(n, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Irecv(in, 1, type, left, 4, MPI_COMM_WORLD, &r[0]);
  MPI_Type_free(&type);
  MPI_Type_vector(n, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Isend(out, 1, type, right, 4, MPI_COMM_WORLD, &r[1]);
  MPI_Type_free(&type);
  CHECK(type == MPI_DATATYPE_NULL);
  for (int i = 0; i < 10; ++i) {
    MPI_Type_vector(3 + i, 2, 5, MPI_DOUBLE, &other[i]);
    MPI_Type_commit(&other[i]);
  }
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 2 * n; ++i)
    if (i < 2 * n - 1) CHECK_EQ(in[i], i % 2 ? -1 : left + i);
  for (int i = 0; i < 10; ++i) MPI_Type_free(&other[i]);
  free(out);
  free(in);
}

// Fewer basic elements than the receive has room for; sometimes no whole number of elements.
static void partial(void) {
  MPI_Datatype pair_of, parts[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Aint at[2] = {0, 8};
  MPI_Status s;
  int lengths[2] = {2, 1}, count, elements;
  struct {
    int i[2];
    double d;
  } out[4], in[4];
  MPI_Type_create_struct(2, lengths, at, parts, &pair_of);
  MPI_Type_commit(&pair_of);
  for (int i = 0; i < 4; ++i) out[i].i[0] = me + i, out[i].i[1] = 2 * i, out[i].d = i / 2.0;
  for (int n = 0; n <= 4; ++n) {
    memset(in, 0, sizeof in);
    MPI_Sendrecv(out, n, pair_of, right, 5, in, 4, pair_of, left, 5, MPI_COMM_WORLD, &s);
    CHECK_STATUS(s, left, 5, n, pair_of);
    MPI_Get_elements(&s, pair_of, &elements);
    CHECK_EQ(elements, 3 * n);
    for (int i = 0; i < 4; ++i) CHECK(in[i].i[1] == (i < n ? 2 * i : 0) && in[i].d == (i < n ? i / 2.0 : 0));
  }
  for (int ints = 1; ints <= 2; ++ints) {
    memset(in, 0, sizeof in);
    MPI_Sendrecv(out, ints, MPI_INT, right, 5, in, 4, pair_of, left, 5, MPI_COMM_WORLD, &s);
    MPI_Get_count(&s, pair_of, &count);
    MPI_Get_elements(&s, pair_of, &elements);
    CHECK(count == MPI_UNDEFINED && elements == ints);
    CHECK(in[0].i[0] == left && in[0].i[1] == 0 && in[0].d == 0);
  }
  MPI_Type_free(&pair_of);
}

// A matrix transposed on its way, in every mode.
static void transpose(int n) {
  typedef int send_function(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  send_function* const sends[3] = {MPI_Isend, MPI_Issend, MPI_Ibsend};
  MPI_Datatype column, columns;
  int *out = malloc((size_t)n * (size_t)n * 4), *in = malloc((size_t)n * (size_t)n * 4);
  MPI_Request r[2];
  for (int i = 0; i < n * n; ++i) out[i] = me + i;
  MPI_Type_vector(n, 1, n, MPI_INT, &column);
  MPI_Type_create_hvector(n, 1, sizeof(int), column, &columns);
  MPI_Type_commit(&columns);
  for (int mode = 0; mode < 6; ++mode) {
    memset(in, 0, (size_t)n * (size_t)n * 4);
    MPI_Irecv(in, mode < 3 ? n * n : 1, mode < 3 ? MPI_INT : columns, left, 6, MPI_COMM_WORLD, &r[0]);
    sends[mode % 3](out, mode < 3 ? 1 : n * n, mode < 3 ? columns : MPI_INT, right, 6, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; ++i)
      for (int k = 0; k < n; ++k) CHECK_EQ(in[i * n + k], left + k * n + i);
  }
  MPI_Type_free(&column);
  MPI_Type_free(&columns);
  free(out);
  free(in);
}

static void empty(void) {
  MPI_Datatype none;
  MPI_Status s;
  int untouched = 5, elements;
  MPI_Type_contiguous(0, MPI_INT, &none);
  MPI_Type_commit(&none);
  MPI_Sendrecv(&untouched, 3, none, right, 7, &untouched, 4, none, left, 7, MPI_COMM_WORLD, &s);
  MPI_Get_elements(&s, none, &elements);
  CHECK(s.MPI_SOURCE == left && s.MPI_TAG == 7 && elements == 0 && untouched == 5);
  MPI_Type_free(&none);
}

// Fortran's types of a requested range are unnamed and must not be freed, also within another type.
static void of_a_range(void) {
  MPI_Datatype range, pairs;
  int out[4] = {me, 1, me + 2, 3}, in[4] = {-1, -1, -1, -1};
  MPI_Type_create_f90_integer(9, &range);
  MPI_Type_vector(2, 1, 2, range, &pairs);
  MPI_Type_commit(&pairs);
  MPI_Sendrecv(out, 1, pairs, right, 3, in, 1, pairs, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[0] == left && in[1] == -1 && in[2] == left + 2 && in[3] == -1);
  MPI_Bcast(out, 1, pairs, np - 1, MPI_COMM_WORLD);
  CHECK(out[0] == np - 1 && out[1] == 1 && out[2] == np + 1 && out[3] == 3);
  MPI_Type_free(&pairs);
}

CASE(derived_more) {
  right = right_of(me, np);
  left = left_of(me, np);
  int space = 8 << 20;
  void* attached = malloc((size_t)space);
  MPI_Buffer_attach(attached, space);
  records(1);
  records(10);
  records(20000);
  bottom(3, 2);
  bottom(5000, 3000);
  bottom(100000, 400000);
  freed_early(10);
  freed_early(300000);
  partial();
  transpose(10);
  transpose(1024);  // 4 MiB
  empty();
  of_a_range();
  MPI_Buffer_detach(&attached, &space);
  free(attached);
}
