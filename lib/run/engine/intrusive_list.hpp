// A doubly linked list through a member of its elements: no allocation, removal in O(1). remove() ignores
// elements that are in no list.
#pragma once

namespace offramp {

/// One per list that an element can be in. All null and false while it is in none.
template <typename T>
struct ListLink {
  T* previous = nullptr;
  T* next = nullptr;
  bool linked = false;
};

/// Elements must outlive their membership; the list owns none of them.
template <typename T, ListLink<T> T::*kLink>
class IntrusiveList {
 public:
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] T* front() const { return head_; }
  static T* next(const T& element) { return (element.*kLink).next; }

  void push_back(T& element) {
    ListLink<T>& link = element.*kLink;
    link = {tail_, nullptr, true};
    (tail_ != nullptr ? (tail_->*kLink).next : head_) = &element;
    tail_ = &element;
  }

  void remove(T& element) {
    ListLink<T>& link = element.*kLink;
    if (!link.linked) return;
    (link.previous != nullptr ? (link.previous->*kLink).next : head_) = link.next;
    (link.next != nullptr ? (link.next->*kLink).previous : tail_) = link.previous;
    link = {};
  }

  [[nodiscard]] static bool contains(const T& element) { return (element.*kLink).linked; }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;
};

}  // namespace offramp
