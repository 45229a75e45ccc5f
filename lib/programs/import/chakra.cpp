// Reads Chakra's execution traces, one file per rank: a graph of computing, messages, and collectives, as
// length-prefixed protocol buffers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/chakra_format.hpp"
#include "lib/programs/import/lines.hpp"
#include "lib/programs/import/made_events.hpp"
#include "lib/programs/import/openers.hpp"
#include "lib/programs/import/protobuf.hpp"
#include "lib/programs/import/rank_files.hpp"
#include "lib/programs/recording/source.hpp"

namespace offramp::trace {
namespace {

using chakra::NodeType;
using recording::ByteSpan;
using recording::Event;

/// The maximum size of a message in bytes. The metadata of a file may contain the algorithm from which it was
/// made.
constexpr std::size_t kLongestMessage = std::size_t{64} << 20U;

/// The number of bytes read at a time, unless a message is longer.
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10U;

/// Iterates over the messages of a file, which stays open meanwhile.
class Messages {
 public:
  explicit Messages(const std::string& path)
      : name_(path), source_(recording::Source::open(path)), problem_(source_.error()) {}

  /// Returns false at the end or on an error, see problem().
  bool next(ByteSpan& message) {
    // Errors name the offset of the message in which they occur.
    begin_ = next_;
    ByteSpan front = at(begin_, recording::kMostVarintBytes);
    if (!problem_.empty() || front.empty()) return false;
    const std::size_t looked_at = front.size();
    const auto size = read_varint(front);
    if (!size || *size > kLongestMessage) return fail("this is not the length of a message");
    // The length has taken looked_at - front.size() bytes.
    const std::uint64_t first = begin_ + looked_at - front.size();
    message = at(first, static_cast<std::size_t>(*size));
    if (!problem_.empty()) return false;
    if (message.size() != *size)
      return fail(fmt::format("the file ends within a message of {} bytes", *size));
    next_ = first + *size;
    return true;
  }
  bool fail(std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("{}: offset {}: {}", name_, begin_, what);
    return false;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  /// Returns fewer bytes than requested at the end of the file or on an error, see problem().
  ByteSpan at(std::uint64_t offset, std::size_t count) {
    // Messages are small, so one block serves many of them.
    if (problem_.empty() && (offset < block_begin_ || offset + count > block_begin_ + block_.size())) {
      block_begin_ = offset;
      const Result<ByteSpan> block = source_->read(offset, std::max(count, kReadAtOnce), buffer_);
      block_ = block ? *block : ByteSpan();
      problem_ = block.error();
    }
    if (!problem_.empty()) return {};
    const ByteSpan rest = block_.subspan(static_cast<std::size_t>(offset - block_begin_));
    return rest.first(std::min(count, rest.size()));
  }

  std::string name_;
  Result<recording::Source> source_;
  std::vector<std::uint8_t> buffer_;
  ByteSpan block_;
  std::uint64_t block_begin_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t next_ = 0;
  std::string problem_;
};

struct Attribute {
  std::string name;
  std::optional<std::int64_t> number;
  std::string text;
  bool has_false = false;  // for lists of booleans
};

std::optional<Attribute> attribute_in(ByteSpan bytes) {
  Attribute attribute;
  Fields fields(bytes);
  for (Field field; fields.next(field);) {
    switch (field.number) {
      case chakra::kAttributeName:
        attribute.name = recording::text_of(field.bytes);
        break;
      case chakra::kInt32:
      case chakra::kInt64:
      case chakra::kUint32:
      case chakra::kUint64:
      case chakra::kFixed32:
      case chakra::kFixed64:
      case chakra::kSfixed64:
      case chakra::kBool:
        attribute.number = static_cast<std::int64_t>(field.value);
        break;
      case chakra::kSfixed32:
        attribute.number = static_cast<std::int32_t>(field.value);
        break;
      case chakra::kSint32:
      case chakra::kSint64:
        attribute.number = static_cast<std::int64_t>(recording::unzigzag(field.value));
        break;
      case chakra::kBools: {
        std::vector<std::uint64_t> values;
        Fields list(field.bytes);
        for (Field one; list.next(one);) {
          if (one.number == chakra::kValues && !add_numbers(one, values)) return std::nullopt;
        }
        attribute.has_false = std::find(values.begin(), values.end(), 0U) != values.end();
        break;
      }
      case chakra::kString:
        attribute.text = recording::text_of(field.bytes);
        break;
      default:
        // An unknown field means another format, which must not pass for a trace.
        if (field.number > chakra::kLastMember) return std::nullopt;
    }
  }
  return fields.is_valid() ? std::optional(std::move(attribute)) : std::nullopt;
}

/// The attributes of nodes that determine messages and collectives.
constexpr std::string_view kKnownNumbers[] = {"comm_type", "comm_size", "tensor_size", "comm_src",
                                              "comm_dst",  "comm_tag",  "is_cpu_op"};

// The parts of a node that a graph needs.
struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::kInvalid;
  std::vector<std::uint64_t> waits_for;
  std::uint64_t microseconds = 0;
  std::map<std::string, std::int64_t, std::less<>> numbers;  // attributes
  std::string group;                                         // pg_name
  std::vector<std::string> unread;                           // attributes of communication
  bool leaves_out_dimensions = false;                        // ASTRA-sim's involved_dim
  std::string values;                                        // of its inputs

