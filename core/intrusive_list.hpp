// IntrusiveList: doubly linked list of objects that carry their own links; no allocation, removal
// from the middle in O(1).
//
// T derives from ListNode. Ownership: the list owns nothing; an object is in at most one list at a
// time, and must leave it before it dies (asserted). Threads: the owner's only. path: data
#pragma once

#include "core/assert.hpp"

namespace espalier {

class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { ESP_ASSERT(!linked()); }

  bool linked() const noexcept { return next_ != nullptr; }
  // Leaves whichever list holds this node.
  void unlink() noexcept {
    ESP_ASSERT(linked());
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  template <typename T>
  friend class IntrusiveList;
  ListNode* next_ = nullptr;
  ListNode* previous_ = nullptr;
};

template <typename T>
class IntrusiveList {
 public:
  IntrusiveList() noexcept { root_.next_ = root_.previous_ = &root_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;
  ~IntrusiveList() {
    ESP_ASSERT(empty());
    root_.next_ = root_.previous_ = nullptr;
  }

  bool empty() const noexcept { return root_.next_ == &root_; }
  // nullptr when empty.
  T* front() noexcept { return empty() ? nullptr : static_cast<T*>(root_.next_); }
  const T* front() const noexcept { return empty() ? nullptr : static_cast<const T*>(root_.next_); }
  T* back() noexcept { return empty() ? nullptr : static_cast<T*>(root_.previous_); }
  // The neighbour after `node`, nullptr at the end.
  T* after(T& node) noexcept {
    ListNode* next = static_cast<ListNode&>(node).next_;
    return next == &root_ ? nullptr : static_cast<T*>(next);
  }

  const T* after(const T& node) const noexcept {
    const ListNode* next = static_cast<const ListNode&>(node).next_;
    return next == &root_ ? nullptr : static_cast<const T*>(next);
  }

  void push_back(T& node) noexcept { insert_before(root_, node); }
  void push_front(T& node) noexcept { insert_before(*root_.next_, node); }
  T* pop_front() noexcept {
    T* node = front();
    if (node != nullptr) node->unlink();
    return node;
  }

 private:
  static void insert_before(ListNode& position, ListNode& node) noexcept {
    ESP_ASSERT(!node.linked());
    node.next_ = &position;
    node.previous_ = position.previous_;
    position.previous_->next_ = &node;
    position.previous_ = &node;
  }

  ListNode root_;  // of a ring; its next is the front, its previous the back
};

}  // namespace espalier
