// Replaces the built-in backends where only their tables of parameters matter: one of each kind.
#include <array>

#include "lib/base/registry/registry.hpp"

namespace offramp {
namespace {

const std::array kParameters = {real("real", "us", 1, {0, 1e9}, "fuzz", "a time"),
                                integer("count", "B", 1, {0, 1e9}, "fuzz", "a size"),
                                flag("flag", false, "fuzz", "a flag"),
                                choice("choice", "first", {"first", "second"}, "fuzz", "a choice")};

BackendDescription describe(std::string_view name) {
  BackendDescription description;
  description.name = name;
  description.description = "has parameters and nothing else";
  description.parameters = kParameters;
  description.create = [](const BackendContext&) -> std::unique_ptr<Backend> { return nullptr; };
  return description;
}

}  // namespace

#define OFFRAMP_FUZZ_BACKEND(name)                                 \
  const BackendDescription& name##_backend() {                     \
    static const BackendDescription description = describe(#name); \
    return description;                                            \
  }
OFFRAMP_FUZZ_BACKEND(host)
OFFRAMP_FUZZ_BACKEND(cclo)
OFFRAMP_FUZZ_BACKEND(zrlmpi)
OFFRAMP_FUZZ_BACKEND(aie)
OFFRAMP_FUZZ_BACKEND(dpu)
OFFRAMP_FUZZ_BACKEND(tinsel)
OFFRAMP_FUZZ_BACKEND(sharp)
#undef OFFRAMP_FUZZ_BACKEND

}  // namespace offramp
