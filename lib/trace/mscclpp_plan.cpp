// The two forms of MSCCL++'s plans. What an operation's fields mean is taken from MSCCL++'s own reader and
// kernel (src/core/executor/execution_plan.cc and execution_kernel.hpp; of the earlier form
// src/executor/execution_plan.cc before August 2025).
#include "lib/trace/mscclpp_plan.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "lib/configuration/names.hpp"
#include "lib/trace/made_events.hpp"

namespace offramp::trace {
namespace {

using nlohmann::json;
using Buffer = OneSidedPlan::Buffer;
using Channel = OneSidedPlan::Channel;
using ChannelType = OneSidedPlan::ChannelType;
using Chunks = OneSidedPlan::Chunks;
using Gpu = OneSidedPlan::Gpu;
using Kind = OneSidedPlan::Kind;
using Operation = OneSidedPlan::Operation;

constexpr std::uint32_t kMostChunks = 1U << 20U;  // of a buffer
constexpr std::uint32_t kMostShares = 4096;       // of what several thread blocks do together

/// What is wrong with a plan, to be caught where the file is known.
struct Wrong {
  std::string what;
};

[[noreturn]] void wrong(std::string what) {
  throw Wrong{std::move(what)};
}

const json& member(const json& object, const char* name) {
  if (!object.is_object()) wrong(fmt::format("an object with {} is expected", name));
  const auto found = object.find(name);
  if (found == object.end()) wrong(fmt::format("{} is missing", name));
  return *found;
}
const json& list_in(const json& object, const char* name) {
  static const json none = json::array();
  if (!object.is_object() || !object.contains(name)) return none;
  const json& list = object.at(name);
  if (!list.is_array()) wrong(fmt::format("{} is no list", name));
  return list;
}
std::uint64_t number_of(const json& value, const char* name, std::uint64_t most) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
    wrong(fmt::format("{} is no number from 0 to {}", name, most));
  return value.get<std::uint64_t>();
}
std::uint32_t number_in_json(const json& object, const char* name, std::uint64_t most = kMostChunks) {
  return static_cast<std::uint32_t>(number_of(member(object, name), name, most));
}
std::string text_in(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_string()) wrong(fmt::format("{} is no text", name));
  return value.get<std::string>();
}

Buffer buffer_named(const std::string& name) {
  if (name == "i") return Buffer::kInput;
  if (name == "o") return Buffer::kOutput;
  if (name == "s") return Buffer::kScratch;
  wrong(fmt::format("there is no buffer {}: i, o and s are", in_quotes(name)));
}
/// Nothing: it goes through a switch, or is none.
std::optional<ChannelType> channel_type_named(const std::string& name) {
  if (name == "memory" || name == "sm") return ChannelType::kMemory;
  if (name == "port" || name == "proxy") return ChannelType::kPort;
  if (name == "switch" || name == "nvls" || name == "none") return std::nullopt;
  wrong(fmt::format("there is no type of channel {}", in_quotes(name)));
}