  [[nodiscard]] std::optional<std::int64_t> number(std::string_view wanted) const {
    const auto found = numbers.find(wanted);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }
  /// PyTorch's traces contain a host operation that launches a collective and the accelerator's operation
  /// that is the collective. Both have the same type of node, but the former lacks the collective's
  /// attributes.
  [[nodiscard]] bool launches_only() const {
    const bool lacks = (type == NodeType::kCollective && !number("comm_type")) ||
                       (type == NodeType::kSend && !number("comm_dst")) ||
                       (type == NodeType::kReceive && !number("comm_src"));
    return lacks && number("is_cpu_op").value_or(0) != 0;
  }
};

/// Keeps the attributes that the node needs. PyTorch's nodes have a dozen others.
void store_attribute(ChakraNode& node, const Attribute& attribute) {
  const bool is_known = std::find(std::begin(kKnownNumbers), std::end(kKnownNumbers), attribute.name) !=
                        std::end(kKnownNumbers);
  if (attribute.number && is_known) node.numbers.insert_or_assign(attribute.name, *attribute.number);
  if (!is_known && attribute.name.starts_with("comm_")) node.unread.push_back(attribute.name);
  if (attribute.name == "pg_name") node.group = attribute.text;
  if (attribute.name == "involved_dim") node.leaves_out_dimensions = attribute.has_false;
}

std::optional<ChakraNode> node_in(ByteSpan bytes) {
  ChakraNode node;
  Fields fields(bytes);
  bool good = true;
  for (Field field; good && fields.next(field);) {
    const bool is_bytes = field.wire == Wire::kBytes;
    switch (field.number) {
      case chakra::kId:
        node.id = field.value;
        good = field.wire == Wire::kVarint;
        break;
      case chakra::kType:
        good = field.wire == Wire::kVarint && field.value < chakra::kNodeTypes;
        if (good) node.type = static_cast<NodeType>(field.value);
        break;
      case chakra::kControlDependencies:
      case chakra::kDataDependencies:
        good = add_numbers(field, node.waits_for);
        break;
      case chakra::kDuration:
        node.microseconds = field.value;
        good = field.wire == Wire::kVarint;
        break;
      case chakra::kInputs: {
        Fields inputs(field.bytes);
        for (Field input; inputs.next(input);) {
          if (input.number == chakra::kValues) node.values = recording::text_of(input.bytes);
        }
        good = is_bytes && inputs.is_valid();
        break;
      }
      case chakra::kAttribute: {
        std::optional<Attribute> attribute = attribute_in(field.bytes);
        good = is_bytes && attribute.has_value();
        if (good) store_attribute(node, *attribute);
        break;
      }
      case chakra::kName:
        good = is_bytes;
        node.name = recording::text_of(field.bytes);
        break;
      case chakra::kOutputs:
      case chakra::kStorageInfo:
        good = is_bytes;
        break;
      case chakra::kStart:
        good = field.wire == Wire::kVarint;
        break;
      default:
        good = false;
    }
  }
  // Only metadata is looked at for groups, and inputs may be long.
  if (node.type != NodeType::kMetadata) node.values = {};
  return good && fields.is_valid() ? std::optional(std::move(node)) : std::nullopt;
}

bool is_metadata(ByteSpan bytes) {
  Fields fields(bytes);
  for (Field field; fields.next(field);) {
    if (field.wire != Wire::kBytes) return false;
    if (field.number == chakra::kMetadataAttribute && !attribute_in(field.bytes)) return false;
    if (field.number != chakra::kMetadataAttribute && field.number != chakra::kVersion) return false;
  }
  return fields.is_valid();
}

/// Process groups by name. Empty: all ranks.
using Groups = std::map<std::string, std::vector<std::uint64_t>, std::less<>>;

/// Returns a list of distinct valid ranks, or `nullopt`.
std::optional<std::vector<std::uint64_t>> members_in(const nlohmann::json& list, std::size_t ranks) {
  if (!list.is_array()) return std::nullopt;
  std::vector<std::uint64_t> members;
  std::set<std::uint64_t> seen;
  for (const auto& one : list) {
    if (!one.is_number_unsigned() || one.get<std::uint64_t>() >= ranks) return std::nullopt;
    members.push_back(one.get<std::uint64_t>());
    if (!seen.insert(members.back()).second) return std::nullopt;
  }
  return members;
}

/// {"1": [0, 1], "2": [2, 3]}
Result<Groups> groups_of_file(const recording::Source& file, std::size_t ranks) {
  std::vector<std::uint8_t> buffer;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), kLongestMessage));
  const Result<ByteSpan> bytes = file.read(0, size, buffer);
  if (!bytes) return failure(bytes.error());
  const nlohmann::json root = nlohmann::json::parse(recording::text_of(*bytes), nullptr, false);
  if (!root.is_object()) return failure(fmt::format("{}: it is not a JSON object of groups", file.name()));
  Groups groups;
  for (const auto& [name, list] : root.items()) {
    auto members = members_in(list, ranks);
    if (!members)
      return failure(
          fmt::format("{}: group {} is not a list of different ranks below {}", file.name(), name, ranks));
    groups.insert_or_assign(name, std::move(*members));
  }
  return groups;
}

