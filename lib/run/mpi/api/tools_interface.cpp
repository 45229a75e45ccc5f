// MPI chapter 14, performance variables. Offramp's variables keep their indices: their block begins where the
// MPI library's list ended at the first query. Variables that the library adds later follow the block.
#include "lib/run/mpi/api/tools_interface.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/run/mpi/api/entries.hpp"
#include "lib/run/native/pmpi.hpp"

namespace offramp {
namespace {

using Value = unsigned long long;  // MPI_UNSIGNED_LONG_LONG

struct Variable {
  const char* name;
  const char* description;
  int kind;  // MPI_T_PVAR_CLASS_*
  Value (*now)(Session& session);

  /// Always running. The other variables count from MPI_T_pvar_start to MPI_T_pvar_stop.
  [[nodiscard]] bool continuous() const { return kind == MPI_T_PVAR_CLASS_HIGHWATERMARK; }
};

template <std::uint64_t CallCounter::*kField>
Value sum_of_calls(Session& session) {
  Value sum = 0;
  for (const CallCounter& call : session.engine().lane().counters.calls) sum += call.*kField;
  return sum;
}

constexpr Variable kVariables[] = {
    {"offramp_calls_offloaded", "Operations that the chosen backend has carried", MPI_T_PVAR_CLASS_COUNTER,
     sum_of_calls<&CallCounter::offloaded>},
    {"offramp_calls_declined", "Operations that the hardware cannot do and the modelled host has carried",
     MPI_T_PVAR_CLASS_COUNTER, sum_of_calls<&CallCounter::declined>},
    {"offramp_calls_native", "Counted calls that the MPI library has carried", MPI_T_PVAR_CLASS_COUNTER,
     sum_of_calls<&CallCounter::native>},
    {"offramp_bytes", "Payload bytes of the operations that were offloaded or declined",
     MPI_T_PVAR_CLASS_COUNTER, sum_of_calls<&CallCounter::bytes>},
    {"offramp_arrival_order_dependences", "How often modelled time depended on arrival order or polling",
     MPI_T_PVAR_CLASS_COUNTER,
     [](Session& s) { return static_cast<Value>(s.engine().lane().counters.arrival_order_dependences()); }},
    {"offramp_unexpected_bytes_peak", "Peak payload of unexpected messages in memory",
     MPI_T_PVAR_CLASS_HIGHWATERMARK,
     [](Session& s) { return static_cast<Value>(s.engine().unexpected_bytes_peak()); }},
};
constexpr int kCount = static_cast<int>(std::size(kVariables));

struct Handle {
  MPI_T_pvar_session session;
  int variable;
  bool running = false;
  Value counted = 0;  // until the last start
  Value started = 0;  // the variable at the last start
};

/// Lives as long as the process: tools may call before MPI_Init and after MPI_Finalize, in any thread.
class Tools {
 public:
  static Tools& get() {
    static Tools& tools = *new Tools;  // as in immortal.hpp, but cannot be moved
    return tools;
  }

  std::mutex mutex;
  int first = -1;  // index of Offramp's first variable; -1: not known yet
  std::vector<std::unique_ptr<Handle>> handles;
  Value last[kCount] = {};  // when the session ended

