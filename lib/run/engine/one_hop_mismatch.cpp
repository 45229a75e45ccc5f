// Ranks of an erroneous program may disagree about the size of a collective, and so about slots or algorithm:
//
//   kWaiting -> kRefused -> watch()      the others use the algorithm, so this rank does, too
//   watch() -> kWatched -> kRead         the algorithm carries it here; all contributors do the same
//                 |           |
//                 +-----------+--> kDone   the slots have the result, or a reader has found both kinds
//
// A rank that uses the algorithm publishes a label without data if its slot is free. Then:
// - Where all ranks wait for all, the rank also finishes the number at once. A rank that finds this label, or
//   a finished number without a label, uses the algorithm, too.
// - Where a contributor may have gone on, the algorithm starts, and the operation is watched. After a long
//   wait, a reader looks into the slots. It uses what it finds there, as a receive accepts a shorter message,
//   and cancels the algorithm.
// - A reader that finds contributors of both kinds returns an error and notifies them: their algorithm may
//   wait for ranks that used slots. So does a root with a small result whose contributors all use the
//   algorithm: an algorithm of another size may expect other messages.
//
// Limit: a rank of an erroneous program that is more than kSlots operations ahead has no slot for a label.
// Readers may then wait for ever.
#include <bit>

#include "lib/run/engine/engine.hpp"
#include "lib/run/engine/hop_sources.hpp"
#include "lib/run/engine/one_hop.hpp"

namespace offramp {
namespace {

constexpr unsigned kTurnsBeforeDoubt = 2000;

}  // namespace

bool OneHop::leave_to_algorithm(Context& context, const Operation& operation, std::uint64_t number,
                                bool has_ended) {
  HopRing& ring = *context.hop;
  if (ring.state_ == HopRing::State::kJoining) {
    ring.unlabelled_.push_back(number);
  } else if (ring.slots_.has_credit(number)) {
    ring.slots_.publish(number, SlotRing::Label::by_algorithm(), {});
  }
  const bool reads = hop::reads_others(operation, context.rank());
  const bool is_watched = !has_ended && hop::has_slots(operation.kind) && !hop::is_mutual(operation.kind) &&
                          (reads || !hop::kFromRoot.contains(operation.kind));
  if (!is_watched || !reads) ring.finish(number);
  return is_watched;
}

void OneHop::watch(HopOperation& operation) {
  const hop::Sources sources = hop::read_by(operation.operation, operation.context->rank());
  const bool is_read = operation.state == HopOperation::State::kRefused || sources.first == sources.end;
  operation.state = is_read ? HopOperation::State::kRead : HopOperation::State::kWatched;
  operation.first = operation.next = sources.first;
  operation.end = sources.end;
  operation.failed_turns = 0;
  waiting_.push_back(operation);
}

void OneHop::look_for_result(HopOperation& operation) {
  if (!waiting_.contains(operation) || operation.state == HopOperation::State::kRead) return;
  operation.failed_turns = kTurnsBeforeDoubt;
  (void)advance(operation);
}

void OneHop::withdraw(HopOperation& operation) {
  if (!waiting_.contains(operation)) return;
  waiting_.remove(operation);
  const bool is_read =
      operation.state == HopOperation::State::kRead || operation.state == HopOperation::State::kDone;
  if (!is_read) operation.context->hop->finish(operation.number);
}

/// As advance(), for an operation that the algorithm carries here.
bool OneHop::advance_watched(HopOperation& operation) {
  if (++operation.failed_turns < kTurnsBeforeDoubt) return false;
  const bool is_read = operation.state == HopOperation::State::kRead;
  const bool ends = was_notified(operation);
  if (ends) {
    operation.state = HopOperation::State::kDone;
    operation.outcome = Outcome::kTruncated;
  }
  if (is_read) return ends;
  if (!ends) {
    // Some contributor is still unknown: it may use a slot, or the algorithm.
    if (!read_labels(operation)) return false;
    resolve_mismatch(operation);
    if (operation.state == HopOperation::State::kRefused) operation.state = HopOperation::State::kRead;
  }
  operation.context->hop->finish(operation.number);
  return operation.state == HopOperation::State::kDone;
}

/// Decides how an operation ends whose ranks may disagree, once all contributors are known: kDone or
/// kRefused.
void OneHop::resolve_mismatch(HopOperation& operation) {
  const int rank = operation.context->rank();
  const bool reads_own = rank >= operation.first && rank < operation.end;
  const int others = operation.end - operation.first - (reads_own ? 1 : 0);
  const int by_algorithm = std::popcount(operation.algorithm_ranks);
  const bool is_watched = operation.state == HopOperation::State::kWatched;
  const bool agrees = is_watched || !hop::kToRoot.contains(operation.operation.kind);
  const bool is_refused = by_algorithm == others
                              ? agrees && (by_algorithm > 0 || is_watched)
                              : by_algorithm > 0 && hop::is_mutual(operation.operation.kind);
  if (is_refused) {
    operation.state = HopOperation::State::kRefused;
    return;
  }
  end(operation);
  if (by_algorithm > 0) notify_contributors(operation);
  if (by_algorithm > 0 || operation.mismatched > 0) {
    operation.outcome = Outcome::kTruncated;
  } else {
    collect(operation);
  }
}

/// Notifies the contributors along the algorithm that contributors are of both kinds. A notice to a rank
/// whose algorithm has ended stays unread until the communicator is freed.
void OneHop::notify_contributors(const HopOperation& operation) {
  Context& context = *operation.context;
  const bool is_prefix = traits_of(operation.operation.kind).is_prefix;
  for (int rank = operation.first; rank < operation.end; ++rank) {
    const bool by_algorithm = (operation.algorithm_ranks >> static_cast<unsigned>(rank) & 1U) != 0;
    if (rank != context.rank() && (by_algorithm || is_prefix))
      send(context, rank, operation.tag | kContributionTag, {}, operation.backend);
  }
}

bool OneHop::was_notified(HopOperation& operation) {
  const OperationKind kind = operation.operation.kind;
  const int own = operation.context->rank();
  const int root = operation.operation.root;
  hop::Sources readers;
  if (hop::kToRoot.contains(kind)) readers = {root, root + 1};
  if (traits_of(kind).is_prefix) readers = {own + 1, operation.operation.ranks};
  for (int rank = readers.first; rank < readers.end; ++rank) {
    const HopOperation::Arrived* const notice = rank != own ? receive_from(operation, rank) : nullptr;
    if (notice != nullptr && notice->record.done) return true;
  }
  return false;
}

}  // namespace offramp
