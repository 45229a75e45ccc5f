// Owner of objects that a fabric or a peer still uses, and whose end comes as a callback with a pointer.
#pragma once

#include <memory>

#include "lib/run/engine/intrusive_list.hpp"

namespace offramp {

/// A list that owns its elements; the rest are deleted at its end. As IntrusiveList, an element is in one
/// list at a time for each of its links.
template <typename T, ListLink<T> T::*kLink>
class InFlight {
 public:
  InFlight& operator=(InFlight&&) = delete;
  ~InFlight() {
    while (T* const first = front()) (void)remove(*first);
  }

  [[nodiscard]] T* front() const { return list_.front(); }
  /// Owns the object, whose address stays valid until remove().
  T& add(std::unique_ptr<T> object) {
    T& added = *object.release();
    list_.push_back(added);
    return added;
  }
  /// Returns the ownership. The caller may be the object's own callback.
  [[nodiscard]] std::unique_ptr<T> remove(T& object) {
    list_.remove(object);
    return std::unique_ptr<T>(&object);
  }

 private:
  IntrusiveList<T, kLink> list_;
};

}  // namespace offramp