/// What the operations are called, in either form, and what they do.
enum class Shape : std::uint8_t {
  kNone,      // no data
  kPut,       // local chunks, each to one of another GPU
  kSpread,    // one chunk to several GPUs
  kGet,       // chunks of other GPUs, each to a local one
  kCopy,      // a local one to a local one
  kCombine,   // local chunks
  kReadings,  // a local one and chunks of other GPUs
};
struct KnownOperation {
  std::string_view name;
  std::string_view of_tools;  // its name in the earlier form; "-": it has none
  Kind kind = Kind::kMove;
  Shape shape = Shape::kNone;
  bool takes_packets = false;  // all sources, but for a first one that others are combined with
  bool makes_packets = false;  // of what goes to other GPUs, and of a copy
  bool sends = false;          // what is combined, too
  bool also_packets = false;   // a local copy of what is combined
  bool signals = false;
  bool flushes = false;
  bool relaxed = false;
};
constexpr KnownOperation kOperations[] = {
    {.name = "nop", .of_tools = "nop", .kind = Kind::kNothing},
    {.name = "barrier", .of_tools = "barrier", .kind = Kind::kBarrier},
    {.name = "signal", .of_tools = "signal", .kind = Kind::kSignal},
    {.name = "rlxsignal", .of_tools = "-", .kind = Kind::kSignal, .relaxed = true},
    {.name = "wait", .of_tools = "wait", .kind = Kind::kWait},
    {.name = "rlxwait", .of_tools = "-", .kind = Kind::kWait, .relaxed = true},
    {.name = "flush", .of_tools = "flush", .kind = Kind::kFlush},
    {.name = "sem_acquire", .of_tools = "-", .kind = Kind::kAcquire},
    {.name = "sem_release", .of_tools = "-", .kind = Kind::kRelease},
    {.name = "pipeline", .of_tools = "-", .kind = Kind::kPipeline},
    {.name = "put", .of_tools = "put", .shape = Shape::kPut},
    {.name = "pws", .of_tools = "pws", .shape = Shape::kPut, .signals = true},
    {.name = "pwsf", .of_tools = "pwsf", .shape = Shape::kPut, .signals = true, .flushes = true},
    {.name = "ppkt", .of_tools = "ppkt", .shape = Shape::kPut, .makes_packets = true},
    {.name = "rppkt", .of_tools = "-", .shape = Shape::kSpread, .takes_packets = true, .makes_packets = true},
    {.name = "-", .of_tools = "rppkt", .shape = Shape::kPut, .takes_packets = true, .makes_packets = true},
    {.name = "get", .of_tools = "get", .shape = Shape::kGet},
    {.name = "copy", .of_tools = "copy", .shape = Shape::kCopy},
    {.name = "cpkt", .of_tools = "tpkt", .shape = Shape::kCopy, .makes_packets = true},
    {.name = "upkt", .of_tools = "cpkt", .shape = Shape::kCopy, .takes_packets = true},
    {.name = "re", .of_tools = "re", .shape = Shape::kCombine},
    {.name = "res", .of_tools = "rs", .shape = Shape::kCombine, .sends = true},
    {.name = "rre", .of_tools = "rrc", .shape = Shape::kReadings},
    {.name = "rres", .of_tools = "rrcs", .shape = Shape::kReadings, .sends = true},
    {.name = "repkt", .of_tools = "rpkt", .shape = Shape::kCombine, .takes_packets = true},
    {.name = "respkt",
     .of_tools = "rspkt",
     .shape = Shape::kCombine,
     .takes_packets = true,
     .makes_packets = true,
     .sends = true},
    {.name = "recpkt",
     .of_tools = "-",
     .shape = Shape::kCombine,
     .takes_packets = true,
     .also_packets = true},
    {.name = "recspkt",
     .of_tools = "-",
     .shape = Shape::kCombine,
     .takes_packets = true,
     .makes_packets = true,
     .sends = true,
     .also_packets = true},
};
constexpr std::string_view kOfSwitches[] = {"glre", "glres", "gstore", "gstorepkt"};

const KnownOperation& known_operation(const std::string& name, bool is_of_tools) {
  for (const std::string_view one : kOfSwitches) {
    if (one == name)
      wrong(fmt::format("{} combines or stores in the switch (NVLS), which messages cannot say", name));
  }
  for (const KnownOperation& one : kOperations) {
    if (name == (is_of_tools ? one.of_tools : one.name) && name != "-") return one;
  }
  wrong(fmt::format("there is no operation {}", in_quotes(name)));
}

/// What is wrong has its place put before it.
template <typename Call>
void in_place(const std::string& place, Call call) {
  try {
    call();
  } catch (const Wrong& inner) {
    wrong(fmt::format("{}: {}", place, inner.what));
  }
}

/// One GPU, of either form.
class GpuReader {
 public:
  GpuReader(const json& gpu, int own, int gpus, bool is_of_tools)
      : gpu_(gpu), own_(own), gpus_(gpus), is_of_tools_(is_of_tools) {}

