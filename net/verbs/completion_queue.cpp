#include "net/verbs/completion_queue.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace espalier::verbs {
namespace {

constexpr std::size_t kBatch = 16;  // completions per question

}  // namespace

Result<std::unique_ptr<CompletionQueue>> CompletionQueue::create(VerbsAdapter& adapter,
                                                                 std::uint32_t depth,
                                                                 EventTarget& target,
                                                                 std::uint64_t& looks) {
  std::unique_ptr<CompletionQueue> made(new CompletionQueue(adapter, looks));
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
    Outcome added = also_wake_for(source);
    if (!added) return added;
  }
  return Unit{};
}

Outcome CompletionQueue::also_wake_for(int source) {
  epoll_event wanted = {.events = EPOLLIN, .data = {.fd = source}};
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, source, &wanted) != 0) {
    return adapter_.failed("epoll_ctl", errno);
  }
  sources_.push_back(source);
  return Unit{};
}

const ibv_wc* CompletionQueue::next() noexcept {
  if (begin_ == end_ && (std::exchange(few_, false) || !fetch())) return nullptr;
  return &waiting_[begin_++];
}

// Some of what the device has. False: nothing.
bool CompletionQueue::fetch() noexcept {
  if (begin_ == end_) begin_ = end_ = 0;
  if (waiting_.size() < end_ + kBatch) waiting_.resize(end_ + kBatch);
  ++looks_;
  const int count = ibv_poll_cq(queue_.get(), static_cast<int>(kBatch), &waiting_[end_]);
  if (count < 0) adapter_.device_gone(EIO);
  few_ = count > 0 && count < static_cast<int>(kBatch);
  if (count <= 0) return false;
  end_ += static_cast<std::size_t>(count);
  return true;
}

void CompletionQueue::fetch_all() noexcept {
  while (fetch()) {
  }
}

void CompletionQueue::mute() noexcept {
  if (std::exchange(muted_, true)) return;
  for (const int source : sources_) (void)::epoll_ctl(epoll_, EPOLL_CTL_DEL, source, nullptr);
}

bool CompletionQueue::arm() noexcept {
  adapter_.take_events();
  ibv_cq* rung = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &rung, &context) == 0) ibv_ack_cq_events(rung, 1);
  if (const int failure = ibv_req_notify_cq(queue_.get(), 0)) adapter_.device_gone(failure);
  (void)fetch();
  return begin_ == end_ && adapter_.fault().ok();
}

}  // namespace espalier::verbs
