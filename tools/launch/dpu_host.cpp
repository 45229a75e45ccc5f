// A card has several PCI functions with one bus address, and counts once. Indices of NUMA nodes are hwloc's
// logical ones, for cards and cores alike. A file from a newer hwloc is recognised by its version, since
// hwloc only reports that it cannot read it.
#include "tools/launch/dpu_host.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <hwloc/distances.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "lib/base/text_format.hpp"
#include "lib/base/trial_process.hpp"

namespace offramp::tool {
namespace {

using Words = std::vector<std::string>;

// The PCI vendor ID of these cards.
constexpr unsigned kMellanox = 0x15b3;
// PCI IDs of BlueField, BlueField-2, and BlueField-3 network functions on the host.
constexpr std::array<unsigned, 3> kBlueField = {0xa2d2, 0xa2d6, 0xa2dc};

/// The topology of this machine, or of a file that lstopo wrote.
class Topology {
 public:
  explicit Topology(const std::string& xml) {
    usable_ = hwloc_topology_init(&handle_) == 0;
    if (!usable_) return;
    if (!xml.empty() && hwloc_topology_set_xml(handle_, xml.c_str()) != 0) return;
    hwloc_topology_set_io_types_filter(handle_, HWLOC_TYPE_FILTER_KEEP_ALL);
    loaded_ = hwloc_topology_load(handle_) == 0;
  }
  ~Topology() {
    if (usable_) hwloc_topology_destroy(handle_);
  }
  Topology& operator=(Topology&&) = delete;

  [[nodiscard]] bool loaded() const { return loaded_; }
  [[nodiscard]] hwloc_topology_t get() const { return handle_; }

  /// The index of an object's first NUMA node, as in hwloc. 0 if unknown.
  [[nodiscard]] int node_of(hwloc_obj_t object) const {
    // PCI devices have no node set of their own.
    const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(handle_, object);
    const hwloc_obj_t whole = place == nullptr ? object : place;
    const int count = hwloc_get_nbobjs_by_type(handle_, HWLOC_OBJ_NUMANODE);
    for (int i = 0; i < count; ++i) {
      const hwloc_obj_t node = hwloc_get_obj_by_type(handle_, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(i));
      if (whole->nodeset != nullptr && hwloc_bitmap_isset(whole->nodeset, node->os_index) != 0) return i;
    }
    return 0;
  }

 private:
  hwloc_topology_t handle_ = nullptr;
  bool usable_ = false;
  bool loaded_ = false;
};

/// A file has its own host's name; the name of this machine would be wrong there.
std::string host_name(const Topology& topology, bool this_machine) {
  const char* const recorded = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology.get()), "HostName");
  if (recorded != nullptr && *recorded != '\0') return recorded;
  if (!this_machine) return {};
  std::array<char, 256> name{};
  (void)gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Adds a word for each card, with its NUMA node.
void add_cards(const Topology& topology, const std::string& host, Words& words) {
  std::vector<std::array<unsigned, 3>> seen;  // domain, bus, device; a card has several functions
  for (hwloc_obj_t device = hwloc_get_next_pcidev(topology.get(), nullptr); device != nullptr;
       device = hwloc_get_next_pcidev(topology.get(), device)) {
    const auto& pci = device->attr->pcidev;
    const std::array<unsigned, 3> card = {pci.domain, pci.bus, pci.dev};
    if (pci.vendor_id != kMellanox ||
        std::find(kBlueField.begin(), kBlueField.end(), pci.device_id) == kBlueField.end() ||
        std::find(seen.begin(), seen.end(), card) != seen.end())
      continue;
    words.push_back(fmt::format("dpu={}-bf{}@{}", host, seen.size(), topology.node_of(device)));
    seen.push_back(card);
  }
}

/// Adds one word with the NUMA nodes of all cores.
void add_cores(const Topology& topology, Words& words) {
  std::string cores;
  for (hwloc_obj_t core = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_CORE, nullptr);
       core != nullptr; core = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_CORE, core))
    cores += fmt::format("{}{}", cores.empty() ? "" : ",", topology.node_of(core));
  if (!cores.empty()) words.push_back("cores=" + cores);
}

/// Adds the latencies between NUMA nodes, row by row, if the machine reports them.
void add_distances(const Topology& topology, Words& words) {
  unsigned count = 1;
  hwloc_distances_s* distances = nullptr;
  if (hwloc_distances_get_by_type(topology.get(), HWLOC_OBJ_NUMANODE, &count, &distances,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      count == 0)
    return;
  std::string text;
  const std::size_t values = std::size_t{distances->nbobjs} * distances->nbobjs;
  for (std::size_t i = 0; i < values; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ",", distances->values[i]);
  words.push_back("distances=" + text);
  hwloc_distances_release(topology.get(), distances);
}

std::string unreadable(std::string_view what) {
  return fmt::format("hwloc cannot read the topology of {}", what);
}

/// What to do if a newer hwloc wrote the file: `<topology version="3.0">`. Empty if that is not the reason.
std::string newer_format(const std::string& xml) {
  constexpr std::string_view kVersion = "<topology version=\"";
  std::string begin(1000, '\0');
  std::ifstream(xml).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  const std::size_t at = begin.find(kVersion);
  const unsigned known = hwloc_get_api_version() >> 16U;
  const int version = at == std::string::npos ? 0 : std::atoi(&begin[at + kVersion.size()]);
  if (version <= static_cast<int>(known)) return {};
  return fmt::format(": hwloc {} wrote it, and this is hwloc {}: write it with lstopo --of v{}xml", version,
                     known, known);
}

Result<Words> look_at(const std::string& xml) {
  const Topology topology(xml);
  const std::string what = xml.empty() ? "this machine" : xml;
  if (!topology.loaded()) return failure(unreadable(what) + newer_format(xml));
  const std::string name = host_name(topology, xml.empty());
  if (name.empty()) return failure(fmt::format("{} does not contain the host's name", what));
  Words words = {"host=" + name};
  add_cards(topology, name, words);
  if (words.size() == 1) return failure(fmt::format("no BlueField card among the PCI devices of {}", what));
  add_cores(topology, words);
  add_distances(topology, words);
  return words;
}

}  // namespace

/// Reads a file in a child process, because hwloc crashes on some damaged files. The child answers with an
/// error, or with the words separated by zero bytes.
Result<Words> look_at_dpu_host(const std::string& xml) {
  if (xml.empty()) return look_at(xml);
  constexpr unsigned kSeconds = 10;
  constexpr char kError = '!';
  struct stat status {};
  if (stat(xml.c_str(), &status) != 0)
    return failure(fmt::format("cannot read {}: {}", printable(xml), std::strerror(errno)));
  if (!S_ISREG(status.st_mode))
    return failure(fmt::format("cannot read {}: it is not a regular file", printable(xml)));
  const std::optional<std::string> answer = in_trial_process(kSeconds, [&xml] {
    const Result<Words> read = look_at(xml);
    return read ? fmt::format("{}", fmt::join(*read, std::string_view("\0", 1))) : kError + read.error();
  });
  if (!answer) return failure(unreadable(printable(xml)));
  if (answer->starts_with(kError)) return failure(answer->substr(1));
  Words words;
  std::istringstream lines(*answer);
  for (std::string line; std::getline(lines, line, '\0');) words.push_back(line);
  return words;
}

}  // namespace offramp::tool
