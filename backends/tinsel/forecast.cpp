#include "backends/tinsel/forecast.hpp"

#include <fmt/format.h>

#include <memory>
#include <unordered_map>
#include <utility>

#include "backends/tinsel/algorithms.hpp"
#include "backends/tinsel/flows.hpp"
#include "backends/tinsel/tinsel.hpp"
#include "simulators/model/message_forecast.hpp"

namespace offramp::tinsel {
namespace {

// Buffers that nobody looks into, at different addresses: algorithms see from these what is in place already.
constexpr std::uintptr_t kNowhere = (std::uintptr_t{1} << 62) | (std::uintptr_t{1} << 55);
constexpr std::uintptr_t kApart = std::uintptr_t{1} << 45;
constexpr std::uint64_t kMostMessages = 4'000'000;

MutableBytes nowhere(int which, std::size_t bytes) {
  return {reinterpret_cast<std::byte*>(kNowhere + kApart * static_cast<std::uintptr_t>(which)), bytes};
}

class World;

/// A message between two ranks of the forecast, as both of them see it.
struct Post {
  int from = 0;
  int to = 0;
  std::uint64_t bytes = 0;
  bool token = false;
  bool handshake = false;
  Stamp stamp;          // of a token
  bool posted = false;  // the receive
  Time posted_at;
  bool requested = false;  // the request has arrived
  bool sent = false;
  Time sent_at;
  bool arrived = false;
  Time first;
  Time last;
  std::coroutine_handle<> sender;
  std::coroutine_handle<> receiver;
};

class Member final : public Team {
 public:
  Member(World& world, int rank, int size) : Team(rank, size, false), world_(world) {}
  MutableBytes scratch(std::size_t bytes) override {
    const MutableBytes memory = nowhere(3, bytes);
    MutableBytes result(memory.data() + scratch_, bytes);
    scratch_ += bytes + 1;
    return result;
  }

 protected:
  void combine_elements(Bytes, MutableBytes) override {}
  Handle start_send(int peer, Bytes data, const Stamp* stamp) override;
  Handle start_receive(int peer, MutableBytes data, bool token) override;
  bool ready(Handle handle) override;
  void wait(Handle handle, std::coroutine_handle<> waiter) override;
  Outcome finish(Handle handle) override;
  Arrival take(Handle handle) override;

 private:
  /// A handle is a post, and in its lowest bit the side.
  static Handle sending(Post* post) { return post; }
  static Handle receiving(Post* post) { return reinterpret_cast<std::byte*>(post) + 1; }
  static bool is_receive(Handle handle) { return (reinterpret_cast<std::uintptr_t>(handle) & 1U) != 0; }
  static Post& post_of(Handle handle) {
    return *reinterpret_cast<Post*>(reinterpret_cast<std::uintptr_t>(handle) & ~std::uintptr_t{1});
  }

  World& world_;
  std::size_t scratch_ = 0;
};

class World {
 public:
  World(const Configuration& configuration_, const Operation& operation)
      : configuration(configuration_),
        flows(configuration,
              {[this](std::uint32_t flow, Time at) { sent(flow, at); },
               [this](std::uint32_t flow, Time first, Time last) { arrived(flow, first, last); }}),
        device_(configuration, {}),
        operation_(operation) {}

  Forecast run() {
    const int ranks = operation_.ranks;
    for (int r = 0; r < ranks; ++r) members_.push_back(std::make_unique<Member>(*this, r, ranks));
    prepare_keys();
    for (int r = 0; r < ranks; ++r)
      tasks_.push_back(
          run_collective(device_, operation_, *members_[static_cast<std::size_t>(r)], buffers(r), 0));
    for (Task<Outcome>& task : tasks_) task.start();
    const bool whole = flows.run();
    Forecast result;
    for (int r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      result.time = later(result.time, members_[i]->clock);
      if (!tasks_[i].done()) result.declined = "the simulated hardware stopped";
    }
    if (!whole) result.declined = "the simulated hardware stopped";
    result.engine = result.time;
    result.wire = device_.wire();
    WireCounters wire = flows.wire();
    wire.payload_bytes = payload_;
    result.wire += wire;
    return result;
  }

  /// The next message from one rank to another one, as sender and as receiver count them.
  Post& post(int from, int to, bool as_receiver) {
    Pair& pair = pairs_[static_cast<std::uint64_t>(from) << 32U | static_cast<std::uint64_t>(to)];
    std::size_t& next = as_receiver ? pair.received : pair.sent;
    while (pair.posts.size() <= next) {
      pair.posts.push_back(std::make_unique<Post>());
      pair.posts.back()->from = from;
      pair.posts.back()->to = to;
    }
    return *pair.posts[next++];
  }

  /// The message leaves: whole, or a request for it.
  void depart(Post& post, Time issued) {
    payload_ += post.bytes;
    post.handshake = post.bytes > configuration.eager_limit;
    const std::uint64_t bytes = post.handshake ? 0 : post.bytes;
    start(post, post.from, post.to, bytes, issued + configuration.send_call,
          post.handshake ? kRequest : kData);
  }
  void receive_posted(Post& post) {
    if (post.handshake && post.requested) grant(post, post.posted_at);
  }

  const Configuration& configuration;
  Flows flows;

 private:
  enum Kind : std::uint8_t { kData, kRequest, kGrant };
  struct Pair {
    std::vector<std::unique_ptr<Post>> posts;
    std::size_t sent = 0;
    std::size_t received = 0;
  };

