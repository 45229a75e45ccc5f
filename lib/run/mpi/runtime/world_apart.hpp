// All ranks of MPI_COMM_WORLD on a communicator of their own, at the end of a run: what they have to bring
// together does not meet messages of the program that were never received.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace offramp {

/// Made and destroyed by all ranks together, as all its functions are called. Carried by the MPI library.
class WorldApart {
 public:
  WorldApart();
  ~WorldApart();
  WorldApart(const WorldApart&) = delete;
  WorldApart& operator=(const WorldApart&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  /// In rank order, at rank 0; nothing at the others. A text may have any length.
  [[nodiscard]] std::vector<std::string> gather(std::string own) const;
  /// At rank 0: hands on the pieces that the rank sends with send_pieces, one at a time.
  void receive_pieces(int rank, const std::function<void(std::string_view)>& take) const;
  /// next: the next piece, which stays until the one after it is asked for; an empty one ends them.
  void send_pieces(const std::function<std::string_view()>& next) const;
  /// At every rank.
  [[nodiscard]] std::uint64_t sum(std::uint64_t own) const;
  /// What rank 0 says.
  [[nodiscard]] bool hear(bool of_rank_0) const;
  /// What rank 0 says to this rank. of_rank_0: by rank; of no interest elsewhere.
  [[nodiscard]] bool hear_own(const std::vector<int>& of_rank_0) const;
  /// The same where rank 0 has long to work: the others leave it the cores.
  [[nodiscard]] bool hear_asleep(bool of_rank_0) const;

 private:
  void send(std::string_view text) const;
  [[nodiscard]] std::string receive(int rank) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int ranks_ = 1;
};

}  // namespace offramp
