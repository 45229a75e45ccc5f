// Collectives: the ranks of a node combine in a tree, its top rank uses the switches for all of them, and the
// result goes down the same tree. The top is the root on the root's node, and the first rank on other nodes.
//
//   allreduce       up the node, the switches, down the node.
//   reduce          without the way down; streams go to the root's node alone.
//   bcast           from the root's node to all, without operands of others. Slingshot: a bitwise OR, for
//                   which the others contribute zeros, so it waits for them.
//   barrier         an allreduce without data.
//   reduce_scatter  a streamed reduction. Each node gets the blocks of its ranks.
//   allgather       streams: each node's blocks go up to the root of the tree and down to all.
//
// A switch combines its inputs in the order of the lowest rank below each, and so do the ranks of a node. A
// run combines in this order (order()), so its results have the bits of the switches.
#include <algorithm>

#include "backends/sharp/backend.hpp"

namespace offramp::sharp {
namespace {

std::size_t place(int index) {
  return static_cast<std::size_t>(index);
}

/// A rank's position in the tree of its node. Rank r has children r + d * mask, for digits d below the radix
/// and masks that are powers of it, until the first rank outside of r's subtree.
struct NodeTree {
  struct Child {
    int local = 0;
    int ranks = 0;  // size of its subtree
  };
  NodeTree(int local, int ranks, int radix) {
    for (std::int64_t mask = 1; mask < ranks; mask *= radix) {
      const auto digit = local / mask % radix;
      if (digit != 0) {
        parent = static_cast<int>(local - digit * mask);
        below = static_cast<int>(std::min<std::int64_t>(mask, ranks - local));
        return;
      }
      for (std::int64_t d = 1; d < radix && local + d * mask < ranks; ++d) {
        const auto child = local + d * mask;
        children.push_back({static_cast<int>(child), static_cast<int>(std::min(mask, ranks - child))});
      }
    }
    below = ranks;
  }
  int parent = -1;
  int below = 1;  // number of ranks, including this one
  std::vector<Child> children;
};

}  // namespace

// --- the communicator on the switches ---

std::shared_ptr<const Plan> SharpBackend::plan_of(const TeamMembers& team) {
  std::shared_ptr<const Plan>& kept = plans_[team.setup_context()];
  if (kept != nullptr) return kept;
  auto plan = std::make_shared<Plan>();
  Group& group = *plan->group;
  std::unordered_map<int, int> members;  // by node
  std::vector<int> nodes;
  int job = team.world_rank(0);
  for (int rank = 0; rank < team.size(); ++rank) {
    const int world_rank = team.world_rank(rank);
    const int node = machine_.node(world_rank);
    const auto [member, is_new] = members.try_emplace(node, static_cast<int>(nodes.size()));
    if (is_new) {
      nodes.push_back(node);
      plan->ranks.emplace_back();
      group.leaders.push_back(world_rank);
    }
    std::vector<int>& own = plan->ranks[place(member->second)];
    plan->places.push_back({member->second, static_cast<int>(own.size())});
    own.push_back(rank);
    // Communicators that share ranks belong to one job, named after its lowest rank.
    const auto known = job_of_.find(world_rank);
    job = std::min(job, known != job_of_.end() ? known->second : world_rank);
  }
  group.before.push_back(0);
  for (const std::vector<int>& ranks : plan->ranks)
    // Ranks of the members before each one.
    group.before.push_back(group.before.back() + static_cast<int>(ranks.size()));
  group.tree = fabric_.tree_of(nodes, driver_.spec.trees);
  for (int rank = 0; rank < team.size(); ++rank) job_of_[team.world_rank(rank)] = job;
  // Further communicators of a job take turns on the tree.
  group.is_reserved = ++groups_of_[job] <= driver_.spec.reserved_groups;
  kept = std::move(plan);
  return kept;
}

void SharpBackend::forget(std::uint64_t context) {
  offloads_.forget(context);
  const auto found = plans_.find(context);
  if (found == plans_.end()) return;
  // The job may have another communicator in flight.
  --groups_of_[job_of_[found->second->group->leaders.front()]];
  plans_.erase(found);
}

/// Up the node, then up the switches: the lowest rank below a switch combines in its place.
std::optional<ReductionOrder> SharpBackend::order(const Operation& /*operation*/, const TeamMembers& team) {
  const Plan& plan = *plan_of(team);
  const Plan::MemberPosition own = plan.places[place(team.rank())];
  const std::vector<int>& ranks = plan.ranks[place(own.member)];
  const NodeTree node(own.local, static_cast<int>(ranks.size()), driver_.node_radix);
  Fold fold;
  for (const NodeTree::Child& child : node.children) fold.add_child(ranks[place(child.local)]);
  if (node.parent >= 0) {
    fold.parent = ranks[place(node.parent)];
    return fold;
  }
  const Tree& tree = plan.group->tree;
  const auto lowest = [&](int member) { return plan.ranks[place(member)].front(); };
  // From the member's switch towards the root.
  for (int at = tree.of_member[place(own.member)]; at >= 0; at = tree.switches[place(at)].parent) {
    const Tree::Switch& here = tree.switches[place(at)];
    // Another node combines in the place of this switch.
    if (here.first != own.member) {
      fold.parent = lowest(here.first);
      return fold;
    }
    for (const Tree::Input& input : here.inputs) {
      const int member = input.is_member ? input.index : tree.switches[place(input.index)].first;
      if (member != own.member) fold.add_child(lowest(member));
    }
  }
  return fold;
}

// --- the parts of an operation ---

class Offloads::Running final : public Observer {
 public:
  Running(Offloads& parent, const Name& name, std::size_t members)
      : parent_(parent), name_(name), parts_(members), left_(members) {}
  std::uint32_t number = 0;

