#include "lib/mpi/world.hpp"

#include <cstdio>

#include "lib/mpi/dispatch.hpp"
#include "lib/mpi/pmpi.hpp"

namespace offramp {

int world_rank() {
  int rank = 0;
  pmpi::Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 1;
  pmpi::Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

std::vector<std::string> exchange_strings(const std::string& own) {
  const int ranks = world_size();
  int length = static_cast<int>(own.size());
  std::vector<int> lengths(static_cast<std::size_t>(ranks));
  native.Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::vector<int> offsets(lengths.size());
  int total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    offsets[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  native.Allgatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR,
                    MPI_COMM_WORLD);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    parts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
  return parts;
}

int largest_of_all(int own) {
  int largest = own;
  native.Allreduce(&own, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return largest;
}

void agree(const std::string& error) {
  const int first = -largest_of_all(error.empty() ? -world_size() : -world_rank());
  if (first == world_size()) return;
  if (first == world_rank()) {
    (void)std::fprintf(stderr, "offramp: %s\n", error.c_str());
    (void)std::fflush(stderr);
  }
  native.Barrier(MPI_COMM_WORLD);
  native.Abort(MPI_COMM_WORLD, 2);
}

}  // namespace offramp
