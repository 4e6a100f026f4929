// CompletionQueue: a completion queue with its channel, and one descriptor to sleep on that also
// wakes for the device's events.
//
// Completions are taken from the device several at a time and handed out one by one, so that those
// which nobody should see any more can be taken out in between (remove()).
//
// Arm, poll again, sleep: after ibv_req_notify_cq() the queue is polled once more, because what
// came before it rings nobody. Ownership: borrows the adapter. Threads: owner. path: data (next),
// slow (the rest)
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "net/verbs/adapter.hpp"

namespace espalier::verbs {

class CompletionQueue {
 public:
  // `looks` counts how often the device was asked.
  static Result<std::unique_ptr<CompletionQueue>> create(VerbsAdapter& adapter, std::uint32_t depth,
                                                         EventTarget& target, std::uint64_t& looks);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  ibv_cq* get() const noexcept { return queue_.get(); }
  // The next completion, in their order; nullptr: there was none when the device was asked last.
  // Who has taken the last of a few is not made to ask at once for more: it has work to do. Valid
  // until the next call.
  const ibv_wc* next() noexcept;
  // Takes all that is there from the device: before a queue pair is destroyed, which may remove its
  // completions.
  void fetch_all() noexcept;
  // Calls `drop` with each completion that waits to be handed out and matches, and forgets it.
  template <typename Matches, typename Drop>
  void remove(Matches&& matches, Drop&& drop) {
    std::size_t kept = begin_;
    for (std::size_t i = begin_; i < end_; ++i) {
      if (matches(waiting_[i])) {
        drop(waiting_[i]);
      } else {
        waiting_[kept++] = waiting_[i];
      }
    }
    end_ = kept;
  }

  int descriptor() const noexcept { return epoll_; }
  // The descriptor wakes for what becomes readable there, too.
  Outcome also_wake_for(int source);
  // False: there is something to poll.
  bool arm() noexcept;
  // The device is gone: its descriptors would be readable for ever. From here on none of them wakes
  // anybody.
  void mute() noexcept;

 private:
  CompletionQueue(VerbsAdapter& adapter, std::uint64_t& looks) noexcept
      : adapter_(adapter), looks_(looks) {}
  Outcome open_descriptor();
  bool fetch() noexcept;

  VerbsAdapter& adapter_;
  std::uint64_t& looks_;
  int epoll_ = -1;
  CompletionChannel channel_;
  Completions queue_;
  // Those from begin_ to end_ have not been handed out.
  std::vector<ibv_wc> waiting_;
  std::size_t begin_ = 0, end_ = 0;
  bool few_ = false;          // the device had no more when it was asked last
  std::vector<int> sources_;  // that epoll_ wakes for
  bool muted_ = false;
};

}  // namespace espalier::verbs
