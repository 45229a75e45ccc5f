// Workloads of AICB and SimAI: the layers of a transformer with their computing and their collectives, of
// which all ranks run one pass forward and one back.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "lib/configuration/names.hpp"
#include "lib/trace/lines.hpp"
#include "lib/trace/made_events.hpp"
#include "lib/trace/openers.hpp"

namespace offramp::trace {
namespace {

using recording::Event;

/// What a collective is on.
enum class Group : std::uint8_t { kTensor, kData, kExpert, kDataOfExpert };
constexpr std::size_t kGroups = 4;

struct LayerCollective {
  OperationKind operation = OperationKind::kCount;  // none
  Group group = Group::kTensor;
  std::uint64_t bytes = 0;
};
struct LayerStep {
  std::uint64_t nanoseconds = 0;
  LayerCollective collective;
};
struct Layer {
  LayerStep forward;
  LayerStep input_gradient;
  LayerStep weight_gradient;
  std::uint64_t update = 0;    // nanoseconds, once its weights' gradients are there
  bool is_checkpoint = false;  // where a second pass forward may begin
  bool runs_again = false;     // before its gradients the layers from the checkpoint on run again
};

struct Workload {
  std::int64_t tensor = 1;
  std::int64_t expert = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t ranks = 1;
  std::int64_t between_stages = 0;  // bytes
  std::vector<Layer> layers;
  bool leaves_out = false;  // collectives that SimAI does not carry either
  bool raises = false;      // sizes, as SimAI does: see kLeastForward
  /// The policy is kRunsAgain: layers may run again on the way back.
  bool has_checkpoints = false;
};

constexpr std::string_view kRunsAgain = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
/// Under kRunsAgain SimAI takes a collective of the pass forward for one of at least so many bytes
/// (Workload.cc, iterate_hybrid_parallel_Transformer_fwd_in_bckwd).
constexpr std::uint64_t kLeastForward = 4096;

constexpr std::string_view kPolicies[] = {"MICRO",
                                          "DATA",
                                          "MODEL",
                                          "HYBRID_TRANSFORMER",
                                          kRunsAgain,
                                          "HYBRID_DATA_MODEL",
                                          "HYBRID_MODEL_DATA",
                                          "HYBRID_DLRM",
                                          "HYBRID_DLRM_ENHANCED",
                                          "HYBRID_CUSTOMIZED",
                                          "DISTRIBUTED_INFERENCE"};

/// The ranks of a group that a rank is in. Tensor-parallel ranks are next to each other, then those that
/// share an expert's data, then the stages of the pipeline.
std::vector<std::uint64_t> members_of(const Workload& workload, Group group, std::int64_t rank) {
  const std::int64_t tensor = rank % workload.tensor;
  const std::int64_t data = rank / workload.tensor % workload.data;
  const std::int64_t stage = rank / workload.tensor / workload.data;
  std::vector<std::uint64_t> members;
  const auto add = [&](std::int64_t t, std::int64_t d) {
    members.push_back(static_cast<std::uint64_t>(t + workload.tensor * (d + workload.data * stage)));
  };
  switch (group) {
    case Group::kTensor:
      for (std::int64_t t = 0; t < workload.tensor; ++t) add(t, data);
      break;
    case Group::kData:
      for (std::int64_t d = 0; d < workload.data; ++d) add(tensor, d);
      break;
    case Group::kExpert:
      for (std::int64_t e = 0; e < workload.expert; ++e) add(tensor, data - data % workload.expert + e);
      break;
    case Group::kDataOfExpert:
      for (std::int64_t d = data % workload.expert; d < workload.data; d += workload.expert) add(tensor, d);
      break;
  }
  return members;
}

class AicbRank final : public MadeEvents {
 public:
  AicbRank(std::shared_ptr<const Workload> workload, int rank)
      : workload_(std::move(workload)), rank_(rank) {}

 private:
  bool more() final {
    const std::uint64_t before = made();
    if (!std::exchange(begun_, true)) make_groups();
    while (made() == before && step()) {
    }
    return made() != before;
  }

