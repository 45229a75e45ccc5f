// The definitions to which an archive's events refer: functions, ranks with their threads, communicators.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/programs/import/mpi_functions.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp::otf2 {

/// A function of the program or of MPI.
struct Region {
  std::string name;
  bool is_mpi = false;
  trace::Function function;  // of an MPI function
};

/// An MPI communicator. Members are empty for MPI_COMM_WORLD and for MPI_COMM_SELF.
struct Communicator {
  std::vector<int> members;  // ranks of the program
  bool is_world = false;
  bool is_self = false;  // each rank's own
  /// Events name ranks of the program instead of the communicator.
  bool has_global_ranks = false;
  std::string name;

  /// ranks: those of the program.
  [[nodiscard]] std::size_t size(std::size_t ranks) const {
    return is_self ? 1 : is_world ? ranks : members.size();
  }
};

/// A location and the number of its records.
struct Thread {
  std::uint64_t location = 0;
  std::uint64_t events = 0;
};

/// Immutable after reading: the readers of all ranks share it.
struct Definitions {
  std::string anchor;
  std::uint64_t ticks = 1;  // of the clock, per second
  std::unordered_map<std::uint32_t, Region> regions;
  std::unordered_map<std::uint32_t, std::uint32_t> regions_of_contexts;  // of calling contexts from sampling
  std::unordered_map<std::uint32_t, Communicator> communicators;
  std::unordered_map<std::uint32_t, std::uint32_t> windows;              // their communicators
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> groups;  // of ranks of the program
  std::vector<std::vector<Thread>> ranks;  // the thread that represents the rank comes first
  std::uint64_t left_out = 0;              // threads of processes with several ranks
};

/// Errors name the file.
Result<std::shared_ptr<const Definitions>> read_definitions(const std::string& anchor);

}  // namespace offramp::otf2
