// Makes every world of a test program check its invariants, even if the test does not ask for it.
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
