#include "backends/dpu/world_collectives.hpp"

#include <algorithm>
#include <cassert>
#include <span>
#include <vector>

namespace offramp::dpu {
namespace {

// A step's number: what happens, and to which of the plan's subjects.
constexpr unsigned kKindBits = 4;
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

/// What all ranks know alike.
std::vector<std::int64_t> known_sizes(OperationKind kind, const CollectiveBuffers& buffers) {
  if (kind == OperationKind::kAllgatherv) return sizes_of(buffers.receive_blocks);
  if (kind == OperationKind::kReduceScatterv) return sizes_of(buffers.send_blocks);
  return {};
}

/// What a rank has for the others.
std::vector<std::int64_t> own_sizes(OperationKind kind, const CollectiveBuffers& buffers) {
  if (kind == OperationKind::kGatherv) return {static_cast<std::int64_t>(buffers.send.size())};
  return sizes_of(buffers.send_blocks);
}

/// How many blocks it gets, its own among them.
int receives_of(OperationKind kind, const CollectiveBuffers& buffers) {
  if (kind == OperationKind::kScatterv) return buffers.receive.empty() ? 0 : 1;
  return static_cast<int>(std::count_if(buffers.receive_blocks.begin(), buffers.receive_blocks.end(),
                                        [](MutableBytes block) { return !block.empty(); }));
}

}  // namespace

/// One collective of all its ranks.
class WorldCollectives::Shared final : public Agenda, public Offload::Observer, public WorldDevices::Work {
 public:
  Shared(WorldCollectives& parent, const Name& name, WorldDevices& devices, CollectiveRequest request)
      : parent_(parent),
        name_(name),
        devices_(devices),
        request_(std::move(request)),
        parts_(request_.members.size()),
        offload_(make_offload(parent.spec_, request_, *this, *this)) {}

  void join(Part& part, int rank, const CollectiveBuffers& buffers, Time posted) {
    parts_[static_cast<std::size_t>(rank)] = &part;
    if (sources_tell_sizes(request_.kind))
      offload_->tell(rank, own_sizes(request_.kind, buffers), receives_of(request_.kind, buffers));
    offload_->submit(rank, posted);
  }

  void schedule(Time at, int kind, int subject) override {
    ++scheduled_;
    devices_.schedule(at, *this, number_of(kind, subject));
  }
  [[nodiscard]] Resources resources(int world_rank) override { return devices_.resources(world_rank); }

  void step(Time at, std::uint32_t number) override {
    --scheduled_;
    offload_->handle(event_of(number), at);
    if (told_ < parts_.size() || scheduled_ > 0) return;
    parent_.wire_ += offload_->machine().wire();
    parent_.running_.erase(name_);  // ends this object
  }

  void done(int rank) override {
    ++told_;
    Part& part = *std::exchange(parts_[static_cast<std::size_t>(rank)], nullptr);
    const Machine& machine = offload_->machine();
    part.completion_.outcome = machine.gave_up() ? Outcome::kFault : Outcome::kOk;
    part.completion_.done = offload_->done(rank);
    part.completion_.host_work = host_delivery(parent_.spec_, request_, machine, rank);
    part.ready_ = true;
    if (part.waiter_ != nullptr) std::exchange(part.waiter_, nullptr).resume();
  }

 private:
  WorldCollectives& parent_;
  const Name name_;
  WorldDevices& devices_;
  const CollectiveRequest request_;
  std::vector<Part*> parts_;
  std::size_t scheduled_ = 0;
  std::size_t told_ = 0;
  std::unique_ptr<Offload> offload_;
};

WorldCollectives::WorldCollectives(const PlatformSpec& spec) : spec_(spec) {}
WorldCollectives::~WorldCollectives() = default;

WorldCollectives::Shared& WorldCollectives::shared(const Name& name, const Operation& operation,
                                                   const Team& team, WorldDevices& devices,
                                                   const CollectiveBuffers& buffers) {
  std::unique_ptr<Shared>& entry = running_[name];
  if (entry != nullptr) return *entry;
  CollectiveRequest request;
  request.kind = operation.kind;
  request.bytes = static_cast<std::int64_t>(operation.bytes);
  request.root = operation.root;
  request.sizes = known_sizes(operation.kind, buffers);
  request.sequence = sequence_++;
  for (int rank = 0; rank < team.size(); ++rank) request.members.push_back({team.world_rank(rank), {}, {}});
  entry = std::make_unique<Shared>(*this, name, devices, std::move(request));
  return *entry;
}

void WorldCollectives::join(Part& part, const Operation& operation, const Team& team, WorldDevices& devices,
                            const CollectiveBuffers& buffers, Time posted) {
  const std::uint32_t number = begun_[{team.context(), team.rank()}]++;
  shared({team.context(), number}, operation, team, devices, buffers)
      .join(part, team.rank(), buffers, posted);
}

void WorldCollectives::forget(std::uint64_t context) {
  begun_.erase(begun_.lower_bound({context, 0}), begun_.lower_bound({context + 1, 0}));
}

}  // namespace offramp::dpu
