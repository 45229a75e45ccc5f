#include "tests/cluster.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "lib/base/registry/registry.hpp"
#include "offramp/kernel/random.hpp"

namespace offramp {
namespace {

const BackendDescription& host_description() {
  for (const BackendDescription* description : built_in_backends()) {
    if (description->name == "host") return *description;
  }
  std::abort();  // the one backend that every build has
}

}  // namespace

// --- requests ---

class ClusterRank::SendRequest final : public ClusterRequest {
 public:
  SendRequest(ClusterRank& rank, const SendArguments& arguments) : rank_(rank) {
    record_.owner = this;
    record_.on_complete = [](SendRecord& record) {
      const auto* self = static_cast<SendRequest*>(record.owner);
      self->rank_.completed(*self);
    };
    rank.engine().send(record_, arguments);
  }
  [[nodiscard]] bool done() const override { return record_.done; }
  Received observe() override { return {record_.outcome, 0, 0, 0}; }

 private:
  ClusterRank& rank_;
  SendRecord record_;
};

class ClusterRank::ReceiveRequest final : public ClusterRequest {
 public:
  ReceiveRequest(ClusterRank& rank, int from, int tag, MutableBytes into) : rank_(rank) {
    record_.owner = this;
    record_.on_complete = [](ReceiveRecord& record) {
      const auto* self = static_cast<ReceiveRequest*>(record.owner);
      self->rank_.completed(*self);
    };
    rank.engine().receive(record_, rank.world(), from, tag, into);
  }
  [[nodiscard]] bool done() const override { return record_.done; }
  Received observe() override {
    rank_.engine().observe(record_);
    const Envelope& e = record_.envelope;
    return {record_.outcome, e.source, e.tag, record_.received};
  }
  bool cancel() override { return rank_.engine().cancel(record_); }

 private:
  ClusterRank& rank_;
  ReceiveRecord record_;
};

class ClusterRank::CollectiveRequest final : public ClusterRequest {
 public:
  CollectiveRequest(ClusterRank& rank, const Operation& operation, const CollectiveBuffers& buffers,
                    Reducer* reducer)
      : rank_(rank), collective_(rank.engine(), rank.collective_world()) {
    collective_.owner = this;
    collective_.on_complete = [](Collective& collective) {
      const auto* self = static_cast<CollectiveRequest*>(collective.owner);
      self->rank_.completed(*self);
    };
    collective_.start(operation, buffers, reducer);
  }
  [[nodiscard]] bool done() const override { return collective_.done(); }
  Received observe() override {
    collective_.observe();
    return {collective_.outcome(), 0, 0, 0};
  }

