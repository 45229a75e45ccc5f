#include "simulators/model/world_team.hpp"

#include <algorithm>
#include <memory>

namespace offramp::world {

Collective::Collective(Rank& rank, const Communicator& communicator, std::uint8_t backend,
                       std::uint32_t number)
    : Operation(Kind::kCollective, rank),
      Team(communicator.rank(), communicator.size(), false),
      group_(communicator.group_),
      backend_(backend),
      tag_(static_cast<int>(number & 0x7FFFFFFF)) {
  clock = rank.clock;
}

void Collective::start(const offramp::Operation& question, const CollectiveSizes& sizes) {
  CollectiveBuffers buffers;
  buffers.block = sizes.block;
  buffers.receive = no_memory_.take(sizes.in_place ? std::max(sizes.send, sizes.receive) : sizes.receive);
  buffers.send = sizes.in_place ? Bytes(buffers.receive).first(sizes.send) : no_memory_.take(sizes.send);
  for (const std::size_t size : sizes.send_blocks) send_blocks_.emplace_back(no_memory_.take(size));
  for (const std::size_t size : sizes.receive_blocks) receive_blocks_.push_back(no_memory_.take(size));
  buffers.send_blocks = send_blocks_;
  buffers.receive_blocks = receive_blocks_;
  Rank& rank = own();
  task_ = core().device(rank, backend_).backend->collective(question, *this, buffers);
  task_.start([](void* self) { static_cast<Collective*>(self)->ended(); }, this);
  rank.clock = later(rank.clock, host_free);
}

void Collective::ended() {
  outcome = task_.result();
  if (failed_ && outcome == Outcome::kOk) outcome = Outcome::kFault;
  core().done(*this, clock);
}

Time Collective::observe(Time at) const {
  const Time host_done = later(at, host_begin) + host_work;
  return later(later(at, clock), host_work > Time() ? host_done : Time());
}

Team::Handle Collective::start_send(int peer, Bytes data, const Stamp* stamp) {
  auto* const send = new Operation(Kind::kSend, own());
  SendArguments arguments;
  arguments.destination = world_rank(peer);
  arguments.source_in_group = Team::rank();
  arguments.context = context();
  arguments.tag = tag_;
  arguments.bytes = data.size();
  arguments.backend = backend_;
  arguments.failed = failed_;
  arguments.token = stamp;
  clock = later(clock, core().send(own(), *send, arguments, clock));
  return send;
}

Team::Handle Collective::start_receive(int peer, MutableBytes data, bool token) {
  auto* const receive = new Operation(Kind::kReceive, own());
  receive->key = {context(), world_rank(peer), tag_};
  receive->bytes = data.size();
  if (!token) clock += core().device(own(), backend_).backend->post_receive_cost();
  core().receive(*receive, clock);
  return receive;
}

Outcome Collective::finish(Handle handle) {
  const std::unique_ptr<Operation> part(static_cast<Operation*>(handle));
  clock = part->kind == Kind::kSend ? later(clock, part->done_at) : core().observe_receive(*part, clock);
  failed_ = failed_ || part->outcome == Outcome::kFault;
  return part->outcome;
}

Team::Arrival Collective::take(Handle handle) {
  const std::unique_ptr<Operation> part(static_cast<Operation*>(handle));
  Arrival arrival;
  arrival.outcome = part->outcome;
  if (part->kind == Kind::kReceive) arrival.stamp = core().take_token(*part);
  failed_ = failed_ || arrival.outcome == Outcome::kFault || arrival.stamp.failed();
  return arrival;
}

}  // namespace offramp::world
