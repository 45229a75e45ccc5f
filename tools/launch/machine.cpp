// Probes MPI, UCX, cores, and memory for `offramp info`.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <hwloc.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "lib/base/mpi_family.hpp"
#include "lib/run/fabric/ucx_fabric.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/launch/child.hpp"
#include "tools/launch/launch_notes.hpp"
#include "tools/launch/launcher.hpp"

namespace offramp::tool {
namespace {

/// For child processes, which have no other way to report.
void write_text(int to, std::string_view text) {
  if (write(to, text.data(), text.size()) < 0) _exit(1);
}

/// Loads the first library that exists. Only in a child process, since loading may crash or hang.
void* open_first(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return library;
  }
  return nullptr;
}

/// Writes nothing if MPI cannot be loaded.
void write_mpi_version(int to) {
  void* const library = kMpiFamily == "mpich" ? open_first({"libmpich.so.12", "libmpi.so.12"})
                                              : open_first({"libmpi.so.40", "libmpi.so"});
  if (library == nullptr) return;
  const auto get = reinterpret_cast<int (*)(char*, int*)>(dlsym(library, "PMPI_Get_library_version"));
  std::array<char, 8192> text{};  // MPI_MAX_LIBRARY_VERSION_STRING is 256 to 8192 by implementation
  int length = 0;
  if (get == nullptr || get(text.data(), &length) != 0) return;
  write_text(to, release_of_mpi_library(text.data()));
}

void write_ucx_version(int to) {
  void* const library = open_first({"libucp.so.0", "libucp.so"});
  if (library == nullptr) return;
  const auto get =
      reinterpret_cast<void (*)(unsigned*, unsigned*, unsigned*)>(dlsym(library, "ucp_get_version"));
  if (get == nullptr) return;
  unsigned major = 0, minor = 0, release = 0;
  get(&major, &minor, &release);
  write_text(to, fmt::format("{}.{}.{}", major, minor, release));
}

/// The first line of its version, or its path if it prints none. Empty if there is no launcher.
std::string mpirun_version() {
  auto launcher = find_launcher("", kMpiFamily);
  if (!launcher) return {};
  const std::string text = version_output_of(launcher->path);
  return text.empty() ? launcher->path : text.substr(0, text.find('\n'));
}

/// Checks that a process may read the memory of its sibling, as ranks do. UCX has no fallback.
std::string memory_access_problem() {
  // At the same address in all children, which are copies of this process.
  static const char target = 42;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  // A sibling, since Yama lets a process read its descendants anyway.
  const pid_t sibling = fork();
  if (sibling == 0) {
    close(ends[1]);
    char byte = 0;
    _exit(read(ends[0], &byte, 1) < 0 ? 1 : 0);  // waits until the other end is closed
  }
  const std::string answer = sibling < 0 ? "" : output_of_child([&](int to) {
    char byte = 0;
    const iovec local{&byte, 1};
    const iovec remote{const_cast<char*>(&target), 1};
    const bool read = process_vm_readv(sibling, &local, 1, &remote, 1, 0) == 1 && byte == target;
    write_text(to, read ? "" : std::strerror(errno));
  });
  close(ends[0]);
  close(ends[1]);
  if (sibling > 0) waitpid(sibling, nullptr, 0);
  if (answer.empty()) return {};
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  return fmt::format("ranks may not read each other's memory ({}), so large messages are copied twice; {}",
                     answer,
                     scope > 0 ? "set kernel.yama.ptrace_scope to 0" : "in a container, allow SYS_PTRACE");
}

std::string shared_memory_problem(int cores, bool copied, std::string_view mpi) {
  const double library = (mpi.starts_with("Open MPI v5") ? 16 : 4) * 0x1p20;  // memory of the MPI library
  const double per_rank = shared_memory_per_rank(most_shared_memory(copied)) + library;
  struct statvfs status {};
  if (statvfs("/dev/shm", &status) != 0) return fmt::format("cannot use /dev/shm: {}", std::strerror(errno));
  const double free = static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
  if (free >= 2 * cores * per_rank) return {};
  const auto ranks = static_cast<int>(free / per_rank);
  return fmt::format(
      "/dev/shm has {:.0f} MiB free: {} pass through small buffers or the network; enlarge it (--shm-size in "
      "containers)",
      free / 0x1p20, ranks < 1 ? "messages" : fmt::format("messages of more than {} ranks", ranks));
}

/// The objects of this machine, from hwloc. Counts are 0 if it cannot be read.
class NodeTopology {
 public:
  NodeTopology() {
    usable_ = hwloc_topology_init(&topology_) == 0;
    loaded_ = usable_ && hwloc_topology_load(topology_) == 0;
  }
  ~NodeTopology() {
    if (usable_) hwloc_topology_destroy(topology_);
  }
  NodeTopology& operator=(NodeTopology&&) = delete;

  [[nodiscard]] int count(hwloc_obj_type_t type) const {
    return loaded_ ? std::max(0, hwloc_get_nbobjs_by_type(topology_, type)) : 0;
  }

 private:
  hwloc_topology_t topology_ = nullptr;
  bool usable_ = false;
  bool loaded_ = false;
};

/// Adds a sentence for each condition that prevents or slows runs.
void find_problems(Machine& machine) {
  const auto note = [&](bool wrong, std::string text) {
    if (wrong && !text.empty()) machine.problems.push_back(std::move(text));
  };
  note(machine.mpi.empty(), fmt::format("cannot load libmpi; install {}", name_of_mpi_family(kMpiFamily)));
  note(!machine.mpi.empty() && !machine.mpi.starts_with(name_of_mpi_family(kMpiFamily)),
       fmt::format("libmpi is {}; this offramp was built for {}", machine.mpi,
                   name_of_mpi_family(kMpiFamily)));
  const auto launcher = find_launcher("", kMpiFamily);
  note(true, launcher ? launcher_problem(*launcher) : launcher.error());
  note(machine.ucx.empty(), "cannot load libucp; install ucx");
  note(library_path().empty(), "cannot find libofframp.so beside this program; build or install it");
  const std::string apart = memory_access_problem();
  note(true, apart);
  note(true, shared_memory_problem(std::max(1, machine.cores), apart.empty(), machine.mpi));
}

}  // namespace

int core_count() {
  return std::max(1, NodeTopology().count(HWLOC_OBJ_CORE));
}

Machine look_at_machine() {
  Machine machine;
  const NodeTopology topology;
  machine.packages = topology.count(HWLOC_OBJ_PACKAGE);
  machine.cores = topology.count(HWLOC_OBJ_CORE);
  machine.threads = topology.count(HWLOC_OBJ_PU);
  machine.numa_nodes = topology.count(HWLOC_OBJ_NUMANODE);
  // In children, so that a library that crashes or hangs does not affect this process.
  machine.mpi = output_of_child(write_mpi_version);
  machine.ucx = output_of_child(write_ucx_version);
  machine.mpirun = mpirun_version();
  find_problems(machine);
  return machine;
}

}  // namespace offramp::tool
