// All ranks make the same choice, because both ends of a fabric need the same settings. They exchange what
// each sees: nodes, shared memory, and access to each other's memory. If a segment cannot be created after
// all, all ranks try the next smaller variant.
#include "lib/run/mpi/runtime/open_fabric.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "lib/run/fabric/node_fabric.hpp"
#include "lib/run/fabric/transports.hpp"
#include "lib/run/fabric/ucx_fabric.hpp"
#include "lib/run/mpi/runtime/program.hpp"
#include "lib/run/native/pmpi.hpp"
#include "lib/run/native/world_comm.hpp"

namespace offramp {
namespace {

/// Equal for two ranks if they can share memory: same host name, same boot, and same namespaces. Two
/// containers on one host, even with the same name, are two nodes.
std::string node_identity() {
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  pmpi::Get_processor_name(host, &length);
  std::string boot;
  // The boot distinguishes hosts that have one name, as images of virtual machines may have.
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code ignored;
  return fmt::format("{}|{}|{}|{}", host, boot,
                     std::filesystem::read_symlink("/proc/self/ns/ipc", ignored).string(),
                     std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string());
}

/// The ranks on the node of this one, in rising order.
std::vector<int> ranks_of_node() {
  const std::vector<std::string> all = exchange_strings(node_identity());
  const std::string& own = all[static_cast<std::size_t>(world_rank())];
  std::vector<int> ranks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == own) ranks.push_back(static_cast<int>(i));
  }
  return ranks;
}

/// Returns true if a node's ranks share one user namespace. Containers started separately have their own.
bool is_one_user_namespace(const std::vector<int>& node) {
  std::error_code ignored;
  const std::vector<std::string> all =
      exchange_strings(std::filesystem::read_symlink("/proc/self/ns/user", ignored).string());
  const std::string& own = all[static_cast<std::size_t>(world_rank())];
  return std::all_of(node.begin(), node.end(),
                     [&](int rank) { return all[static_cast<std::size_t>(rank)] == own; });
}

/// Returns true if the processes of a node can read each other's memory: every rank tries the next one.
bool cross_memory_works(const std::vector<int>& node) {
  // The value differs on each rank, so that reading the wrong process is noticed.
  std::uint64_t secret = 0x0ff4a3b5c6d7e8f9U ^ static_cast<std::uint64_t>(world_rank());
  const std::string own =
      fmt::format("{} {} {}", getpid(), reinterpret_cast<std::uintptr_t>(&secret), secret);
  const std::vector<std::string> all = exchange_strings(own);
  const auto next = std::upper_bound(node.begin(), node.end(), world_rank());
  const std::string& peer = all[static_cast<std::size_t>(next == node.end() ? node.front() : *next)];
  int pid = 0;
  unsigned long address = 0;
  unsigned long expected = 0;
  std::uint64_t seen = 0;
  bool works = std::sscanf(peer.c_str(), "%d %lu %lu", &pid, &address, &expected) == 3;
  if (works) {
    iovec local{&seen, sizeof seen};
    iovec remote{reinterpret_cast<void*>(address), sizeof seen};
    works = process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof seen) &&
            seen == expected;
  }
  return largest_of_all(works ? 0 : 1) == 0;  // also waits until all ranks have read
}

double free_shared_memory() {
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) return 0;
  return static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
}

/// The variant that fits into /dev/shm beside the MPI library's growing segments, at most `most`.
SharedMemory what_fits(std::size_t ranks, SharedMemory most) {
  constexpr double kLibrary = 4 * 0x1p20;  // bytes per rank: Open MPI's btl vader
  const auto node = static_cast<double>(ranks);
  const double free = free_shared_memory();
  // The MPI library's own segments still grow while the program runs, and a full /dev/shm ends it by SIGBUS.
  if (most == SharedMemory::kWide && free >= node * (shared_memory_per_rank(most) + kLibrary)) return most;
  if (free >= node * 2 * shared_memory_per_rank(SharedMemory::kNarrow)) return SharedMemory::kNarrow;
  return SharedMemory::kNone;
}

/// The limit for ring memory in bytes: a quarter of the free memory. Pages of rings that no pair of ranks
/// uses are never allocated. 0 if /dev/shm is short, or if UCX_TLS excludes shared memory.
double ring_memory(SharedMemory way) {
  constexpr double kMost = 256 * 0x1p20;
  if (way == SharedMemory::kNone || !shares_memory(std::getenv("UCX_TLS"))) return 0;
  return std::min(kMost, free_shared_memory() / 4);
}