  void join(RankPart& part, int member) { parts_[place(member)] = &part; }
  void done(int member, Time granted, Time at) override {
    RankPart& part = *parts_[place(member)];
    part.completion_ = {granted, at};
    part.ready_ = true;
    // Copied first: the part ends with its coroutine.
    const std::coroutine_handle<> waiter = part.waiter_;
    if (--left_ == 0) parent_.running_.erase(name_);  // ends the life of this object
    if (waiter != nullptr) waiter.resume();
  }

 private:
  Offloads& parent_;
  const Name name_;
  std::vector<RankPart*> parts_;
  std::size_t left_;
};

Offloads::Offloads(const Spec& spec) : machine_(spec, *this) {}
Offloads::~Offloads() = default;

void Offloads::join(RankPart& part, const Plan& plan, const Request& request, std::uint64_t context,
                    int member, Time posted, WorldDevices& devices) {
  // All operations are of one world.
  devices_ = &devices;
  const Name name{context, begun_[{context, member}]++};
  std::unique_ptr<Running>& running = running_[name];
  if (running == nullptr) {
    running = std::make_unique<Running>(*this, name, plan.ranks.size());
    // The first member to join begins the operation.
    running->number = machine_.begin(plan.group, request, *running);
  }
  running->join(part, member);
  machine_.enter(running->number, member, posted);
}

void Offloads::forget(std::uint64_t context) {
  begun_.erase(begun_.lower_bound({context, 0}), begun_.lower_bound({context + 1, 0}));
}

// --- one rank's part ---

void SharpBackend::spend(Team& team, std::string_view what, Time time) {
  if (spans_ != nullptr && time > Time())
    spans_->record(
        {"sharp.host", what, team.clock, team.clock + time, team.operation, team.world_rank(team.rank())});
  team.clock += time;
}

Task<Outcome> SharpBackend::collective(const Operation& asked, Team& team, CollectiveBuffers /*buffers*/) {
  const Operation operation = asked;  // which need not live until the end
  const std::shared_ptr<const Plan> plan = plan_of(team);
  const Plan::MemberPosition own = plan->places[place(team.rank())];
  const std::vector<int>& ranks = plan->ranks[place(own.member)];
  const int size = static_cast<int>(ranks.size());
  // Ranks of the node, relative to the one that uses the switches.
  int top = 0;
  if (has_root(operation.kind) && plan->places[place(operation.root)].member == own.member)
    top = plan->places[place(operation.root)].local;
  // The tree of the node begins at the rank that uses the switches.
  const NodeTree node((own.local - top + size) % size, size, driver_.node_radix);
  const auto rank_of = [&](int local) { return ranks[place((local + top) % size)]; };
  const bool adds = reduces(operation.kind);
  const bool gathers = operation.kind == OperationKind::kAllgather;
  const bool goes_up = adds || gathers || operation.kind == OperationKind::kBarrier;
  const bool goes_down = operation.kind != OperationKind::kReduce;
  const bool has_blocks = gathers || operation.kind == OperationKind::kReduceScatter;
  const std::size_t whole = has_blocks ? operation.bytes * place(team.size()) : operation.bytes;
  Outcome outcome = Outcome::kOk;
  team.host_free = team.clock + driver_.overhead;
  team.signals = operation.kind == OperationKind::kBarrier;

  if (goes_up) {
    for (const NodeTree::Child& child : node.children) {
      const std::size_t bytes = gathers ? operation.bytes * place(child.ranks) : whole;
      note(outcome, co_await team.receive(rank_of(child.local), bytes));
      if (adds) spend(team, "combine", node_.combine.bytes(static_cast<std::int64_t>(bytes)));
    }
    if (node.parent >= 0) {
      const std::size_t bytes = gathers ? operation.bytes * place(node.below) : whole;
      note(outcome, co_await team.send(rank_of(node.parent), bytes));
    }
  }

  // Within a single node, the switches are not needed.
  if (node.parent < 0 && plan->ranks.size() > 1) {
    Request request;
    request.bytes = whole;
    request.block = has_blocks ? operation.bytes : 0;
    request.streams = streams(operation);
    request.root = has_root(operation.kind) ? plan->places[place(operation.root)].member : 0;
    if (operation.kind == OperationKind::kBcast && driver_.generation != Generation::kSlingshot)
      request.from = sharp::PieceMembers::kRoot;
    if (gathers) request.from = sharp::PieceMembers::kOwner;
    if (operation.kind == OperationKind::kReduceScatter) request.to = sharp::PieceMembers::kOwner;
    if (operation.kind == OperationKind::kReduce && request.streams) request.to = sharp::PieceMembers::kRoot;
    spend(team, "call", driver_.call);
    const Time posted = team.clock;
    Offloads::RankPart part;
    offloads_.join(part, *plan, request, team.context(), own.member, posted, *team.devices());
    const Offloads::Completion completion = co_await part;
    team.clock = later(team.clock, completion.done);
    if (spans_ != nullptr) {
      const int rank = team.world_rank(team.rank());
      if (completion.granted > posted)
        spans_->record(
            {"sharp.switch", "wait for the tree", posted, completion.granted, team.operation, rank});
      spans_->record({"sharp.switch", request.streams ? "stream" : "aggregate", completion.granted,
                      completion.done, team.operation, rank});
    }
    spend(team, "completion", driver_.overhead);
  }

  if (goes_down) {
    const bool scatters = operation.kind == OperationKind::kReduceScatter;
    if (node.parent >= 0) {
      const std::size_t bytes = scatters ? operation.bytes * place(node.below) : whole;
      note(outcome, co_await team.receive(rank_of(node.parent), bytes));
    }
    std::vector<Team::Pending> sends;
    // The largest subtree comes first.
    for (std::size_t i = node.children.size(); i-- > 0;) {
      const NodeTree::Child& child = node.children[i];
      const std::size_t bytes = scatters ? operation.bytes * place(child.ranks) : whole;
      sends.push_back(team.send(rank_of(child.local), bytes));
    }
    for (Team::Pending& send : sends) note(outcome, co_await send);
  }
  co_return outcome;
}

}  // namespace offramp::sharp