  void make_groups() {
    for (std::size_t i = 0; i < kGroups; ++i) {
      const std::vector<std::uint64_t> members = members_of(*workload_, static_cast<Group>(i), rank_);
      sizes_[i] = members.size();
      if (members.size() < 2) continue;
      numbers_[i] = next_number_++;
      // Groups of one kind have no rank in common, and those of different kinds differ in what is added.
      make_communicator(members, i);
    }
  }

  /// False: the pass is over.
  bool step() {
    const std::size_t layers = workload_->layers.size();
    if (forward_ < layers) {
      run_forward(forward_++);
    } else if (back_ < layers) {
      run_back(layers - 1 - back_++);
    } else if (!open_.empty()) {
      const auto [layer, request] = *open_.begin();
      open_.erase(open_.begin());
      wait_for(request);
      compute(workload_->layers[layer].update);
    } else {
      return false;
    }
    return true;
  }

  void run_forward(std::size_t index) {
    const Layer& layer = workload_->layers[index];
    compute(layer.forward.nanoseconds);
    (void)run(layer.forward.collective, true);
  }

  void run_back(std::size_t index) {
    const Layer& layer = workload_->layers[index];
    if (layer.runs_again) {
      std::size_t again = index;
      while (again > 0 && !workload_->layers[again].is_checkpoint) --again;
      for (; again < index; ++again) run_forward(again);
    }
    compute(layer.input_gradient.nanoseconds);
    (void)run(layer.input_gradient.collective, true);
    compute(layer.weight_gradient.nanoseconds);
    if (const auto request = run(layer.weight_gradient.collective, false)) {
      open_.emplace(index, *request);
    } else {
      compute(layer.update);
    }
  }

  /// Its request, if it does not block. Nothing: there is none to run.
  std::optional<std::uint64_t> run(const LayerCollective& of, bool blocking) {
    const auto group = static_cast<std::size_t>(of.group);
    if (of.operation == OperationKind::kCount || of.bytes == 0 || sizes_[group] < 2) return std::nullopt;
    // Sizes are those of the whole: what is reduced, what comes together, or what a rank sends to all.
    const std::uint64_t ranks = of.operation == OperationKind::kAllreduce ? 1 : sizes_[group];
    Event event = collective_of_bytes(of.operation, of.bytes / ranks + (of.bytes % ranks != 0));
    event.communicator = numbers_[group];
    return collective(event, blocking);
  }