  Gpu read() {
    Gpu made;
    const std::array<const char*, 3> names =
        is_of_tools_ ? std::array{"inputChunks", "outputChunks", "scratchChunks"}
                     : std::array{"input_chunks", "output_chunks", "scratch_chunks"};
    for (std::size_t i = 0; i < names.size(); ++i) made.chunks[i] = number_in_json(gpu_, names[i]);
    if (is_of_tools_ && gpu_.contains("chunkGroups")) made.groups = number_in_json(gpu_, "chunkGroups");
    for (const json& one : list_in(gpu_, "semaphores"))
      made.semaphores.push_back(static_cast<std::int64_t>(number_in_json(one, "init_value")));
    read_channels();
    read_buffers();
    const json& blocks = list_in(gpu_, "threadblocks");
    made.blocks.resize(blocks.size());
    std::vector<bool> seen(blocks.size(), false);
    for (const json& block : blocks) {
      const std::uint32_t id = number_in_json(block, "id");
      if (id >= blocks.size() || seen[id]) wrong("a thread block with an id of its own is expected");
      seen[id] = true;
      read_block(block, id, made.blocks[id]);
    }
    return made;
  }

 private:
  /// From which to which buffer; one name for all in the later form.
  using ChannelKey = std::tuple<ChannelType, std::string, std::string>;

  int peer_in(const json& value, const char* name) const {
    const auto peer = static_cast<int>(number_of(value, name, static_cast<std::uint64_t>(gpus_ - 1)));
    if (peer == own_) wrong(fmt::format("{} names the GPU itself", name));
    return peer;
  }

  void read_channels() {
    std::map<std::pair<ChannelType, int>, int> counts;
    for (const json& one : list_in(gpu_, "channels")) {
      const auto type = channel_type_named(text_in(one, is_of_tools_ ? "type" : "channel_type"));
      if (!type) continue;
      ChannelKey key{*type, "", ""};
      if (is_of_tools_) key = {*type, text_in(one, "srcbuff"), text_in(one, "dstbuff")};
      const char* const connected = is_of_tools_ ? "connectedTo" : "connected_to";
      for (const json& value : list_in(one, connected)) {
        const int peer = peer_in(value, connected);
        channels_[key].push_back({*type, peer, counts[{*type, peer}]++});
      }
    }
  }

  void read_buffers() {
    for (const json& one : list_in(gpu_, "remote_buffers")) {
      Chunks at;
      at.gpu = peer_in(member(one, "rank"), "rank");
      at.buffer = buffer_named(text_in(one, "type"));
      remote_.push_back(at);
    }
  }

  void read_block(const json& block, std::uint32_t id, std::vector<Operation>& operations) {
    in_place(fmt::format("thread block {}", id), [&] {
      of_block_.clear();
      buffers_of_block_.clear();
      for (const json& one : list_in(block, "channels")) read_block_channels(one);
      for (const json& one : list_in(block, "remote_buffer_refs")) {
        const auto type = channel_type_named(text_in(one, "access_channel_type"));
        for (const json& value : list_in(one, "remote_buffer_ids")) {
          const std::uint64_t number = number_of(value, "remote_buffer_ids", kMostChunks);
          if (number >= remote_.size()) wrong(fmt::format("there is no remote buffer {}", number));
          if (type) buffers_of_block_[*type].push_back(remote_[number]);
        }
      }
      const json& ops = list_in(block, "ops");
      for (std::size_t i = 0; i < ops.size(); ++i)
        in_place(fmt::format("operation {}", i), [&] { operations.push_back(operation(ops[i], true)); });
    });
  }
  void read_block_channels(const json& one) {
    const auto type = channel_type_named(text_in(one, is_of_tools_ ? "ctype" : "channel_type"));
    if (!type) return;
    ChannelKey key{*type, "", ""};
    if (is_of_tools_) key = {*type, text_in(one, "src"), text_in(one, "dst")};
    const char* const ids = is_of_tools_ ? "cids" : "channel_ids";
    for (const json& value : list_in(one, ids)) {
      const std::uint64_t number = number_of(value, ids, kMostChunks);
      const std::vector<Channel>& all = channels_[key];
      if (number >= all.size()) wrong(fmt::format("there is no channel {} of its type", number));
      of_block_[key].push_back(all[number]);
    }
  }

