// The clock tree of [tinsel-asap], vertex by vertex. Vertices are placed depth first, so that subtrees are on
// consecutive threads. A message between two vertices of one thread bypasses the network and is a timer.
#include "simulators/tinsel/clock_tree.hpp"

#include "simulators/tinsel/placement.hpp"

namespace offramp::tinsel {
namespace {

class ClockTree final : public Software {
 public:
  ClockTree(Machine& machine, const ClockTreeSpec& spec)
      : machine_(machine), spec_(spec), vertices_(vertices_of(spec)) {
    std::int64_t leaves = 1;
    for (int level = 0; level < spec.depth; ++level) leaves *= spec.fan_out;
    inner_ = vertices_ - leaves;
    places_.resize(static_cast<std::size_t>(vertices_));
    acknowledged_.resize(places_.size());
    threads_.resize(static_cast<std::size_t>(std::int64_t{machine.spec().mesh.boards()} * kThreadsPerBoard));
    place();
  }

  Time run() {
    machine_.reset();
    machine_.run_on(this);
    // The root's tick begins at time 0.
    tick(0, {});
    const bool whole = machine_.run();
    machine_.run_on(nullptr);
    return whole ? done_ : Time();
  }

  void delivered(const Delivery& delivery) override {
    const auto vertex = static_cast<std::int64_t>(delivery.message.words[1]);
    Arbiter& thread = thread_of(vertex);
    const Time pointer = delivery.pointer[place_at(vertex).thread];
    const Time at = acquire_thread(thread, pointer);
    // The slot is free as soon as the thread has read the message.
    machine_.free(at, delivery.slot);
    handle(vertex, delivery.message.words[2] != 0, at);
  }

  /// Delivers a message between two vertices of one thread.
  void timer(Time at, std::uint64_t cookie) override {
    const auto vertex = static_cast<std::int64_t>(cookie >> 1U);
    handle(vertex, (cookie & 1U) != 0, acquire_thread(thread_of(vertex), at));
  }

 private:
  /// Places vertices depth first, which keeps subtrees together.
  void place() {
    const auto threads = static_cast<std::int64_t>(threads_.size());
    std::vector<std::int64_t> open = {0};
    for (std::int64_t next = 0; !open.empty(); ++next) {
      const std::int64_t vertex = open.back();
      open.pop_back();
      places_[static_cast<std::size_t>(vertex)] =
          // With more vertices than threads, neighbouring vertices share a thread.
          static_cast<std::int32_t>(vertices_ <= threads ? next : next * threads / vertices_);
      for (int child = spec_.fan_out; vertex < inner_ && child >= 1; --child)
        open.push_back(vertex * spec_.fan_out + child);
    }
  }
  [[nodiscard]] ThreadLocation place_at(std::int64_t vertex) const {
    return place_of(places_[static_cast<std::size_t>(vertex)], layout_of(Policy::kDense),
                    machine_.spec().mesh);
  }
  Arbiter& thread_of(std::int64_t vertex) {
    return threads_[static_cast<std::size_t>(places_[static_cast<std::size_t>(vertex)])];
  }
  [[nodiscard]] Time instructions(int count) const {
    return machine_.spec().cycles(std::int64_t{spec_.pipeline} * count);
  }

  Time acquire_thread(Arbiter& thread, Time pointer) const {
    // A thread that waits for the pointer is asleep. A busy one finds the message without being woken.
    const int wake = thread.free_at() <= pointer ? spec_.wake : 0;
    return thread.acquire(pointer, instructions(spec_.receive + wake)).end;
  }
  void handle(std::int64_t vertex, bool is_acknowledgement, Time at) {
    if (!is_acknowledgement) return vertex < inner_ ? tick(vertex, at) : acknowledge(vertex, at);
    // A vertex answers once all of its children have.
    if (++acknowledged_[static_cast<std::size_t>(vertex)] < spec_.fan_out) return;
    vertex == 0 ? void(done_ = at) : acknowledge(vertex, at);
  }
  void tick(std::int64_t vertex, Time at) {
    for (int child = 1; child <= spec_.fan_out; ++child)
      send(vertex, vertex * spec_.fan_out + child, false, at);
  }
  void acknowledge(std::int64_t vertex, Time at) { send(vertex, (vertex - 1) / spec_.fan_out, true, at); }
  void send(std::int64_t from, std::int64_t to, bool is_acknowledgement, Time at) {
    Arbiter& thread = thread_of(from);
    const Time ready = thread.acquire(at, instructions(spec_.send)).end;
    // Vertices of one thread exchange no message: the framework passes it on directly.
    if (&thread == &thread_of(to))
      return machine_.set_timer(ready, static_cast<std::uint64_t>(to) << 1U | (is_acknowledgement ? 1U : 0U));
    MailboxMessage message;
    message.to = Address::thread(place_at(to));
    message.words[1] = static_cast<std::uint32_t>(to);
    message.words[2] = is_acknowledgement ? 1 : 0;
    machine_.send(ready, place_at(from), message);
  }

  Machine& machine_;
  const ClockTreeSpec spec_;
  std::int64_t vertices_;
  std::int64_t inner_ = 0;
  std::vector<std::int32_t> places_;  // thread of each vertex
  std::vector<int> acknowledged_;
  std::vector<Arbiter> threads_;
  Time done_;
};

}  // namespace

std::int64_t vertices_of(const ClockTreeSpec& tree) {
  std::int64_t level = 1;
  std::int64_t sum = 1;
  for (int d = 0; d < tree.depth; ++d) sum += level *= tree.fan_out;
  return sum;
}

Time run_clock_tree(Machine& machine, const ClockTreeSpec& tree) {
  return ClockTree(machine, tree).run();
}

}  // namespace offramp::tinsel
