// Context ids. Members of a new communicator agree on an id without a message if possible: it is derived from
// the parent's id and the number of constructors called on the parent, which all members know
// (next_derived_id()). If not all members take part, one of them provides an id made of its world rank and a
// counter. Each communicator has two contexts, one for messages and one for collectives.
#include "lib/run/mpi/marshal/communicator.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "lib/programs/recording/event.hpp"
#include "lib/run/native/pmpi.hpp"
#include "lib/run/native/world_comm.hpp"
#include "offramp/kernel/random.hpp"

namespace offramp {
namespace {

// Bits of a context id: 63 collective, 62 derived instead of sent by a member, 61 MPI_COMM_SELF.
constexpr std::uint64_t kDerived = std::uint64_t{1} << 62;
constexpr std::uint64_t kSelf = std::uint64_t{1} << 61;

using GroupOf = int (*)(MPI_Comm, MPI_Group*);

/// The world ranks of a communicator's group. Returns false if a process is outside of MPI_COMM_WORLD.
bool world_ranks(MPI_Comm comm, GroupOf group_of, std::vector<int>& world) {
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  group_of(comm, &members);
  pmpi::Comm_group(offramp::mpi_world(), &all);
  int size = 0;
  pmpi::Group_size(members, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  world.resize(ranks.size());
  pmpi::Group_translate_ranks(members, size, ranks.data(), all, world.data());
  pmpi::Group_free(&members);
  pmpi::Group_free(&all);
  return std::find(world.begin(), world.end(), MPI_UNDEFINED) == world.end();
}

bool is_inter(MPI_Comm comm) {
  int inter = 0;
  pmpi::Comm_test_inter(comm, &inter);
  return inter != 0;
}

}  // namespace

bool Communicators::is_own(MPI_Comm comm, std::vector<int>& world) {
  return !is_inter(comm) && world_ranks(comm, pmpi::Comm_group, world);
}

bool Communicators::are_ranks_of_world(MPI_Comm comm, std::vector<int>& local, std::vector<int>& remote) {
  return is_inter(comm) && world_ranks(comm, pmpi::Comm_group, local) &&
         world_ranks(comm, pmpi::Comm_remote_group, remote);
}

int Communicators::leader_of(MPI_Comm comm) {
  std::vector<int> world;
  return is_own(comm, world) ? world.front() : -1;
}

// The rank makes the ids of two ranks differ, and the bits above it stay free for the flags.
std::uint64_t Communicators::next_id() {
  return (static_cast<std::uint64_t>(engine_.rank()) << 32) | next_++;
}

MpiCommunicator* Communicators::add(MPI_Comm comm, std::uint64_t id) {
  std::vector<int> world;
  forget_freed(comm);
  if (comm == MPI_COMM_NULL || !is_own(comm, world)) return nullptr;
  auto communicator = std::make_unique<MpiCommunicator>();
  communicator->handle = comm;
  pmpi::Comm_rank(comm, &communicator->rank);
  communicator->size = static_cast<int>(world.size());
  const auto members = std::make_shared<const std::vector<int>>(std::move(world));
  // Both contexts share one list of members.
  communicator->collective = &engine_.open_context(id | kCollectiveContext, communicator->rank, members);
  communicator->context = &engine_.open_context(id, communicator->rank, members);
  return keep(std::move(communicator));
}

MpiCommunicator* Communicators::add_between_groups(MPI_Comm comm, std::uint64_t id, int rank,
                                                   std::vector<int> peers) {
  auto communicator = std::make_unique<MpiCommunicator>();
  communicator->handle = comm;
  communicator->rank = rank;
  communicator->size = static_cast<int>(peers.size());
  communicator->context = &engine_.open_context(id, rank, std::move(peers));
  return keep(std::move(communicator));
}

MpiCommunicator* Communicators::keep(std::unique_ptr<MpiCommunicator> communicator) {
  MpiCommunicator* const added = communicator.get();
  recent_[slot_of(added->handle)] = {added->handle, added};
  known_[added->handle] = std::move(communicator);
  return added;
}

void set_recorded(MpiCommunicator& communicator, std::uint32_t number) {
  communicator.recorded = number;
  communicator.context->recorded = number;
  if (communicator.collective != nullptr) communicator.collective->recorded = number;
}

void Communicators::add_predefined() {
  add(MPI_COMM_WORLD, 0);
  set_recorded(*add(MPI_COMM_SELF, kSelf | static_cast<std::uint64_t>(engine_.rank())), recording::kSelf);
}

namespace {
// Two finalisers keep ids apart that differ in one of both numbers. The flag keeps them apart from sent ids.
std::uint64_t derive(std::uint64_t from, std::uint64_t number) {
  return (splitmix_finaliser(splitmix_finaliser(from) + number) & (kDerived - 1)) | kDerived;
}
}  // namespace

std::uint64_t Communicators::next_derived_id(MpiCommunicator& parent) {
  return derive(parent.context->id(), parent.derived++);
}

std::uint64_t Communicators::id_of_part(std::uint64_t derived, int leader) {
  return derive(derived, static_cast<std::uint64_t>(leader));
}

std::uint64_t Communicators::id_of_partitioned(std::uint64_t context, int source, int destination, int tag,
                                               std::uint32_t number) {
  std::uint64_t id = context;
  for (const int word : {source, destination, tag}) id = derive(id, static_cast<std::uint64_t>(word));
  return derive(id, number);
}

MpiCommunicator Communicators::open_persistent(MpiCommunicator& parent) {
  MpiCommunicator place{.handle = parent.handle, .rank = parent.rank, .size = parent.size};
  const std::uint64_t id = next_derived_id(parent) | kCollectiveContext;
  place.collective = &engine_.open_context(id, parent.rank, parent.collective->members());
  // The hardware uses what it has set up for the communicator itself.
  place.collective->setup_id = parent.collective->id();
  return place;
}

MpiCommunicator* Communicators::look_up(MPI_Comm comm, Slot& slot) {
  const auto found = known_.find(comm);
  if (found == known_.end()) return nullptr;
  slot = {comm, found->second.get()};
  return slot.communicator;
}

namespace {
std::string name_in_library(MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  if (pmpi::Comm_get_name(comm, name, &length) != MPI_SUCCESS) return {};
  return {name, static_cast<std::size_t>(length)};
}
}  // namespace

void Communicators::keep_name(const MpiCommunicator& communicator) {
  const std::uint64_t id = communicator.context->id();
  // Only communicators with a counted dependence appear by name in reports.
  const auto entries = engine_.places().entries();
  const bool needed = std::any_of(entries.begin(), entries.end(), [id](const ArrivalPlaces::Entry& entry) {
    return entry.place.context == id;
  });
  if (needed) names_[id] = name_in_library(communicator.handle);
}

std::string Communicators::name_of(std::uint64_t context) const {
  const auto known = std::find_if(known_.begin(), known_.end(), [context](const auto& entry) {
    return entry.second->context->id() == context;
  });
  if (known != known_.end()) return name_in_library(known->first);
  const auto freed = names_.find(context);
  return freed == names_.end() ? std::string() : freed->second;
}

void Communicators::remove(MPI_Comm comm, std::uint64_t context) {
  const auto found = known_.find(comm);
  if (found != known_.end() && found->second->context->id() == context) forget_freed(comm);
}

void Communicators::forget_freed(MPI_Comm comm) {
  const auto found = known_.find(comm);
  if (found == known_.end()) return;
  Slot& slot = recent_[slot_of(comm)];
  if (slot.comm == comm) slot = {};
  close(*found->second);
  known_.erase(found);
  ++generation_;
}

void Communicators::close(const MpiCommunicator& communicator) {
  engine_.close_context(*communicator.context);
  if (communicator.collective != nullptr) engine_.close_context(*communicator.collective);
}

}  // namespace offramp