  Operation operation(const json& op, bool may_repeat) {
    Operation made;
    made.name = text_in(op, "name");
    const KnownOperation& known = known_operation(made.name, is_of_tools_);
    made.kind = known.kind;
    made.relaxed = known.relaxed;
    made.signals = known.signals;
    made.flushes = known.flushes;
    if (op.contains("tbg_info")) {
      const json& group = op.at("tbg_info");
      made.part = number_in_json(group, "tb_id");
      made.parts = number_in_json(group, "tbg_size", kMostShares);
      if (made.part >= made.parts) wrong("its tb_id is not below its tbg_size");
    }
    switch (made.kind) {
      case Kind::kMove:
        is_of_tools_ ? move_of_tools(op, known, made) : move(op, known, made);
        check_move(known, made);
        break;
      case Kind::kSignal:
      case Kind::kWait:
      case Kind::kFlush:
        made.channels = is_of_tools_ ? channels_of_tools(op, made.kind == Kind::kWait) : channels_in(op);
        break;
      case Kind::kBarrier:
        made.barrier = number_in_json(op, "barrier_id");
        made.blocks = number_in_json(op, is_of_tools_ ? "nthread_blocks" : "num_threadblocks");
        if (made.blocks == 0) wrong("a barrier of no thread block");
        break;
      case Kind::kAcquire:
      case Kind::kRelease:
        for (const json& value : list_in(op, "semaphore_ids")) {
          const std::uint64_t number = number_of(value, "semaphore_ids", kMostChunks);
          if (number >= list_in(gpu_, "semaphores").size())
            wrong(fmt::format("there is no semaphore {}", number));
          made.semaphores.push_back(static_cast<std::uint32_t>(number));
        }
        break;
      case Kind::kPipeline:
        pipeline(op, may_repeat, made);
        break;
      case Kind::kNothing:
        break;
    }
    return made;
  }

  void pipeline(const json& op, bool may_repeat, Operation& made) {
    if (!may_repeat) wrong("a pipeline within a pipeline");
    const json& context = member(op, "iter_context");
    made.unit = number_of(member(context, "unit_size"), "unit_size", UINT32_MAX);
    made.chunks = number_in_json(context, "num_chunks");
    if (made.unit == 0) wrong("unit_size is 0");
    const json& ops = list_in(op, "ops");
    for (std::size_t i = 0; i < ops.size(); ++i) {
      in_place(fmt::format("operation {} of the pipeline", i), [&] {
        made.inner.push_back(operation(ops[i], false));
        for (const auto* chunks : {&made.inner.back().sources, &made.inner.back().targets}) {
          for (const Chunks& one : *chunks) {
            if (one.packets) wrong("packets are not cut in pieces: they have no place in a pipeline");
          }
        }
      });
    }
  }

  std::vector<Channel> channels_in(const json& op) {
    const auto type = channel_type_named(text_in(op, "channel_type"));
    if (!type) wrong("its channel_type is neither memory nor port");
    const std::vector<Channel>& all = of_block_[{*type, "", ""}];
    std::vector<Channel> found;
    for (const json& value : list_in(op, "channel_ids")) {
      const std::uint64_t number = number_of(value, "channel_ids", kMostChunks);
      if (number >= all.size()) wrong(fmt::format("its thread block has no channel {} of that type", number));
      found.push_back(all[number]);
    }
    return found;
  }

  Chunks chunks_in(const json& one, std::optional<ChannelType> type) {
    Chunks found;
    if (one.is_object() && one.contains("switch_channel_id"))
      wrong("it goes through the switch (NVLS), which messages cannot say");
    if (one.is_object() && one.contains("buffer_id")) {
      if (!type) wrong("a remote buffer without a channel_type");
      const std::uint32_t number = number_in_json(one, "buffer_id");
      const std::vector<Chunks>& all = buffers_of_block_[*type];
      if (number >= all.size())
        wrong(fmt::format("its thread block has no remote buffer {} of that type", number));
      found = all[number];
    } else {
      found.gpu = own_;
      found.buffer = buffer_named(text_in(one, "type"));
    }
    found.index = number_in_json(one, "index");
    found.size = number_in_json(one, "size");
    return found;
  }

