#include "lib/mpi/startup.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lib/mpi/pmpi.hpp"
#include "lib/native/native.h"

namespace offramp {
namespace {

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

/// Every rank calls it, with its own error or none; ends the job when any has one. Rank order decides who
/// speaks.
void agree(const std::string& error) {
  int own = error.empty() ? world_size() : world_rank();
  int first = own;
  native.Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == world_size()) return;
  if (first == world_rank()) {
    (void)std::fprintf(stderr, "offramp: %s\n", error.c_str());
    (void)std::fflush(stderr);
  }
  native.Barrier(MPI_COMM_WORLD);
  native.Abort(MPI_COMM_WORLD, 2);
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

/// Where this library was loaded from.
std::string own_path() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_path), &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

bool same_everywhere(const std::string& text) {
  const std::vector<std::string> all = exchange_strings(text);
  for (const std::string& other : all) {
    if (other != all.front()) return false;
  }
  return true;
}

std::string fingerprint(const Configuration& c) {
  std::string text = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|", c.backend, static_cast<int>(c.clock),
                                 static_cast<int>(c.compute.kind), c.compute.factor, c.faults.seed,
                                 c.faults.loss, c.faults.duplication, c.faults.reordering);
  text += c.trace + "|";  // every rank takes part in writing it
  for (const Route& r : c.routes)
    text += fmt::format("[{} {} {} {} {} {}]", r.operation ? static_cast<int>(*r.operation) : -1, r.min_bytes,
                        r.max_bytes, r.min_ranks, r.max_ranks, r.backend);
  for (const auto& [name, section] : c.sections) {
    for (const auto& [key, value] : section) text += fmt::format("{}.{}={};", name, key, value.text);
  }
  return text;
}

/// Whether one process of this node can read another's memory: every rank tries its neighbour's.
bool cross_memory_works(bool one_node) {
  std::uint64_t secret = 0x0ff4a3b5c6d7e8f9U ^ static_cast<std::uint64_t>(world_rank());
  const std::string own =
      fmt::format("{} {} {}", getpid(), reinterpret_cast<std::uintptr_t>(&secret), secret);
  const std::vector<std::string> all = exchange_strings(own);
  bool works = true;
  if (one_node) {
    const std::string& peer = all[static_cast<std::size_t>((world_rank() + 1) % world_size())];
    int pid = 0;
    unsigned long address = 0;
    unsigned long expected = 0;
    std::uint64_t seen = 0;
    if (std::sscanf(peer.c_str(), "%d %lu %lu", &pid, &address, &expected) != 3) return false;
    iovec local{&seen, sizeof seen};
    iovec remote{reinterpret_cast<void*>(address), sizeof seen};
    works = process_vm_readv(pid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof seen) &&
            seen == expected;
  }
  int mine = works ? 1 : 0;
  int all_work = 0;
  native.Allreduce(&mine, &all_work, 1, MPI_INT, MPI_MIN,
                   MPI_COMM_WORLD);  // also: nobody leaves before it was read
  return all_work != 0;
}

std::unique_ptr<UcxFabricBase> open_fabric(std::string& error) {
  // UCX reads these when it is loaded; what the user set stays. No patched memory functions, no signal
  // handlers in the program, no warnings of each message that the program never received. Room for a header
  // and a small payload in one element of the shared-memory FIFO, segments large enough that 16 KiB are
  // copied through the cache instead of mapped, and a FIFO that a window of messages does not fill.
  for (const auto& [name, value] :
       {std::pair{"UCX_MEM_EVENTS", "n"}, std::pair{"UCX_ERROR_SIGNALS", ""},
        std::pair{"UCX_POSIX_FIFO_ELEM_SIZE", "2112"}, std::pair{"UCX_POSIX_SEG_SIZE", "65536"},
        std::pair{"UCX_POSIX_FIFO_SIZE", "256"}, std::pair{"UCX_LOG_LEVEL", "error"}})
    setenv(name, value, 0);
  const std::filesystem::path module =
      std::filesystem::path(own_path()).parent_path() / "offramp" / "offramp-fabric-ucx.so";
  void* library = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    error = fmt::format("cannot load the UCX fabric: {}", dlerror());
    return nullptr;
  }
  const auto create = reinterpret_cast<UcxFabricCreate>(dlsym(library, kUcxFabricCreate));
  if (create == nullptr) {
    error = fmt::format("{} is not an Offramp fabric", module.string());
    return nullptr;
  }
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  pmpi::Get_processor_name(host, &length);
  UcxOptions options;
  options.rank = world_rank();
  options.ranks = world_size();
  options.one_node = same_everywhere(host);
  options.cross_memory = cross_memory_works(options.one_node);
  options.exchange = exchange_strings;
  return std::unique_ptr<UcxFabricBase>(create(options, error));
}