  Handle* find(MPI_T_pvar_handle handle) {
    for (const auto& own : handles) {
      if (reinterpret_cast<MPI_T_pvar_handle>(own.get()) == handle) return own.get();
    }
    return nullptr;
  }
  void erase(const Handle& handle) {
    std::erase_if(handles, [&](const auto& own) { return own.get() == &handle; });
  }
  // Lock order: the mutex of the tools, which the caller holds, then the lock of the session.
  [[nodiscard]] Value now(int variable) const {
    Session* session = Session::current;
    if (session == nullptr) return last[variable];
    const Session::Lock guard(*session);
    return kVariables[variable].now(*session);
  }
  [[nodiscard]] Value value(const Handle& handle) const {
    if (kVariables[handle.variable].continuous()) return now(handle.variable);
    return handle.counted + (handle.running ? now(handle.variable) - handle.started : 0);
  }
  void set(Handle& handle, Value value) const {
    handle.counted = value;
    handle.started = now(handle.variable);
  }
};

/// The number of the MPI library's variables. Fails if the tools interface is not initialised.
int count_natives(int* natives) {
  const int code = native.T_pvar_get_num(natives);
  Tools& tools = Tools::get();
  // The library may add variables later. Offramp's indices must not change, so the block begins here for
  // ever.
  if (code == MPI_SUCCESS && tools.first < 0) tools.first = *natives;
  return code;
}

// Indices: Offramp's are first .. first + kCount - 1; the library's come before and after them.
bool is_own(int index) {
  const int first = Tools::get().first;
  return first >= 0 && index >= first && index < first + kCount;
}
int to_native(int index) {
  const int first = Tools::get().first;
  return first >= 0 && index >= first + kCount ? index - kCount : index;
}
int from_native(int index) {
  const int first = Tools::get().first;
  return first >= 0 && index >= first ? index + kCount : index;
}

/// Returns a text as MPI_T does: as much as fits. The length includes the terminating zero.
void hand_out(const char* text, char* into, int* length) {
  if (length == nullptr) return;
  if (into != nullptr && *length > 0) {
    std::strncpy(into, text, static_cast<std::size_t>(*length));
    into[*length - 1] = '\0';
  }
  *length = static_cast<int>(std::strlen(text)) + 1;
}

/// Runs a step on one of Offramp's handles, or on all of a session in addition to the library's. Other
/// handles are passed to the library.
int for_handles(MPI_T_pvar_session session, MPI_T_pvar_handle handle, auto from_library, auto step) {
  Tools& tools = Tools::get();
  std::unique_lock guard(tools.mutex);
  if (handle == MPI_T_PVAR_ALL_HANDLES) {
    for (const auto& own : tools.handles) {
      if (own->session == session) (void)step(tools, *own);
    }
    guard.unlock();
    return from_library(session, handle);
  }
  Handle* own = tools.find(handle);
  if (own == nullptr) {
    guard.unlock();
    return from_library(session, handle);
  }
  return own->session == session ? step(tools, *own) : MPI_T_ERR_INVALID_HANDLE;
}

int start(Tools& tools, Handle& handle) {
  if (kVariables[handle.variable].continuous()) return MPI_T_ERR_PVAR_NO_STARTSTOP;
  if (handle.running) return MPI_SUCCESS;
  handle.started = tools.now(handle.variable);
  handle.running = true;
  return MPI_SUCCESS;
}

int stop(Tools& tools, Handle& handle) {
  if (kVariables[handle.variable].continuous()) return MPI_T_ERR_PVAR_NO_STARTSTOP;
  handle.counted = tools.value(handle);
  handle.running = false;
  return MPI_SUCCESS;
}

template <auto... entries>
void copy_entries(const MpiTable& from, MpiTable& to) {
  ((to.*entries = from.*entries), ...);
}

int reset(Tools& tools, Handle& handle) {
  if (kVariables[handle.variable].continuous()) return MPI_T_ERR_PVAR_NO_WRITE;
  tools.set(handle, 0);
  return MPI_SUCCESS;
}

}  // namespace

namespace api {

int T_pvar_get_num(int* count) {
  if (count == nullptr) return native.T_pvar_get_num(count);
  const std::scoped_lock guard(Tools::get().mutex);
  const int code = count_natives(count);
  if (code == MPI_SUCCESS) *count += kCount;
  return code;
}

int T_pvar_get_info(int index, char* name, int* name_len, int* verbosity, int* kind, MPI_Datatype* type,
                    MPI_T_enum* values, char* text, int* text_len, int* bind, int* readonly, int* continuous,
                    int* atomic) {
  Tools& tools = Tools::get();
  const std::scoped_lock guard(tools.mutex);
  int natives = 0;
  if (const int code = count_natives(&natives); code != MPI_SUCCESS) return code;
  if (!is_own(index))
    return native.T_pvar_get_info(to_native(index), name, name_len, verbosity, kind, type, values, text,
                                  text_len, bind, readonly, continuous, atomic);
  const Variable& variable = kVariables[index - tools.first];
  const auto give = [](auto* where, auto value) {
    if (where != nullptr) *where = value;
  };
  hand_out(variable.name, name, name_len);
  hand_out(variable.description, text, text_len);
  give(verbosity, static_cast<int>(MPI_T_VERBOSITY_USER_BASIC));
  give(kind, variable.kind);
  give(type, MPI_UNSIGNED_LONG_LONG);
  give(values, static_cast<MPI_T_enum>(MPI_T_ENUM_NULL));
  give(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
  give(readonly, variable.continuous() ? 1 : 0);
  give(continuous, variable.continuous() ? 1 : 0);
  give(atomic, 0);
  return MPI_SUCCESS;
}

int T_pvar_get_index(const char* name, int kind, int* index) {
  Tools& tools = Tools::get();
  const std::scoped_lock guard(tools.mutex);
  int natives = 0;
  if (const int code = count_natives(&natives); code != MPI_SUCCESS) return code;
  if (name != nullptr && index != nullptr) {
    for (int i = 0; i < kCount; ++i) {
      if (std::strcmp(kVariables[i].name, name) != 0 || kVariables[i].kind != kind) continue;
      *index = tools.first + i;
      return MPI_SUCCESS;
    }
  }
  const int code = native.T_pvar_get_index(name, kind, index);
  if (code == MPI_SUCCESS) *index = from_native(*index);
  return code;
}

int T_category_get_pvars(int category, int length, int indices[]) {
  const int code = native.T_category_get_pvars(category, length, indices);
  int known = 0;
  if (code == MPI_SUCCESS && indices != nullptr &&
      pmpi::T_category_get_info(category, nullptr, nullptr, nullptr, nullptr, nullptr, &known, nullptr) ==
          MPI_SUCCESS) {
    const std::scoped_lock guard(Tools::get().mutex);
    for (int i = 0; i < std::min(length, known); ++i) indices[i] = from_native(indices[i]);
  }
  return code;
}

int T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void* object, MPI_T_pvar_handle* handle,
                        int* count) {
  Tools& tools = Tools::get();
  const std::scoped_lock guard(tools.mutex);
  int natives = 0;
  if (const int code = count_natives(&natives); code != MPI_SUCCESS) return code;
  if (!is_own(index)) return native.T_pvar_handle_alloc(session, to_native(index), object, handle, count);
  if (session == MPI_T_PVAR_SESSION_NULL) return MPI_T_ERR_INVALID_SESSION;
  if (handle == nullptr || count == nullptr) return MPI_ERR_ARG;
  tools.handles.push_back(std::make_unique<Handle>());
  Handle& made = *tools.handles.back();
  made.session = session;
  made.variable = index - tools.first;
  *handle = reinterpret_cast<MPI_T_pvar_handle>(&made);
  *count = 1;
  return MPI_SUCCESS;
}

int T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  Tools& tools = Tools::get();
  std::unique_lock guard(tools.mutex);
  Handle* own = handle != nullptr ? tools.find(*handle) : nullptr;
  if (own == nullptr) {
    guard.unlock();
    return native.T_pvar_handle_free(session, handle);
  }
  if (own->session != session) return MPI_T_ERR_INVALID_HANDLE;
  tools.erase(*own);
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int T_pvar_session_free(MPI_T_pvar_session* session) {
  if (session != nullptr && *session != MPI_T_PVAR_SESSION_NULL) {
    Tools& tools = Tools::get();
    const std::scoped_lock guard(tools.mutex);
    std::erase_if(tools.handles, [&](const auto& own) { return own->session == *session; });
  }
  return native.T_pvar_session_free(session);
}

int T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return for_handles(session, handle, native.T_pvar_start, start);
}

int T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return for_handles(session, handle, native.T_pvar_stop, stop);
}