  void move(const json& op, const KnownOperation& known, Operation& made) {
    std::optional<ChannelType> type;
    if (op.contains("channel_type")) type = channel_type_named(text_in(op, "channel_type"));
    for (const json& one : list_in(op, "src_buff")) made.sources.push_back(chunks_in(one, type));
    for (const json& one : list_in(op, "dst_buff")) made.targets.push_back(chunks_in(one, type));
    const bool puts = known.shape == Shape::kPut || known.shape == Shape::kSpread;
    if (puts && type && op.contains("channel_ids")) made.channels = channels_in(op);
  }

  std::vector<Channel> channels_of_tools(const json& op, bool inputs) {
    const auto type = channel_type_named(text_in(op, "ctype"));
    if (!type) wrong("its ctype is neither sm nor proxy");
    const json& list = list_in(op, inputs ? "i_cids" : "o_cids");
    std::vector<Channel> found;
    if (list.empty()) return found;
    const json& key = member(op, inputs ? "i_buff" : "o_buff");
    const std::vector<Channel>& all = of_block_[{*type, text_in(key, "src"), text_in(key, "dst")}];
    for (const json& one : list) {
      const std::uint32_t number = number_in_json(one, "id");
      if (number >= all.size()) wrong(fmt::format("its thread block has no channel {} of that type", number));
      found.push_back(all[number]);
    }
    return found;
  }
  /// At the other ends of the channels.
  void remote_of_tools(const json& op, bool inputs, std::uint32_t size, std::vector<Chunks>& to) {
    const char* const name = inputs ? "i_cids" : "o_cids";
    const json& list = list_in(op, name);
    if (list.empty()) return;
    const std::vector<Channel> channels = channels_of_tools(op, inputs);
    const Buffer buffer = buffer_named(text_in(member(op, inputs ? "i_buff" : "o_buff"), "dst"));
    for (std::size_t i = 0; i < channels.size(); ++i)
      to.push_back({channels[i].peer, buffer, number_in_json(list[i], "off"), size});
  }
  void local_of_tools(const json& op, const char* name, std::uint32_t size, std::vector<Chunks>& to) const {
    for (const json& one : list_in(op, name))
      to.push_back({own_, buffer_named(text_in(one, "buff")), number_in_json(one, "off"), size});
  }

  void move_of_tools(const json& op, const KnownOperation& known, Operation& made) {
    const std::uint32_t size = number_in_json(op, "cnt");
    const auto one_local = [&](const char* buffer, const char* offset, std::vector<Chunks>& to) {
      to.push_back({own_, buffer_named(text_in(op, buffer)), number_in_json(op, offset), size});
    };
    const bool is_put = known.shape == Shape::kPut;
    if (!is_put && known.shape != Shape::kGet) {
      one_local("srcbuff", "srcoff", made.sources);
      one_local("dstbuff", "dstoff", made.targets);
    }
    if (is_put || known.shape == Shape::kCombine) local_of_tools(op, "srcs", size, made.sources);
    if (known.shape == Shape::kGet) local_of_tools(op, "dsts", size, made.targets);
    if (known.shape == Shape::kGet || known.shape == Shape::kReadings)
      remote_of_tools(op, true, size, made.sources);
    if (is_put || known.sends) remote_of_tools(op, false, size, made.targets);
    if (is_put) made.channels = channels_of_tools(op, false);
  }

