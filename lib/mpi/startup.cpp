#include "lib/mpi/startup.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lib/mpi/open_fabric.hpp"
#include "lib/mpi/world.hpp"
#include "lib/native/native.h"

namespace offramp {
namespace {

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

/// Said once per job where the launcher tells the ranks apart.
static void refuse(const char* reason) {
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
