#include "core/worker.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/quiet_thread.hpp"

namespace espalier {

static_assert(MpscQueue<Submission>::cell_bytes() == 128);

namespace {

// Then the wires have their turn.
constexpr int kSubmissionsAtOnce = 64;

}  // namespace

Worker::Worker(Clock& clock, Doorbell& doorbell, Counters& counters,
               const WaitPolicy& policy) noexcept
    : clock_(clock), doorbell_(doorbell), counters_(counters), policy_(policy) {}

Worker::~Worker() {
  stop_thread();
}

Outcome Worker::enable_submission() {
  auto queue = MpscQueue<Submission>::create(kSubmissions);
  if (!queue) return queue.error();
  submissions_ = std::move(*queue);
  return Unit{};
}

int Worker::progress() noexcept {
  if (armed_) [[unlikely]] {
    disarm();
  }
  return progress_once();
}

int Worker::progress_once() noexcept {
  ESP_ASSERT(!in_progress_);
  in_progress_ = true;
  int events = 0;
  for (Wire* wire : wires_) events += wire->progress();
  // One may attach another.
  for (std::size_t i = 0; i < agents_.size(); ++i) events += agents_[i]->progress();
  if (submissions_ != nullptr) events += run_submissions();
  if (!timers_.empty()) {
    const auto fired = timers_.run_expired(clock_.now_ns());
    counters_.timers_fired += fired;
    events += static_cast<int>(fired);
  }
  in_progress_ = false;
  // What came after the wires: of the engine, callbacks, submissions, timers. Their owner may leave
  // now.
  if (events > 0) {
    events_ += static_cast<std::uint64_t>(events);
    (void)flush();
  }
  return events;
}

Outcome Worker::make_descriptor() {
  auto bell = DescriptorBell::create();
  if (!bell) return bell.error();
  auto set = DescriptorSet::create();
  if (!set) return set.error();
  if (auto done = (*set)->add((*bell)->fd()); !done) return done;
  for (const WakeSource* source : sources_) {
    if (source->descriptor() < 0) continue;
    if (auto done = (*set)->add(source->descriptor()); !done) return done;
  }
  descriptors_ = std::move(*set);
  descriptor_ = std::move(*bell);
  return Unit{};
}

// park() needs none: it sleeps with a limit.
Outcome Worker::make_alarm() {
  auto alarm = DescriptorAlarm::create();
  if (!alarm) return alarm.error();
  if (auto done = descriptors_->add((*alarm)->fd()); !done) return done;
  alarm_ = std::move(*alarm);
  return Unit{};
}

int Worker::descriptor(Status& failure) {
  Outcome made = Unit{};
  if (descriptor_ == nullptr) made = make_descriptor();
  if (made && alarm_ == nullptr) made = make_alarm();
  if (made) return descriptors_->fd();
  failure = made.error().status;
  return -1;
}

// False: one has work already.
bool Worker::arm_sources() noexcept {
  return std::all_of(sources_.begin(), sources_.end(),
                     [](WakeSource* source) { return source->arm(); });
}

int Worker::arm() noexcept {
  ESP_ASSERT(alarm_ != nullptr && !in_progress_);
  if (armed_) disarm();
  doorbell_.arm_descriptor(descriptor_->mailbox());
  int events = progress_once();
  if (events == 0 && !arm_sources()) events = 1;
  if (events > 0) {
    doorbell_.disarm();
  } else {
    armed_ = true;
    set_alarm();
  }
  return events;
}

// Retransmissions, signs of life and other timers come due while nothing arrives.
void Worker::set_alarm() noexcept {
  const std::uint64_t deadline_ns = next_deadline_ns();
  alarm_ns_ = 0;
  if (deadline_ns == kNever) return;
  alarm_ns_ = elapsed_ns(clock_.now_ns(), deadline_ns);
  alarm_->ring_in(alarm_ns_);
}

void Worker::disarm() noexcept {
  armed_ = false;
  doorbell_.disarm();
  descriptor_->drain();
  if (alarm_ != nullptr) alarm_->stop();
}

int Worker::run_submissions() noexcept {
  int events = 0;
  for (Submission work; events < kSubmissionsAtOnce && submissions_->try_pop(work); ++events) {
    work.run();
  }
  counters_.submissions += static_cast<std::uint64_t>(events);
  return events;
}

Outcome Worker::start_thread(std::span<const int> cpus) {
  ESP_ASSERT(submissions_ != nullptr);
  ESP_ASSERT(!thread_.has_value());
  stop_.store(false, std::memory_order_relaxed);
  pthread_t thread{};
  const int failure = start_quiet_thread(thread, &thread_main, this, cpus);
  if (failure == EINVAL && !cpus.empty()) {
    return error(ESP_ERR_CONFIG,
                 "cannot start the progress thread: there is none of its processors that this "
                 "process may use",
                 kNoRank, failure);
  }
  if (failure != 0) {
    // EAGAIN: no memory for the stack, or too many threads; the rest, a sandbox that forbids it.
    return error(failure == EAGAIN ? ESP_ERR_NO_MEMORY : ESP_ERR_SYSTEM,
                 fmt::format("cannot start the progress thread: {} (limits: ulimit -u, -v and -s, "
                             "pids.max of the control group); ESP_THREAD_OWNER needs none",
                             std::strerror(failure)),
                 kNoRank, failure);
  }
  (void)::pthread_setname_np(thread, "esp-progress");
  thread_ = thread;
  return Unit{};
}

void* Worker::thread_main(void* worker) noexcept {
  Worker& self = *static_cast<Worker*>(worker);
  self.wait([&self] { return self.stop_.load(std::memory_order_acquire); });
  self.call_back([&self] {
    while (self.run_submissions() > 0) {
    }
  });
  return nullptr;
}

void Worker::stop_thread() noexcept {
  if (!thread_.has_value()) return;
  stop_.store(true, std::memory_order_release);
  doorbell_.ring_self();
  (void)::pthread_join(*thread_, nullptr);
  thread_.reset();
}

}  // namespace espalier
