#include "lib/trace/nccl_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/trace/made_events.hpp"

namespace offramp::trace {
namespace {

constexpr std::pair<std::string_view, OperationKind> kNcclCalls[] = {
    {"AllReduce", OperationKind::kAllreduce},
    {"AllGather", OperationKind::kAllgather},
    {"ReduceScatter", OperationKind::kReduceScatter},
    {"Broadcast", OperationKind::kBcast},
    {"Reduce", OperationKind::kReduce},
    {"AlltoAll", OperationKind::kAlltoall},
    {"Gather", OperationKind::kGather},
    {"Scatter", OperationKind::kScatter},
    {"Send", OperationKind::kSend},
    {"Recv", OperationKind::kSend}};

}  // namespace

std::optional<OperationKind> nccl_operation(std::string_view name) {
  for (const auto& [known, operation] : kNcclCalls) {
    if (known == name) return operation;
  }
  return std::nullopt;
}

std::string NcclMembers::add(const std::string& id, int rank, int size, const NcclHandle& handle,
                             const std::string& device) {
  if (size < 1 || size > kMostRanks || rank < 0 || rank >= size) return "its rank or its size makes no sense";
  if (!sizes_.contains(id)) order_.push_back(id);
  if (sizes_.emplace(id, size).first->second != size) return "nranks is another one than before";
  const auto [known, is_new] = members_[id].emplace(rank, handle);
  if (!is_new) return fmt::format("a second rank {}", rank);
  devices_[handle] = device;
  return {};
}

Result<NcclRanks> NcclMembers::settle(const std::string& file) const {
  using Failure = Result<NcclRanks>;
  std::vector<std::string> order = order_;
  const auto world = std::max_element(
      order.begin(), order.end(), [&](const auto& a, const auto& b) { return sizes_.at(a) < sizes_.at(b); });
  std::rotate(order.begin(), world, world + 1);
  NcclRanks found;
  std::map<std::pair<std::string, std::string>, int> ranks;  // by process and device
  for (const std::string& id : order) {
    const auto& members = members_.at(id);
    if (static_cast<int>(members.size()) != sizes_.at(id))
      return Failure::failure(fmt::format("{}: commId {} has {} ranks, and {} of them are in the log", file,
                                          id, sizes_.at(id), members.size()));
    std::vector<int>& communicator = found.communicators.emplace_back();
    for (const auto& [rank, handle] : members) {
      const std::string& device = devices_.at(handle);
      if (found.communicators.size() == 1) ranks.emplace(std::pair(handle.first, device), rank);
      const auto known = ranks.find(std::pair(handle.first, device));
      if (known == ranks.end())
        return Failure::failure(
            fmt::format("{}: rank {} of commId {} ({}, device {}) is not in the largest communicator", file,
                        rank, id, handle.first, device));
      if (std::find(communicator.begin(), communicator.end(), known->second) != communicator.end())
        return Failure::failure(
            fmt::format("{}: {}, device {} is twice in commId {}", file, handle.first, device, id));
      communicator.push_back(known->second);
      found.handles[handle] = {found.communicators.size() - 1, rank, known->second};
    }
  }
  return found;
}

}  // namespace offramp::trace
