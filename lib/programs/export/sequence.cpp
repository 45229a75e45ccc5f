// Communicators get ids by their lists of members: members are visited one after the other, and all of them
// have to find the same id. Two communicators with equal members are therefore one. A program that is a graph
// already is passed through.
#include "lib/programs/export/sequence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "lib/programs/export/program_visitor.hpp"

namespace offramp::trace {
namespace {

using Node = Graph::Node;

/// The graph of a rank that is a sequence of calls. Each call waits for the end of the previous one, or for
/// its beginning if it did not block.
class Sequence final : public ProgramVisitor {
 public:
  Sequence(const Program& program, std::vector<std::string>& unsupported, std::string_view no_collectives)
      : ProgramVisitor(program, unsupported), no_collectives_(no_collectives) {}

  Result<Graph> graph(int rank) {
    has_last_ = false;
    requests_.clear();
    communicators_.clear();
    if (const Result<void> done = visit(rank); !done) return failure(done.error());
    return builder_.build();
  }

 private:
  std::uint32_t follow(std::uint32_t number, bool blocks) {
    if (has_last_) builder_.depend(number, last_, !blocks_);
    has_last_ = true;
    last_ = number;
    blocks_ = blocks;
    return number;
  }

  void compute(std::uint64_t nanoseconds) final {
    (void)follow(builder_.add(Node{.size = nanoseconds}), true);
  }
  void message(const MessageCall& message) final {
    if (message.synchronous) unsupported("written as plain sends: synchronous sends");
    const Node node{.kind = message.sends ? Graph::NodeKind::kSend : Graph::NodeKind::kReceive,
                    .peer = message.peer,
                    .tag = message.tag,
                    .size = message.bytes};
    const std::uint32_t number = follow(builder_.add(node), message.blocking);
    if (!message.blocking && !message.buffered) requests_.emplace(message.request, number);
  }
  void wait(std::span<const std::uint64_t> requests) final {
    // A wait is a computation of no length: it ends when all its requests have.
    const std::uint32_t number = follow(builder_.add(Node{}), true);
    for (const std::uint64_t request : requests) {
      const auto node = requests_.extract(request);
      if (!node.empty()) builder_.depend(number, node.mapped());
    }
  }
  [[nodiscard]] bool holds_nonblocking_collectives() const final { return no_collectives_.empty(); }
  void collective(const recording::Event& event, const recording::Reader&, std::span<const int> members,
                  std::optional<std::uint64_t> request) final {
    if (members.size() == 1) return unsupported("left out: collectives on a communicator of one rank");
    if (!no_collectives_.empty()) return fail(fmt::format("a collective; {}", no_collectives_));
    if (event.list != 0 || event.second_list != 0 || event.operation == OperationKind::kGatherv ||
        event.operation == OperationKind::kScatterv)
      return fail("a collective with blocks of different sizes, but the format has one size for all");
    recording::Event kept = event;
    kept.communicator = communicator(members);
    const std::uint32_t number = follow(builder_.add(kept), !request);
    if (request) requests_.emplace(*request, number);
  }
  std::uint32_t communicator(std::span<const int> members) {
    if (members.size() == static_cast<std::size_t>(ranks()) && std::is_sorted(members.begin(), members.end()))
      return recording::kWorld;
    const std::vector<std::uint64_t> list(members.begin(), members.end());
    const auto known = communicators_.find(list);
    if (known != communicators_.end()) return known->second;
    // Members are visited one after the other and get the same number.
    const std::uint64_t id = ids_.try_emplace(list, ids_.size() + 1).first->second;
    const std::uint32_t number = builder_.add(Graph::Communicator{list, id});
    communicators_.emplace(list, number);
    return number;
  }
  void end() final {}

  std::string_view no_collectives_;
  GraphBuilder builder_;
  bool has_last_ = false;
  std::uint32_t last_ = 0;
  bool blocks_ = true;  // the last call blocked
  std::unordered_map<std::uint64_t, std::uint32_t> requests_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> communicators_;  // of this rank
  std::map<std::vector<std::uint64_t>, std::uint64_t> ids_;
};

}  // namespace

std::function<Result<Graph>(int rank)> graphs_of(const Program& program,
                                                 std::vector<std::string>& unsupported,
                                                 std::string_view no_collectives) {
  if (program.graph) {
    return [graph = program.graph, no_collectives](int rank) -> Result<Graph> {
      Result<Graph> made = graph(rank);
      if (made && !no_collectives.empty() && !made->collectives.empty())
        return failure(fmt::format("rank {}: a collective; {}", rank, no_collectives));
      return made;
    };
  }
  const auto sequence = std::make_shared<Sequence>(program, unsupported, no_collectives);
  return [sequence](int rank) { return sequence->graph(rank); };
}

}  // namespace offramp::trace