int T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return for_handles(session, handle, native.T_pvar_reset, reset);
}

int T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer) {
  if (handle == MPI_T_PVAR_ALL_HANDLES) return native.T_pvar_read(session, handle, buffer);
  return for_handles(
      session, handle,
      [buffer](MPI_T_pvar_session s, MPI_T_pvar_handle h) { return native.T_pvar_read(s, h, buffer); },
      [buffer](const Tools& tools, const Handle& own) {
        if (buffer == nullptr) return MPI_ERR_ARG;
        const Value value = tools.value(own);
        std::memcpy(buffer, &value, sizeof value);
        return MPI_SUCCESS;
      });
}

int T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buffer) {
  if (handle == MPI_T_PVAR_ALL_HANDLES) return native.T_pvar_readreset(session, handle, buffer);
  return for_handles(
      session, handle,
      [buffer](MPI_T_pvar_session s, MPI_T_pvar_handle h) { return native.T_pvar_readreset(s, h, buffer); },
      [buffer](Tools& tools, Handle& own) {
        if (buffer == nullptr) return MPI_ERR_ARG;
        const Value value = tools.value(own);
        if (const int code = reset(tools, own); code != MPI_SUCCESS) return code;
        std::memcpy(buffer, &value, sizeof value);
        return MPI_SUCCESS;
      });
}

int T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buffer) {
  if (handle == MPI_T_PVAR_ALL_HANDLES) return native.T_pvar_write(session, handle, buffer);
  return for_handles(
      session, handle,
      [buffer](MPI_T_pvar_session s, MPI_T_pvar_handle h) { return native.T_pvar_write(s, h, buffer); },
      [buffer](Tools& tools, Handle& own) {
        if (buffer == nullptr) return MPI_ERR_ARG;
        if (kVariables[own.variable].continuous()) return MPI_T_ERR_PVAR_NO_WRITE;
        Value value = 0;
        std::memcpy(&value, buffer, sizeof value);
        tools.set(own, value);
        return MPI_SUCCESS;
      });
}

}  // namespace api

void close_tools_interface(Session& session) {
  Tools& tools = Tools::get();
  const std::scoped_lock guard(tools.mutex);
  for (int i = 0; i < kCount; ++i) tools.last[i] = kVariables[i].now(session);
  // The entries of the tools interface stay Offramp's after the table has gone back to the library.
  MpiTable active = dispatch;
  fill_active(active);
  using T = MpiTable;
  copy_entries<&T::T_pvar_get_num, &T::T_pvar_get_info, &T::T_pvar_get_index, &T::T_category_get_pvars,
               &T::T_pvar_handle_alloc, &T::T_pvar_handle_free, &T::T_pvar_session_free, &T::T_pvar_start,
               &T::T_pvar_stop, &T::T_pvar_reset, &T::T_pvar_read, &T::T_pvar_readreset, &T::T_pvar_write>(
      active, dispatch);
}

}  // namespace offramp
