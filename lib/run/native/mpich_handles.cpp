// Datatypes, operations, communicators, and attributes in addition to MPICH's. MPICH exports no way to retain
// objects. If the program frees an object in use, it is freed after its last use.
#include <algorithm>
#include <mutex>
#include <new>
#include <random>
#include <unordered_map>
#include <vector>

#include "lib/run/native/mpich_inner.hpp"
#include "lib/run/native/type_recipe.hpp"
#include "lib/run/native/world_comm.hpp"

namespace offramp::mpich {
namespace {

/// Objects of one kind that are used beyond the lifetime of the program's handle.
class InUse {
 public:
  void retain(int handle) {
    const std::scoped_lock guard(mutex_);
    ++uses_[handle].count;
  }
  /// Returns how many deferred calls have to free it now.
  int release(int handle) {
    const std::scoped_lock guard(mutex_);
    const auto found = uses_.find(handle);
    if (found == uses_.end() || --found->second.count > 0) return 0;
    // The program may free a handle several times over its uses, as each handle of a duplicate type is one.
    const int frees = found->second.frees;
    uses_.erase(found);
    return frees;
  }
  /// Returns true if a call that frees it is deferred.
  bool put_off(int handle) {
    const std::scoped_lock guard(mutex_);
    const auto found = uses_.find(handle);
    if (found == uses_.end()) return false;
    ++found->second.frees;
    return true;
  }

 private:
  struct Use {
    int count = 0;
    int frees = 0;
  };
  std::mutex mutex_;
  std::unordered_map<int, Use> uses_;
};

InUse& types() {
  static auto& all = *new InUse;  // used until the process ends
  return all;
}
InUse& operations() {
  static auto& all = *new InUse;
  return all;
}

bool is_builtin(int handle) {
  constexpr unsigned kBuiltin = 1;
  return static_cast<unsigned>(handle) >> 30 == kBuiltin;
}

int free_type(MPI_Datatype* type) {
  if (type == nullptr || !types().put_off(*type)) return library.Type_free(type);
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

int free_operation(MPI_Op* op) {
  if (op == nullptr || !operations().put_off(*op)) return library.Op_free(op);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

// --- communicators ---

/// A communicator of this process alone, without attributes: a duplicate would call the program's functions.
MPI_Comm make_communicator() {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group only = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  const int own = world_rank();
  PMPI_Comm_group(mpi_world(), &all);
  PMPI_Group_incl(all, 1, &own, &only);
  // Only this process takes part, so that no other rank has to be in MPI.
  library.Comm_create_group(mpi_world(), only, 0, &made);
  PMPI_Group_free(&only);
  PMPI_Group_free(&all);
  return made;
}

/// A communicator with MPI_ERRORS_RETURN, for checks. Programs with only sessions have no MPI_COMM_SELF.
MPI_Comm quiet_communicator() {
  static const MPI_Comm quiet = [] {
    const MPI_Comm made = make_communicator();
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
  }();
  return quiet;
}

/// A communicator with the error handler of one that is freed before its requests complete.
MPI_Comm make_heir(MPI_Comm old) {
  const MPI_Comm heir = make_communicator();
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  PMPI_Comm_get_errhandler(old, &handler);
  PMPI_Comm_set_errhandler(heir, handler);
  PMPI_Errhandler_free(&handler);
  return heir;
}

void leave_requests_to_heir(const MPI_Comm* comm) {
  if (session_callbacks().locked == nullptr || comm == nullptr || *comm == MPI_COMM_NULL) return;
  run_by(session_callbacks().locked, [comm] { replace_communicator(*comm, make_heir); });
}

int free_communicator(MPI_Comm* comm) {
  leave_requests_to_heir(comm);
  return library.Comm_free(comm);
}

int disconnect(MPI_Comm* comm) {
  leave_requests_to_heir(comm);
  return library.Comm_disconnect(comm);
}

// --- attributes ---

std::mutex attributes_mutex;
std::vector<int>& attributes_of_self() {
  static auto& keys = *new std::vector<int>;  // in the order in which they were set
  return keys;
}

int set_attribute(MPI_Comm comm, int key, void* value) {
  const int code = library.Comm_set_attr(comm, key, value);
  if (code != MPI_SUCCESS || comm != MPI_COMM_SELF) return code;
  const std::scoped_lock guard(attributes_mutex);
  std::vector<int>& keys = attributes_of_self();
  // MPI deletes the attributes in the reverse order of their last setting.
  keys.erase(std::remove(keys.begin(), keys.end(), key), keys.end());
  keys.push_back(key);
  return code;
}

// --- layout of datatypes ---

bool is_in_order(MPI_Datatype type, std::size_t size, MPI_Aint true_lb) {
  std::vector<unsigned char> bytes(size);
  std::minstd_rand random;
  // Random bytes: a type that reorders its data gives them back in another order.
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<unsigned char>(random() >> 8); });
  std::vector<unsigned char> packed(size);
  int position = 0;
  MPI_Datatype committed = MPI_DATATYPE_NULL;  // components of a type need not be committed
  PMPI_Type_contiguous(1, type, &committed);
  PMPI_Type_commit(&committed);
  const int code = PMPI_Pack(bytes.data() - true_lb, 1, committed, packed.data(), static_cast<int>(size),
                             &position, quiet_communicator());
  library.Type_free(&committed);
  return code == MPI_SUCCESS && bytes == packed;
}

/// Returns true for a type that only repeats, duplicates, or resizes another one and therefore has its order.
bool is_like_its_part(const TypeRecipe& recipe) {
  const int combiner = recipe.combiner();
  if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_RESIZED)
    return false;
  return offramp_native_type_contiguous(recipe.parts().front(),
                                        combiner == MPI_COMBINER_CONTIGUOUS ? 2 : 1) != 0;
}

/// MPICH rejects MPI_BOTTOM for packing. This type moves elements by -4096 bytes, for use at address 4096.
constexpr MPI_Aint kOtherBottom = 4096;
class FromBottom {
 public:
  FromBottom(MPI_Count count, MPI_Datatype type) {
    constexpr MPI_Count kBack = -kOtherBottom;
    PMPI_Type_create_hindexed_block_c(1, count, &kBack, type, &moved_);
    PMPI_Type_commit(&moved_);
  }
  ~FromBottom() { library.Type_free(&moved_); }
  FromBottom& operator=(FromBottom&&) = delete;
  [[nodiscard]] MPI_Datatype type() const { return moved_; }
  static void* address() {
    return reinterpret_cast<void*>(kOtherBottom);
  }  // NOLINT(performance-no-int-to-ptr)