/// Reads PyTorch's metadata: [{"pg_name": "1", "ranks": [0, 1]}, ...], within other text.
void groups_of_node(const ChakraNode& node, std::size_t ranks, Groups& groups) {
  const std::size_t begin = node.values.find("[{");
  const std::size_t end = node.values.rfind("}]");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return;
  const nlohmann::json root =
      nlohmann::json::parse(node.values.substr(begin, end + 2 - begin), nullptr, false);
  // Metadata without groups is normal: other nodes have the same type.
  if (!root.is_array()) return;
  for (const auto& one : root) {
    if (!one.is_object() || !one.contains("pg_name") || !one.contains("ranks") || !one["pg_name"].is_string())
      continue;
    if (auto members = members_in(one["ranks"], ranks))
      groups.insert_or_assign(one["pg_name"].get<std::string>(), std::move(*members));
  }
}

/// Equal for all members of a group, and distinct from other groups.
std::uint64_t id_of(std::string_view group) {
  if (const auto number = number_in<std::uint32_t>(group)) return *number;
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a; larger than any 32-bit number in practice
  for (const char c : group) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash | std::uint64_t{1} << 63U;
}

/// Builds the graph of one rank from its file.
class ChakraRank {
 public:
  ChakraRank(const RankFiles& files, Groups groups, int rank)
      : messages_(files[static_cast<std::size_t>(rank)]->name()),
        groups_(std::move(groups)),
        rank_(static_cast<std::uint64_t>(rank)),
        ranks_(files.size()) {}

  Result<Graph> graph() {
    ByteSpan message;
    if (messages_.next(message) && !is_metadata(message)) (void)messages_.fail("this is not metadata");
    std::vector<ChakraNode> nodes;
    while (messages_.next(message)) {
      std::optional<ChakraNode> node = node_in(message);
      if (!node) {
        (void)messages_.fail("this is not a node");
      } else if (node->type == NodeType::kMetadata) {
        groups_of_node(*node, ranks_, groups_);
      }
      if (node) nodes.push_back(std::move(*node));
    }
    // Collectives of one group begin in the order of ids, as in ASTRA-sim.
    std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    for (const ChakraNode& node : nodes) add(node);
    // Second pass, since a node may depend on one with a higher id.
    for (const ChakraNode& node : nodes) connect(node, nodes);
    if (!messages_.problem().empty()) return failure(messages_.problem());
    Graph made = in_order(builder_.build());
    // A cycle would make the replay wait for ever.
    const std::size_t circle = node_on_circle(made);
    if (circle == made.nodes.size()) return made;
    reject(nodes[circle], "it depends on itself through others");
    return failure(messages_.problem());
  }

 private:
  void reject(const ChakraNode& node, std::string_view what) {
    const std::string name = node.name.empty() ? "" : fmt::format(" ({})", node.name.substr(0, 60));
    (void)messages_.fail(fmt::format("rank {}: node {}{}: {}", rank_, node.id, name, what));
  }

