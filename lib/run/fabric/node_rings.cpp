// The first rank of a node creates the segment, and its name is removed once all have mapped it: no file is
// left behind if a process dies later. Pages of a ring are populated when it is first used. A full /dev/shm
// then disables one ring instead of ending the process by SIGBUS. Rings shrink to 8 KiB before they are given
// up.
#include "lib/run/fabric/node_rings.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace offramp {
namespace {

constexpr std::size_t kPage = 4096;
// Room for hundreds of small messages, or for seven of the largest.
constexpr std::size_t kWideRing = std::size_t{64} << 10U;
constexpr std::size_t kNarrowRing = std::size_t{8} << 10U;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// The bytes of each ring. 0 if the room is insufficient.
std::size_t ring_that_fits(std::size_t ranks, double room) {
  for (std::size_t bytes = kWideRing; ranks > 1 && bytes >= kNarrowRing; bytes /= 2) {
    if (static_cast<double>(ranks * ranks * bytes) <= room) return bytes;
  }
  return 0;
}

std::string new_name() {
  std::random_device random;
  return "/offramp-" + std::to_string(getpid()) + "-" + std::to_string(random());
}

}  // namespace

NodeRings::Layout::Layout(std::size_t ranks_, std::size_t ring_bytes_)
    : ranks(ranks_),
      ring_bytes(ring_bytes_),
      sender_words((ranks + 63) / 64),
      board_words(rounded_up((1 + sender_words) * sizeof(std::uint64_t), kCacheLine) / sizeof(std::uint64_t)),
      counters(ranks * board_words * sizeof(std::uint64_t)),
      rings(rounded_up(counters + ranks * ranks * kCacheLine, kPage)),
      shared(rings + ranks * ranks * ring_bytes),
      bytes(shared + ranks * kSharedBytes) {}

NodeRings::~NodeRings() {
  if (memory_ != nullptr) munmap(memory_, layout_.bytes);
}

/// Creates the segment. Returns its name and the size of a ring, or an empty string on failure.
std::string NodeRings::create(std::size_t ranks, double bytes) {
  const std::size_t ring_bytes = ring_that_fits(ranks, bytes);
  if (ring_bytes == 0) return {};
  const Layout layout(ranks, ring_bytes);
  const std::string name = new_name();
  // Exclusive creation with private mode: no other user can prepare or open the segment.
  const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return {};
  // The ends of the segment, the shared memory of the ranks, stay sparse until they are reserved.
  const bool good = ftruncate(file, static_cast<off_t>(layout.bytes)) == 0 &&
                    posix_fallocate(file, 0, static_cast<off_t>(layout.rings)) == 0;
  close(file);
  if (good) return name + " " + std::to_string(ring_bytes);
  shm_unlink(name.c_str());
  return {};
}

bool NodeRings::attach(const std::string& segment, std::size_t ranks) {
  const std::size_t space = segment.find(' ');
  if (space == std::string::npos) return false;
  const std::size_t ring_bytes = std::strtoul(segment.c_str() + space, nullptr, 10);
  if (!std::has_single_bit(ring_bytes) || ring_bytes < kNarrowRing || ring_bytes > kWideRing) return false;
  const Layout layout(ranks, ring_bytes);
  const int file = shm_open(segment.substr(0, space).c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return false;
  struct stat status {};
  void* memory = MAP_FAILED;
  // A segment of another size has another layout.
  if (fstat(file, &status) == 0 && static_cast<std::size_t>(status.st_size) == layout.bytes)
    memory = mmap(nullptr, layout.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  layout_ = layout;
  return true;
}

void NodeRings::open(const std::vector<int>& node, int rank, double bytes, const Exchange& exchange) {
  const bool leads = !node.empty() && node.front() == rank;
  const std::vector<std::string> names = exchange(leads ? create(node.size(), bytes) : std::string());
  const std::string name = node.empty() ? std::string() : names[static_cast<std::size_t>(node.front())];
  const bool attached = !name.empty() && attach(name, node.size());
  const std::vector<std::string> verdicts = exchange(attached ? "+" : "-");
  // All ranks that can map it have done so: the second exchange ensures that.
  if (leads && !name.empty()) shm_unlink(name.substr(0, name.find(' ')).c_str());
  if (!attached) return;
  outgoing_.resize(node.size());
  self_ = static_cast<std::size_t>(std::find(node.begin(), node.end(), rank) - node.begin());
  joins_all_ = true;
  for (std::size_t i = 0; i < node.size(); ++i) {
    const bool there = verdicts[static_cast<std::size_t>(node[i])] == "+";
    incoming_.push_back({RingReader(ring(self_, i)), false});
    outgoing_[i].sees_memory = there;
    if (i != self_ && there) outgoing_[i].state = RingState::kUnused;
    joins_all_ = joins_all_ && there;
  }
  board_ = board_of(self_);
}

bool NodeRings::reserve(std::span<std::byte> pages) {
  return madvise(pages.data(), pages.size(), MADV_POPULATE_WRITE) == 0;
}

bool NodeRings::prepare(std::size_t index) {
  Outgoing& to = outgoing_[index];
  to.state = RingState::kNone;
  const RingMemory memory = ring(index, self_);
  if (!reserve({memory.data, memory.bytes})) return false;
  to.ring = RingWriter(memory);
  to.state = RingState::kReady;
  // The receiver looks at the ring from now on. It sees an empty ring, because the segment began as zeros.
  std::atomic_ref(board_of(index)[1 + self_ / 64]).fetch_or(std::uint64_t{1} << (self_ % 64));
  return true;
}

RingMemory NodeRings::ring(std::size_t receiver, std::size_t sender) const {
  const std::size_t number = receiver * layout_.ranks + sender;
  return {memory_ + layout_.rings + number * layout_.ring_bytes, layout_.ring_bytes,
          reinterpret_cast<std::uint64_t*>(memory_ + layout_.counters + number * kCacheLine)};
}

}  // namespace offramp
