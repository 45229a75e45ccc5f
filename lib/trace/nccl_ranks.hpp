// Who is who in what NCCL's processes write: each knows its own rank in each communicator alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "offramp/model/operation.hpp"

namespace offramp::trace {

/// What a process calls a communicator: its own name for it.
using NcclHandle = std::pair<std::string, std::string>;

struct NcclRanks {
  struct Member {
    std::size_t communicator = 0;
    int rank = 0;  // in it
    int world = 0;
  };
  /// Ranks of the world, in the order of those of the communicator; the first is the world itself.
  std::vector<std::vector<int>> communicators;
  std::map<NcclHandle, Member> handles;
};

/// Collects what each process says.
class NcclMembers {
 public:
  /// id: of the communicator, the same for all. device: where a process has several ranks, which one. Empty,
  /// or what is wrong.
  std::string add(const std::string& id, int rank, int size, const NcclHandle& handle,
                  const std::string& device);
  [[nodiscard]] bool empty() const { return order_.empty(); }
  /// The first of the largest communicators is the world; the others are of its ranks, whom their processes
  /// and devices name.
  Result<NcclRanks> settle(const std::string& file) const;

 private:
  std::vector<std::string> order_;  // of ids
  std::map<std::string, int> sizes_;
  std::map<std::string, std::map<int, NcclHandle>> members_;
  std::map<NcclHandle, std::string> devices_;
};

/// The operation of that name, kSend for messages. Nothing: there is none.
std::optional<OperationKind> nccl_operation(std::string_view name);

}  // namespace offramp::trace
