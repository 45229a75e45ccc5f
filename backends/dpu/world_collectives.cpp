// Three kinds of work in progress:
// - Shared: a collective of all its ranks.
// - Filling: the endpoint cache of a communicator, for which its first collectives wait.
// - Alone: a collective with a failing service process; it runs once all ranks have joined.
// The first two schedule their machine's steps with the world (Steps). They delete themselves when all ranks
// are notified and no step is left, so step() must not access members afterwards. The ranks' parts of a
// collective are matched by the communicator's context and the number of collectives that each rank has begun
// on it.
#include "backends/dpu/world_collectives.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "simulators/dpu/population.hpp"

namespace offramp::dpu {
namespace {

// Encodes a step: its kind, and the subject in the plan.
constexpr unsigned kKindBits = 5;
static_assert(Machine::kMostKinds <= 1 << kKindBits);
// The world passes one number per step.
constexpr std::uint32_t number_of(int kind, int subject) {
  return static_cast<std::uint32_t>(subject) << kKindBits | static_cast<std::uint32_t>(kind);
}
constexpr Machine::Event event_of(std::uint32_t number) {
  return {static_cast<int>(number & ((1U << kKindBits) - 1)), static_cast<int>(number >> kKindBits)};
}

template <typename Block>
std::vector<std::int64_t> sizes_of(std::span<const Block> blocks) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(blocks.size());
  for (const Block& block : blocks) sizes.push_back(static_cast<std::int64_t>(block.size()));
  return sizes;
}

/// Sizes known on all ranks.
std::vector<std::int64_t> known_sizes(OperationKind kind, const CollectiveBuffers& buffers) {
  if (kind == OperationKind::kAllgatherv) return sizes_of(buffers.receive_blocks);
  if (kind == OperationKind::kReduceScatterv) return sizes_of(buffers.send_blocks);
  return {};
}

/// Sizes of a rank's data for the others.
std::vector<std::int64_t> own_sizes(OperationKind kind, const CollectiveBuffers& buffers) {
  if (kind == OperationKind::kGatherv) return {static_cast<std::int64_t>(buffers.send.size())};
  return sizes_of(buffers.send_blocks);
}

/// Number of blocks for a rank, including its own.
int receives_of(OperationKind kind, const CollectiveBuffers& buffers) {
  if (kind == OperationKind::kScatterv) return buffers.receive.empty() ? 0 : 1;
  return static_cast<int>(std::count_if(buffers.receive_blocks.begin(), buffers.receive_blocks.end(),
                                        [](MutableBytes block) { return !block.empty(); }));
}

std::vector<Member> members_of(const Team& team) {
  std::vector<Member> members;
  members.reserve(static_cast<std::size_t>(team.size()));
  for (int rank = 0; rank < team.size(); ++rank) members.push_back({team.world_rank(rank), {}, {}});
  return members;
}

}  // namespace

/// Lets the world run the steps of a machine.
class WorldCollectives::Steps : public EventSink, public WorldDevices::Work {
 public:
  void schedule(Time at, int kind, int subject) override {
    ++scheduled_;
    devices_.schedule(at, *this, number_of(kind, subject));
  }
  [[nodiscard]] Resources resources(int world_rank) override { return devices_.resources(world_rank); }
  [[nodiscard]] Notifications& notifications() override { return parent_.notifications_; }

 protected:
  Steps(WorldCollectives& parent, WorldDevices& devices) : parent_(parent), devices_(devices) {}
  ~Steps() = default;
  /// Decodes a scheduled step that is due.
  Machine::Event next(std::uint32_t number) {
    --scheduled_;
    return event_of(number);
  }
  [[nodiscard]] bool idle() const { return scheduled_ == 0; }

  WorldCollectives& parent_;
  WorldDevices& devices_;

 private:
  std::size_t scheduled_ = 0;
};

/// One collective of all its ranks.
class WorldCollectives::Shared final : public Steps, public Offload::Observer {
 public:
  Shared(WorldCollectives& parent, const Name& name, WorldDevices& devices, CollectiveRequest request)
      : Steps(parent, devices),
        name_(name),
        request_(std::move(request)),
        parts_(request_.members.size()),
        offload_(make_offload(parent.spec_, request_, *this, *this)) {}