  /// What is local and what is not is as the operation has it, and sizes fit. Sets what is in packets.
  void check_move(const KnownOperation& known, Operation& made) const {
    std::vector<Chunks>& from = made.sources;
    std::vector<Chunks>& to = made.targets;
    const auto local = [&](const std::vector<Chunks>& all, std::size_t begin, std::size_t end) {
      return std::all_of(all.begin() + static_cast<std::ptrdiff_t>(begin),
                         all.begin() + static_cast<std::ptrdiff_t>(end),
                         [&](const Chunks& one) { return one.gpu == own_; });
    };
    const auto remote = [&](const std::vector<Chunks>& all, std::size_t begin) {
      return std::none_of(all.begin() + static_cast<std::ptrdiff_t>(begin), all.end(),
                          [&](const Chunks& one) { return one.gpu == own_; });
    };
    const std::size_t kept = known.also_packets ? 2 : 1;  // targets of a combination that are local
    bool fits = false;
    switch (known.shape) {
      case Shape::kPut:
        fits = from.size() == to.size() && local(from, 0, from.size()) && remote(to, 0);
        break;
      case Shape::kSpread:
        fits = from.size() == 1 && local(from, 0, 1) && remote(to, 0);
        made.combines = true;
        break;
      case Shape::kGet:
        fits = from.size() == to.size() && remote(from, 0) && local(to, 0, to.size());
        break;
      case Shape::kCopy:
        fits = from.size() == 1 && to.size() == 1 && local(from, 0, 1) && local(to, 0, 1);
        break;
      case Shape::kCombine:
      case Shape::kReadings:
        made.combines = true;
        fits = !from.empty() && to.size() >= kept && local(to, 0, kept) && remote(to, kept) &&
               (to.size() == kept || known.sends);
        fits = fits && (known.shape == Shape::kCombine ? local(from, 0, from.size())
                                                       : local(from, 0, 1) && remote(from, 1));
        break;
      case Shape::kNone:
        break;
    }
    if (!fits) wrong(fmt::format("{} does not have the sources and targets that it takes", made.name));
    for (const auto* all : {&from, &to}) {
      for (const Chunks& one : *all) {
        if (one.size != from[0].size) wrong("its chunks are not all of one size");
      }
    }
    const bool combines = known.shape == Shape::kCombine;
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i].packets = known.takes_packets && (!combines || i > 0);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const bool is_remote = to[i].gpu != own_;
      to[i].packets = (known.makes_packets && (is_remote || known.shape == Shape::kCopy)) ||
                      (known.also_packets && i == 1);
    }
  }

  const json& gpu_;
  int own_;
  int gpus_;
  bool is_of_tools_;
  std::map<ChannelKey, std::vector<Channel>> channels_;
  std::vector<Chunks> remote_;
  std::map<ChannelKey, std::vector<Channel>> of_block_;
  std::map<ChannelType, std::vector<Chunks>> buffers_of_block_;
};

/// Chunks lie within their buffers. In place, an input and an output of no chunks are the other one.
void check_bounds(const OneSidedPlan& plan, const Operation& operation) {
  for (const auto* all : {&operation.sources, &operation.targets}) {
    for (const Chunks& one : *all) {
      const auto& chunks = plan.gpus[static_cast<std::size_t>(one.gpu)].chunks;
      std::uint32_t most = chunks[static_cast<std::size_t>(one.buffer)];
      if (most == 0 && plan.in_place && one.buffer != Buffer::kScratch) most = std::max(chunks[0], chunks[1]);
      if (std::uint64_t{one.index} + one.size > most)
        wrong(fmt::format("chunks from {} to {} are beyond the {} of the buffer on gpu {}", one.index,
                          std::uint64_t{one.index} + one.size, most, one.gpu));
    }
  }
  for (const Operation& inner : operation.inner) check_bounds(plan, inner);
}

