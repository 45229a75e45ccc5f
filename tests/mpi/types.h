// The predefined datatypes with a C counterpart: how to store a small value in an element, how to compare it,
// and how to add and multiply if that is defined.
#ifndef TESTS_MPI_TYPES_H
#define TESTS_MPI_TYPES_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>

#include "check.h"

// Families, as in the standard's table of legal (operation, type) pairs.
enum family {
  f_char = 1,
  f_integer = 2,
  f_fortran_integer = 4,
  f_floating = 8,
  f_complex = 16,
  f_logical = 32,
  f_byte = 64,
  f_multi = 128
};

struct basic {
  const char* name;
  MPI_Datatype type;
  size_t size;
  enum family family;
  void (*set)(void* at, int v);
  int (*is)(const void* at, int v);
  void (*add)(void* acc, const void* x);
  void (*mul)(void* acc, const void* x);
  int (*same)(const void* a, const void* b);
};

#define BASIC_C_TYPES(X)                               \
  X(CHAR, char, f_char)                                \
  X(SIGNED_CHAR, signed char, f_integer)               \
  X(UNSIGNED_CHAR, unsigned char, f_integer)           \
  X(SHORT, short, f_integer)                           \
  X(UNSIGNED_SHORT, unsigned short, f_integer)         \
  X(INT, int, f_integer)                               \
  X(UNSIGNED, unsigned, f_integer)                     \
  X(LONG, long, f_integer)                             \
  X(UNSIGNED_LONG, unsigned long, f_integer)           \
  X(LONG_LONG, long long, f_integer)                   \
  X(UNSIGNED_LONG_LONG, unsigned long long, f_integer) \
  X(INT8_T, int8_t, f_integer)                         \
  X(INT16_T, int16_t, f_integer)                       \
  X(INT32_T, int32_t, f_integer)                       \
  X(INT64_T, int64_t, f_integer)                       \
  X(UINT8_T, uint8_t, f_integer)                       \
  X(UINT16_T, uint16_t, f_integer)                     \
  X(UINT32_T, uint32_t, f_integer)                     \
  X(UINT64_T, uint64_t, f_integer)                     \
  X(WCHAR, wchar_t, f_char)                            \
  X(FLOAT, float, f_floating)                          \
  X(DOUBLE, double, f_floating)                        \
  X(LONG_DOUBLE, long double, f_floating)              \
  X(BYTE, unsigned char, f_byte)                       \
  X(AINT, MPI_Aint, f_multi)                           \
  X(OFFSET, MPI_Offset, f_multi)                       \
  X(COUNT, MPI_Count, f_multi)                         \
  X(INTEGER, MPI_Fint, f_fortran_integer)              \
  X(REAL, float, f_floating)                           \
  X(DOUBLE_PRECISION, double, f_floating)

#define BASIC_COMPLEX_TYPES(X)                   \
  X(C_FLOAT_COMPLEX, float complex, f_complex)   \
  X(C_DOUBLE_COMPLEX, double complex, f_complex) \
  X(C_LONG_DOUBLE_COMPLEX, long double complex, f_complex)

#define BASIC_VALUES(M, T, value)                     \
  static void set_##M(void* at, int v) {              \
    T x = (T)(value);                                 \
    memcpy(at, &x, sizeof x);                         \
  }                                                   \
  static int is_##M(const void* at, int v) {          \
    T x, y = (T)(value);                              \
    memcpy(&x, at, sizeof x);                         \
    return x == y;                                    \
  }                                                   \
  static int same_##M(const void* a, const void* b) { \
    T x, y;                                           \
    memcpy(&x, a, sizeof x);                          \
    memcpy(&y, b, sizeof y);                          \
    return x == y;                                    \
  }

#define BASIC_ARITHMETIC(M, T)                     \
  static void add_##M(void* acc, const void* at) { \
    T a, x;                                        \
    memcpy(&a, acc, sizeof a);                     \
    memcpy(&x, at, sizeof x);                      \
    a = (T)(a + x);                                \
    memcpy(acc, &a, sizeof a);                     \
  }                                                \
  static void mul_##M(void* acc, const void* at) { \
    T a, x;                                        \
    memcpy(&a, acc, sizeof a);                     \
    memcpy(&x, at, sizeof x);                      \
    a = (T)(a * x);                                \
    memcpy(acc, &a, sizeof a);                     \
  }

#define BASIC_REAL(M, T, f) BASIC_VALUES(M, T, v) BASIC_ARITHMETIC(M, T)
#define BASIC_COMPLEX(M, T, f) BASIC_VALUES(M, T, (double)v + (2.0 * v + 1) * I) BASIC_ARITHMETIC(M, T)
#define BASIC_ENTRY(M, T, f) \
  table[n++] = (struct basic){"MPI_" #M, MPI_##M, sizeof(T), f, set_##M, is_##M, add_##M, mul_##M, same_##M};

BASIC_C_TYPES(BASIC_REAL)
BASIC_COMPLEX_TYPES(BASIC_COMPLEX)
BASIC_VALUES(C_BOOL, bool, v != 0)

enum { max_basic = 48 };

// Without types that the library lacks, or whose size is not the C type's (Fortran compiled with other
// kinds).
static inline int basic_types(struct basic table[max_basic]) {
  int n = 0, kept = 0;
  BASIC_C_TYPES(BASIC_ENTRY)
  BASIC_COMPLEX_TYPES(BASIC_ENTRY)
  table[n++] = (struct basic){"MPI_C_BOOL", MPI_C_BOOL, sizeof(bool), f_logical, set_C_BOOL, is_C_BOOL, 0, 0,
                              same_C_BOOL};
  for (int i = 0; i < n; ++i) {
    int size;
    if (table[i].type == MPI_DATATYPE_NULL) continue;
    MPI_Type_size(table[i].type, &size);
    if ((size_t)size == table[i].size) table[kept++] = table[i];
  }
  return kept;
}

// The value-and-index types of MPI_MINLOC and MPI_MAXLOC.
struct pair {
  const char* name;
  MPI_Datatype type;
  size_t size;
  void (*set)(void* at, int value, int index);
  int (*is)(const void* at, int value, int index);
};

#define PAIR_TYPES(X)   \
  X(FLOAT_INT, float)   \
  X(DOUBLE_INT, double) \
  X(LONG_INT, long)     \
  X(2INT, int)          \
  X(SHORT_INT, short)   \
  X(LONG_DOUBLE_INT, long double)

#define PAIR_FUNCTIONS(M, T)                                \
  struct of_##M {                                           \
    T value;                                                \
    int index;                                              \
  };                                                        \
  static void set_##M(void* at, int value, int index) {     \
    struct of_##M* p = at;                                  \
    p->value = (T)value;                                    \
    p->index = index;                                       \
  }                                                         \
  static int is_##M(const void* at, int value, int index) { \
    const struct of_##M* p = at;                            \
    return p->value == (T)value && p->index == index;       \
  }

#define PAIR_ENTRY(M, T) \
  table[n++] = (struct pair){"MPI_" #M, MPI_##M, sizeof(struct of_##M), set_##M, is_##M};

PAIR_TYPES(PAIR_FUNCTIONS)

enum { max_pair = 8 };

static inline int pair_types(struct pair table[max_pair]) {
  int n = 0;
  PAIR_TYPES(PAIR_ENTRY)
  return n;
}

#endif
