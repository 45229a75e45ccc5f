// A text is preceded by its size. Above kUnasked bytes the sender waits for rank 0, which may have no memory
// for it: the text is then dropped, and the run goes on. Smaller texts are sent without asking. Pieces are
// limited to 1 GiB by MPI's counts.
#include "lib/run/mpi/runtime/finalize_comm.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "lib/run/native/pmpi.hpp"
#include "lib/run/native/table.hpp"
#include "lib/run/native/world_comm.hpp"

namespace offramp {

std::string problem_of_step(const std::function<std::string()>& step) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& e) {
    return e.what();
  }
}

// MPI_Comm_dup would call the program's attribute functions.
FinalizeComm::FinalizeComm() {
  MPI_Group all = MPI_GROUP_NULL;
  pmpi::Comm_group(mpi_world(), &all);
  native.Comm_create(mpi_world(), all, &comm_);
  pmpi::Group_free(&all);
  pmpi::Comm_rank(comm_, &rank_);
  pmpi::Comm_size(comm_, &ranks_);
}

FinalizeComm::~FinalizeComm() {
  native.Comm_free(&comm_);
}

namespace {
constexpr std::size_t kPiece = std::size_t{1} << 30;  // bytes; MPI counts are limited to 2^31 - 1 elements
constexpr std::size_t kUnasked = 4096;  // bytes; before longer texts, rank 0 says whether it has the memory
}  // namespace

void FinalizeComm::send(std::string_view text) const {
  std::uint64_t size = text.size();
  native.Send(&size, 1, MPI_UINT64_T, 0, 0, comm_);
  int fits = 1;
  if (size > kUnasked) native.Recv(&fits, 1, MPI_INT, 0, 0, comm_, MPI_STATUS_IGNORE);
  if (fits == 0) return;
  for (std::size_t at = 0; at < text.size(); at += kPiece)
    native.Send(text.data() + at, static_cast<int>(std::min(kPiece, text.size() - at)), MPI_BYTE, 0, 0,
                comm_);
}

std::string FinalizeComm::receive(int rank) const {
  std::uint64_t size = 0;
  native.Recv(&size, 1, MPI_UINT64_T, rank, 0, comm_, MPI_STATUS_IGNORE);
  std::string text;
  dropped_ = !problem_of_step([&] { return text.resize(size), std::string(); }).empty() || dropped_;
  const int fits = text.size() == size ? 1 : 0;
  if (size > kUnasked) native.Send(&fits, 1, MPI_INT, rank, 0, comm_);
  for (std::size_t at = 0; at < text.size(); at += kPiece)
    native.Recv(text.data() + at, static_cast<int>(std::min(kPiece, text.size() - at)), MPI_BYTE, rank, 0,
                comm_, MPI_STATUS_IGNORE);
  return text;
}

std::vector<std::string> FinalizeComm::gather(std::string own) const {
  std::vector<std::string> all;
  if (rank_ != 0) {
    send(own);
    return all;
  }
  all.push_back(std::move(own));
  for (int rank = 1; rank < ranks_; ++rank) all.push_back(receive(rank));
  return all;
}

void FinalizeComm::send_pieces(const std::function<std::string_view()>& next) const {
  for (;;) {
    const std::string_view piece = next();
    send(piece);
    if (piece.empty()) return;
  }
}

void FinalizeComm::receive_pieces(int rank, const std::function<void(std::string_view)>& sink) const {
  for (std::string piece = receive(rank); !piece.empty(); piece = receive(rank)) sink(piece);
}

std::uint64_t FinalizeComm::sum(std::uint64_t own) const {
  std::uint64_t total = 0;
  native.Allreduce(&own, &total, 1, MPI_UINT64_T, MPI_SUM, comm_);
  return total;
}

bool FinalizeComm::broadcast(bool of_rank_0) const {
  int value = of_rank_0 ? 1 : 0;
  native.Bcast(&value, 1, MPI_INT, 0, comm_);
  return value != 0;
}

bool FinalizeComm::scatter(const std::vector<int>& of_rank_0) const {
  int value = 0;
  native.Scatter(of_rank_0.data(), 1, MPI_INT, &value, 1, MPI_INT, 0, comm_);
  return value != 0;
}

bool FinalizeComm::broadcast_sleeping(bool of_rank_0) const {
  int value = of_rank_0 ? 1 : 0;
  int received = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  native.Ibcast(&value, 1, MPI_INT, 0, comm_, &request);
  // A rank notices the end at most this much late, which is short against the work of rank 0.
  constexpr auto kLongest = std::chrono::microseconds(1000);
  auto nap = std::chrono::microseconds(50);
  for (native.Test(&request, &received, MPI_STATUS_IGNORE); received == 0;
       native.Test(&request, &received, MPI_STATUS_IGNORE)) {
    std::this_thread::sleep_for(nap);
    nap = std::min(2 * nap, kLongest);
  }
  return value != 0;
}

}  // namespace offramp
