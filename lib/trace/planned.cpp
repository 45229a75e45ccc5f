// Programs with an algorithm of one's own in place of a collective.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "lib/configuration/names.hpp"
#include "lib/trace/algorithm.hpp"
#include "lib/trace/graph.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::EventKind;

/// Tags of an algorithm's channels: above those of programs, as far as can be.
constexpr std::int32_t kFirstTag = 1 << 30;

struct Planned {
  Program program;
  Algorithm algorithm;
  OperationKind operation = OperationKind::kCount;
};

/// The bytes of which an algorithm's chunks are parts.
std::uint64_t buffer_of(const Event& event, std::uint64_t ranks) {
  for (const KindTraits& kind : kOperationKinds) {
    if (kind.kind == event.operation && kind.blocks == Blocks::kEqual) return event.bytes * ranks;
  }
  return event.bytes;
}

/// A rank's events, and in place of some collectives those of the algorithm. Requests that the algorithm
/// begins count, too, so those of the program have other numbers here: higher by as many as were begun
/// before.
class PlannedRank final : public recording::Reader {
 public:
  PlannedRank(std::shared_ptr<const Planned> planned, int rank)
      : planned_(std::move(planned)), inner_(planned_->program.read(rank)), rank_(rank) {
    const auto ranks = static_cast<std::size_t>(planned_->program.description.ranks);
    communicators_ = {{ranks, rank}, {1, 0}};
  }

  bool next(Event& event) final {
    for (;;) {
      if (run_ != nullptr) {
        if (from_run(event)) return true;
        error_ = run_->error();
        if (!error_.empty()) return false;
        run_ = nullptr;
      }
      if (!inner_->next(event)) {
        error_ = inner_->error();
        return false;
      }
      computed_ = carried_ + inner_->computed();
      carried_ = 0;
      if (!is_replaced(event)) {
        translate(event);
        return true;
      }
      carried_ = computed_;
      if (!begin_run(event)) return false;
    }
  }
  [[nodiscard]] std::uint64_t computed() const final { return computed_; }
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const final {
    if (run_ != nullptr) return run_->list(number);
    return number != 0 && number == translated_ ? distances_ : inner_->list(number);
  }
  [[nodiscard]] std::optional<recording::Match> match() final {
    return run_ != nullptr ? std::nullopt : inner_->match();
  }
  [[nodiscard]] std::span<const std::uint32_t> choice() const final {
    return run_ != nullptr ? std::span<const std::uint32_t>() : inner_->choice();
  }
  void learned(std::uint64_t number) final {
    if (run_ != nullptr && number >= run_first_) return run_->learned(number - run_first_);
    const auto behind = std::find_if(inserted_.rbegin(), inserted_.rend(),
                                     [&](const Inserted& one) { return number >= one.first + one.requests; });
    const std::uint64_t own = behind == inserted_.rend() ? number : number - behind->requests;
    open_.erase(own);
    inner_->learned(own);
  }
  [[nodiscard]] std::uint64_t polls() const final { return run_ != nullptr ? 0 : inner_->polls(); }
  [[nodiscard]] recording::Gaps gaps() const final {
    return run_ != nullptr ? recording::Gaps() : inner_->gaps();
  }
  [[nodiscard]] std::string_view call(std::uint16_t number) const final { return inner_->call(number); }
  [[nodiscard]] std::string_view site(std::uint32_t number) const final { return inner_->site(number); }
  [[nodiscard]] bool cut() const final { return inner_->cut(); }
  [[nodiscard]] const std::string& error() const final { return error_; }

 private:
  struct Communicator {
    std::size_t size = 0;
    int own = 0;
  };
  /// From the program's first-th request on so many of the algorithm stand before it.
  struct Inserted {
    std::uint64_t first = 0;
    std::uint64_t requests = 0;
  };

  bool is_replaced(const Event& event) const {
    return event.kind == EventKind::kCollective && event.operation == planned_->operation &&
           !begins_request(event) && event.communicator < communicators_.size() &&
           communicators_[event.communicator].size == static_cast<std::size_t>(planned_->algorithm.ranks) &&
           (!has_root(event.operation) || event.peer == 0) &&
           (planned_->algorithm.takes == nullptr ||
            planned_->algorithm.takes(buffer_of(event, communicators_[event.communicator].size)));
  }

  bool begin_run(const Event& event) {
    const Communicator& on = communicators_[event.communicator];
    const std::uint64_t bytes = buffer_of(event, on.size);
    if (!graph_ || bytes != bytes_) {
      Result<Graph> made = planned_->algorithm.graph(on.own, bytes);
      if (!made) {
        error_ = made.error();
        return false;
      }
      graph_ = std::move(*made);
      bytes_ = bytes;
    }
    run_ = run_graph(*graph_);
    replaced_ = event;
    run_first_ = begun_ + requests();
    is_first_ = true;
    return true;
  }

  bool from_run(Event& event) {
    while (run_->next(event)) {
      if (event.kind == EventKind::kNative) {
        carried_ += run_->computed();
        continue;
      }
      computed_ = std::exchange(carried_, 0) + run_->computed();
      event.call = replaced_.call;
      event.site = replaced_.site;
      if (event.kind != EventKind::kWait) {
        event.communicator = replaced_.communicator;
        event.tag += kFirstTag;
        event.element = replaced_.element;
      }
      if (!std::exchange(is_first_, false)) event.flags |= recording::kContinues;
      if (begins_request(event)) count_inserted();
      return true;
    }
    return false;
  }

