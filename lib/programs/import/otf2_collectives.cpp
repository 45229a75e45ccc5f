// A first pass over all ranks (add()) collects sums per collective; only collectives with blocks of different
// sizes store a value per member. settled() then inverts Score-P's sums. MPI_IN_PLACE shows by divisibility,
// since a sum then lacks one block. Blocks of alltoallv are unknown: they are shared out in proportion, such
// that both sides of a pair compute the same size.
#include "lib/programs/import/otf2_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lib/base/text_format.hpp"

namespace offramp::otf2 {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t kMostValues = std::size_t{1} << 28U;  // 2 GiB

/// The block size from a rank's sum, which contains one block per member, or one less with MPI_IN_PLACE.
std::uint64_t block_of(std::uint64_t sum, std::uint64_t members) {
  // A sum may be divisible by both: then the usual call without MPI_IN_PLACE is assumed.
  const bool in_place = sum % members != 0 && members > 1 && sum % (members - 1) == 0;
  return in_place ? sum / (members - 1) : sum / members;
}

std::uint64_t sum_of(std::span<const std::uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

}  // namespace

int Collectives::position(int rank, const Communicator& communicator) const {
  if (communicator.is_self) return 0;
  if (communicator.is_world) return rank;
  const auto found = std::find(communicator.members.begin(), communicator.members.end(), rank);
  return static_cast<int>(found - communicator.members.begin());
}

void Collectives::count(Sums& sums, int position, const Item& item) {
  sums.most_sent = std::max(sums.most_sent, item.bytes);
  sums.most_received = std::max(sums.most_received, item.received);
  if (position == 0) {
    sums.first_sent = item.bytes;
    sums.first_received = item.received;
  }
  const auto at = static_cast<std::size_t>(position);
  if (sums.sent != kNone) values_[sums.sent + at] = item.bytes;
  if (sums.received != kNone) values_[sums.received + at] = item.received;
}

Result<void> Collectives::add(int rank, const Item& item) {
  const Communicator& communicator = definitions_->communicators.at(item.communicator);
  has_reductions_ = has_reductions_ || reduces(item.operation);
  // No other member has a sum: next() takes the item's own.
  if (communicator.is_self) return {};
  OfCommunicator& all = by_communicator_[item.communicator];
  const std::size_t number = all.done[rank]++;
  // The first member to arrive determines the operation and the root; others must agree.
  if (number == all.calls.size()) {
    Sums& made = all.calls.emplace_back();
    made.operation = item.operation;
    made.root = item.peer;
    const std::size_t size = communicator.size(definitions_->ranks.size());
    const auto room = [&] {
      const std::size_t first = values_.size();
      values_.resize(first + size);
      return first;
    };
    if (has_blocks_of_different_sizes(item.operation)) {
      // Checked before the allocation: a damaged archive may name enormous communicators.
      if (values_.size() + 2 * size > kMostValues)
        return failure(fmt::format("{}: there are too many collectives with blocks of different sizes",
                                   printable(definitions_->anchor)));
      made.sent = room();
      made.received = room();
    }
    has_pairs_ = has_pairs_ || item.operation == OperationKind::kAlltoallv;
  }
  Sums& sums = all.calls[number];
  if (sums.operation != item.operation || (has_root(item.operation) && sums.root != item.peer))
    return failure(fmt::format(
        "{}: collective {} on communicator {} is {} with root {} at rank {}, and {} with root {} at others",
        printable(definitions_->anchor), number + 1, item.communicator, to_string(item.operation), item.peer,
        rank, to_string(sums.operation), sums.root));
  count(sums, position(rank, communicator), item);
  return {};
}

std::span<const std::uint64_t> Collectives::values(std::size_t first, std::size_t size) const {
  return std::span(values_).subspan(first, size);
}

/// Each member's contribution to an allgather, or its part of the result of a reduction.
std::vector<std::uint64_t> Collectives::parts(const Sums& sums, std::size_t size) const {
  const bool gathers = sums.operation == OperationKind::kAllgatherv;
  const auto own = values(gathers ? sums.sent : sums.received, size);
  // The result's size, which each member's sum contains entirely.
  const std::uint64_t whole = gathers ? sums.most_received : sums.most_sent;
  // A member's part occurs in its own sum once per member.
  const auto divided = [&](std::uint64_t by) {
    std::vector<std::uint64_t> parts(own.begin(), own.end());
    for (std::uint64_t& part : parts) part /= by;
    return parts;
  };
  std::vector<std::uint64_t> parts = divided(size);
  if (sum_of(parts) == whole || size == 1) return parts;
  // If all members use MPI_IN_PLACE, no sum contains a member's own part.
  std::vector<std::uint64_t> in_place = divided(size - 1);
  // The largest sum lacks the smallest part.
  const std::uint64_t least = *std::min_element(in_place.begin(), in_place.end());
  return sum_of(in_place) == whole + least ? in_place : parts;
}

CollectiveCall Collectives::settled(const Sums& sums, int position, std::size_t size) const {
  const auto members = static_cast<std::uint64_t>(size);
  const auto own = static_cast<std::size_t>(position);
  CollectiveCall call{.operation = sums.operation, .root = sums.root};
  switch (sums.operation) {
    case OperationKind::kBcast:
    case OperationKind::kScatter:
      // A root alone in its communicator receives nothing.
      call.bytes = sums.most_received > 0 ? sums.most_received : sums.most_sent / members;
      break;
    case OperationKind::kReduce:
    case OperationKind::kGather:
      call.bytes = sums.most_sent > 0 ? sums.most_sent : sums.most_received / members;
      break;
    case OperationKind::kAllreduce:
    case OperationKind::kAllgather:
    case OperationKind::kReduceScatter:
    case OperationKind::kAlltoall:
      call.bytes = block_of(std::max(sums.most_sent, sums.most_received), members);
      break;
    case OperationKind::kScan:
    case OperationKind::kExscan: {
      const bool has_own = sums.operation == OperationKind::kScan && sums.first_received > 0;
      // Rank 0 of a scan receives its own part; its sends are one part per later member.
      call.bytes = has_own ? sums.first_received : members > 1 ? sums.first_sent / (members - 1) : 0;
      break;
    }
    case OperationKind::kGatherv: {
      const auto blocks = values(sums.sent, size);
      call.bytes = blocks[own];
      if (position == sums.root) call.received.assign(blocks.begin(), blocks.end());
      break;
    }
    case OperationKind::kScatterv: {
      const auto blocks = values(sums.received, size);
      call.bytes = blocks[own];
      if (position == sums.root) call.sent.assign(blocks.begin(), blocks.end());
      break;
    }
    case OperationKind::kAllgatherv:
      call.received = parts(sums, size);
      call.bytes = call.received[own];
      break;
    case OperationKind::kReduceScatterv:
      call.sent = parts(sums, size);
      break;
    case OperationKind::kAlltoallv: {
      // In proportion to what each rank sends and receives, consistently for both sides.
      const auto sent = values(sums.sent, size);
      const auto received = values(sums.received, size);
      const std::uint64_t all = sum_of(received);
      // The share of a stretch of a line: rounded ends, so that shares add up to the whole.
      const auto between = [&](std::uint64_t from, std::uint64_t before, std::uint64_t to) {
        if (all == 0) return std::uint64_t{0};
        return static_cast<std::uint64_t>(Wide{from} * (before + to) / all - Wide{from} * before / all);
      };
      std::uint64_t before = 0;
      std::uint64_t before_own = 0;
      for (std::size_t i = 0; i < size; ++i) {
        call.sent.push_back(between(sent[own], before, received[i]));
        if (i < own) before_own += received[i];
        before += received[i];
      }
      for (std::size_t i = 0; i < size; ++i)
        call.received.push_back(between(sent[i], before_own, received[own]));
      break;
    }
    case OperationKind::kBarrier:
    case OperationKind::kSend:
    case OperationKind::kCount:
      break;
  }
  return call;
}

CollectiveCall Collectives::OfRank::next(const Item& item) {
  const Communicator& communicator = all_.definitions_->communicators.at(item.communicator);
  if (communicator.is_self) {
    // The rank's own sums are those of the whole communicator.
    Sums alone{.operation = item.operation,
               .root = 0,
               .most_sent = item.bytes,
               .most_received = item.received,
               .first_sent = item.bytes,
               .first_received = item.received};
    CollectiveCall call{.operation = item.operation};
    if (!has_blocks_of_different_sizes(item.operation)) return all_.settled(alone, 0, 1);
    call.bytes = std::max(item.bytes, item.received);
    call.sent = call.received = {call.bytes};
    return call;
  }
  const std::size_t number = done_[item.communicator]++;
  const std::size_t size = communicator.size(all_.definitions_->ranks.size());
  return all_.settled(all_.by_communicator_.at(item.communicator).calls.at(number),
                      all_.position(rank_, communicator), size);
}

}  // namespace offramp::otf2