  void join(RankPart& part, int rank, const CollectiveBuffers& buffers) {
    parts_[static_cast<std::size_t>(rank)] = &part;
    if (sources_advertise_sizes(request_.kind))
      // Only the sources know these sizes; they travel with notifications.
      offload_->set_sizes(rank, own_sizes(request_.kind, buffers), receives_of(request_.kind, buffers));
  }
  void submit(int rank, Time posted) { offload_->submit(rank, posted); }
  /// The endpoint cache, for which the rank waited, is populated.
  void submit_populated(int rank, Time posted, Time populated, bool failed) {
    parts_[static_cast<std::size_t>(rank)]->completion_.populated = populated;
    failed_ = failed_ || failed;
    submit(rank, later(posted, populated));
  }

  void step(Time at, std::uint32_t number) override {
    offload_->step(next(number), at);
    if (notified_count_ < parts_.size() || !idle()) return;
    // Before the end, which destroys the machine.
    parent_.wire_ += offload_->machine().wire();
    parent_.running_.erase(name_);  // ends the life of this object
  }

  void done(int rank) override {
    ++notified_count_;
    // The part ends with its coroutine.
    RankPart& part = *std::exchange(parts_[static_cast<std::size_t>(rank)], nullptr);
    const Machine& machine = offload_->machine();
    part.completion_.outcome = failed_ || machine.has_failed() ? Outcome::kFault : Outcome::kOk;
    part.completion_.done = offload_->done(rank);
    part.completion_.host_work = host_delivery(parent_.spec_, request_, machine, rank);
    part.ready_ = true;
    if (part.waiter_ != nullptr) std::exchange(part.waiter_, nullptr).resume();
  }

 private:
  const Name name_;
  const CollectiveRequest request_;
  std::vector<RankPart*> parts_;
  std::size_t notified_count_ = 0;
  bool failed_ = false;
  std::unique_ptr<Offload> offload_;
};

class WorldCollectives::Alone final : public WorldDevices::Work {
 public:
  Alone(WorldCollectives& parent, const Name& name, WorldDevices& devices, CollectiveRequest request)
      : parent_(parent),
        name_(name),
        devices_(devices),
        request_(std::move(request)),
        parts_(request_.members.size()),
        sizes_(request_.members.size()) {}

  void join(RankPart& part, int rank, const CollectiveBuffers& buffers, Time posted) {
    const auto place = static_cast<std::size_t>(rank);
    parts_[place] = &part;
    request_.members[place].posted = posted;
    if (sources_advertise_sizes(request_.kind)) sizes_[place] = own_sizes(request_.kind, buffers);
    if (++joined_ == parts_.size()) run();
  }

  void step(Time /*at*/, std::uint32_t rank) override {
    RankPart& part = *parts_[rank];
    const MemberResult& member = result_.members[rank];
    part.completion_.outcome = result_.failed ? Outcome::kFault : Outcome::kOk;
    part.completion_.done = member.done;
    part.completion_.host_work = member.host_work;
    part.ready_ = true;
    // Before the resumption, which may end this operation.
    const bool is_last = ++finished_ == parts_.size();
    if (part.waiter_ != nullptr) std::exchange(part.waiter_, nullptr).resume();
    if (is_last) parent_.alone_.erase(name_);  // ends the life of this object
  }

 private:
  void run() {
    // In rank order, whatever the order of arrival.
    for (const std::vector<std::int64_t>& own : sizes_)
      request_.sizes.insert(request_.sizes.end(), own.begin(), own.end());
    result_ = run_collective(parent_.spec_, request_);
    parent_.wire_ += result_.wire;
    for (std::uint32_t rank = 0; rank < parts_.size(); ++rank)
      devices_.schedule(result_.members[rank].done, *this, rank);
  }

  WorldCollectives& parent_;
  const Name name_;
  WorldDevices& devices_;
  CollectiveRequest request_;
  std::vector<RankPart*> parts_;
  std::vector<std::vector<std::int64_t>> sizes_;
  std::size_t joined_ = 0;
  std::size_t finished_ = 0;
  CollectiveResult result_;
};