  std::shared_ptr<const Workload> workload_;
  int rank_;
  bool begun_ = false;
  std::size_t forward_ = 0;
  std::size_t back_ = 0;
  std::map<std::size_t, std::uint64_t> open_;  // by layer, the request of its weights' gradients
  std::array<std::size_t, kGroups> sizes_{};
  std::array<std::uint32_t, kGroups> numbers_{};
  std::uint32_t next_number_ = recording::kFirstMade;
};

/// "ALLGATHER_DP_EP". Nothing: there is no such collective. without: the group where it names none.
std::optional<LayerCollective> collective_in(std::string_view word, Group without, bool& leaves_out) {
  LayerCollective found;
  found.group = without;
  for (const auto& [suffix, group] :
       {std::pair<std::string_view, Group>{"_DP_EP", Group::kDataOfExpert}, {"_EP", Group::kExpert}}) {
    if (!word.ends_with(suffix)) continue;
    word.remove_suffix(suffix.size());
    found.group = group;
    break;
  }
  constexpr std::pair<std::string_view, OperationKind> kNames[] = {
      {"NONE", OperationKind::kCount},
      {"ALLREDUCE", OperationKind::kAllreduce},
      {"ALLGATHER", OperationKind::kAllgather},
      {"REDUCESCATTER", OperationKind::kReduceScatter},
      {"ALLTOALL", OperationKind::kAlltoall}};
  for (const auto& [name, operation] : kNames) {
    if (word != name) continue;
    found.operation = operation;
    return found;
  }
  if (word != "BROADCAST" && word != "ALLREDUCEALLTOALL") return std::nullopt;
  leaves_out = true;
  return found;
}

/// Empty, or what is wrong with the line.
std::string add_layer(const std::vector<std::string_view>& words, Workload& workload) {
  constexpr std::size_t kColumns = 12;
  if (words.size() != kColumns)
    return fmt::format("{} columns of {}: NAME DEPENDS, three times NS COMM BYTES, and NS are expected",
                       words.size(), kColumns);
  Layer layer;
  LayerStep* const steps[] = {&layer.forward, &layer.input_gradient, &layer.weight_gradient};
  for (std::size_t i = 0; i < std::size(steps); ++i) {
    const std::size_t first = 2 + 3 * i;
    const auto time = number_in<std::uint64_t>(words[first]);
    const auto collective =
        collective_in(words[first + 1], i == 2 ? Group::kData : Group::kTensor, workload.leaves_out);
    const auto bytes = number_in<std::uint64_t>(words[first + 2]);
    if (!collective) return fmt::format("there is no collective {}", printable(words[first + 1], 40));
    if (!time || !bytes) return "a time or a size is no number";
    *steps[i] = {*time, *collective};
    steps[i]->collective.bytes = *bytes;
  }
  LayerCollective& forward = layer.forward.collective;
  if (workload.has_checkpoints && forward.operation != OperationKind::kCount && forward.bytes > 0 &&
      forward.bytes < kLeastForward) {
    forward.bytes = kLeastForward;
    workload.raises = true;
  }
  const auto update = number_in<std::uint64_t>(words[kColumns - 1]);
  if (!update) return "the time of its update is no number";
  layer.update = *update;
  workload.layers.push_back(layer);
  return {};
}

/// "key: value" or "key value" of the first line; and lists of layers. Empty, or what is wrong.
std::string read_header(const std::vector<std::string_view>& words, Workload& workload,
                        std::map<std::string_view, std::vector<std::int64_t>>& lists) {
  const std::pair<std::string_view, std::int64_t*> kKeys[] = {{"model_parallel_NPU_group", &workload.tensor},
                                                              {"ep", &workload.expert},
                                                              {"pp", &workload.pipeline},
                                                              {"all_gpus", &workload.ranks},
                                                              {"pp_comm", &workload.between_stages}};
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    std::string_view key = words[i];
    if (key.ends_with(':')) key.remove_suffix(1);
    const auto value = number_in<std::int64_t>(words[i + 1]);
    for (const auto& [name, into] : kKeys) {
      if (key != name) continue;
      if (!value || *value < (name == "pp_comm" ? 0 : 1) ||
          *value > (name == "pp_comm" ? INT64_MAX : kMostRanks))
        return fmt::format("{} makes no sense", key);
      *into = *value;
    }
    if (!workload.has_checkpoints || (key != "checkpoints" && key != "checkpoint_initiates")) continue;
    if (!value || *value < 0 || static_cast<std::uint64_t>(*value) > words.size() - i - 2)
      return fmt::format("{}: fewer layers follow", key);
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(*value); ++layer) {
      const auto number = number_in<std::int64_t>(words[i + 2 + layer]);
      if (!number || *number < 0) return fmt::format("{}: a layer is no number", key);
      lists[key].push_back(*number);
    }
  }
  const std::int64_t of_a_stage = workload.tensor * workload.pipeline;
  if (workload.ranks % of_a_stage != 0)
    return fmt::format("all_gpus {} is no multiple of model_parallel_NPU_group {} times pp {}",
                       workload.ranks, workload.tensor, workload.pipeline);
  workload.data = workload.ranks / of_a_stage;
  if (workload.data % workload.expert != 0)
    return fmt::format("ep {} does not divide the {} data-parallel ranks", workload.expert, workload.data);
  return {};
}

std::string set_flags(const std::map<std::string_view, std::vector<std::int64_t>>& lists,
                      Workload& workload) {
  for (const auto& [name, layers] : lists) {
    for (const std::int64_t layer : layers) {
      if (static_cast<std::size_t>(layer) >= workload.layers.size())
        return fmt::format("{}: there is no layer {}", name, layer);
      Layer& one = workload.layers[static_cast<std::size_t>(layer)];
      (name == "checkpoints" ? one.is_checkpoint : one.runs_again) = true;
    }
  }
  return {};
}