  void add(const ChakraNode& node) {
    std::uint32_t number = 0;
    switch (node.launches_only() ? NodeType::kCompute : node.type) {
      case NodeType::kSend:
      case NodeType::kReceive:
        number = builder_.add(message(node));
        break;
      case NodeType::kCollective:
        number = builder_.add(collective(node));
        break;
      case NodeType::kInvalid:
      case NodeType::kMetadata:
        number = builder_.add(Graph::Node());
        break;
      case NodeType::kMemoryLoad:
      case NodeType::kMemoryStore:
      case NodeType::kStorage:
      case NodeType::kBatch:
      case NodeType::kCheckpoint:
      case NodeType::kCompute: {
        Graph::Node computing;
        if (__builtin_mul_overflow(node.microseconds, std::uint64_t{1000}, &computing.size))
          reject(node, "its duration exceeds 64 bits");
        number = builder_.add(computing);
        break;
      }
    }
    if (!numbers_.emplace(node.id, number).second) reject(node, "another node has the same id");
  }

  static bool sends(const ChakraNode& node) { return node.type == NodeType::kSend && !node.launches_only(); }

  /// ASTRA-sim's senders do not wait for receivers: nodes that depend on a send wait until it is under way.
  void connect(const ChakraNode& node, const std::vector<ChakraNode>& nodes) {
    for (const std::uint64_t before : node.waits_for) {
      const auto found = numbers_.find(before);
      if (found == numbers_.end())
        return reject(node, fmt::format("it waits for node {}, which is missing", before));
      builder_.depend(numbers_[node.id], found->second, sends(nodes[found->second]));
    }
  }

  std::uint64_t size_of(const ChakraNode& node) {
    const auto size = node.number("comm_size") ? node.number("comm_size") : node.number("tensor_size");
    if (!size || *size < 0) reject(node, "its comm_size is missing or invalid");
    return size && *size >= 0 ? static_cast<std::uint64_t>(*size) : 0;
  }

  Graph::Node message(const ChakraNode& node) {
    const bool sends = node.type == NodeType::kSend;
    const std::string_view name = sends ? "comm_dst" : "comm_src";
    const auto peer = node.number(name);
    const auto tag = node.number("comm_tag").value_or(0);
    if (!peer || *peer < 0 || static_cast<std::uint64_t>(*peer) >= ranks_)
      reject(node, fmt::format("its {} is not a rank below {}", name, ranks_));
    if (tag < 0 || tag > INT32_MAX) reject(node, "its comm_tag is not from 0 to 2^31 - 1");
    return {.kind = sends ? Graph::NodeKind::kSend : Graph::NodeKind::kReceive,
            .peer = static_cast<std::int32_t>(peer.value_or(0)),
            .tag = static_cast<std::int32_t>(tag),
            .size = size_of(node)};
  }

  Event collective(const ChakraNode& node) {
    Event event;
    const auto type = node.number("comm_type");
    if (node.leaves_out_dimensions)
      reject(node, "its involved_dim leaves out dimensions: its members have to be named by pg_name");
    if (!type) {
      reject(node, "it is a collective without comm_type, and is_cpu_op does not mark it as a launch");
      return event;
    }
    if (*type < 0 || static_cast<std::size_t>(*type) >= chakra::kCollectives.size()) {
      reject(node, "its comm_type is not one of the ten collectives");
      return event;
    }
    const OperationKind operation = chakra::kCollectives[static_cast<std::size_t>(*type)];
    std::uint64_t members = ranks_;
    const std::uint32_t number = communicator(node, members);
    const std::uint64_t size = operation == OperationKind::kBarrier ? 0 : size_of(node);
    event = collective_of_bytes(
        operation, chakra::size_is_of_all_blocks(operation) ? size / members + (size % members != 0) : size);
    event.communicator = number;
    return event;
  }

  std::uint32_t communicator(const ChakraNode& node, std::uint64_t& members) {
    const auto group = groups_.find(node.group);
    if (group == groups_.end() || group->second.empty()) {
      if (group == groups_.end() && !node.group.empty() && node.group != "0")
        reject(node, fmt::format("the members of its group {} are unknown", node.group.substr(0, 60)));
      return recording::kWorld;
    }
    const std::vector<std::uint64_t>& list = group->second;
    if (std::find(list.begin(), list.end(), rank_) == list.end())
      reject(node, fmt::format("the rank is not in its group {}", node.group.substr(0, 60)));
    members = list.size();
    const auto known = communicators_.find(node.group);
    if (known != communicators_.end()) return known->second;
    const std::uint32_t number = builder_.add(Graph::Communicator{list, id_of(node.group)});
    communicators_.emplace(node.group, number);
    return number;
  }

  Messages messages_;
  Groups groups_;
  std::uint64_t rank_;
  std::size_t ranks_;
  GraphBuilder builder_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // by id
  std::map<std::string, std::uint32_t, std::less<>> communicators_;
};

