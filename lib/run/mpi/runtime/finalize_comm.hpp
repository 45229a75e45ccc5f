// All ranks of MPI_COMM_WORLD on a separate communicator, for gathering results at the end of a run. Its
// messages cannot match the program's unreceived ones.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// Runs a step of this rank alone, for which the others wait. Returns why it failed: its own answer, or that
/// an exception ended it. The program has succeeded, so no exception may end it.
std::string problem_of_step(const std::function<std::string()>& step);

/// All functions are collective, including construction and destruction. The MPI library carries them.
class FinalizeComm {
 public:
  FinalizeComm();
  ~FinalizeComm();
  FinalizeComm& operator=(FinalizeComm&&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  /// Returns the texts in rank order at rank 0, and an empty list at the others. Texts may have any length.
  /// One that does not fit into memory is dropped, see has_dropped().
  [[nodiscard]] std::vector<std::string> gather(std::string own) const;
  /// Call at rank 0: passes the pieces that `rank` sends with send_pieces() to `sink`, one at a time.
  void receive_pieces(int rank, const std::function<void(std::string_view)>& sink) const;
  /// next: returns the next piece, which must stay valid until the next call. An empty piece ends them.
  void send_pieces(const std::function<std::string_view()>& next) const;
  /// Returns at every rank whether rank 0 has dropped a text.
  [[nodiscard]] bool has_dropped() const { return broadcast(dropped_); }
  /// Returns the sum at every rank.
  [[nodiscard]] std::uint64_t sum(std::uint64_t own) const;
  /// Broadcasts rank 0's value.
  [[nodiscard]] bool broadcast(bool of_rank_0) const;
  /// Scatters rank 0's values, one per rank. The argument is ignored at other ranks.
  [[nodiscard]] bool scatter(const std::vector<int>& of_rank_0) const;
  /// Broadcasts rank 0's value after long work of rank 0: the other ranks sleep and leave it the cores.
  [[nodiscard]] bool broadcast_sleeping(bool of_rank_0) const;

 private:
  /// Send and receive one text between a rank and rank 0. The calls must be paired.
  void send(std::string_view text) const;
  [[nodiscard]] std::string receive(int rank) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int ranks_ = 1;
  mutable bool dropped_ = false;
};

}  // namespace offramp