void read_plan_of(const json& root, OneSidedPlan& plan) {
  plan.name = text_in(root, "name");
  plan.collective = text_in(root, "collective");
  const json& in_place_of = member(root, "inplace");
  if (!in_place_of.is_boolean()) wrong("inplace is neither true nor false");
  plan.in_place = in_place_of.get<bool>();
  if (root.contains("buffer_alignment"))
    plan.alignment = number_in_json(root, "buffer_alignment", UINT32_MAX);
  if (plan.alignment == 0) wrong("buffer_alignment is 0");
  if (root.contains("min_message_size"))
    plan.least = number_of(root.at("min_message_size"), "min_message_size", UINT64_MAX);
  if (root.contains("max_message_size"))
    plan.most = number_of(root.at("max_message_size"), "max_message_size", UINT64_MAX);
  const json& gpus = list_in(root, "gpus");
  if (gpus.empty() || gpus.size() > static_cast<std::size_t>(kMostRanks))
    wrong(fmt::format("gpus has from 1 to {} of them", kMostRanks));
  plan.is_of_tools = gpus[0].is_object() && gpus[0].contains("inputChunks");
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    in_place(fmt::format("gpu {}", i), [&] {
      if (number_in_json(gpus[i], "id") != i) wrong("its id is not its place");
      plan.gpus.push_back(
          GpuReader(gpus[i], static_cast<int>(i), static_cast<int>(gpus.size()), plan.is_of_tools).read());
      if (plan.gpus[i].chunks[0] != plan.gpus[0].chunks[0] ||
          plan.gpus[i].chunks[1] != plan.gpus[0].chunks[1])
        wrong("its input and output are not cut as those of gpu 0");
    });
  }
  const Gpu& first = plan.gpus[0];
  const std::uint32_t cut = first.chunks[0] != 0 ? first.chunks[0] : plan.chunks();
  if (first.groups == 0 || cut % first.groups != 0) wrong("chunkGroups does not divide the chunks");
  for (std::size_t gpu = 0; gpu < plan.gpus.size(); ++gpu) {
    for (std::size_t block = 0; block < plan.gpus[gpu].blocks.size(); ++block) {
      const auto& operations = plan.gpus[gpu].blocks[block];
      for (std::size_t i = 0; i < operations.size(); ++i)
        in_place(place_in_plan(gpu, block, i), [&] { check_bounds(plan, operations[i]); });
    }
  }
}

/// What MSCCL++ takes is a multiple of so many bytes.
std::uint64_t size_step(const OneSidedPlan& plan) {
  if (!plan.is_of_tools) return plan.alignment * plan.chunks();
  const std::uint32_t input = std::max(plan.gpus[0].chunks[0], std::uint32_t{1});
  return plan.alignment * plan.gpus[0].groups * std::max(plan.chunks() / input, std::uint32_t{1});
}

}  // namespace

std::string place_in_plan(std::size_t gpu, std::size_t block, std::size_t operation) {
  return fmt::format("gpu {}, thread block {}, operation {}", gpu, block, operation);
}

std::uint64_t OneSidedPlan::offset(std::uint64_t chunk, std::uint64_t whole) const {
  const std::uint64_t all = chunks();
  const std::uint64_t elements = whole / alignment;
  const std::uint64_t groups = gpus[0].groups;
  const std::uint64_t of_group = std::max(elements / groups, std::uint64_t{1});
  const std::uint64_t in_group = std::max(all / groups, std::uint64_t{1});
  const std::uint64_t inside = chunk % in_group;
  const std::uint64_t more = std::min(inside % of_group, of_group % in_group);
  return (chunk / in_group * of_group + inside * (of_group / in_group) + more) * alignment;
}

std::string OneSidedPlan::sizes() const {
  return fmt::format("it takes multiples of {} bytes{}", size_step(*this),
                     most == UINT64_MAX ? (least == 0 ? std::string() : fmt::format(" from {} on", least))
                                        : fmt::format(" from {} to {}", least, most));
}

std::string OneSidedPlan::refusal(std::uint64_t whole) const {
  if (whole < least || whole > most || whole == 0 || whole % size_step(*this) != 0) return sizes();
  return {};
}

Result<OneSidedPlan> parse_one_sided_plan(std::string_view text, const std::string& file) {
  using Failure = Result<OneSidedPlan>;
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return Failure::failure(fmt::format("{}: this is no object of JSON", file));
  OneSidedPlan plan;
  plan.file = file;
  try {
    read_plan_of(root, plan);
  } catch (const Wrong& found) {
    return Failure::failure(fmt::format("{}: {}", file, found.what));
  }
  return plan;
}

}  // namespace offramp::trace
