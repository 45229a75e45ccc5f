#include "tests/marshal/stand_in.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "lib/run/native/native.h"
#include "lib/run/native/pmpi.hpp"
#include "lib/run/native/world_comm.hpp"

namespace offramp::stand_in {
namespace {

struct Type {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers = {};
  std::vector<MPI_Aint> addresses = {};
  std::vector<MPI_Datatype> parts = {};
  std::vector<Run> runs = {};  // in the order of the type map
  MPI_Aint extent = 0;
  bool committed = true;
  int references = 1;

  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const Run& run : runs) sum += run.bytes;
    return sum;
  }
  [[nodiscard]] MPI_Aint begin() const {
    MPI_Aint first = runs.empty() ? 0 : runs.front().at;
    for (const Run& run : runs) first = std::min(first, run.at);
    return first;
  }
  [[nodiscard]] MPI_Aint end() const {
    MPI_Aint last = begin();
    for (const Run& run : runs) last = std::max(last, run.at + static_cast<MPI_Aint>(run.bytes));
    return last;
  }
  /// `count` elements from `at` on, one after the other.
  void add(const Type& part, int count, MPI_Aint at) {
    for (int i = 0; i < count; ++i) {
      for (const Run& run : part.runs) add(Run{at + i * part.extent + run.at, run.bytes});
    }
  }
  void add(const Run& run) {
    if (!runs.empty() && runs.back().at + static_cast<MPI_Aint>(runs.back().bytes) == run.at) {
      runs.back().bytes += run.bytes;
    } else {
      runs.push_back(run);
    }
  }
};

Type named(std::size_t bytes) {
  return {.runs = {{0, bytes}}, .extent = static_cast<MPI_Aint>(bytes)};
}

std::map<MPI_Datatype, Type> predefined() {
  return {{MPI_BYTE, named(1)},    {MPI_CHAR, named(1)},
          {MPI_INT, named(4)},     {MPI_INTEGER, named(4)},
          {MPI_LOGICAL, named(4)}, {MPI_WCHAR, named(sizeof(wchar_t))},
          {MPI_DOUBLE, named(8)},  {MPI_C_DOUBLE_COMPLEX, named(16)},
          {MPI_2INT, named(8)},    {MPI_SHORT_INT, {.runs = {{0, 2}, {4, 4}}, .extent = 8}}};
}

std::map<MPI_Datatype, Type> types = predefined();  // NOLINT(cert-err58-cpp): ends the test at once
std::uintptr_t made = 0;
int own_rank = 0;
int all_ranks = 1;

MPI_Datatype keep(Type type) {
  const auto handle = handle_of<MPI_Datatype>(made++);
  types.emplace(handle, std::move(type));
  return handle;
}

/// A reference held by the program or by another type: the type lives on after MPI_Type_free, although a
/// part's own handle is a new one.
void hold(MPI_Datatype type) {
  ++types.at(type).references;
}

void let_go(MPI_Datatype type) {
  if (--types.at(type).references == 0) types.erase(type);
}

template <typename T>
void copy_out(const std::vector<T>& from, T* to) {
  std::copy(from.begin(), from.end(), to);
}

}  // namespace

void start_anew() {
  types = predefined();
  made = 0;
}

MPI_Datatype contiguous(int count, MPI_Datatype part) {
  const Type& of = types.at(part);
  Type type{
      .combiner = MPI_COMBINER_CONTIGUOUS, .integers = {count}, .parts = {part}, .extent = count * of.extent};
  type.add(of, count, 0);
  return keep(std::move(type));
}

MPI_Datatype vector(int count, int block, int stride, MPI_Datatype part) {
  const Type& of = types.at(part);
  Type type{.combiner = MPI_COMBINER_VECTOR,
            .integers = {count, block, stride},
            .parts = {part},
            .extent = ((count - 1) * stride + block) * of.extent};
  for (int i = 0; i < count; ++i) type.add(of, block, i * stride * of.extent);
  return keep(std::move(type));
}

MPI_Datatype create_struct(const std::vector<Block>& blocks) {
  Type type{.combiner = MPI_COMBINER_STRUCT, .integers = {static_cast<int>(blocks.size())}, .extent = 0};
  for (const Block& block : blocks) {
    type.integers.push_back(block.count);
    type.addresses.push_back(block.at);
    type.parts.push_back(block.type);
    type.add(types.at(block.type), block.count, block.at);
  }
  type.extent = type.end();
  return keep(std::move(type));
}

