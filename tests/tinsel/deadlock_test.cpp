// Links have no virtual channels, so messages cannot block each other for ever exactly if the graph of links
// that can wait for each other has no cycle (Dally and Seitz 1987). The graph is derived from the tables
// themselves and from the routers' unicast routes.
#include <gtest/gtest.h>

#include <functional>

#include "tests/tinsel/support.hpp"

namespace offramp::tinsel {
namespace {

class Waits {
 public:
  explicit Waits(const Mesh& mesh) : mesh_(mesh), after_(static_cast<std::size_t>(mesh.boards() * kLinks)) {}

  void add(int from_link, int to_link) {
    if (from_link >= 0) after_[static_cast<std::size_t>(from_link)].insert(to_link);
  }
  [[nodiscard]] static int link(int board, Direction d) { return board * kLinks + static_cast<int>(d); }

  void add_unicast() {
    for (int from = 0; from < mesh_.boards(); ++from) {
      for (int to = 0; to < mesh_.boards(); ++to) {
        int last = -1;
        for (int at = from; at != to;) {
          const int port = bypass_port(mesh_, at, Address::threads(static_cast<std::uint16_t>(to), 0, 1));
          const int next = link(at, static_cast<Direction>(port));
          add(last, next);
          last = next;
          at = mesh_.neighbour(at, static_cast<Direction>(port));
        }
      }
    }
  }

  /// All paths of a keyed message, read from the tables.
  void add_keyed(Machine& machine, int board, const Key& key, int last) {
    for (const Record& record : expand(machine.tables(board), key).records) {
      if (record.type() != RecordType::kRr) continue;
      const int next = link(board, record.direction());
      add(last, next);
      add_keyed(machine, mesh_.neighbour(board, record.direction()), Key::decode(record.new_key()), next);
    }
  }

  [[nodiscard]] bool circular() const {
    std::vector<int> state(after_.size());  // 1: on the path, 2: done
    const std::function<bool(int)> visit = [&](int at) {
      int& s = state[static_cast<std::size_t>(at)];
      if (s != 0) return s == 1;
      s = 1;
      for (const int next : after_[static_cast<std::size_t>(at)]) {
        if (visit(next)) return true;
      }
      s = 2;
      return false;
    };
    for (int at = 0; at < static_cast<int>(after_.size()); ++at) {
      if (visit(at)) return true;
    }
    return false;
  }

 private:
  Mesh mesh_;
  std::vector<std::set<int>> after_;
};

bool can_deadlock(DimensionOrder order) {
  Machine machine(small_machine(6, 8));
  const Mesh& mesh = machine.spec().mesh;
  std::vector<ThreadLocation> everywhere;
  for (int b = 0; b < mesh.boards(); ++b) everywhere.push_back({static_cast<std::uint16_t>(b), 0, 0});
  Waits waits(mesh);
  waits.add_unicast();
  for (int root = 0; root < mesh.boards(); ++root)
    waits.add_keyed(machine, root, build_tree(machine, root, everywhere, 1, order).key, -1);
  return waits.circular();
}

TEST(TinselDeadlock, TreesInTheOrderOfUnicastCannotDeadlock) {
  EXPECT_FALSE(can_deadlock(DimensionOrder::kYFirst));
}

TEST(TinselDeadlock, TreesInTheOtherOrderCan) {
  EXPECT_TRUE(can_deadlock(DimensionOrder::kXFirst));
}

}  // namespace
}  // namespace offramp::tinsel
