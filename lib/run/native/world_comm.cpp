// mpi_world() is MPI_COMM_WORLD, or a communicator of Offramp's own session (open_own_world()) if the program
// only uses MPI sessions. With agree() all ranks fail together: the first rank with an error prints it.
#include "lib/run/native/world_comm.hpp"

#include <cstdio>
#include <utility>

#include "lib/run/native/native.h"
#include "lib/run/native/pmpi.hpp"
#include "lib/run/native/table.hpp"

namespace offramp {

#ifdef OFFRAMP_HAS_Session_init

namespace {
struct OwnWorld {
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
} apart;
}  // namespace

MPI_Comm mpi_world() {
  return apart.comm != MPI_COMM_NULL ? apart.comm : MPI_COMM_WORLD;
}

bool open_own_world(int level) {
  constexpr std::pair<int, const char*> kLevels[] = {{MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
                                                     {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
                                                     {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"}};
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Info info = MPI_INFO_NULL;
  for (const auto& [value, name] : kLevels) {
    if (value == level && pmpi::Info_create(&info) == MPI_SUCCESS) pmpi::Info_set(info, "thread_level", name);
  }
  const int code = native.Session_init(info, MPI_ERRORS_RETURN, &apart.session);
  if (info != MPI_INFO_NULL) pmpi::Info_free(&info);
  if (code != MPI_SUCCESS) return false;
  MPI_Comm made = MPI_COMM_NULL;
  const bool works = pmpi::Group_from_session_pset(apart.session, "mpi://WORLD", &all) == MPI_SUCCESS &&
                     native.Comm_create_from_group(all, "offramp", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                                   &made) == MPI_SUCCESS;
  if (all != MPI_GROUP_NULL) pmpi::Group_free(&all);
  apart.comm = made;
  offramp_native_reduce_apart(made);
  if (!works) close_own_world();
  return works;
}

void close_own_world() {
  offramp_native_reduce_apart(MPI_COMM_NULL);
  if (apart.comm != MPI_COMM_NULL) native.Comm_free(&apart.comm);
  if (apart.session != MPI_SESSION_NULL) native.Session_finalize(&apart.session);
}

#else

MPI_Comm mpi_world() {
  return MPI_COMM_WORLD;
}

void close_own_world() {}

#endif

int world_rank() {
  int rank = 0;
  pmpi::Comm_rank(mpi_world(), &rank);
  return rank;
}

int world_size() {
  int size = 1;
  pmpi::Comm_size(mpi_world(), &size);
  return size;
}

std::vector<std::string> exchange_strings(const std::string& own) {
  const int ranks = world_size();
  int length = static_cast<int>(own.size());
  std::vector<int> lengths(static_cast<std::size_t>(ranks));
  native.Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, mpi_world());
  std::vector<int> offsets(lengths.size());
  int total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    offsets[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  native.Allgatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR,
                    mpi_world());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    parts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
  return parts;
}

int largest_of_all(int own) {
  int largest = own;
  native.Allreduce(&own, &largest, 1, MPI_INT, MPI_MAX, mpi_world());
  return largest;
}

void agree(const std::string& error) {
  // The maximum of negative ranks is the lowest rank with an error; a rank without one passes the size.
  const int first = -largest_of_all(error.empty() ? -world_size() : -world_rank());
  if (first == world_size()) return;
  if (first == world_rank()) {
    (void)std::fprintf(stderr, "offramp: %s\n", error.c_str());
    (void)std::fflush(stderr);
  }
  // The others wait until the message is out, so that the abort of one rank does not cut it off.
  native.Barrier(mpi_world());
  native.Abort(mpi_world(), 2);
}

}  // namespace offramp
