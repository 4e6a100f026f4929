#include "net/verbs/completion_queue.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace espalier::verbs {

Result<std::unique_ptr<CompletionQueue>> CompletionQueue::create(VerbsAdapter& adapter,
                                                                 std::uint32_t depth,
                                                                 EventTarget& target) {
  std::unique_ptr<CompletionQueue> made(new CompletionQueue(adapter));
  made->channel_.reset(ibv_create_comp_channel(adapter.context()));
  if (made->channel_ == nullptr) return adapter.failed("ibv_create_comp_channel", errno);
  made->queue_.reset(
      ibv_create_cq(adapter.context(), static_cast<int>(depth), &target, made->channel_.get(), 0));
  if (made->queue_ == nullptr) return adapter.failed("ibv_create_cq", errno);
  const Outcome opened = made->open_descriptor();
  if (!opened) return opened.error();
  return made;
}

CompletionQueue::~CompletionQueue() {
  if (epoll_ >= 0) ::close(epoll_);
}

Outcome CompletionQueue::open_descriptor() {
  const int flags = ::fcntl(channel_->fd, F_GETFL);
  if (::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return adapter_.failed("fcntl", errno);
  }
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return adapter_.failed("epoll_create1", errno);
  for (const int source : {channel_->fd, adapter_.event_descriptor()}) {
    epoll_event wanted = {.events = EPOLLIN, .data = {.fd = source}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, source, &wanted) != 0) {
      return adapter_.failed("epoll_ctl", errno);
    }
  }
  return Unit{};
}

int CompletionQueue::poll(std::span<ibv_wc> completions) noexcept {
  if (backlog_begin_ == backlog_.size()) {
    return ibv_poll_cq(queue_.get(), static_cast<int>(completions.size()), completions.data());
  }
  const std::size_t count = std::min(completions.size(), backlog_.size() - backlog_begin_);
  std::copy_n(backlog_.begin() + static_cast<std::ptrdiff_t>(backlog_begin_), count,
              completions.begin());
  backlog_begin_ += count;
  if (backlog_begin_ == backlog_.size()) {
    backlog_.clear();
    backlog_begin_ = 0;
  }
  return static_cast<int>(count);
}

void CompletionQueue::drain() noexcept {
  ibv_wc completion;
  while (ibv_poll_cq(queue_.get(), 1, &completion) > 0) backlog_.push_back(completion);
}

bool CompletionQueue::arm() noexcept {
  adapter_.take_events();
  ibv_cq* rung = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &rung, &context) == 0) ibv_ack_cq_events(rung, 1);
  if (const int failure = ibv_req_notify_cq(queue_.get(), 0)) adapter_.device_gone(failure);
  ibv_wc completion;
  if (ibv_poll_cq(queue_.get(), 1, &completion) > 0) backlog_.push_back(completion);
  return backlog_begin_ == backlog_.size() && adapter_.fault().ok();
}

}  // namespace espalier::verbs