 private:
  ClusterRank& rank_;
  Collective collective_;
};

/// Suspends the program until the request is complete.
struct ClusterRank::Completion {
  ClusterRank& rank;
  const ClusterRequest& request;
  [[nodiscard]] bool await_ready() const { return request.done(); }
  void await_suspend(std::coroutine_handle<> waiter) const {
    rank.waiter_ = waiter;
    rank.awaited_ = &request;
  }
  void await_resume() const {}
};

void ClusterRank::completed(const ClusterRequest& request) {
  if (awaited_ != &request) return;
  awaited_ = nullptr;
  cluster_.ready_.push_back(std::exchange(waiter_, nullptr));
}

// --- one rank ---

int ClusterRank::size() const {
  return cluster_.ranks();
}
Engine& ClusterRank::engine() {
  return cluster_.engine(rank_);
}
Context& ClusterRank::world() {
  return *cluster_.worlds_[static_cast<std::size_t>(rank_)];
}
Context& ClusterRank::collective_world() {
  return *cluster_.collective_worlds_[static_cast<std::size_t>(rank_)];
}

Task<Outcome> ClusterRank::send(int to, Bytes data, int tag, ElementType element) {
  SendRequest request(*this, {world(), to, tag, data, element, false});
  co_await Completion{*this, request};
  co_return request.observe().outcome;
}

Task<Outcome> ClusterRank::ssend(int to, Bytes data, int tag, ElementType element) {
  SendRequest request(*this, {world(), to, tag, data, element, true});
  co_await Completion{*this, request};
  co_return request.observe().outcome;
}

Task<Received> ClusterRank::receive(int from, MutableBytes into, int tag) {
  ReceiveRequest request(*this, from, tag, into);
  co_await Completion{*this, request};
  co_return request.observe();
}

Task<Received> ClusterRank::sendrecv(int to, Bytes data, int from, MutableBytes into, int tag) {
  ReceiveRequest incoming(*this, from, tag, into);
  SendRequest outgoing(*this, {world(), to, tag, data, ElementType::kByte, false});
  co_await Completion{*this, outgoing};
  co_await Completion{*this, incoming};
  const Outcome sent = outgoing.observe().outcome;
  Received received = incoming.observe();
  if (received.outcome == Outcome::kOk) received.outcome = sent;
  co_return received;
}

ClusterRequestPointer ClusterRank::isend(int to, Bytes data, int tag, ElementType element) {
  return std::make_unique<SendRequest>(*this, SendArguments{world(), to, tag, data, element, false});
}

ClusterRequestPointer ClusterRank::issend(int to, Bytes data, int tag, ElementType element) {
  return std::make_unique<SendRequest>(*this, SendArguments{world(), to, tag, data, element, true});
}

ClusterRequestPointer ClusterRank::irecv(int from, MutableBytes into, int tag) {
  return std::make_unique<ReceiveRequest>(*this, from, tag, into);
}

Task<Received> ClusterRank::wait(ClusterRequestPointer& request) {
  co_await Completion{*this, *request};
  const Received received = request->observe();
  request.reset();
  co_return received;
}

Task<Outcome> ClusterRank::wait_all(std::vector<ClusterRequestPointer>& requests) {
  for (const ClusterRequestPointer& request : requests) co_await Completion{*this, *request};
  Outcome outcome = Outcome::kOk;
  for (const ClusterRequestPointer& request : requests) {
    const Outcome one = request->observe().outcome;
    if (outcome == Outcome::kOk) outcome = one;
  }
  requests.clear();
  co_return outcome;
}

// --- collectives of one rank ---

ClusterRequestPointer ClusterRank::start(const Operation& operation, const CollectiveBuffers& buffers,
                                         Reducer* reducer) {
  return std::make_unique<CollectiveRequest>(*this, operation, buffers, reducer);
}

Task<Outcome> ClusterRank::collective(Operation operation, CollectiveBuffers buffers, Reducer* reducer) {
  CollectiveRequest request(*this, operation, buffers, reducer);
  co_await Completion{*this, request};
  co_return request.observe().outcome;
}

Operation ClusterRank::operation(OperationKind kind, Elements elements, std::size_t bytes, int root) const {
  Operation operation;
  operation.kind = kind;
  operation.element = elements.type;
  operation.bytes = bytes;
  operation.elements = bytes / elements.size;
  operation.ranks = size();
  operation.root = root;
  return operation;
}

Operation ClusterRank::reduction(OperationKind kind, const ElementReducer& reducer, std::size_t bytes,
                                 int root) const {
  Operation reduction = operation(kind, {reducer.kind().element, reducer.kind().element_bytes}, bytes, root);
  reduction.function = reducer.kind().function;
  reduction.commutative = reducer.kind().commutative;
  return reduction;
}

Task<Outcome> ClusterRank::bcast(MutableBytes buffer, int root, Elements elements) {
  return collective(operation(OperationKind::kBcast, elements, buffer.size(), root),
                    {buffer, buffer, buffer.size()});
}

Task<Outcome> ClusterRank::reduce(Bytes data, MutableBytes into, int root, ElementReducer& reducer) {
  return collective(reduction(OperationKind::kReduce, reducer, data.size(), root),
                    {data, rank_ == root ? into : MutableBytes(), data.size()}, &reducer);
}

Task<Outcome> ClusterRank::allreduce(Bytes data, MutableBytes into, ElementReducer& reducer) {
  return collective(reduction(OperationKind::kAllreduce, reducer, data.size(), 0), {data, into, data.size()},
                    &reducer);
}

Task<Outcome> ClusterRank::gather(Bytes data, MutableBytes into, int root, Elements elements) {
  return collective(operation(OperationKind::kGather, elements, data.size(), root),
                    {data, rank_ == root ? into : MutableBytes(), data.size()});
}

Task<Outcome> ClusterRank::allgather(Bytes data, MutableBytes into, Elements elements) {
  return collective(operation(OperationKind::kAllgather, elements, data.size(), 0),
                    {data, into, data.size()});
}

Task<Outcome> ClusterRank::scatter(Bytes data, MutableBytes into, int root, Elements elements) {
  return collective(operation(OperationKind::kScatter, elements, into.size(), root),
                    {rank_ == root ? data : Bytes(), into, into.size()});
}

Task<Outcome> ClusterRank::reduce_scatter(Bytes data, MutableBytes into, ElementReducer& reducer) {
  const std::size_t block = data.size() / static_cast<std::size_t>(size());
  return collective(reduction(OperationKind::kReduceScatter, reducer, block, 0),
                    {data, into.first(block), block}, &reducer);
}

Task<Outcome> ClusterRank::alltoall(Bytes data, MutableBytes into, Elements elements) {
  const std::size_t block = data.size() / static_cast<std::size_t>(size());
  return collective(operation(OperationKind::kAlltoall, elements, block, 0), {data, into, block});
}

Task<Outcome> ClusterRank::barrier() {
  return collective(operation(OperationKind::kBarrier, {}, 0, 0), {});
}

// --- all ranks ---

Cluster::Cluster(int ranks, const BackendDescription& backend, const Settings& settings,
                 const ClusterOptions& options)
    : options_(options),
      hub_(ranks, options.eager_limit, options.shuffle_seed),
      order_(static_cast<std::size_t>(ranks)),
      shuffle_(options.shuffle_seed) {
  std::iota(order_.begin(), order_.end(), 0);
  const auto world = std::make_shared<const std::vector<int>>(order_);
  const auto members =
      options.members.empty() ? world : std::make_shared<const std::vector<int>>(options.members);
  for (int rank = 0; rank < ranks; ++rank) {
    std::unique_ptr<Lane> lane = make_lane(backend, settings, rank);
    engines_.push_back(std::make_unique<Engine>(hub_.at(rank), std::move(lane)));
    worlds_.push_back(&engines_.back()->open_context(0, rank, world));
    const auto place = std::find(members->begin(), members->end(), rank) - members->begin();
    collective_worlds_.push_back(
        &engines_.back()->open_context(kCollectiveContext, static_cast<int>(place), members));
    handles_.push_back(std::make_unique<ClusterRank>(*this, rank));
  }
}

Cluster::Cluster(int ranks, const BackendDescription& backend, const ClusterOptions& options)
    : Cluster(ranks, backend, Settings::defaults(backend.parameters), options) {}

Cluster::~Cluster() = default;

std::unique_ptr<Lane> Cluster::make_lane(const BackendDescription& backend, const Settings& settings,
                                         int rank) const {
  const BackendDescription& host = host_description();
  const FaultRates faults = options_.faults.timeless();
  std::vector<Lane::Member> members;
  const auto add = [&](const BackendDescription& description, Settings values) {
    auto kept = std::make_unique<Settings>(std::move(values));
    std::unique_ptr<Backend> made =
        description.create({rank, ranks(), *kept, faults, nullptr, nullptr, options_.machine});
    members.emplace_back(std::string(description.name), std::move(made), std::move(kept));
  };
  add(host, backend.name == host.name ? settings : Settings::defaults(host.parameters));
  if (backend.name != host.name) add(backend, settings);
  const auto primary = static_cast<std::uint8_t>(members.size() - 1);
  auto lane = std::make_unique<Lane>(std::move(members), primary, std::vector<RouteRule>(), 1);
  lane->faulty = faults.any();
  return lane;
}

std::string Cluster::run(const Program& program) {
  assert(std::all_of(handles_.begin(), handles_.end(),
                     [](const auto& h) { return !h->program_.valid() || h->program_.done(); }));
  for (auto& handle : handles_) handle->program_.reset();
  program_ = program;  // keeps the lambda alive: its coroutines refer to its captures
  start_programs();
  constexpr int kPatience = 4000;  // turns without any event: longer than an engine waits in vain
  const auto has_ended = [&] {
    return std::all_of(handles_.begin(), handles_.end(),
                       [](const auto& handle) { return handle->program_.done(); });
  };
  for (int idle = 0; idle < kPatience && (idle == 0 || !has_ended());)
    idle = resume_ready() || progress() > 0 ? 0 : idle + 1;
  return has_ended() ? std::string() : deadlock();
}

void Cluster::start_programs() {
  for (const int rank : order_) {
    ClusterRank& handle = *handles_[static_cast<std::size_t>(rank)];
    handle.program_ = program_(handle);
    handle.program_.start();
  }
}

bool Cluster::resume_ready() {
  if (ready_.empty()) return false;
  while (!ready_.empty()) {
    const std::coroutine_handle<> next = ready_.back();
    ready_.pop_back();
    next.resume();
  }
  return true;
}

/// One turn for every rank; a rank whose wait has ended continues in it.
int Cluster::progress() {
  if (shuffle_ != 0) {
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[xorshift(shuffle_) % i]);
  }
  int events = 0;
  for (const int rank : order_) {
    const int own = engine(rank).progress();
    events += own;
    if (own > 0) resume_ready();
  }
  return events;
}

std::string Cluster::deadlock() {
  std::string text;
  for (const auto& handle : handles_) {
    if (handle->program_.done()) continue;
    text += fmt::format("rank {} of {} waits:\n{}", handle->rank(), ranks(), handle->engine().describe());
  }
  return text;
}

}  // namespace offramp