void uncommit(MPI_Datatype type) {
  types.at(type).committed = false;
}
void commit(MPI_Datatype type) {
  types.at(type).committed = true;
}
int references(MPI_Datatype type) {
  return types.at(type).references;
}

void be_rank(int rank, int ranks) {
  own_rank = rank;
  all_ranks = ranks;
}

MPI_Op user_operation(bool commutative) {
  return handle_of<MPI_Op>(commutative ? 1 : 2);
}

}  // namespace offramp::stand_in

MPI_Comm offramp::mpi_world() {
  return MPI_COMM_WORLD;
}

using offramp::stand_in::types;

int offramp::pmpi::Type_free(MPI_Datatype* type) {
  stand_in::let_go(*type);
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

namespace {

/// Number: int, or MPI_Count in the functions with large counts.
template <typename Number>
int envelope(MPI_Datatype type, Number* integers, Number* addresses, Number* parts, int* combiner) {
  const auto& of = types.at(type);
  *integers = static_cast<Number>(of.integers.size());
  *addresses = static_cast<Number>(of.addresses.size());
  *parts = static_cast<Number>(of.parts.size());
  *combiner = of.combiner;
  return MPI_SUCCESS;
}

int contents(MPI_Datatype type, int integers[], MPI_Aint addresses[], MPI_Datatype parts[]) {
  const auto& of = types.at(type);
  offramp::stand_in::copy_out(of.integers, integers);
  offramp::stand_in::copy_out(of.addresses, addresses);
  offramp::stand_in::copy_out(of.parts, parts);
  for (const MPI_Datatype part : of.parts) {
    if (types.at(part).combiner != MPI_COMBINER_NAMED) offramp::stand_in::hold(part);
  }
  return MPI_SUCCESS;
}

}  // namespace

extern "C" {

int PMPI_Comm_rank(MPI_Comm, int* rank) {
  *rank = offramp::stand_in::own_rank;
  return MPI_SUCCESS;
}
int PMPI_Comm_test_inter(MPI_Comm, int* inter) {
  *inter = 0;
  return MPI_SUCCESS;
}
int PMPI_Comm_group(MPI_Comm, MPI_Group* group) {
  *group = offramp::stand_in::handle_of<MPI_Group>(0);
  return MPI_SUCCESS;
}
int PMPI_Group_size(MPI_Group, int* size) {
  *size = offramp::stand_in::all_ranks;
  return MPI_SUCCESS;
}
int PMPI_Group_translate_ranks(MPI_Group, int count, const int from[], MPI_Group, int to[]) {
  std::copy_n(from, count, to);
  return MPI_SUCCESS;
}
int PMPI_Group_free(MPI_Group* group) {
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

int PMPI_Op_commutative(MPI_Op op, int* commutative) {
  *commutative = op == offramp::stand_in::user_operation(false) ? 0 : 1;
  return MPI_SUCCESS;
}
void offramp_native_op_retain(MPI_Op) {}
void offramp_native_op_release(MPI_Op) {}
/// Adds numbers of 32 bits, whatever the operation.
int offramp_native_reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op) {
  const auto numbers = static_cast<std::size_t>(count) * static_cast<std::size_t>(types.at(type).extent) /
                       sizeof(std::int32_t);
  for (std::size_t i = 0; i < numbers; ++i)
    static_cast<std::int32_t*>(inout)[i] += static_cast<const std::int32_t*>(in)[i];
  return MPI_SUCCESS;
}

int PMPI_Type_size_x(MPI_Datatype type, MPI_Count* size) {
  *size = static_cast<MPI_Count>(types.at(type).size());
  return MPI_SUCCESS;
}

int PMPI_Type_get_extent(MPI_Datatype type, MPI_Aint* lb, MPI_Aint* extent) {
  *lb = 0;
  *extent = types.at(type).extent;
  return MPI_SUCCESS;
}

int PMPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint* lb, MPI_Aint* extent) {
  *lb = types.at(type).begin();
  *extent = types.at(type).end() - *lb;
  return MPI_SUCCESS;
}

#ifdef OFFRAMP_HAS_LARGE_COUNTS
int PMPI_Type_get_envelope_c(MPI_Datatype type, MPI_Count* integers, MPI_Count* addresses, MPI_Count* large,
                             MPI_Count* parts, int* combiner) {
  *large = 0;
  return envelope(type, integers, addresses, parts, combiner);
}
int PMPI_Type_get_contents_c(MPI_Datatype type, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int integers[],
                             MPI_Aint addresses[], MPI_Count[], MPI_Datatype parts[]) {
  return contents(type, integers, addresses, parts);
}
#else
int PMPI_Type_get_envelope(MPI_Datatype type, int* integers, int* addresses, int* parts, int* combiner) {
  return envelope(type, integers, addresses, parts, combiner);
}
int PMPI_Type_get_contents(MPI_Datatype type, int, int, int, int integers[], MPI_Aint addresses[],
                           MPI_Datatype parts[]) {
  return contents(type, integers, addresses, parts);
}
#endif

void offramp_native_type_retain(MPI_Datatype type) {
  offramp::stand_in::hold(type);
}
void offramp_native_type_release(MPI_Datatype type) {
  offramp::stand_in::let_go(type);
}
int offramp_native_type_committed(MPI_Datatype type) {
  return types.at(type).committed ? 1 : 0;
}

int offramp_native_type_contiguous(MPI_Datatype type, int count) {
  const auto& of = types.at(type);
  const bool one = of.runs.size() <= 1;
  return one && (count <= 1 || of.extent == static_cast<MPI_Aint>(of.size())) ? 1 : 0;
}

void offramp_native_pack(const void* from, std::size_t count, MPI_Datatype type, void* packet, std::size_t) {
  const auto& of = types.at(type);
  auto* to = static_cast<std::byte*>(packet);
  for (std::size_t i = 0; i < count; ++i) {
    for (const auto& run : of.runs) {
      std::memcpy(to, static_cast<const std::byte*>(from) + static_cast<MPI_Aint>(i) * of.extent + run.at,
                  run.bytes);
      to += run.bytes;
    }
  }
}

// Like MPI libraries, it stops at the end of the packet, even inside an element.
void offramp_native_unpack(const void* packet, std::size_t bytes, void* to, std::size_t count,
                           MPI_Datatype type) {
  const auto& of = types.at(type);
  const auto* from = static_cast<const std::byte*>(packet);
  for (std::size_t i = 0; i < count; ++i) {
    for (const auto& run : of.runs) {
      const std::size_t part = std::min(bytes, static_cast<std::size_t>(run.bytes));
      std::memcpy(static_cast<std::byte*>(to) + static_cast<MPI_Aint>(i) * of.extent + run.at, from, part);
      from += part;
      bytes -= part;
    }
  }
}

/// Packs all at once.
struct offramp_packing {
  std::vector<std::byte> packed;
  std::size_t at = 0;
  void* to = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

offramp_packing* offramp_native_packing_begin(const void* buffer, std::size_t count, MPI_Datatype type) {
  auto* const packing = new offramp_packing;
  packing->packed.resize(count * types.at(type).size());
  offramp_native_pack(buffer, count, type, packing->packed.data(), packing->packed.size());
  return packing;
}
std::size_t offramp_native_packing_next(offramp_packing* packing, void* piece, std::size_t bytes) {
  const std::size_t part = std::min(bytes, packing->packed.size() - packing->at);
  std::memcpy(piece, packing->packed.data() + packing->at, part);
  packing->at += part;
  return part;
}
void offramp_native_packing_end(offramp_packing* packing) {
  delete packing;
}

offramp_packing* offramp_native_unpacking_begin(void* buffer, std::size_t, MPI_Datatype type) {
  return new offramp_packing{.packed = {}, .to = buffer, .type = type};
}
void offramp_native_unpacking_next(offramp_packing* unpacking, const void* piece, std::size_t bytes) {
  const auto* const from = static_cast<const std::byte*>(piece);
  unpacking->packed.insert(unpacking->packed.end(), from, from + bytes);
}
void offramp_native_unpacking_end(offramp_packing* unpacking) {
  const std::size_t bytes = unpacking->packed.size();
  const std::size_t size = types.at(unpacking->type).size();
  offramp_native_unpack(unpacking->packed.data(), bytes, unpacking->to, (bytes + size - 1) / size,
                        unpacking->type);
  delete unpacking;
}

}  // extern "C"