  [[nodiscard]] std::uint64_t requests() const { return inserted_.empty() ? 0 : inserted_.back().requests; }
  void count_inserted() {
    const std::uint64_t before = requests();
    if (inserted_.empty() || inserted_.back().first != begun_) inserted_.push_back({begun_, before});
    ++inserted_.back().requests;
    // Those before the oldest request that may be waited for are of no more use.
    const std::uint64_t oldest = open_.empty() ? begun_ : *open_.begin();
    while (inserted_.size() > 1 && inserted_[1].first <= oldest) inserted_.pop_front();
  }
  /// How far back a request of the program is here.
  std::uint64_t distance_of(std::uint64_t distance) const {
    if (distance == 0 || distance > begun_) return distance;
    const std::uint64_t own = begun_ - distance;
    const auto behind = std::find_if(inserted_.rbegin(), inserted_.rend(),
                                     [&](const Inserted& one) { return own >= one.first; });
    return distance + requests() - (behind == inserted_.rend() ? 0 : behind->requests);
  }

  void translate(Event& event) {
    translated_ = 0;
    if (begins_request(event)) open_.insert(begun_++);
    switch (event.kind) {
      case EventKind::kCommunicator: {
        const auto members = inner_->list(event.list);
        const auto own = std::find(members.begin(), members.end(), static_cast<std::uint64_t>(rank_));
        communicators_.push_back({members.size(), static_cast<int>(own - members.begin())});
        break;
      }
      case EventKind::kWait:
      case EventKind::kCancel:
      case EventKind::kFree:
        translate_requests(event);
        break;
      default:
        break;
    }
  }
  void translate_requests(Event& event) {
    const bool ends =
        event.kind != EventKind::kCancel && (event.flags & (recording::kAny | recording::kSome)) == 0;
    const auto ended = [&](std::uint64_t distance) {
      if (ends && distance <= begun_) open_.erase(begun_ - distance);
    };
    if (event.extra != 0) {
      ended(event.extra);
      event.extra = distance_of(event.extra);
      return;
    }
    distances_.clear();
    for (const std::uint64_t distance : inner_->list(event.list)) {
      ended(distance);
      distances_.push_back(distance_of(distance));
    }
    translated_ = event.list;
  }

  std::shared_ptr<const Planned> planned_;
  std::unique_ptr<recording::Reader> inner_;
  int rank_;
  std::vector<Communicator> communicators_;
  std::unique_ptr<recording::Reader> run_;  // of the algorithm, while it goes on
  std::optional<Graph> graph_;              // of the last one
  std::uint64_t bytes_ = 0;
  Event replaced_;
  bool is_first_ = false;
  std::uint64_t run_first_ = 0;  // number of its first request
  std::uint64_t begun_ = 0;      // requests of the program
  std::set<std::uint64_t> open_;
  std::deque<Inserted> inserted_;
  std::vector<std::uint64_t> distances_;
  std::uint32_t translated_ = 0;  // the list that distances_ stands for
  std::uint64_t computed_ = 0;
  std::uint64_t carried_ = 0;
  std::string error_;
};

/// "reduce_scatter" and "reducescatter" are one.
std::optional<OperationKind> operation_named(std::string_view name) {
  std::string wanted(name);
  std::erase(wanted, '_');
  for (char& c : wanted) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (wanted == "broadcast") return OperationKind::kBcast;
  for (const KindTraits& kind : kOperationKinds) {
    std::string known(kind.name);
    std::erase(known, '_');
    if (known == wanted && kind.blocks != Blocks::kDifferent && kind.kind != OperationKind::kSend &&
        kind.kind != OperationKind::kBarrier && !kind.is_prefix)
      return kind.kind;
  }
  return std::nullopt;
}

}  // namespace

Result<Program> with_algorithm(Program program, const std::string& named) {
  using Failure = Result<Program>;
  Result<Algorithm> algorithm = read_algorithm(named);
  if (!algorithm) return Failure::failure(algorithm.error());
  if (program.description.ranks < (*algorithm).ranks)
    return Failure::failure(fmt::format("{} is for {} ranks, and the program has {}", printable(named),
                                        (*algorithm).ranks, program.description.ranks));
  const auto operation = operation_named((*algorithm).collective);
  if (!operation)
    return Failure::failure(fmt::format("{} {} is no collective that an algorithm can stand for",
                                        (*algorithm).place, printable((*algorithm).collective)));
  for (int rank = 0; program.recording != nullptr && rank < program.description.ranks; ++rank) {
    if (program.recording->read(rank)->has_threads())
      return Failure::failure(fmt::format(
          "rank {} of the program has several threads, and {} runs in place of the collectives of one alone",
          rank, printable(named)));
  }
  auto planned = std::make_shared<Planned>();
  planned->algorithm = std::move(*algorithm);
  planned->operation = *operation;
  planned->program = program;
  program.notes = planned->algorithm.notes;
  program.read = [kept = std::shared_ptr<const Planned>(std::move(planned))](int rank) {
    return std::make_unique<PlannedRank>(kept, rank);
  };
  program.graph = nullptr;
  program.has_arrival = false;
  return program;
}

}  // namespace offramp::trace
