// A fixed list of operations on three ranks, with the host clock after each: the same list as
// tests/mpi_times/fixed_ops.c, whose figures under mpirun have to be equal to these.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>

#include "tests/cluster.hpp"
#include "tests/core/support.hpp"

namespace offramp::test {

inline constexpr int kFixedOpsRanks = 3;
using FixedOpsReport = std::function<void(const std::string& step, int rank, Time clock)>;

class FixedOps {
 public:
  FixedOps(ClusterRank& rank, const FixedOpsReport& report) : rank_(rank), report_(report) {}

  Task<void> run() {
    for (const std::size_t bytes : {0, 8, 1000, 65536, 65537, 300000}) co_await around("send", bytes, false);
    for (const std::size_t bytes : {8, 100000}) co_await around("ssend", bytes, true);
    for (const std::size_t bytes : {100, 70000}) co_await neighbours(bytes);
    co_await window(4096);
    co_await window(100000);
    co_await exchange(5000);
    for (const std::size_t bytes : {4, 5000, 100000}) {
      for (int root = 0; root < rank_.size(); ++root) co_await bcast(bytes, root);
    }
    for (const std::size_t count : {1, 1000, 30000}) {
      for (int root = 0; root < rank_.size(); ++root) co_await reduce(count, root);
    }
    for (const std::size_t count : {1, 700, 20000}) {
      for (int root = 0; root < rank_.size(); ++root) co_await gather(count, root, count == 700);
    }
    for (const std::size_t count : {1, 700, 20000}) co_await everywhere(count);
  }

 private:
  static constexpr Elements kInts{ElementType::kInt32, sizeof(std::int32_t)};

  void report(const char* what, std::size_t size, int root = -1) {
    const std::string step =
        root < 0 ? fmt::format("{}/{}", what, size) : fmt::format("{}/{}/{}", what, size, root);
    report_(step, rank_.rank(), rank_.clock());
  }
  int right() const { return (rank_.rank() + 1) % rank_.size(); }
  int left() const { return (rank_.rank() + rank_.size() - 1) % rank_.size(); }

  /// Once around the ring, one after the other.
  Task<void> around(const char* what, std::size_t bytes, bool synchronous) {
    Buffer data(bytes);
    if (rank_.rank() != 0) co_await rank_.receive(left(), data, 1);
    synchronous ? co_await rank_.ssend(right(), data, 1) : co_await rank_.send(right(), data, 1);
    if (rank_.rank() == 0) co_await rank_.receive(left(), data, 1);
    report(what, bytes);
  }

  Task<void> neighbours(std::size_t bytes) {
    Buffer in(bytes);
    const Buffer out(bytes);
    std::vector<ClusterRequestPointer> requests;
    requests.push_back(rank_.irecv(left(), in, 2));
    requests.push_back(rank_.isend(right(), out, 2));
    co_await rank_.wait_all(requests);
    report("neighbours", bytes);
  }

  /// Eight messages in flight from rank 1 to rank 0, waited for in reverse order.
  Task<void> window(std::size_t bytes) {
    std::vector<Buffer> data(8, Buffer(bytes));
    std::vector<ClusterRequestPointer> requests;
    for (Buffer& one : data) {
      if (rank_.rank() == 0) requests.push_back(rank_.irecv(1, one, 3));
      if (rank_.rank() == 1) requests.push_back(rank_.isend(0, one, 3));
    }
    for (; !requests.empty(); requests.pop_back()) co_await rank_.wait(requests.back());
    report("window", bytes);
  }

  Task<void> exchange(std::size_t bytes) {
    Buffer in(bytes);
    const Buffer out(bytes);
    co_await rank_.sendrecv(right(), out, left(), in, 4);
    report("sendrecv", bytes);
  }

  Task<void> bcast(std::size_t bytes, int root) {
    Buffer data(bytes);
    co_await rank_.bcast(data, root);
    report("bcast", bytes, root);
  }

  Task<void> reduce(std::size_t count, int root) {
    const std::vector<std::int32_t> data(count, rank_.rank() + 1);
    std::vector<std::int32_t> result(count);
    Int32Sum sum;
    co_await rank_.reduce(std::as_bytes(std::span(data)), std::as_writable_bytes(std::span(result)), root,
                          sum);
    if (rank_.rank() == root && result.back() != 6) std::abort();
    report("reduce", count, root);
  }

  Task<void> gather(std::size_t count, int root, bool in_place) {
    const std::vector<std::int32_t> data(count, rank_.rank());
    std::vector<std::int32_t> all(count * kFixedOpsRanks, root);
    const MutableBytes into = std::as_writable_bytes(std::span(all));
    const std::size_t block = count * sizeof(std::int32_t);
    Bytes own = std::as_bytes(std::span(data));
    if (in_place && rank_.rank() == root) own = into.subspan(block * static_cast<std::size_t>(root), block);
    co_await rank_.gather(own, into, root, kInts);
    for (std::size_t i = 0; rank_.rank() == root && i < all.size(); ++i) {
      if (all[i] != static_cast<std::int32_t>(i / count)) std::abort();
    }
    report("gather", count, root);
  }

  /// The collectives without a root, and scatter from rank 1.
  Task<void> everywhere(std::size_t count) {
    const std::vector<std::int32_t> data(3 * count, rank_.rank());
    std::vector<std::int32_t> result(3 * count);
    const Bytes all = std::as_bytes(std::span(data));
    const Bytes block = all.first(count * sizeof(std::int32_t));
    const MutableBytes into = std::as_writable_bytes(std::span(result));
    Int32Sum sum;
    co_await rank_.allreduce(block, into.first(block.size()), sum);
    if (result[count - 1] != 3) std::abort();
    report("allreduce", count);
    co_await rank_.allgather(block, into, kInts);
    if (result.back() != 2) std::abort();
    report("allgather", count);
    co_await rank_.alltoall(all, into, kInts);
    if (result.back() != 2) std::abort();
    report("alltoall", count);
    co_await rank_.reduce_scatter(all, into, sum);
    if (result[count - 1] != 3) std::abort();
    report("reduce_scatter", count);
    co_await rank_.scatter(all, into.first(block.size()), 1, kInts);
    if (result[count - 1] != 1) std::abort();
    report("scatter", count);
    co_await rank_.barrier();
    report("barrier", count);
  }

  ClusterRank& rank_;
  const FixedOpsReport& report_;
};

/// Runs the list on a cluster of three ranks; returns the deadlock's text, or nothing.
inline std::string run_fixed_ops(Cluster& cluster, const FixedOpsReport& report) {
  return cluster.run([&](ClusterRank& rank) -> Task<void> {
    FixedOps list(rank, report);
    co_await list.run();
  });
}

}  // namespace offramp::test
