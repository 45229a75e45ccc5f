// The library calls back for each definition, in any order. References are resolved at the end.
#include "lib/programs/import/otf2_definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "lib/base/text_format.hpp"
#include "lib/base/trial_process.hpp"
#include "lib/programs/import/otf2_library.hpp"

namespace offramp::otf2 {
namespace {

namespace fs = std::filesystem;

// Groups are ranks, locations, or communicators' members, depending on the type.
struct Group {
  OTF2_GroupType type = OTF2_GROUP_TYPE_UNKNOWN;
  OTF2_Paradigm paradigm = OTF2_PARADIGM_UNKNOWN;
  OTF2_GroupFlag flags = OTF2_GROUP_FLAG_NONE;
  std::vector<std::uint64_t> members;
};
// group: the process.
struct Location {
  OTF2_LocationType type = OTF2_LOCATION_TYPE_UNKNOWN;
  std::uint64_t events = 0;
  std::uint32_t group = 0;
};

/// Filled by the callbacks.
struct Read {
  std::uint64_t ticks = 0;
  std::unordered_map<std::uint32_t, std::string> strings;
  std::map<std::uint64_t, Location> locations;
  // Names are references until the end: strings may be defined later.
  struct NamedRegion {
    std::uint32_t name;
    OTF2_Paradigm paradigm;
  };
  std::unordered_map<std::uint32_t, NamedRegion> regions;
  std::unordered_map<std::uint32_t, std::uint32_t> contexts;
  std::unordered_map<std::uint32_t, Group> groups;
  struct NamedGroup {
    std::uint32_t name;
    std::uint32_t group;
  };
  std::map<std::uint32_t, NamedGroup> communicators;
  std::unordered_map<std::uint32_t, std::uint32_t> windows;