 private:
  MPI_Datatype moved_ = MPI_DATATYPE_NULL;
};

}  // namespace

void replace_handles(MpiTable& table) {
  table.Type_free = free_type;
  table.Op_free = free_operation;
  table.Comm_free = free_communicator;
  table.Comm_disconnect = disconnect;
  table.Comm_set_attr = set_attribute;
}

}  // namespace offramp::mpich

using namespace offramp::mpich;  // NOLINT(google-build-using-namespace): what follows are functions of C

extern "C" {

void offramp_native_type_retain(MPI_Datatype type) {
  // Built-in handles are never freed.
  if (!is_builtin(type)) types().retain(type);
}
void offramp_native_type_release(MPI_Datatype type) {
  if (is_builtin(type)) return;
  for (int frees = types().release(type); frees > 0; --frees) {
    MPI_Datatype freed = type;
    library.Type_free(&freed);
  }
}
void offramp_native_op_retain(MPI_Op op) {
  if (!is_builtin(op)) operations().retain(op);
}
void offramp_native_op_release(MPI_Op op) {
  if (is_builtin(op)) return;
  for (int frees = operations().release(op); frees > 0; --frees) {
    MPI_Op freed = op;
    library.Op_free(&freed);
  }
}

void offramp_native_delete_self_attributes(void) {
  for (;;) {
    int key = MPI_KEYVAL_INVALID;
    {
      const std::scoped_lock guard(attributes_mutex);
      std::vector<int>& keys = attributes_of_self();
      // A callback may set another attribute, so the list is read again each time.
      if (keys.empty()) return;
      key = keys.back();
      keys.pop_back();
    }
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(MPI_COMM_SELF, key, static_cast<void*>(&value), &found);
    if (found != 0) PMPI_Comm_delete_attr(MPI_COMM_SELF, key);
  }
}

void offramp_native_pack(const void* from, size_t count, MPI_Datatype type, void* packet, size_t bytes) {
  MPI_Count position = 0;
  const auto elements = static_cast<MPI_Count>(count);
  const auto room = static_cast<MPI_Count>(bytes);
  if (from != nullptr) {
    PMPI_Pack_c(from, elements, type, packet, room, &position, quiet_communicator());
    return;
  }
  const FromBottom moved(elements, type);
  PMPI_Pack_c(FromBottom::address(), 1, moved.type(), packet, room, &position, quiet_communicator());
}
void offramp_native_unpack(const void* packet, size_t bytes, void* to, size_t count, MPI_Datatype type) {
  MPI_Count position = 0;
  const auto elements = static_cast<MPI_Count>(count);
  const auto room = static_cast<MPI_Count>(bytes);
  if (to != nullptr) {
    PMPI_Unpack_c(packet, room, &position, to, elements, type, quiet_communicator());
    return;
  }
  const FromBottom moved(elements, type);
  PMPI_Unpack_c(packet, room, &position, FromBottom::address(), 1, moved.type(), quiet_communicator());
}

/* MPICH packs and unpacks whole elements. `element` contains the packed form of an element that spans pieces.
 * */
struct offramp_packing {
  uintptr_t next;  // address of the next element; 0 is valid: MPI_BOTTOM
  size_t left;     // elements
  MPI_Datatype type;
  size_t size = 0;
  MPI_Aint extent = 0;
  std::vector<std::byte> element;
  size_t used = 0;  // bytes of `element` already sent or received in pieces

  offramp_packing(const void* buffer, size_t count, MPI_Datatype of)
      : next(reinterpret_cast<uintptr_t>(buffer)), left(count), type(of) {
    MPI_Count bytes = 0;
    MPI_Aint lb = 0;
    PMPI_Type_size_x(type, &bytes);
    PMPI_Type_get_extent(type, &lb, &extent);
    size = static_cast<size_t>(bytes);
  }
  /* The number of whole elements that fit. */
  [[nodiscard]] size_t whole_in(size_t bytes) const { return std::min(left, bytes / size); }
  [[nodiscard]] void* address() const { return reinterpret_cast<void*>(next); }
  void pack(std::byte* to, size_t count) {
    offramp_native_pack(address(), count, type, to, count * size);
    pass(count);
  }
  void unpack(const std::byte* from, size_t count) {
    offramp_native_unpack(from, count * size, address(), count, type);
    pass(count);
  }
  void pass(size_t count) {
    next += static_cast<uintptr_t>(extent) * count;
    left -= count;
  }
};

offramp_packing* offramp_native_packing_begin(const void* buffer, size_t count, MPI_Datatype type) {
  return new (std::nothrow) offramp_packing(buffer, count, type);
}
offramp_packing* offramp_native_unpacking_begin(void* buffer, size_t count, MPI_Datatype type) {
  return offramp_native_packing_begin(buffer, count, type);
}
size_t offramp_native_packing_next(offramp_packing* packing, void* piece, size_t bytes) {
  offramp_packing& p = *packing;
  auto* to = static_cast<std::byte*>(piece);
  for (size_t room = bytes;;) {
    size_t part = std::min(room, p.element.size() - p.used);
    // First the rest of an element that did not fit into the last piece.
    std::copy_n(p.element.data() + p.used, part, to);
    p.used += part;
    if (part == room || p.left == 0) return bytes - room + part;
    to += part;
    room -= part;
    // Then whole elements straight into the piece, and the beginning of the next one from its packed copy.
    const size_t whole = p.whole_in(room);
    part = whole * p.size;
    if (whole > 0) {
      p.pack(to, whole);
    } else {
      p.element.resize(p.size);
      p.pack(p.element.data(), 1);
      p.used = 0;
    }
    to += part;
    room -= part;
  }
}
void offramp_native_unpacking_next(offramp_packing* unpacking, const void* piece, size_t bytes) {
  offramp_packing& p = *unpacking;
  const auto* from = static_cast<const std::byte*>(piece);
  while (bytes > 0) {
    const size_t whole = p.used == 0 ? p.whole_in(bytes) : 0;
    const size_t part = whole > 0 ? whole * p.size : std::min(bytes, p.size - p.used);
    if (whole > 0) {
      p.unpack(from, whole);
    } else {
      p.element.resize(p.size);
      std::copy_n(from, part, p.element.data() + p.used);
      p.used = (p.used + part) % p.size;
      if (p.used == 0) p.unpack(p.element.data(), 1);
    }
    from += part;
    bytes -= part;
  }
}
void offramp_native_packing_end(offramp_packing* packing) {
  delete packing;
}
/* The message may have ended within an element. */
void offramp_native_unpacking_end(offramp_packing* unpacking) {
  const offramp_packing& p = *unpacking;
  if (p.used > 0) offramp_native_unpack(p.element.data(), p.used, p.address(), 1, p.type);
  delete unpacking;
}

/* MPICH checks the arguments of a send to MPI_PROC_NULL if it has data. */
int offramp_native_type_committed(MPI_Datatype type) {
  if (is_builtin(type)) return 1;
  const char sent = 0;
  return library.Send(&sent, 1, type, MPI_PROC_NULL, 0, quiet_communicator()) == MPI_SUCCESS ? 1 : 0;
}

/* A type without gaps has a size equal to its true extent. Packing some data shows whether it is in order. */
int offramp_native_type_contiguous(MPI_Datatype type, int count) {
  constexpr MPI_Count kMostPacked = 1 << 20;
  MPI_Count size = 0;
  MPI_Aint lb = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_lb = 0;
  MPI_Aint true_extent = 0;
  PMPI_Type_size_x(type, &size);
  if (size == 0) return 1;
  PMPI_Type_get_extent(type, &lb, &extent);
  PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
  if (size != true_extent || (count > 1 && extent != size)) return 0;
  const offramp::TypeRecipe recipe(type);
  if (recipe.combiner() == MPI_COMBINER_NAMED || is_like_its_part(recipe)) return 1;
  // Larger types would cost too much to pack for the test. They count as not contiguous, which is always
  // safe.
  return size <= kMostPacked && is_in_order(type, static_cast<std::size_t>(size), true_lb) ? 1 : 0;
}

}  // extern "C"
