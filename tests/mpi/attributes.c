// Attributes with their callbacks, error handlers and their inheritance, info, names, comparison,
// MPI_Pcontrol. Offramp handles none of them, and must not change any.
#include "check.h"

static int copied, deleted, raised;

static int on_copy(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm;
  (void)key;
  CHECK_EQ((intptr_t)extra, 17);
  ++copied;
  *(void**)out = (void*)((intptr_t)in + 1);
  *flag = 1;
  return MPI_SUCCESS;
}
static int on_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm;
  (void)key;
  (void)value;
  CHECK_EQ((intptr_t)extra, 17);
  ++deleted;
  return MPI_SUCCESS;
}
static int on_window_delete(MPI_Win win, int key, void* value, void* extra) {
  (void)win;
  (void)key;
  (void)value;
  (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}
static void on_error(MPI_Comm* comm, int* code, ...) {
  int kind;
  (void)comm;
  MPI_Error_class(*code, &kind);
  CHECK_EQ(kind, MPI_ERR_TRUNCATE);
  ++raised;
}

static intptr_t value_of(MPI_Comm comm, int key) {
  void* value = NULL;
  int flag = 0;
  MPI_Comm_get_attr(comm, key, &value, &flag);
  return flag ? (intptr_t)value : -1;
}

static void attributes(void) {
  MPI_Comm base, dup, idup, half;
  MPI_Request r;
  int key, *tag_bound, flag;
  MPI_Comm_create_keyval(on_copy, on_delete, &key, (void*)17);
  MPI_Comm_split(MPI_COMM_WORLD, 0, me, &base);
  MPI_Comm_set_attr(base, key, (void*)40);
  MPI_Comm_dup(base, &dup);
  CHECK_EQ(copied, 1);
  CHECK_EQ(value_of(dup, key), 41);
  MPI_Comm_idup(dup, &idup, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  CHECK_EQ(copied, 2);
  CHECK_EQ(value_of(idup, key), 42);
  MPI_Comm_split(base, me % 2, 0, &half);
  CHECK_EQ(value_of(half, key), -1);
  CHECK_EQ(copied, 2);
  MPI_Comm_free(&half);
  CHECK_EQ(deleted, 0);
  MPI_Comm_free(&idup);
  MPI_Comm_free(&dup);
  CHECK_EQ(deleted, 2);
  MPI_Comm_delete_attr(base, key);
  CHECK_EQ(deleted, 3);
  MPI_Comm_free(&base);
  CHECK_EQ(deleted, 3);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_bound, &flag);
  CHECK(flag && *tag_bound >= 32767);
}

// Windows and files leave no attributes on the handles that they were made from.
static void windows(void) {
  MPI_Comm base;
  MPI_Win win;
  int key, cell = 0, window_key;
  copied = deleted = 0;
  MPI_Comm_create_keyval(on_copy, on_delete, &key, (void*)17);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_window_delete, &window_key, NULL);
  MPI_Comm_split(MPI_COMM_WORLD, 0, me, &base);
  MPI_Comm_set_attr(base, key, (void*)1);
  MPI_Win_create(&cell, sizeof cell, 1, MPI_INFO_NULL, base, &win);
  int copies = copied;  // the MPI library may duplicate the communicator itself
  MPI_Win_set_attr(win, window_key, NULL);
  MPI_Win_fence(0, win);
  CHECK_EQ(copied, copies);
  CHECK_EQ(deleted, 0);
  MPI_Win_free(&win);
  CHECK_EQ(deleted, 1 + copies);
  MPI_Comm_free(&base);
  CHECK_EQ(deleted, 2 + copies);
  MPI_Comm_free_keyval(&key);
  MPI_Win_free_keyval(&window_key);
}

static void error_handlers(void) {
  MPI_Errhandler handler, got;
  MPI_Comm base, dup;
  int out[4] = {1, 2, 3, 4}, in = 0, code;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_dup(MPI_COMM_WORLD, &base);
  MPI_Comm_set_errhandler(base, handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm_dup(base, &dup);  // the new one inherits it
  MPI_Comm_get_errhandler(dup, &got);
  CHECK(got != MPI_ERRORS_ARE_FATAL && got != MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&got);
  code = MPI_Sendrecv(out, 4, MPI_INT, right_of(me, np), 1, &in, 1, MPI_INT, left_of(me, np), 1, dup,
                      MPI_STATUS_IGNORE);
  CHECK(code != MPI_SUCCESS);
  CHECK_EQ(raised, 1);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  code = MPI_Sendrecv(out, 4, MPI_INT, right_of(me, np), 1, &in, 1, MPI_INT, left_of(me, np), 1, dup,
                      MPI_STATUS_IGNORE);
  CHECK(code != MPI_SUCCESS);
  CHECK_EQ(raised, 1);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&base);
}

static void names_and_info(void) {
  char name[MPI_MAX_OBJECT_NAME], value[16] = "";
  int length, flag, result;
  MPI_Comm dup;
  MPI_Info info, used;
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
  MPI_Info_create(&info);
  MPI_Info_set(info, "a key", "a value");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &dup);
  MPI_Comm_set_name(dup, "a duplicate");
  MPI_Comm_get_name(dup, name, &length);
  CHECK(strcmp(name, "a duplicate") == 0);
  MPI_Comm_get_info(dup, &used);
  MPI_Info_free(&used);
  MPI_Info_get(info, "a key", 15, value, &flag);
  CHECK(flag && strcmp(value, "a value") == 0);
  MPI_Info_free(&info);
  MPI_Comm_compare(MPI_COMM_WORLD, dup, &result);
  CHECK_EQ(result, MPI_CONGRUENT);
  MPI_Comm_compare(dup, dup, &result);
  CHECK_EQ(result, MPI_IDENT);
  MPI_Comm_free(&dup);
  MPI_Pcontrol(0);
  MPI_Pcontrol(2, "a level", 3);
  MPI_Pcontrol(1);
}

// A program starts another one with its original environment, without the preloaded library.
static void children(void) {
  CHECK_EQ(system("exit 3") >> 8, 3);
  FILE* pipe = popen("cat", "w");
  CHECK(pipe != NULL);
  CHECK(fputs("", pipe) >= 0);
  CHECK_EQ(pclose(pipe), 0);
}

CASE(attributes) {
  attributes();
  windows();
  error_handlers();
  names_and_info();
  children();
  comm_traffic(MPI_COMM_WORLD, 1);
}
