// Accesses to the memory of other ranks. An access is one transfer, or two: the data there, and the data
// back.
//
// - Between nodes, a write is a direct message whose arrival no receive matches. A read is a message by
//   rendezvous from the target, whose request is already granted: the origin's NIC asks, and the target's NIC
//   sends. An atomic operation is a read.
// - Within a node, the origin's processor copies in both directions, as the receiver of a message does.
// - A combining access between nodes waits at the target, like a request, until the processor serves it.
//
// The target's program takes no part. end_access() completes the operation at the origin.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "simulators/world/world_rank.hpp"

namespace offramp::world {
namespace {

constexpr std::string_view kDeclined = "accesses to the memory of other ranks are left to the host";

}  // namespace

void Core::choose_for_access(const Rank& rank, Access access, std::size_t bytes) {
  offramp::Operation operation;
  operation.access = access;
  operation.bytes = bytes;
  if (!has_host_ && !members_.front().resources.empty() && declined_.empty())
    declined_ = fmt::format("{} declines an access: {}", members_.front().description->name, kDeclined);
  const bool is_declined = primary_ != 0 || options_.judge != nullptr;
  (void)report_choice(rank, operation, {0, is_declined ? Handling::kDeclined : Handling::kOffloaded},
                      is_declined ? kDeclined : std::string_view());
}

Time Core::access(Rank& origin, Operation& access, const AccessArguments& arguments, Time at) {
  choose_for_access(origin, arguments.kind, arguments.bytes + arguments.back);
  if (has_declined()) {
    access.outcome = Outcome::kFault;
    done(access, at);
    return at;
  }
  const bool is_near = options_.machine.is_within_node(origin.number(), arguments.target);
  const bool reads = arguments.kind == Access::kRead || arguments.kind == Access::kAtomic;
  Transfer transfer;
  transfer.source = origin.number();
  transfer.destination = arguments.target;
  transfer.bytes = reads ? arguments.back : arguments.bytes;
  transfer.access = arguments.kind;
  transfer.number = kFirstOfAccesses + origin.accesses++;
  if (is_near) transfer.bytes = std::max(arguments.bytes, arguments.back);
  if (is_near || reads) std::swap(transfer.source, transfer.destination);
  access.bytes = is_near || reads ? 0 : arguments.back;
  if (is_observed_) {
    access.number() = ++origin.operations;
    transfer.operation = origin.id_of(access);
  }
  if (WorldLog* const log = options_.log; log != nullptr) {
    log->used(origin.number(), transfer.operation);
    log->began(transfer.operation,
               {OperationKind::kSend, transfer.bytes, arguments.target, 0, 0, arguments.kind});
  }
  Time host_free;
  if (arguments.target == origin.number()) {
    host_free = processed(origin, at, device(origin, 0).backend->copy_time(transfer.bytes));
    done(access, host_free);
  } else {
    ++origin.on_their_way;
    ++open_accesses_;
    host_free =
        begin_transfer(access, transfer, is_near || reads ? Protocol::kRendezvous : Protocol::kDirect, at);
  }
  if (options_.log != nullptr)
    options_.log->host(origin.number(), transfer.operation, "access", at, later(at, host_free));
  return host_free;
}

/// The sender begins a direct transfer, the receiver one by rendezvous. Returns when its processor is free.
Time Core::begin_transfer(Operation& access, const Transfer& transfer, Protocol protocol, Time at) {
  Message& message = make_message();
  message.source = &rank(transfer.source);
  message.destination = &rank(transfer.destination);
  message.send = &access;
  message.transfer = transfer;
  Passage& passage = message.passage;
  passage.issued = at;
  passage.protocol = protocol;
  Rank& begins = protocol == Protocol::kDirect ? *message.source : *message.destination;
  device(*message.source, message.backend)
      .backend->issue(message.transfer, passage);  // also makes its device
  if (options_.stragglers != nullptr) delay_sender(begins, passage);
  passage.requested = passage.begin;
  if (protocol == Protocol::kDirect) {
    push(later(passage.begin, now_), begins, EventKind::kDepart, &message, begins.next_departure());
  } else {
    message.was_requested = true;
    push(later(passage.begin, now_), begins, EventKind::kGranted, message);
  }
  return passage.host_free;
}

/// The data is stored, or will be soon.
void Core::end_transfer(Message& message) {
  const Passage& passage = message.passage;
  const bool is_at_target = message.destination != message.send->rank;
  if (!is_at_target || message.transfer.access != Access::kCombine)
    return end_access(message, passage.complete + (is_at_target ? farther(message.transfer) : Time()));
  message.was_requested = true;
  push(later(passage.stored, now_), *message.destination, EventKind::kRequested, message);
}

/// The target's processor combines the data that has arrived, and answers.
void Core::combine(Message& message) {
  Rank& target = *message.destination;
  const Passage& passage = message.passage;
  const Time begin = later(now_, target.busy);
  const Time combined =
      device(target, message.backend).backend->receive(message.transfer, passage, begin, Matched::kPosted);
  target.busy = processed(target, begin, combined - begin);
  interrupt(target, target.busy - begin);
  if (message.send->bytes == 0)
    return end_access(message, target.busy + (passage.complete - passage.stored) + farther(message.transfer));
  Transfer back = message.transfer;
  std::swap(back.source, back.destination);
  back.access = Access::kRead;
  back.bytes = message.send->bytes;
  (void)begin_transfer(*message.send, back, Protocol::kDirect, target.busy);
  free(message);
}

/// The origin knows at `at` that the access is complete.
void Core::end_access(Message& message, Time at) {
  --message.send->rank->on_their_way;
  --open_accesses_;
  if (audit_ != nullptr) audit_->message(message.transfer, message.passage, message.passage.begin);
  note_answer(message, at);
  sent(message, at);
  free(message);
}

}  // namespace offramp::world