/// Populates the endpoint cache of a communicator. A rank begins with its first collective; this and later
/// ones wait for the cache.
class WorldCollectives::Filling final : public Steps, public Population::Observer {
 public:
  Filling(WorldCollectives& parent, std::uint64_t context, WorldDevices& devices, std::vector<Member> members)
      : Steps(parent, devices),
        context_(context),
        members_(std::move(members)),
        ranks_(members_.size()),
        machine_(parent.spec_, members_, std::vector<bool>(members_.size()), ((parent.sequence_++ + 1) << 32),
                 this),
        population_(parent.spec_, members_, machine_, *this) {}

  void submit(Shared& shared, int rank, Time posted) {
    Rank& own = ranks_[static_cast<std::size_t>(rank)];
    if (own.populated > Time())
      return shared.submit_populated(rank, posted, own.populated, machine_.has_failed());
    if (!std::exchange(own.begun, true)) population_.add(rank, posted);
    own.waiting.push_back({&shared, posted});
  }

  void step(Time at, std::uint32_t number) override {
    const Machine::Event event = next(number);
    if (!machine_.handle(event, at)) population_.handle(event, at);
    if (notified_count_ < ranks_.size() || !idle()) return;
    parent_.wire_ += machine_.wire();
    parent_.filling_[context_] = nullptr;  // ends the life of this object
  }

  void populated(int member, Time at) override {
    ++notified_count_;
    Rank& own = ranks_[static_cast<std::size_t>(member)];
    own.populated = at;
    for (const auto& [shared, posted] : std::exchange(own.waiting, {}))
      shared->submit_populated(member, posted, at, machine_.has_failed());
  }

 private:
  // The progress of one rank.
  struct Rank {
    bool begun = false;
    Time populated;  // 0: not yet
    std::vector<std::pair<Shared*, Time>> waiting;
  };

  const std::uint64_t context_;
  const std::vector<Member> members_;
  std::vector<Rank> ranks_;
  std::size_t notified_count_ = 0;
  Machine machine_;
  Population population_;
};

WorldCollectives::WorldCollectives(const PlatformSpec& spec)
    : spec_(spec), notifications_(spec.posted_sends) {}
WorldCollectives::~WorldCollectives() = default;

template <typename Work>
Work& WorldCollectives::work_on(std::map<Name, std::unique_ptr<Work>>& works, const Name& name,
                                const Operation& operation, const Team& team, WorldDevices& devices,
                                const CollectiveBuffers& buffers) {
  std::unique_ptr<Work>& entry = works[name];
  if (entry != nullptr) return *entry;
  CollectiveRequest request;
  request.kind = operation.kind;
  request.bytes = static_cast<std::int64_t>(operation.bytes);
  request.root = operation.root;
  request.sizes = known_sizes(operation.kind, buffers);
  request.sequence = sequence_++;
  request.members = members_of(team);
  entry = std::make_unique<Work>(*this, name, devices, std::move(request));
  return *entry;
}

void WorldCollectives::join(RankPart& part, const Operation& operation, const Team& team,
                            WorldDevices& devices, const CollectiveBuffers& buffers, Time posted,
                            bool fills_a_cache) {
  const std::uint64_t context = team.context();
  // Ranks number their collectives alike, so equal numbers belong together.
  const std::uint32_t number = begun_[{context, team.rank()}]++;
  // Identifies the collective on all of its ranks.
  const Name name{context, number};
  if (spec_.failure.kind != Failure::kNone)
    return work_on(alone_, name, operation, team, devices, buffers).join(part, team.rank(), buffers, posted);
  Shared& own = work_on(running_, name, operation, team, devices, buffers);
  own.join(part, team.rank(), buffers);
  if (!fills_a_cache) return own.submit(team.rank(), posted);
  const std::uint64_t filled = team.setup_context();
  const auto [filling, first] = filling_.try_emplace(filled);
  if (first) filling->second = std::make_unique<Filling>(*this, filled, devices, members_of(team));
  if (filling->second == nullptr) return own.submit(team.rank(), posted);
  filling->second->submit(own, team.rank(), posted);
}

void WorldCollectives::forget(std::uint64_t context) {
  begun_.erase(begun_.lower_bound({context, 0}), begun_.lower_bound({context + 1, 0}));
  const auto filling = filling_.find(context);
  // A cache that is still being filled stays until its end.
  if (filling != filling_.end() && filling->second == nullptr) filling_.erase(filling);
}

}  // namespace offramp::dpu
