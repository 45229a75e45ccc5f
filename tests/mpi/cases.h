// Ordinary cases: each is a function in a file of its own and makes a program of its own. One more program
// has all of them, and runs several under one MPI_Init.
//
//   CASE(sendrecv) {
//     ... checks ...
//   }
//
// A THREADED_CASE needs MPI_THREAD_MULTIPLE; a program that runs one, or several, asks for it.
//
// Without arguments a program runs all its cases; arguments select some; --list prints those without threads,
// --list-threaded the others. A line "ok NAME" follows each case that passed. After each case the program
// checks that the case has freed everything.
#ifndef TESTS_MPI_CASES_H
#define TESTS_MPI_CASES_H

#include <time.h>

#include "check.h"

struct check_case {
  const char* name;
  void (*run)(void);
  int level;  // of MPI_Init_thread
};

// The linker puts the cases of all files that are linked together into one array.
extern const struct check_case __start_check_cases[], __stop_check_cases[];

// Aligned as in an array: GCC would align larger objects more.
#define CHECK_CASE(title, level)                                                                  \
  static void check_##title(void);                                                                \
  static const struct check_case check_entry                                                      \
      __attribute__((section("check_cases"), used, aligned(8))) = {#title, check_##title, level}; \
  __attribute__((weak)) int main(int argc, char** argv) {                                         \
    return check_main(argc, argv);                                                                \
  }                                                                                               \
  static void check_##title(void)
#define CASE(title) CHECK_CASE(title, MPI_THREAD_SINGLE)
#define THREADED_CASE(title) CHECK_CASE(title, MPI_THREAD_MULTIPLE)

// Ends a case that this run does not support.
#define SKIP(why)                           \
  do {                                      \
    if (me == 0) printf("note: %s\n", why); \
    return;                                 \
  } while (0)

// ---- what a case leaves behind ----

enum left_kind { left_comm, left_group, left_op, left_handler, left_info, left_kinds };

// Objects that the MPI library itself does not free; the case that makes them adds them here.
__attribute__((weak)) int check_tolerated[left_kinds];

static inline void no_operation(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

static inline void no_handler(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
}

// The numbers that new objects of each kind get in Fortran. Open MPI uses the lowest free number, so an
// object that a case or the library did not free shows as a higher one. Datatypes get theirs only on request.
static inline void free_numbers(int numbers[left_kinds]) {
  memset(numbers, 0, left_kinds * sizeof *numbers);
#ifdef OPEN_MPI
  MPI_Comm comm;
  MPI_Group group;
  MPI_Op op;
  MPI_Errhandler handler;
  MPI_Info info;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  numbers[left_comm] = MPI_Comm_c2f(comm);
  MPI_Comm_free(&comm);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group only;
  MPI_Group_incl(group, 1, (int[]){0}, &only);
  numbers[left_group] = MPI_Group_c2f(only);
  MPI_Group_free(&only);
  MPI_Group_free(&group);
  MPI_Op_create(no_operation, 1, &op);
  numbers[left_op] = MPI_Op_c2f(op);
  MPI_Op_free(&op);
  MPI_Comm_create_errhandler(no_handler, &handler);
  numbers[left_handler] = MPI_Errhandler_c2f(handler);
  MPI_Errhandler_free(&handler);
  MPI_Info_create(&info);
  numbers[left_info] = MPI_Info_c2f(info);
  MPI_Info_free(&info);
#endif
}

static inline void left_behind(const char* name, const char* what) {
  char text[256];
  snprintf(text, sizeof text, "case %s has left %s", name, what);
  check_failed(text, name, 0);
}

static inline void check_handler(const char* name, MPI_Comm comm) {
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(comm, &handler);
  if (handler != MPI_ERRORS_ARE_FATAL) left_behind(name, "an error handler in force");
  MPI_Errhandler_free(&handler);
}

static inline void check_nothing_left(const char* name, const int before[left_kinds]) {
  static const char* const names[left_kinds] = {"a communicator", "a group", "an operation",
                                                "an error handler", "an info"};
  static char space[MPI_BSEND_OVERHEAD + 8];
  int now[left_kinds], flag, size;
  void* detached;
  MPI_Status s;
  check_handler(name, MPI_COMM_WORLD);
  check_handler(name, MPI_COMM_SELF);
  // All ranks have ended the case when the first barrier is over, and none begins the next one before the
  // second.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &s);
  if (flag) left_behind(name, "a message");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Buffer_attach(space, sizeof space) != MPI_SUCCESS) left_behind(name, "an attached buffer");
  MPI_Buffer_detach(&detached, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  free_numbers(now);
  for (int i = 0; i < left_kinds; ++i)
    if (now[i] > before[i] + check_tolerated[i]) left_behind(name, names[i]);
}

// ---- the program ----

static inline int chosen(const struct check_case* each, int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], each->name) == 0) return 1;
  return argc == 1;
}

static inline double check_seconds(void) {
  struct timespec t;  // not MPI_Wtime: that may be a modelled clock
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void check_say(const char* word, const char* name) {
  if (me == 0) printf("%s %s\n", word, name);
  fflush(stdout);
}

static inline void check_run(const struct check_case* each) {
  int provided;
  MPI_Query_thread(&provided);
  if (provided < each->level) SKIP("MPI_THREAD_MULTIPLE is not provided");
  each->run();
}

static inline void check_several(int argc, char** argv) {
  int before[left_kinds];
  free_numbers(before);
  for (const struct check_case* each = __start_check_cases; each < __stop_check_cases; ++each) {
    if (!chosen(each, argc, argv)) continue;
    const double begin = check_seconds();
    check_say("case", each->name);
    check_run(each);
    check_nothing_left(each->name, before);
    if (me == 0) printf("took %s %.2f s\n", each->name, check_seconds() - begin);
    check_say("ok", each->name);
  }
}

static inline int check_list(int threaded) {
  for (const struct check_case* each = __start_check_cases; each < __stop_check_cases; ++each)
    if ((each->level == MPI_THREAD_MULTIPLE) == threaded) puts(each->name);
  return 0;
}

// A program without threads calls MPI_Init.
static inline void check_start_with(int level, int* argc, char*** argv) {
  int provided;
  if (level > MPI_THREAD_SINGLE)
    MPI_Init_thread(argc, argv, level, &provided);
  else
    MPI_Init(argc, argv);
  check_ranks();
}

static inline int check_main(int argc, char** argv) {
  const struct check_case* one = NULL;
  int count = 0, level = MPI_THREAD_SINGLE;
  if (argc == 2 && strcmp(argv[1], "--list") == 0) return check_list(0);
  if (argc == 2 && strcmp(argv[1], "--list-threaded") == 0) return check_list(1);
  for (const struct check_case* each = __start_check_cases; each < __stop_check_cases; ++each) {
    if (!chosen(each, argc, argv)) continue;
    one = each, ++count;
    if (each->level > level) level = each->level;
  }
  if (count == 0 || (argc > 1 && count != argc - 1)) {
    fprintf(stderr, "not all of these are cases; --list and --list-threaded name them\n");
    return 2;
  }
  check_start_with(level, &argc, &argv);
  if (count > 1) {
    check_several(argc, argv);
    return check_finish("all");
  }
  check_run(one);
  return check_finish(one->name);
}

#endif
