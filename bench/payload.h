// Test data for -c: a pattern that depends on iteration, source, message and position, so that stale, swapped
// or shifted data shows. Values fit into 7 bits, and so do sums in MPI_CHAR, because libraries differ beyond
// that (Open MPI 4.1 saturates from 16 elements on, in its vector code, and wraps around below). With more
// than 127 ranks MPI_CHAR summands are therefore all 0.

#ifndef OFFRAMP_BENCH_PAYLOAD_H
#define OFFRAMP_BENCH_PAYLOAD_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "options.h"

typedef struct {
  int iteration;
  int source;   // rank that made the data
  int message;  // within a window
} payload_id;

static inline uint32_t payload_seed(payload_id id) {
  return (uint32_t)id.iteration * 0x85EBCA6Bu + (uint32_t)id.source * 0xC2B2AE35u +
         (uint32_t)id.message * 0x27D4EB2Fu;
}

// The top bits of a multiplicative hash: no short period, so a displaced packet does not look right.
static inline uint32_t payload_value(uint32_t seed, int index) {
  return ((uint32_t)index * 0x9E3779B1u + seed) >> 25;
}

static inline void store_element(const bench_options* options, void* buffer, int index, uint32_t value) {
  if (options->type == MPI_CHAR) {
    ((unsigned char*)buffer)[index] = (unsigned char)value;
  } else if (options->type == MPI_INT) {
    ((int32_t*)buffer)[index] = (int32_t)value;
  } else {
    ((float*)buffer)[index] = (float)value;
  }
}

static inline bool holds_element(const bench_options* options, const void* buffer, int index,
                                 uint32_t value) {
  if (options->type == MPI_CHAR) {
    return ((const unsigned char*)buffer)[index] == (unsigned char)value;
  }
  if (options->type == MPI_INT) {
    return ((const int32_t*)buffer)[index] == (int32_t)value;
  }
  return ((const float*)buffer)[index] == (float)value;
}

static inline void fill_payload(const bench_options* options, void* buffer, int count, payload_id id) {
  const uint32_t seed = payload_seed(id);
  for (int i = 0; i < count; ++i) {
    store_element(options, buffer, i, payload_value(seed, i));
  }
}

// Overwrites data of an earlier iteration with bytes outside of any pattern.
static inline void spoil_payload(void* buffer, size_t bytes) {
  memset(buffer, 0xEE, bytes);
}

// Both checks return the number of wrong elements.
static inline long check_payload(const bench_options* options, const void* buffer, int count, payload_id id) {
  const uint32_t seed = payload_seed(id);
  long wrong = 0;
  for (int i = 0; i < count; ++i) {
    wrong += !holds_element(options, buffer, i, payload_value(seed, i));
  }
  return wrong;
}

static inline uint32_t summand_value(const bench_options* options, uint32_t seed, int index) {
  const uint32_t most = options->type == MPI_CHAR ? 127u / (uint32_t)options->ranks : 127u;
  return payload_value(seed, index) * (most + 1) >> 7;
}

static inline void fill_summand(const bench_options* options, void* buffer, int count, int iteration) {
  const uint32_t seed = payload_seed((payload_id){.iteration = iteration, .source = options->rank});
  for (int i = 0; i < count; ++i) {
    store_element(options, buffer, i, summand_value(options, seed, i));
  }
}

// The buffer has the elements of the vector from `first` on.
static inline long check_sum(const bench_options* options, const void* buffer, int first, int count,
                             int iteration) {
  long wrong = 0;
  for (int i = 0; i < count; ++i) {
    uint32_t sum = 0;
    for (int rank = 0; rank < options->ranks; ++rank) {
      const uint32_t seed = payload_seed((payload_id){.iteration = iteration, .source = rank});
      sum += summand_value(options, seed, first + i);
    }
    wrong += !holds_element(options, buffer, i, sum);
  }
  return wrong;
}

#endif