  void start(Post& post, int from, int to, std::uint64_t bytes, Time at, Kind kind) {
    flows_of_.emplace_back(&post, kind);
    flows.send(from, to, bytes, later(at, flows.now()));
  }
  void grant(Post& post, Time at) {
    start(post, post.to, post.from, 0, at + configuration.receive_call, kGrant);
  }

  void sent(std::uint32_t flow, Time at) {
    const auto [post, kind] = flows_of_[flow];
    if (kind != kData) return;
    post->sent = true;
    post->sent_at = at;
    if (post->sender != nullptr) std::exchange(post->sender, nullptr).resume();
  }
  void arrived(std::uint32_t flow, Time first, Time last) {
    const auto [post, kind] = flows_of_[flow];
    if (kind == kRequest) {
      post->requested = true;
      if (post->posted) grant(*post, later(last, post->posted_at));
      return;
    }
    if (kind == kGrant)
      return start(*post, post->from, post->to, post->bytes, last + configuration.receive_call, kData);
    post->arrived = true;
    post->first = first;
    post->last = last;
    if (post->receiver != nullptr) std::exchange(post->receiver, nullptr).resume();
  }

  /// Trees are there already: a forecast tells of any broadcast but a communicator's first.
  void prepare_keys() {
    Communicator& communicator = device_.communicator(*members_.front());
    Time setup;
    const bool rooted = operation_.kind == OperationKind::kBcast;
    static_cast<void>(device_.plan(communicator, rooted ? operation_.root : 0, setup));
    device_.forget_traffic();
  }

  CollectiveBuffers buffers(int rank) const {
    const std::size_t bytes = operation_.bytes;
    const std::size_t all = bytes * static_cast<std::size_t>(operation_.ranks);
    const bool root = rank == operation_.root;
    CollectiveBuffers b;
    b.block = bytes;
    switch (operation_.kind) {
      case OperationKind::kBcast:
        b.receive = nowhere(1, bytes);
        break;
      case OperationKind::kGather:
        b.send = nowhere(2, bytes);
        if (root) b.receive = nowhere(1, all);
        break;
      case OperationKind::kScatter:
        if (root) b.send = nowhere(2, all);
        b.receive = nowhere(1, bytes);
        break;
      case OperationKind::kAllgather:
        b.send = nowhere(2, bytes);
        b.receive = nowhere(1, all);
        break;
      case OperationKind::kReduceScatter:
        b.send = nowhere(2, all);
        b.receive = nowhere(1, bytes);
        break;
      case OperationKind::kAlltoall:
        b.send = nowhere(2, all);
        b.receive = nowhere(1, all);
        break;
      case OperationKind::kReduce:
      case OperationKind::kAllreduce:
        b.send = nowhere(2, bytes);
        if (root || operation_.kind == OperationKind::kAllreduce) b.receive = nowhere(1, bytes);
        break;
      case OperationKind::kBarrier:
      case OperationKind::kSend:
      default:
        break;
    }
    return b;
  }

  Device device_;
  Operation operation_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Task<Outcome>> tasks_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::vector<std::pair<Post*, Kind>> flows_of_;
  std::uint64_t payload_ = 0;
};

Team::Handle Member::start_send(int peer, Bytes data, const Stamp* stamp) {
  Post& post = world_.post(rank(), peer, false);
  post.bytes = data.size();
  if (stamp == nullptr) {
    world_.depart(post, clock);
    return sending(&post);
  }
  post.token = true;
  post.stamp = *stamp;
  post.sent = post.arrived = true;
  if (post.receiver != nullptr) std::exchange(post.receiver, nullptr).resume();
  return sending(&post);
}

Team::Handle Member::start_receive(int peer, MutableBytes, bool token) {
  Post& post = world_.post(peer, rank(), true);
  post.posted = true;
  if (!token) clock += world_.configuration.receive_call;
  post.posted_at = clock;
  if (!token) world_.receive_posted(post);
  return receiving(&post);
}

bool Member::ready(Handle handle) {
  const Post& post = post_of(handle);
  return is_receive(handle) ? post.arrived : post.sent;
}

void Member::wait(Handle handle, std::coroutine_handle<> waiter) {
  Post& post = post_of(handle);
  (is_receive(handle) ? post.receiver : post.sender) = waiter;
}

Outcome Member::finish(Handle handle) {
  const Post& post = post_of(handle);
  const Time at = is_receive(handle)
                      ? world_.configuration.taken_up(post.posted_at, post.first, post.last, post.bytes)
                      : post.sent_at;
  clock = later(clock, at);
  return Outcome::kOk;
}

Team::Arrival Member::take(Handle handle) {
  Arrival arrival;
  arrival.stamp = post_of(handle).stamp;
  return arrival;
}

}  // namespace

Forecast forecast(const Operation& operation, const BackendContext& context) {
  Forecast result;
  const Configuration configuration(context.settings, operation.ranks);
  const auto ranks = static_cast<std::uint64_t>(operation.ranks);
  if (!configuration.fits) {
    result.declined = configuration.too_many;
    return result;
  }
  if (operation.kind == OperationKind::kAlltoall && ranks * ranks > kMostMessages) {
    result.declined =
        fmt::format("a forecast simulates at most {} messages, and an alltoall of {} ranks has {}",
                    kMostMessages, ranks, ranks * ranks);
    return result;
  }
  if (operation.kind == OperationKind::kSend) return forecast_message(tinsel_backend(), operation, context);
  World world(configuration, operation);
  result = world.run();
  // In one network a packet's fate would depend on those of all others: a run's ranks draw each its own.
  if (context.faults.any())
    result.note = "the wires' faults are left out: collectives are predicted without them";
  return result;
}

}  // namespace offramp::tinsel
