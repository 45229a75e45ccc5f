// Objects that come and go, in memory that stays: an event may hold a plain pointer to one.
#pragma once

#include <deque>
#include <vector>

namespace offramp {

template <typename T>
class Pool {
 public:
  template <typename... Arguments>
  T& take(Arguments&&... arguments) {
    if (unused_.empty()) unused_.push_back(&all_.emplace_back());
    T& object = *unused_.back();
    unused_.pop_back();
    object = T{static_cast<Arguments&&>(arguments)...};
    return object;
  }
  void give_back(T& object) { unused_.push_back(&object); }

 private:
  std::deque<T> all_;
  std::vector<T*> unused_;
};

}  // namespace offramp
