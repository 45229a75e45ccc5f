// Every world of a test's program checks its invariants, whether the test asks for it or not.
#include <gtest/gtest.h>

#include "simulators/world/world.hpp"

namespace offramp {
namespace {

class AuditedWorlds final : public testing::Environment {
 public:
  void SetUp() override {
    audit_all_worlds([](const std::string& violation) { ADD_FAILURE() << "a world: " << violation; });
  }
};

[[maybe_unused]] testing::Environment* const kAudited = testing::AddGlobalTestEnvironment(new AuditedWorlds);

}  // namespace
}  // namespace offramp
