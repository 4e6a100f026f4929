// CompletionQueue: a completion queue with its channel, and one descriptor to sleep on that also
// wakes for the device's events.
//
// Arm, poll again, sleep: after ibv_req_notify_cq() the queue is polled once more, because what
// came before it rings nobody. What that (or drain()) finds waits in `backlog_` for the next
// poll(). Ownership: borrows the adapter. Threads: owner. path: data (poll), slow (the rest)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "net/verbs/adapter.hpp"

namespace espalier::verbs {

class CompletionQueue {
 public:
  static Result<std::unique_ptr<CompletionQueue>> create(VerbsAdapter& adapter, std::uint32_t depth,
                                                         EventTarget& target);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  ibv_cq* get() const noexcept { return queue_.get(); }
  // Completions, in their order; negative: an errno.
  int poll(std::span<ibv_wc> completions) noexcept;
  // Takes all that is there aside, for when a queue pair is about to be reset, which may remove its
  // completions.
  void drain() noexcept;

  int descriptor() const noexcept { return epoll_; }
  // False: there is something to poll.
  bool arm() noexcept;

 private:
  explicit CompletionQueue(VerbsAdapter& adapter) noexcept : adapter_(adapter) {}
  Outcome open_descriptor();

  VerbsAdapter& adapter_;
  int epoll_ = -1;
  Channel channel_;
  Completions queue_;
  std::vector<ibv_wc> backlog_;
  std::size_t backlog_begin_ = 0;
};

}  // namespace espalier::verbs