/// Sets variables that UCX reads when it is loaded, and removes them afterwards so that child processes do
/// not inherit them. Variables that the user set are kept. They prevent patched memory functions, signal
/// handlers, and a warning for each message that the program never received. If the MPI library has loaded
/// UCX already, it is too late, and UCX would warn of unused variables.
class UcxVariables {
 public:
  /// one_node: only UCX's copies between processes are needed, and its network modules need not be loaded.
  explicit UcxVariables(bool one_node) {
    if (void* const loaded = dlopen("libucs.so.0", RTLD_LAZY | RTLD_NOLOAD); loaded != nullptr) {
      dlclose(loaded);
      return;
    }
    for (const auto& [name, value] :
         {std::pair{"UCX_MEM_EVENTS", "n"}, std::pair{"UCX_ERROR_SIGNALS", ""},
          std::pair{"UCX_DEBUG_SIGNO", "0"}, std::pair{"UCX_LOG_LEVEL", "error"}}) {
      if (std::getenv(name) != nullptr) continue;
      setenv(name, value, 1);
      set_.push_back(name);
    }
    if (!one_node || std::getenv("UCX_TLS") != nullptr || std::getenv("UCX_MODULES") != nullptr) return;
    setenv("UCX_MODULES", "cma", 1);
    set_.push_back("UCX_MODULES");
  }
  ~UcxVariables() {
    for (const char* name : set_) unsetenv(name);
  }
  UcxVariables& operator=(UcxVariables&&) = delete;

 private:
  std::vector<const char*> set_;
};

class NoFabric final : public ProcessFabric {
 public:
  NoFabric(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  // No rank has a reason to call these: the engine of a recorded program gets no messages.
  State send(int, std::span<const std::byte>, std::span<const std::byte>, FabricWaiter&) override {
    return State::kFailed;
  }
  State offer(int, std::span<const std::byte>, std::span<const std::byte>, FabricWaiter&) override {
    return State::kFailed;
  }
  State pull(void*, std::span<std::byte>, FabricWaiter&) override { return State::kFailed; }
  void drop(void*) override {}
  int progress(Sink&) override { return 0; }
  void close(Sink&) override {}

 private:
  int rank_;
  int ranks_;
};

Result<UcxFabricCreate> load_module() {
  const std::filesystem::path module =
      std::filesystem::path(own_path()).parent_path() / "offramp" / "offramp-fabric-ucx.so";
  void* library = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return failure(fmt::format("cannot load the UCX fabric: {}", dlerror()));
  const auto create = reinterpret_cast<UcxFabricCreate>(dlsym(library, kUcxFabricCreate));
  if (create == nullptr) return failure(fmt::format("{} is not an Offramp fabric", module.string()));
  return create;
}

/// The node fabric, which needs no UCX. Null on all ranks if it does not suit or the user has set UCX_TLS.
std::unique_ptr<ProcessFabric> fabric_of_node(const UcxOptions& options) {
  const bool suits = options.one_node && options.cross_memory && std::getenv("UCX_TLS") == nullptr &&
                     static_cast<std::size_t>(options.ranks) <= kMostRanksOfNodeFabric;
  // All ranks answer, so that none opens a fabric that another one does not.
  if (largest_of_all(suits ? 0 : 1) != 0) return nullptr;
  return open_node_fabric(options.rank, options.ranks, ring_memory(SharedMemory::kNarrow), exchange_strings);
}

}  // namespace

std::unique_ptr<ProcessFabric> no_fabric(int rank, int ranks) {
  return std::make_unique<NoFabric>(rank, ranks);
}

Result<std::unique_ptr<ProcessFabric>> open_fabric() {
  const std::vector<int> node = ranks_of_node();
  UcxOptions options;
  options.rank = world_rank();
  options.ranks = world_size();
  options.one_node = largest_of_all(node.size() == static_cast<std::size_t>(world_size()) ? 0 : 1) == 0;
  options.cross_memory = cross_memory_works(node);
  if (std::unique_ptr<ProcessFabric> fabric = fabric_of_node(options)) return fabric;
  options.one_user_namespace = is_one_user_namespace(node);
  const UcxVariables variables(options.one_node);
  const Result<UcxFabricCreate> create = load_module();
  // A rank without the module ends the run here, with its reason.
  agree(create.error());
  options.node = node;
  options.exchange = exchange_strings;
  const SharedMemory most = most_shared_memory(options.one_node && options.cross_memory);
  // Another process may have used the space by the time it is allocated; then the next variant is tried.
  for (int way = largest_of_all(static_cast<int>(what_fits(node.size(), most)));; ++way) {
    options.shared_memory = static_cast<SharedMemory>(way);
    options.ring_memory = ring_memory(options.shared_memory);
    std::string error;
    std::unique_ptr<ProcessFabric> fabric((*create)(options, error));
    if (fabric == nullptr && options.shared_memory != SharedMemory::kNone) continue;
    if (fabric == nullptr) return failure(error);
    if (options.shared_memory == SharedMemory::kNone && options.rank == 0 &&
        std::getenv("UCX_TLS") == nullptr) {
      (void)std::fprintf(stderr,
                         "offramp: /dev/shm is too small: messages use the network, which costs wall time\n");
    }
    return fabric;
  }
}

}  // namespace offramp