Result<Workload> read_workload(Lines& lines) {
  using Failure = Result<Workload>;
  Workload workload;
  std::vector<std::string_view> words;
  std::map<std::string_view, std::vector<std::int64_t>> lists;
  std::string_view line;
  std::string first;
  if (lines.next(line)) first = line;
  split(first, words);
  if (words.empty() || !words[0].starts_with("HYBRID_TRANSFORMER"))
    return Failure::failure(lines.at(fmt::format(
        "policy {}: HYBRID_TRANSFORMER and HYBRID_TRANSFORMER_FWD_IN_BCKWD are read; the lines of "
        "the others say nothing without a simulator's dimensions",
        words.empty() ? "" : words[0])));
  workload.has_checkpoints = words[0] == kRunsAgain;
  if (std::string problem = read_header(words, workload, lists); !problem.empty())
    return Failure::failure(lines.at(problem));
  if (lines.next(line)) split(line, words);
  const auto layers = words.size() == 1 ? number_in<std::size_t>(words[0]) : std::nullopt;
  if (!layers) return Failure::failure(lines.at("the number of layers is expected"));
  while (workload.layers.size() < *layers && lines.next(line)) {
    split(line, words);
    if (words.empty()) continue;
    if (std::string problem = add_layer(words, workload); !problem.empty())
      return Failure::failure(lines.at(problem));
  }
  if (!lines.error().empty()) return Failure::failure(lines.error());
  if (workload.layers.size() < *layers)
    return Failure::failure(lines.at(fmt::format("{} of {} layers", workload.layers.size(), *layers)));
  if (std::string problem = set_flags(lists, workload); !problem.empty())
    return Failure::failure(fmt::format("{}:1: {}", lines.file(), problem));
  return workload;
}

Result<std::optional<Program>> open_aicb(const Candidate& candidate) {
  using Opened = Result<std::optional<Program>>;
  if (!candidate.is_text()) return std::optional<Program>();
  std::vector<std::string_view> words;
  split(std::string_view(candidate.begin).substr(0, candidate.begin.find('\n')), words);
  if (words.empty() || std::find(std::begin(kPolicies), std::end(kPolicies), words[0]) == std::end(kPolicies))
    return std::optional<Program>();
  Result<recording::Source> source = recording::Source::look(candidate.name);
  if (!source) return Opened::failure(source.error());
  Lines lines(std::make_shared<const recording::Source>(std::move(*source)));
  Result<Workload> read = read_workload(lines);
  if (!read) return Opened::failure(read.error());
  const auto workload = std::make_shared<const Workload>(std::move(*read));
  Program program;
  program.has_arrival = false;
  program.description.ranks = static_cast<int>(workload->ranks);
  program.description.facts = {{"program", candidate.name}};
  program.notes = {
      "one pass forward and one back, the same for all ranks",
      "ranks: those of one tensor-parallel group are next to each other, then those of one expert",
      "the size of an all-gather is what comes together, as AICB writes it; SimAI takes it for one rank's "
      "part",
      "reductions do not name type and function: they are sums of 32-bit floats"};
  if (workload->pipeline > 1)
    program.notes.push_back(
        "messages between the stages of the pipeline (pp_comm) have no place in the pass: they "
        "are not sent");
  if (workload->raises)
    program.notes.push_back(
        fmt::format("collectives forward of less than {0} bytes count as {0}, as in SimAI", kLeastForward));
  if (workload->leaves_out)
    program.notes.push_back("BROADCAST and ALLREDUCEALLTOALL are left out, as SimAI does");
  program.read = [workload](int rank) { return std::make_unique<AicbRank>(workload, rank); };
  return std::optional(std::move(program));
}

}  // namespace

const Opener kAicbWorkloads = {.kind = "AICB workload", .origin = "AICB, SimAI", .open = open_aicb};

}  // namespace offramp::trace
