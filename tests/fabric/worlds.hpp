// The fabrics under test: two or three ranks of each kind in one process.
#pragma once

#include <dlfcn.h>

#include <barrier>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

#include "lib/run/fabric/memory_fabric.hpp"
#include "lib/run/fabric/node_fabric.hpp"
#include "lib/run/fabric/ucx_fabric.hpp"

namespace offramp::test {

/// Each world has at(), close(), and available(), so that one typed test covers all fabrics.
class MemoryWorld {
 public:
  explicit MemoryWorld(int ranks) : hub_(ranks) {}
  Fabric& at(int rank) { return hub_.at(rank); }
  void close(int, Fabric::Sink&) {}
  static bool available() { return true; }

 private:
  MemoryHub hub_;
};

/// Delivers in an order drawn from a fixed seed, so that failures can be repeated.
class ShuffledMemoryWorld {
 public:
  explicit ShuffledMemoryWorld(int ranks) : hub_(ranks, 8192, 12345) {}
  Fabric& at(int rank) { return hub_.at(rank); }
  void close(int, Fabric::Sink&) {}
  static bool available() { return true; }

 private:
  MemoryHub hub_;
};

/// Null if the fabric's library or UCX is not installed: the tests are then skipped.
inline UcxFabricCreate ucx_fabric_create() {
  static const UcxFabricCreate create = [] {
    // As in the library, before UCX is loaded, which reads them then.
    setenv("UCX_MEM_EVENTS", "n", 0);
    setenv("UCX_ERROR_SIGNALS", "", 0);
    const char* path = std::getenv("OFFRAMP_TEST_FABRIC");
    void* library = dlopen(path != nullptr ? path : OFFRAMP_TEST_FABRIC, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return UcxFabricCreate{nullptr};
    return reinterpret_cast<UcxFabricCreate>(dlsym(library, kUcxFabricCreate));
  }();
  return create;
}

/// Each rank is made in a thread of its own, because making them exchanges addresses; then one thread drives
/// all of them.
template <bool kOneNode, bool kCrossMemory, SharedMemory kShared, bool kRings = false>
class UcxWorld {
 public:
  explicit UcxWorld(int ranks) : fabrics_(static_cast<std::size_t>(ranks)) {
    std::barrier<> met(ranks);
    std::vector<std::string> addresses(fabrics_.size());
    std::mutex opening;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        // The lock is kept until all options are set, and released before the exchange blocks.
        std::unique_lock turn(opening);  // guards the environment, which separate processes would not share
        UcxOptions options;
        options.rank = rank;
        options.ranks = ranks;
        options.one_node = kOneNode;
        options.cross_memory = kCrossMemory;
        options.shared_memory = kShared;
        for (int neighbour = 0; neighbour < ranks; ++neighbour) options.node.push_back(neighbour);
        options.ring_memory = kRings ? 1 << 20 : 0;
        options.exchange = [&](const std::string& own) {
          if (turn.owns_lock()) turn.unlock();
          addresses[static_cast<std::size_t>(rank)] = own;
          met.arrive_and_wait();
          std::vector<std::string> all = addresses;
          met.arrive_and_wait();
          return all;
        };
        std::string error;
        fabrics_[static_cast<std::size_t>(rank)].reset(ucx_fabric_create()(options, error));
        if (!error.empty()) std::abort();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  Fabric& at(int rank) { return *fabrics_[static_cast<std::size_t>(rank)]; }
  void close(int rank, Fabric::Sink& sink) { fabrics_[static_cast<std::size_t>(rank)]->close(sink); }
  static bool available() { return ucx_fabric_create() != nullptr; }

 private:
  std::vector<std::unique_ptr<ProcessFabric>> fabrics_;
};

/// The ranks meet in the exchange, as above.
class NodeWorld {
 public:
  explicit NodeWorld(int ranks) : fabrics_(static_cast<std::size_t>(ranks)) {
    std::barrier<> met(ranks);
    std::vector<std::string> segments(fabrics_.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        fabrics_[static_cast<std::size_t>(rank)] =
            open_node_fabric(rank, ranks, 4 << 20, [&, rank](const std::string& own) {
              segments[static_cast<std::size_t>(rank)] = own;
              met.arrive_and_wait();
              std::vector<std::string> all = segments;
              met.arrive_and_wait();
              return all;
            });
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (fabrics_.front() == nullptr) std::abort();
  }
  Fabric& at(int rank) { return *fabrics_[static_cast<std::size_t>(rank)]; }
  void close(int rank, Fabric::Sink& sink) { fabrics_[static_cast<std::size_t>(rank)]->close(sink); }
  static bool available() { return true; }

 private:
  std::vector<std::unique_ptr<ProcessFabric>> fabrics_;
};

using UcxThroughSharedMemory = UcxWorld<true, false, SharedMemory::kWide>;
using UcxWithCrossMemory = UcxWorld<true, true, SharedMemory::kNarrow>;
using UcxOverTheNetwork = UcxWorld<true, true, SharedMemory::kNone>;
using UcxBesideRings = UcxWorld<true, true, SharedMemory::kNarrow, true>;
using UcxAcrossNodesBesideRings = UcxWorld<false, true, SharedMemory::kNarrow, true>;
using UcxAcrossNodes = UcxWorld<false, true, SharedMemory::kWide>;

}  // namespace offramp::test