  [[nodiscard]] std::string text(std::uint32_t number) const {
    const auto found = strings.find(number);
    return found == strings.end() ? std::string() : found->second;
  }
};

Read& of(void* user) {
  return *static_cast<Read*>(user);
}

OTF2_CallbackCode on_clock(void* user, std::uint64_t ticks, std::uint64_t, std::uint64_t, std::uint64_t) {
  of(user).ticks = ticks;
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_string(void* user, OTF2_StringRef self, const char* text) {
  of(user).strings[self] = text != nullptr ? text : "";
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_location(void* user, OTF2_LocationRef self, OTF2_StringRef, OTF2_LocationType type,
                              std::uint64_t events, OTF2_LocationGroupRef group) {
  of(user).locations[self] = {type, events, group};
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_region(void* user, OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef,
                            OTF2_StringRef, OTF2_RegionRole, OTF2_Paradigm paradigm, OTF2_RegionFlag,
                            OTF2_StringRef, std::uint32_t, std::uint32_t) {
  of(user).regions[self] = {name, paradigm};
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_context(void* user, OTF2_CallingContextRef self, OTF2_RegionRef region,
                             OTF2_SourceCodeLocationRef, OTF2_CallingContextRef) {
  of(user).contexts[self] = region;
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_group(void* user, OTF2_GroupRef self, OTF2_StringRef, OTF2_GroupType type,
                           OTF2_Paradigm paradigm, OTF2_GroupFlag flags, std::uint32_t count,
                           const std::uint64_t* members) {
  Group& group = of(user).groups[self];
  group = {type, paradigm, flags, {}};
  if (members != nullptr) group.members.assign(members, members + count);
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_communicator(void* user, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                                  OTF2_CommRef, OTF2_CommFlag) {
  of(user).communicators[self] = {name, group};
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_CallbackCode on_window(void* user, OTF2_RmaWinRef self, OTF2_StringRef, OTF2_CommRef communicator,
                            OTF2_RmaWinFlag) {
  of(user).windows[self] = communicator;
  return OTF2_CALLBACK_SUCCESS;
}

Result<void> read_all(const std::string& anchor, Read& read) {
  install_error_handler();
  const ReaderHandle reader(OTF2_Reader_Open(anchor.c_str()));
  if (reader == nullptr) return failure(text_of(OTF2_ERROR_INVALID));
  OTF2_ErrorCode code = OTF2_Reader_SetSerialCollectiveCallbacks(reader.get());
  OTF2_GlobalDefReader* const definitions =
      code == OTF2_SUCCESS ? OTF2_Reader_GetGlobalDefReader(reader.get()) : nullptr;
  if (definitions == nullptr) return failure(text_of(code));
  OTF2_GlobalDefReaderCallbacks* const calls = OTF2_GlobalDefReaderCallbacks_New();
  OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(calls, on_clock);
  OTF2_GlobalDefReaderCallbacks_SetStringCallback(calls, on_string);
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(calls, on_location);
  OTF2_GlobalDefReaderCallbacks_SetRegionCallback(calls, on_region);
  OTF2_GlobalDefReaderCallbacks_SetCallingContextCallback(calls, on_context);
  OTF2_GlobalDefReaderCallbacks_SetGroupCallback(calls, on_group);
  OTF2_GlobalDefReaderCallbacks_SetCommCallback(calls, on_communicator);
  OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback(calls, on_window);
  code = OTF2_Reader_RegisterGlobalDefCallbacks(reader.get(), definitions, calls, &read);
  OTF2_GlobalDefReaderCallbacks_Delete(calls);
  std::uint64_t count = 0;
  if (code == OTF2_SUCCESS) code = OTF2_Reader_ReadAllGlobalDefinitions(reader.get(), definitions, &count);
  return code == OTF2_SUCCESS ? Result<void>() : failure(text_of(code));
}

/// Some tools write "MPI_Send()".
std::string name_of_function(std::string name) {
  name.resize(std::min(name.find('('), name.size()));
  return name;
}

/// The locations that represent the ranks. Null without MPI ranks.
const Group* ranks_in(const Read& read) {
  for (const auto& [number, group] : read.groups) {
    if (group.type == OTF2_GROUP_TYPE_COMM_LOCATIONS && group.paradigm == OTF2_PARADIGM_MPI) return &group;
  }
  return nullptr;
}

Result<void> find_ranks(const Read& read, Definitions& definitions) {
  const Group* const ranks = ranks_in(read);
  if (ranks == nullptr || ranks->members.empty()) return failure("it has no MPI ranks");
  if (ranks->members.size() > static_cast<std::size_t>(trace::kMostRanks))
    return failure(
        fmt::format("it has {} ranks; at most {} are supported", ranks->members.size(), trace::kMostRanks));
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> of_process;  // ranks of a process
  // Locations that represent a rank.
  std::unordered_map<std::uint64_t, std::size_t> standing;
  for (const std::uint64_t location : ranks->members) {
    const auto found = read.locations.find(location);
    if (found == read.locations.end())
      return failure(
          fmt::format("location {} of rank {} does not exist", location, definitions.ranks.size()));
    if (!standing.emplace(location, definitions.ranks.size()).second)
      return failure(fmt::format("location {} belongs to two ranks", location));
    of_process[found->second.group].push_back(definitions.ranks.size());
    definitions.ranks.push_back({{location, found->second.events}});
  }
  for (const auto& [number, location] : read.locations) {
    const auto process = of_process.find(location.group);
    if (location.type != OTF2_LOCATION_TYPE_CPU_THREAD || location.events == 0 || standing.contains(number) ||
        process == of_process.end())
      continue;
    // It is unknown to which of several ranks of a process a further thread belongs.
    if (process->second.size() > 1) {
      ++definitions.left_out;
    } else {
      definitions.ranks[process->second.front()].push_back({number, location.events});
    }
  }
  return {};
}

Result<void> find_communicators(const Read& read, Definitions& definitions) {
  bool has_world = false;
  const std::size_t ranks = definitions.ranks.size();
  for (const auto& [number, named] : read.communicators) {
    const auto group = read.groups.find(named.group);
    if (group == read.groups.end() || group->second.paradigm != OTF2_PARADIGM_MPI) continue;
    Communicator made;
    made.name = read.text(named.name);
    made.is_self = group->second.type == OTF2_GROUP_TYPE_COMM_SELF;
    made.has_global_ranks = (group->second.flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS) != 0;
    if (group->second.type == OTF2_GROUP_TYPE_COMM_GROUP) {
      std::vector<bool> is_in(ranks);
      bool in_order = group->second.members.size() == ranks;
      for (const std::uint64_t member : group->second.members) {
        if (member >= ranks)
          return failure(
              fmt::format("communicator {} contains rank {}, but there are {} ranks", number, member, ranks));
        if (is_in[member]) return failure(fmt::format("communicator {} has rank {} twice", number, member));
        is_in[member] = true;
        in_order = in_order && member == made.members.size();
        made.members.push_back(static_cast<int>(member));
      }
      // A duplicate of MPI_COMM_WORLD has its members too; the first one is taken as the original.
      made.is_world = in_order && !has_world;
      has_world = has_world || made.is_world;
    } else if (!made.is_self) {
      continue;
    }
    definitions.communicators.emplace(number, std::move(made));
  }
  return {};
}

/// The library opens an archive's files by name and would block on a FIFO. Fails if one is not regular.
Result<void> check_files(const std::string& anchor) {
  const fs::path path(anchor);
  const fs::path stem = path.parent_path() / path.stem();
  std::error_code error;
  std::vector<fs::path> files = {path, fs::path(stem).concat(".def")};
  for (fs::directory_iterator entry(stem, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    files.push_back(entry->path());
  for (const fs::path& file : files) {
    const fs::file_status status = fs::status(file, error);
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status))
      return failure(fmt::format("{} is not a regular file", file.string()));
  }
  return {};
}

/// The library crashes on some damaged files, and takes minutes for large numbers claimed by a few bytes. So
/// another process tries to read the archive first.
Result<void> try_to_read(const std::string& anchor) {
  if (Result<void> done = check_files(anchor); !done) return done;
  constexpr std::uintmax_t kBytesInASecond = std::uintmax_t{4} << 20U;  // a tenth of the speed of OTF2 3.0
  constexpr unsigned kSeconds = 2;
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(fs::path(anchor).replace_extension(".def"), error);
  const unsigned seconds = kSeconds + (error ? 0U : static_cast<unsigned>(bytes / kBytesInASecond));
  const std::optional<std::string> problem = in_trial_process(seconds, [&] {
    // Belongs to the other process: its memory ends with it.
    Read trial;
    return read_all(anchor, trial).error();
  });
  return success_or(problem.value_or(
      fmt::format("the OTF2 library crashes on it, or needs more than {} s for so few bytes", seconds)));
}

}  // namespace

Result<std::shared_ptr<const Definitions>> read_definitions(const std::string& anchor) {
  const auto refused = [&](const std::string& what) {
    return failure(fmt::format("cannot read {}: {}", printable(anchor), printable(what, 400)));
  };
  if (const Result<void> done = try_to_read(anchor); !done) return refused(done.error());
  Read read;
  if (const Result<void> done = read_all(anchor, read); !done) return refused(done.error());
  auto definitions = std::make_shared<Definitions>();
  definitions->anchor = anchor;
  definitions->ticks = read.ticks;
  if (read.ticks == 0) return refused("the resolution of its clock is missing");
  for (const auto& [number, region] : read.regions) {
    Region& known = definitions->regions[number];
    known.name = name_of_function(read.text(region.name));
    known.is_mpi = region.paradigm == OTF2_PARADIGM_MPI || known.name.starts_with("MPI_");
    known.function = trace::function_of(known.name);
  }
  definitions->regions_of_contexts = std::move(read.contexts);
  if (const Result<void> done = find_ranks(read, *definitions); !done) return refused(done.error());
  if (const Result<void> done = find_communicators(read, *definitions); !done) return refused(done.error());
  for (const auto& [number, communicator] : read.windows) {
    if (definitions->communicators.contains(communicator)) definitions->windows.emplace(number, communicator);
  }
  // Groups of the epochs of windows are looked up later by their number.
  for (const auto& [number, group] : read.groups) definitions->groups.emplace(number, group.members);
  return std::shared_ptr<const Definitions>(std::move(definitions));
}

}  // namespace offramp::otf2
