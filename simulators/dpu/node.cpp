// The order of the resources is the order of the indices in NodeResources: parts of links per DPU, other
// parts, service processes, imports. Only resources of a kind with several have a number in their name. Names
// are never freed, since resources refer to them.
#include "simulators/dpu/node.hpp"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "offramp/kernel/immortal.hpp"

namespace offramp::dpu {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(NodePart::kCount)> kNames = {
    "nic out", "nic in", "pcie up", "pcie down", "dpu memory", "dma engine"};
constexpr std::string_view kProcess = "service process";
constexpr std::string_view kImports = "imports of handles";

/// Returns a string that is never freed, as names of resources require.
std::string_view numbered(std::string_view name, std::size_t number) {
  static auto& names = immortal(std::map<std::pair<std::string_view, std::size_t>, std::string>());
  static auto& lock = immortal(std::make_unique<std::mutex>());
  const std::lock_guard guard(*lock);
  std::string& text = names[{name, number}];
  if (text.empty()) text = std::string(name) + ' ' + std::to_string(number);
  return text;
}

}  // namespace

NodeResources::NodeResources(const PlatformSpec& spec)
    : dpus_(static_cast<std::size_t>(spec.dpus)),
      links_(static_cast<std::size_t>(spec.links)),
      parts_(kParts + (links_ - 1) * kLinkParts),
      processes_(dpus_ * static_cast<std::size_t>(spec.processes)) {
  const CardSpec& card = spec.card;
  const std::array<Bandwidth, kParts> rates = {card.link, card.link, card.pcie,
                                               card.pcie, card.dram, card.dma_write};
  const auto add = [&](std::string_view name, std::int64_t rate) {
    ResourceDescription description{.name = name, .scope = offramp::Scope::kNode, .bits_per_second = rate};
    descriptions_.push_back(description);
  };
  for (std::size_t dpu = 0; dpu < dpus_; ++dpu) {
    for (std::size_t i = 0; i < kLinkParts * links_; ++i) {
      const std::size_t part = i % kLinkParts;
      const bool one = dpus_ * links_ == 1;
      add(one ? kNames[part] : numbered(kNames[part], dpu * links_ + i / kLinkParts), rates[part].count());
    }
    for (std::size_t i = kLinkParts; i < kParts; ++i)
      add(dpus_ > 1 ? numbered(kNames[i], dpu) : kNames[i], rates[i].count());
  }
  // Processes have no rate in bytes.
  for (const std::string_view name : {kProcess, kImports}) {
    for (std::size_t i = 0; i < processes_; ++i) add(processes_ > 1 ? numbered(name, i) : name, 0);
  }
}

}  // namespace offramp::dpu