/// Lane 0 with the configured backend, the host behind it, and whatever the routes name.
std::unique_ptr<Lane> make_lane(const Configuration& configuration, const Registry& registry, SpanSink* spans,
                                std::string& error) {
  std::vector<std::string> names = {"host"};
  const auto index_of = [&names](const std::string& name) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<std::uint8_t>(i);
    }
    names.push_back(name);
    return static_cast<std::uint8_t>(names.size() - 1);
  };
  const std::uint8_t primary = index_of(configuration.backend);
  std::vector<RouteRule> rules;
  for (const Route& route : configuration.routes) {
    RouteRule rule;
    rule.operation = route.operation.value_or(OperationKind::kCount);
    rule.min_bytes = route.min_bytes;
    rule.max_bytes = route.max_bytes;
    rule.min_ranks = route.min_ranks;
    rule.max_ranks = route.max_ranks;
    rule.backend = index_of(route.backend);
    rules.push_back(rule);
  }
  std::vector<Lane::Member> members;
  for (const std::string& name : names) {
    const BackendDescription* description = registry.find(name);
    Result<Settings> settings = configuration.settings_for(*description);
    if (!settings) {
      error = settings.error();
      return nullptr;
    }
    auto kept = std::make_unique<Settings>(std::move(*settings));
    const BackendContext context{world_rank(), world_size(), *kept, configuration.faults, spans};
    std::unique_ptr<Backend> backend = description->create(context);
    if (backend == nullptr) {
      error = fmt::format("backend {} could not be created", name);
      return nullptr;
    }
    members.emplace_back(name, std::move(backend), std::move(kept));
  }
  return std::make_unique<Lane>(std::move(members), primary, std::move(rules),
                                static_cast<std::size_t>(Function::kCount));
}

/// Children of the program are not part of the run: they would load the library for nothing.
void clear_preload() {
  const char* preload = std::getenv("LD_PRELOAD");
  if (preload == nullptr) return;
  const std::string own = own_path();
  std::string kept;
  std::string entry;
  for (const char* p = preload;; ++p) {
    if (*p != ':' && *p != ' ' && *p != '\0') {
      entry += *p;
      continue;
    }
    std::error_code ignored;
    if (!entry.empty() && entry != own && !std::filesystem::equivalent(entry, own, ignored))
      kept += (kept.empty() ? "" : ":") + entry;
    entry.clear();
    if (*p == '\0') break;
  }
  kept.empty() ? unsetenv("LD_PRELOAD") : setenv("LD_PRELOAD", kept.c_str(), 1);
}

}  // namespace

void refuse(const char* reason) {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    const char* rank = std::getenv(variable);
    if (rank != nullptr && std::strcmp(rank, "0") != 0) return;
  }
  (void)std::fprintf(stderr, "offramp: %s; the program runs without Offramp\n", reason);
}

bool is_off_by_environment() {
  const char* backend = std::getenv("OFFRAMP_BACKEND");
  return backend != nullptr && std::strcmp(backend, "off") == 0;
}

std::unique_ptr<Session> make_session(bool threads) {
  if (const char* reason = offramp_native_check()) {  // not even its handles are known: no communication
    refuse(reason);
    return nullptr;
  }
  std::string error;

  static Registry registry{built_in_backends()};  // descriptions and plugins live as long as the process
  Result<Configuration> configuration = load_configuration(Surroundings::of_process(), registry);
  agree(configuration ? std::string() : configuration.error());
  agree(same_everywhere(fingerprint(*configuration)) ? std::string()
                                                     : "the ranks have different configurations");
  if (configuration->off()) return nullptr;
  if (world_rank() == 0) {
    for (const std::string& note : configuration->notes)
      (void)std::fprintf(stderr, "offramp: %s\n", note.c_str());
    if (!configuration->capture.empty())
      (void)std::fprintf(stderr, "offramp: captures are not written by this version\n");
  }

  std::unique_ptr<UcxFabricBase> fabric = open_fabric(error);
  agree(error);
  auto trace = configuration->trace.empty() ? nullptr : std::make_unique<TraceRecorder>();
  std::vector<std::unique_ptr<Lane>> lanes;
  lanes.push_back(make_lane(*configuration, registry, trace.get(), error));
  agree(error);
  clear_preload();
  return std::make_unique<Session>(std::move(*configuration), std::move(fabric), std::move(trace),
                                   std::move(lanes), threads);
}

}  // namespace offramp
