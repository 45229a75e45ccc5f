// Open MPI and its launchers (mpirun, prte, Slurm with PMIx) use PMIx. A second copy of the PMIx library
// would be a second client of the same rank. So it is found as in Open MPI: 4.1 loads it in a component, 5 is
// linked to it. PMIx counts initialisations.
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lib/run/native/announcement.hpp"
#include "lib/run/native/native.h"

namespace offramp {
namespace {

// The parts of pmix_common.h that are used here, equal in PMIx 2 to 5.
struct Process {
  std::array<char, 256> job{};
  std::uint32_t rank = 0;
};
struct Value {
  std::uint16_t type = 0;
  union {
    const char* string;
    bool flag;
    std::array<void*, 3> room{};
  };
};
struct Info {
  std::array<char, 512> key{};
  std::uint32_t flags = 0;
  Value value{};
};
constexpr std::uint16_t kBool = 1;
constexpr std::uint16_t kString = 3;
constexpr std::uint8_t kGlobal = 3;  // for all processes
constexpr int kSuccess = 0;
using Key = std::array<char, 512>;
constexpr Key kKey{"offramp"};

struct Pmix {
  int (*init)(Process*, Info*, std::size_t) = nullptr;
  int (*put)(std::uint8_t, const char*, Value*) = nullptr;
  int (*commit)() = nullptr;
  int (*get)(const Process*, const char*, const Info*, std::size_t, Value**) = nullptr;
  int (*finalize)(const Info*, std::size_t) = nullptr;

  /// prefix: of the names in the copy that Open MPI includes.
  bool find(void* library, const char* prefix) {
    const auto symbol = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(library, fmt::format("{}PMIx_{}", prefix, name).c_str()));
      return function != nullptr;
    };
    return symbol(init, "Init") && symbol(put, "Put") && symbol(commit, "Commit") && symbol(get, "Get") &&
           symbol(finalize, "Finalize");
  }
};

struct Published {
  Pmix pmix;
  Process self;
  bool done = false;
} published;

bool find(Pmix& pmix, void* library) {
  // Open MPI 4.1 may contain its own copy of PMIx, whose names have this prefix.
  return library != nullptr && (pmix.find(library, "OPAL_MCA_PMIX3X_") || pmix.find(library, ""));
}

/// Searches the folders of Open MPI 4.1's components beside its libraries.
bool find_in_components(Pmix& pmix) {
  Dl_info inner{};
  if (dladdr(offramp_native_inner_library(), &inner) == 0 || inner.dli_fname == nullptr) return false;
  std::error_code ignored;
  const std::filesystem::path libraries = std::filesystem::canonical(inner.dli_fname, ignored).parent_path();
  for (const char* folder : {"openmpi", "openmpi3", "openmpi/lib/openmpi3", "openmpi/lib/openmpi"}) {
    for (const char* name : {"mca_pmix_ext3x.so", "mca_pmix_pmix3x.so", "mca_pmix_ext4x.so"}) {
      const std::filesystem::path component = libraries / folder / name;
      if (!std::filesystem::exists(component, ignored)) continue;
      // The component stays loaded: MPI_Init loads it anyway, and the functions are used after it.
      if (find(pmix, dlopen(component.c_str(), RTLD_LAZY | RTLD_LOCAL))) return true;
    }
  }
  return false;
}

}  // namespace

void announce(const std::string& text) {
  // A process without a launcher creates its own server in MPI_Init.
  if (std::getenv("PMIX_NAMESPACE") == nullptr || std::getenv("PMIX_RANK") == nullptr) return;
  if (offramp_native_check() != nullptr) return;  // the program will run without Offramp
  Pmix& pmix = published.pmix;
  if (!find(pmix, dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD)) && !find_in_components(pmix)) return;
  if (pmix.init(&published.self, nullptr, 0) != kSuccess) return;
  if (void* const process = offramp_openmpi_pmix_process(); process != nullptr)
    std::memcpy(process, &published.self, sizeof published.self);
  Value value{.type = kString, .string = text.c_str()};
  published.done = pmix.put(kGlobal, kKey.data(), &value) == kSuccess && pmix.commit() == kSuccess;
  if (!published.done) pmix.finalize(nullptr, 0);
}

std::optional<std::vector<std::string>> announced(int ranks) {
  if (!published.done) return std::nullopt;
  Info immediate;  // does not wait for missing values
  std::strcpy(immediate.key.data(), "pmix.immediate");
  immediate.value.type = kBool;
  immediate.value.flag = true;
  std::vector<std::string> texts;
  for (int rank = 0; rank < ranks; ++rank) {
    Process one = published.self;
    one.rank = static_cast<std::uint32_t>(rank);
    Value* value = nullptr;
    const bool found = published.pmix.get(&one, kKey.data(), &immediate, 1, &value) == kSuccess &&
                       value != nullptr && value->type == kString && value->string != nullptr;
    texts.emplace_back(found ? value->string : "");
    if (!found) continue;
    // PMIx hands out values that its caller frees.
    std::free(const_cast<char*>(value->string));
    std::free(value);
  }
  // Open MPI 4.1 has initialised PMIx again. Open MPI 5 uses the present initialisation.
  if (offramp_openmpi_pmix_process() == nullptr) published.pmix.finalize(nullptr, 0);
  published.done = false;
  return texts;
}

std::string foreign_launcher() {
  const bool own = std::getenv("OMPI_COMM_WORLD_RANK") != nullptr || std::getenv("PMIX_RANK") != nullptr;
  const char* const size = std::getenv("PMI_SIZE");
  const bool by_hydra = std::getenv("HYDI_CONTROL_FD") != nullptr && size != nullptr;
  return !own && by_hydra && std::atoi(size) > 1 ? "MPICH" : "";
}

}  // namespace offramp
