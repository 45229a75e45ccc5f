// Mistakes with freed handles, in lists of requests, with windows and with files: lines of a table that the
// suite `errors` compares with those of a native run. Known answers of Open MPI are also checked here.
#include "error_rows.h"

#define WORLD MPI_COMM_WORLD

static int value, flag;
static MPI_Request r;
static MPI_Status s;

// ---- freed handles ----

static void freed_communicator(void) {
  MPI_Comm gone, made;
  MPI_Group group;
  MPI_Win window;
  MPI_File file;
  int in[4] = {0}, out[4] = {0};
  MPI_Comm_dup(WORLD, &gone);
  MPI_Comm_group(gone, &group);
  MPI_Comm_free(&gone);
  CHECK(gone == MPI_COMM_NULL);
  SHOW(MPI_Send(&value, 1, MPI_INT, 0, 1, gone));
  SHOW(MPI_Recv(&value, 1, MPI_INT, 0, 1, gone, &s));
  SHOW(MPI_Isend(&value, 1, MPI_INT, 0, 1, gone, &r));
  SHOW(MPI_Irecv(&value, 1, MPI_INT, 0, 1, gone, &r));
  SHOW(MPI_Send_init(&value, 1, MPI_INT, 0, 1, gone, &r));
  SHOW(MPI_Bcast(&value, 1, MPI_INT, 0, gone));
  SHOW(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 0, gone));
  SHOW(MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, gone));
  SHOW(MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, gone));
  SHOW(MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, 0, gone));
  SHOW(MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, gone));
  SHOW(MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, gone));
  SHOW(MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, gone));
  SHOW(MPI_Barrier(gone));
  SHOW(MPI_Ibarrier(gone, &r));
  SHOW(MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, gone, &r));
  SHOW(MPI_Comm_dup(gone, &made));
  SHOW(MPI_Comm_idup(gone, &made, &r));
  SHOW(MPI_Comm_split(gone, 0, 0, &made));
  SHOW(MPI_Comm_split_type(gone, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
  SHOW(MPI_Comm_create(gone, group, &made));
  SHOW(MPI_Comm_create_group(gone, group, 1, &made));
  SHOW(MPI_Cart_create(gone, 1, &np, in, 0, &made));
  SHOW(MPI_Dist_graph_create(gone, 0, in, in, in, in, MPI_INFO_NULL, 0, &made));
  SHOW(MPI_Intercomm_merge(gone, 0, &made));
  SHOW(MPI_Comm_free(&gone));
  SHOW(MPI_Comm_disconnect(&gone));
  SHOW(MPI_Comm_rank(gone, &value));
  SHOW(MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, gone, &window));
  SHOW(MPI_File_open(gone, "nothing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  MPI_Group_free(&group);
}

static void freed_type(void) {
  MPI_Datatype gone, made;
  char room[16];
  int place = 0;
  MPI_Type_contiguous(2, MPI_INT, &gone);
  MPI_Type_commit(&gone);
  MPI_Type_free(&gone);
  CHECK(gone == MPI_DATATYPE_NULL);
  SHOW(MPI_Ssend(&value, 1, gone, 0, 1, WORLD));
  SHOW(MPI_Sendrecv_replace(&value, 1, gone, 0, 1, 0, 1, WORLD, &s));
  SHOW(MPI_Allreduce(&value, room, 1, gone, MPI_SUM, WORLD));
  SHOW(MPI_Allgather(&value, 1, gone, room, 1, MPI_INT, WORLD));
  SHOW(MPI_Alltoall(&value, 1, MPI_INT, room, 1, gone, WORLD));
  SHOW(MPI_Scatter(&value, 1, gone, room, 1, gone, 0, WORLD));
  SHOW(MPI_Scan(&value, room, 1, gone, MPI_SUM, WORLD));
  SHOW(MPI_Iallgather(&value, 1, gone, room, 1, MPI_INT, WORLD, &r));
  SHOW(MPI_Type_commit(&gone));
  SHOW(MPI_Type_free(&gone));
  SHOW(MPI_Type_contiguous(2, gone, &made));
  SHOW(MPI_Pack(&value, 1, gone, room, sizeof room, &place, WORLD));
  made = MPI_INT;
  SHOW(MPI_Type_free(&made));
}

static void freed_rest(void) {
  MPI_Group group;
  MPI_Op op = MPI_SUM;
  MPI_Comm made, world = WORLD;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Info info = MPI_INFO_NULL;
  int out = 0, key = MPI_KEYVAL_INVALID, none = 0, done = 0;
  MPI_Comm_group(WORLD, &group);
  MPI_Group_free(&group);
  CHECK(group == MPI_GROUP_NULL);
  SHOW(MPI_Group_size(group, &out));
  SHOW(MPI_Group_incl(group, 0, &none, &group));
  SHOW(MPI_Comm_create(WORLD, group, &made));
  SHOW(MPI_Comm_create_group(WORLD, group, 1, &made));
  SHOW(MPI_Op_free(&op));
  op = MPI_OP_NULL;
  SHOW(MPI_Op_free(&op));
  SHOW(MPI_Allreduce(&value, &out, 1, MPI_INT, op, WORLD));
  SHOW(MPI_Scan(&value, &out, 1, MPI_INT, op, WORLD));
  SHOW(MPI_Exscan(&value, &out, 1, MPI_INT, op, WORLD));
  SHOW(MPI_Reduce_scatter_block(&value, &out, 1, MPI_INT, op, WORLD));
  SHOW(MPI_Iallreduce(&value, &out, 1, MPI_INT, op, WORLD, &r));
  // A freed request.
  MPI_Recv_init(&value, 1, MPI_INT, 0, 1, WORLD, &r);
  MPI_Request_free(&r);
  CHECK(r == MPI_REQUEST_NULL);
  SHOW(MPI_Wait(&r, &s));
  SHOW(MPI_Test(&r, &done, &s));
  SHOW(MPI_Start(&r));
  SHOW(MPI_Cancel(&r));
  SHOW(MPI_Request_get_status(r, &done, &s));
  SHOW(MPI_Comm_free(&world));
  SHOW(MPI_Comm_set_errhandler(WORLD, handler));
  SHOW(MPI_Errhandler_free(&handler));
  SHOW(MPI_Info_free(&info));
  SHOW(MPI_Comm_free_keyval(&key));
  SHOW(MPI_Comm_set_attr(WORLD, MPI_KEYVAL_INVALID, NULL));
}

static void active_persistent(void) {
  MPI_Recv_init(&value, 1, MPI_INT, me, 4, WORLD, &r);
  MPI_Start(&r);
  SHOW(MPI_Start(&r));
  SHOW(MPI_Startall(1, &r));
  MPI_Cancel(&r);
  MPI_Wait(&r, &s);
  MPI_Request_free(&r);
}

// ---- lists of requests with one failure ----

enum { kList = 4, kGood = 11, kLong = 12, kLate = 13, kGo = 14 };

static int handled;

static void handler(MPI_Comm* comm, int* code, ...) {
  if (*comm == WORLD && *code != MPI_SUCCESS) ++handled;
}

static void show_list(const char* call, int code, int count, const MPI_Status* statuses,
                      const MPI_Request* list) {
  char text[200];
  show(call, code);
  for (int i = 0; i < count; ++i) {
    snprintf(text, sizeof text, "%s: status %d", call, i);
    if (statuses != MPI_STATUSES_IGNORE) show(text, statuses[i].MPI_ERROR);
  }
  for (int i = 0; i < kList; ++i)
    if (me == 0)
      printf("class-table %-24s %s: request %d\n", list[i] == MPI_REQUEST_NULL ? "null" : "active", call, i);
  if (me == 0) printf("class-table %-24d %s: calls of the handler\n", handled, call);
}

typedef int (*completion)(MPI_Request* list, int* count, int* places, MPI_Status* statuses);

static int wait_all(MPI_Request* list, int* count, int* places, MPI_Status* statuses) {
  (void)places;
  *count = kList;
  return MPI_Waitall(kList, list, statuses);
}
static int test_all(MPI_Request* list, int* count, int* places, MPI_Status* statuses) {
  (void)places;
  *count = kList;
  return MPI_Testall(kList, list, &flag, statuses);
}
static int wait_some(MPI_Request* list, int* count, int* places, MPI_Status* statuses) {
  return MPI_Waitsome(kList, list, count, places, statuses);
}
static int test_some(MPI_Request* list, int* count, int* places, MPI_Status* statuses) {
  return MPI_Testsome(kList, list, count, places, statuses);
}
static int wait_any(MPI_Request* list, int* count, int* places, MPI_Status* statuses) {
  *count = 1;
  list[0] = MPI_REQUEST_NULL;  // so that it returns the failed one
  return MPI_Waitany(kList, list, places, statuses);
}

// Rank 0 receives from rank 1: a good message, one that is too long, none, and one that comes late if it is
// to be pending. Message kGo comes last, after the arrival of those before it. MPICH's functions first wait
// for all, which the standard allows.
static void list_of_requests(const char* name, completion complete, int late, int ignore, int persistent) {
  if (late && mpich_alone()) return;
  MPI_Request list[kList], good = MPI_REQUEST_NULL;
  MPI_Status statuses[kList];
  const int tags[kList] = {kGood, kLong, 0, kLate};
  int room[kList] = {0}, data[8] = {0}, count = 0, places[kList], go = 0;
  if (me == 1) {
    MPI_Recv(&go, 1, MPI_INT, 0, kGo, WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, 1, MPI_INT, 0, kGood, WORLD);
    MPI_Send(data, 8, MPI_INT, 0, kLong, WORLD);
    if (!late) MPI_Send(data, 1, MPI_INT, 0, kLate, WORLD);
    MPI_Send(data, 1, MPI_INT, 0, kGo, WORLD);
    MPI_Recv(&go, 1, MPI_INT, 0, kGo, WORLD, MPI_STATUS_IGNORE);
    if (late) MPI_Send(data, 1, MPI_INT, 0, kLate, WORLD);
  }
  if (me == 0) {
    for (int i = 0; i < kList; ++i)
      statuses[i] = spoiled_status(), statuses[i].MPI_ERROR = MPI_ERR_DIMS, places[i] = -1;
    list[2] = MPI_REQUEST_NULL;
    for (int i = 0; i < kList; ++i) {
      if (i == 2) continue;
      if (persistent) {
        MPI_Recv_init(room + i, 1, MPI_INT, 1, tags[i], WORLD, list + i);
        MPI_Start(list + i);
      } else {
        MPI_Irecv(room + i, 1, MPI_INT, 1, tags[i], WORLD, list + i);
      }
    }
    good = list[0];
    MPI_Send(&go, 1, MPI_INT, 1, kGo, WORLD);
    MPI_Recv(&go, 1, MPI_INT, 1, kGo, WORLD, MPI_STATUS_IGNORE);
    handled = 0;
    const int code = complete(list, &count, places, ignore ? MPI_STATUSES_IGNORE : statuses);
    if (count == MPI_UNDEFINED) count = 0;
    show_list(name, code, count, ignore ? MPI_STATUSES_IGNORE : statuses, list);
    if (complete == wait_any) list[0] = good;
    MPI_Send(&go, 1, MPI_INT, 1, kGo, WORLD);
    for (int i = 0; i < kList; ++i) {
      if (list[i] != MPI_REQUEST_NULL) MPI_Wait(list + i, MPI_STATUS_IGNORE);
      if (list[i] != MPI_REQUEST_NULL) MPI_Request_free(list + i);
    }
  }
}

static void lists_of_requests(void) {
  MPI_Errhandler own;
  if (np < 2) return;
  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(WORLD, own);
  list_of_requests("MPI_Waitall", wait_all, 0, 0, 0);
  list_of_requests("MPI_Waitall, one late", wait_all, 1, 0, 0);
  list_of_requests("MPI_Waitall, no statuses", wait_all, 0, 1, 0);
  list_of_requests("MPI_Testall", test_all, 0, 0, 0);
  list_of_requests("MPI_Testall, one late", test_all, 1, 0, 0);
  list_of_requests("MPI_Waitsome", wait_some, 0, 0, 0);
  list_of_requests("MPI_Waitsome, one late", wait_some, 1, 0, 0);
  list_of_requests("MPI_Testsome, one late", test_some, 1, 0, 0);
  list_of_requests("MPI_Testsome, no statuses", test_some, 0, 1, 0);
  list_of_requests("MPI_Waitany, one late", wait_any, 1, 0, 0);
  list_of_requests("MPI_Waitall, persistent", wait_all, 0, 0, 1);
  list_of_requests("MPI_Waitall, persistent, one late", wait_all, 1, 0, 1);
  list_of_requests("MPI_Waitsome, persistent, one late", wait_some, 1, 0, 1);
  list_of_requests("MPI_Testall, persistent", test_all, 0, 0, 1);
  list_of_requests("MPI_Testsome, persistent, one late", test_some, 1, 0, 1);
  MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&own);
}

// Runs alone: freed handles leave the MPI library in a state that could break other tests.
int main(int argc, char** argv) {
  check_start(&argc, &argv);
  MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
  freed_communicator();
  freed_type();
  freed_rest();
  active_persistent();
  lists_of_requests();
  comm_traffic(WORLD, 1);
  return check_finish("errors_more");
}