/// Reads the nodes of all ranks and reports what is not used.
Result<void> look_through(const RankFiles& files, std::vector<std::string>& notes) {
  std::uint64_t launches = 0;
  std::set<std::string> unread;
  for (const auto& file : files) {
    Messages messages(file->name());
    ByteSpan message;
    (void)messages.next(message);  // the metadata
    while (messages.next(message)) {
      const std::optional<ChakraNode> node = node_in(message);
      if (!node) break;  // the rank's reader reports it
      launches += node->launches_only() ? 1 : 0;
      unread.insert(node->unread.begin(), node->unread.end());
    }
    if (!messages.problem().empty()) return failure(messages.problem());
  }
  if (launches > 0)
    notes.push_back(
        fmt::format("host operations that launch communication compute for their duration: {} with "
                    "is_cpu_op, without comm_type, comm_dst, or comm_src",
                    launches));
  if (!unread.empty())
    notes.push_back(fmt::format("attributes of communication that are not read: {}",
                                printable(fmt::format("{}", fmt::join(unread, ", ")), 400)));
  return {};
}

/// Returns true for metadata followed by a non-empty node, or by nothing.
bool is_chakra(const std::string& path) {
  Messages messages(path);
  ByteSpan message;
  if (!messages.next(message) || !is_metadata(message)) return false;
  const bool empty = message.empty();
  return messages.next(message) ? !message.empty() && node_in(message).has_value()
                                : !empty && messages.problem().empty();
}

/// Returns true for a node with fields that only schemas before 0.0.4 have. These write the first three
/// always.
bool is_old_node(ByteSpan bytes) {
  bool old = false;
  std::uint32_t expected = chakra::kId;
  Fields fields(bytes);
  for (Field field; fields.next(field); ++expected) {
    const bool is_bytes = field.wire == Wire::kBytes;
    const bool is_first = expected <= chakra::kType;
    if (is_first && (field.number != expected || is_bytes != (expected == chakra::kName))) return false;
    if (field.number > chakra::kLastOldField) return false;
    Fields attribute(field.bytes);
    Field name;
    old = old || field.number > chakra::kStorageInfo ||
          (field.number == chakra::kStorageInfo && attribute.next(name) &&
           name.number == chakra::kAttributeName && name.wire == Wire::kBytes);
  }
  return old && fields.is_valid();
}

/// Looks at the first nodes, since those that compute may have no attributes.
bool is_old_chakra(const std::string& path) {
  constexpr int kNodesLookedAt = 100;
  Messages messages(path);
  ByteSpan message;
  for (int i = 0; i < kNodesLookedAt && messages.next(message); ++i) {
    if (is_old_node(message)) return true;
    if (!node_in(message) && (i > 0 || !is_metadata(message))) return false;
  }
  return false;
}

Result<std::optional<Program>> open_chakra(const Candidate& candidate) {
  if (!candidate.is_file() || candidate.begin.empty()) return std::optional<Program>();
  // An old trace gets a message of its own, because its file looks valid until its attributes.
  if (is_old_chakra(candidate.name))
    return failure(
        fmt::format("cannot read {}: its schema is older than Chakra 0.0.4: convert the original "
                    "trace again with chakra_converter",
                    printable(candidate.name)));
  if (!is_chakra(candidate.name)) return std::optional<Program>();
  Result<RankFiles> files = rank_files(candidate.name);
  if (!files) return failure(files.error());
  const std::string beside = prefix_of_rank_file(candidate.name) + ".json";
  Groups groups;
  if (const Result<recording::Source> json = recording::Source::look(beside)) {
    Result<Groups> listed = groups_of_file(*json, files->size());
    if (!listed) return failure(listed.error());
    groups = std::move(*listed);
  }
  const auto ranks = static_cast<int>(files->size());
  const auto shared = std::make_shared<const RankFiles>(std::move(*files));
  Program program = program_of_graphs(candidate.name, ranks, [shared, groups](int rank) {
    return ChakraRank(*shared, groups, rank).graph();
  });
  program.notes = {"operations compute for their duration: num_ops and tensor_size need a machine's roofline",
                   "a dependency on a send ends when the message is on its way, not when it is received",
                   "a rank computes one thing at a time, on the host or on an accelerator",
                   "types and functions of reductions are not in the trace: they are sums of 32-bit floats",
                   "collectives of one group begin in the order of their ids"};
  if (const Result<void> done = look_through(*shared, program.notes); !done) return failure(done.error());
  return std::optional(std::move(program));
}

}  // namespace

const Opener kChakraTraces = {
    .kind = "Chakra execution trace", .origin = "Chakra, ASTRA-sim, PyTorch", .open = open_chakra};

}  // namespace offramp::trace
