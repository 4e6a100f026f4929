#include "core/worker.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace espalier {
namespace {

constexpr std::size_t kTaskQueueCapacity = 1024;
// A sleeper looks around by itself this often, for what no doorbell announces: death.
constexpr std::uint64_t kParkNs = 100'000'000;
// And so often what cannot be slept on.
constexpr std::uint64_t kBlindParkNs = 1'000'000;
// How often a yielding waiter does its housekeeping.
constexpr std::uint64_t kWatchNs = 20'000'000;
// A yield that comes back at once, for nobody else wants the core, takes less than this; one that
// gives it away takes two switches between processes.
constexpr std::uint64_t kShortYieldNs = 2'500;
constexpr std::uint32_t kShortYields = 1000;  // that many in a row: the core is this rank's alone
// As long as a time slice. Ranks that copy megabytes take a part of one.
constexpr std::uint64_t kLongYieldNs = 2'000'000;
// Who has been away from its core for so long has waited for somebody that computes.
constexpr std::uint64_t kLongAbsenceNs = 300'000;
constexpr std::uint64_t kNapsPerAbsence = 8, kNapMaxNs = 500'000;
// Arrivals as dense as this at the end of a nap are a stream. Calls in lockstep have a few each,
// however long the nap.
constexpr std::uint64_t kStreamNs = 15'000;
constexpr std::uint64_t kYieldlessMinNs = 10'000'000, kYieldlessMaxNs = 1'000'000'000;

}  // namespace

Worker::Worker(Clock& clock, Doorbell& doorbell, Counters& counters,
               const WaitPolicy& policy) noexcept
    : clock_(clock), doorbell_(doorbell), counters_(counters), policy_(policy) {}

Worker::~Worker() {
  stop_thread();
}

Outcome Worker::enable_submission() {
  auto queue = MpscQueue<Task*>::create(kTaskQueueCapacity);
  if (!queue) return queue.error();
  tasks_ = std::move(*queue);
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
  for (Agent* agent : agents_) events += agent->progress();
  if (tasks_ != nullptr) events += run_tasks();
  if (!timers_.empty()) {
    const auto fired = timers_.run_expired(clock_.now_ns());
    counters_.timers_fired += fired;
    events += static_cast<int>(fired);
  }
  in_progress_ = false;
  // What came after the wires: of the engine, callbacks, tasks, timers. Their owner may leave now.
  if (events > 0) {
    arrivals_ += static_cast<std::uint64_t>(events);
    (void)flush();
  }
  return events;
}

Outcome Worker::make_descriptor() {
  auto bell = DescriptorBell::create();
  if (!bell) return bell.error();
  if (!sources_.empty()) {
    auto set = DescriptorSet::create();
    if (!set) return set.error();
    if (auto done = (*set)->add((*bell)->fd()); !done) return done;
    for (const WakeSource* source : sources_) {
      if (source->descriptor() < 0) continue;
      if (auto done = (*set)->add(source->descriptor()); !done) return done;
    }
    descriptors_ = std::move(*set);
  }
  descriptor_ = std::move(*bell);
  return Unit{};
}

int Worker::descriptor(Status& failure) {
  if (descriptor_ == nullptr) {
    if (auto made = make_descriptor(); !made) {
      failure = made.error().status;
      return -1;
    }
  }
  return descriptors_ != nullptr ? descriptors_->fd() : descriptor_->fd();
}

// False: one has work already.
bool Worker::arm_sources() noexcept {
  return std::all_of(sources_.begin(), sources_.end(),
                     [](WakeSource* source) { return source->arm(); });
}

int Worker::arm() noexcept {
  ESP_ASSERT(descriptor_ != nullptr && !in_progress_);
  if (armed_) disarm();
  doorbell_.arm_descriptor(descriptor_->mailbox());
  int events = progress_once();
  if (events == 0 && !arm_sources()) events = 1;
  if (events > 0) {
    doorbell_.disarm();
  } else {
    armed_ = true;
  }
  return events;
}

void Worker::disarm() noexcept {
  armed_ = false;
  doorbell_.disarm();
  descriptor_->drain();
}

int Worker::run_tasks() noexcept {
  int events = 0;
  for (Task* task = nullptr; events < 64 && tasks_->try_pop(task); ++events) task->run(*task);
  return events;
}

void Worker::submit(Task& task) noexcept {
  ESP_ASSERT(tasks_ != nullptr);
  while (!tasks_->try_push(&task)) sched_yield();
  doorbell_.ring_self();
}

void Worker::wait_slow(Look done, void* context) noexcept {
  const std::uint64_t begin = clock_.now_ns();
  idle_at_ns_ = 0;
  std::uint64_t idle_since = begin;
  std::uint64_t watched = begin;
  while (!done(context)) {
    const bool busy = progress() > 0;
    if (done(context)) return;
    if (busy) {
      idle_since = idle_at_ns_ = 0;  // Read the clock again only when there is nothing to do.
      continue;
    }
    const std::uint64_t now = clock_.now_ns();
    if (idle_since == 0) idle_since = now;
    if (now - watched >= kWatchNs) {
      watched = now;
      idle_at_ns_ = 0;
      for (Wire* wire : wires_) wire->idle();
      if (watchdog_ != nullptr) watchdog_->look(begin, now);
    } else if (!shared_ && now - idle_since < policy_.spin_ns) {
      pause();
    } else if (now >= yields_again_ns_ && now - idle_since < patience_ns()) {
      yield(now);
    } else {
      park(done, context, now);
      idle_at_ns_ = 0;
    }
  }
}

// How long a wait without arrivals lasts before it sleeps.
std::uint64_t Worker::patience_ns() const noexcept {
  return shared_ ? policy_.shared_yield_ns : policy_.spin_ns + policy_.yield_ns;
}

void Worker::yield(std::uint64_t now_ns) noexcept {
  ++counters_.yields;
  sched_yield();
  const std::uint64_t back_ns = clock_.now_ns();
  const bool given_back = back_ns - now_ns < kShortYieldNs;
  note_absence(idle_at_ns_ != 0 ? idle_at_ns_ : now_ns, back_ns);
  if (given_back && naps_until_ns_ != 0) nap(back_ns);
  short_yields_ = given_back ? short_yields_ + 1 : 0;
  shared_ = policy_.adaptive && (short_yields_ == 0 || (shared_ && short_yields_ < kShortYields));
  if (back_ns - now_ns < kLongYieldNs) [[likely]] {
    ++good_yields_;
    return;
  }
  const bool again = std::exchange(good_yields_, 0) < kGoodYields;
  yieldless_ns_ = again ? std::clamp(2 * yieldless_ns_, kYieldlessMinNs, kYieldlessMaxNs) : 0;
  yields_again_ns_ = back_ns + yieldless_ns_;
}

// There was nothing to do meanwhile: if it took long the core was somebody else's, whether it was
// yielded or taken away.
void Worker::note_absence(std::uint64_t since_ns, std::uint64_t now_ns) noexcept {
  const std::uint64_t away_ns = now_ns - since_ns;
  idle_at_ns_ = now_ns;
  if (!policy_.adaptive || away_ns < kLongAbsenceNs) return;
  nap_ns_ = std::min(away_ns / kNapsPerAbsence, kNapMaxNs);
  naps_until_ns_ = now_ns + kNapsPerAbsence * nap_ns_;
}

void Worker::nap(std::uint64_t now_ns) noexcept {
  // Naps go on while others make good use of the core.
  const bool stream =
      std::exchange(napped_, false) && (arrivals_ - arrivals_before_) * kStreamNs >= nap_ns_;
  if (stream) naps_until_ns_ = now_ns + kNapsPerAbsence * nap_ns_;
  if (now_ns >= naps_until_ns_) return;
  ++counters_.naps;
  const timespec time = {0, static_cast<long>(nap_ns_)};
  ::nanosleep(&time, nullptr);
  idle_at_ns_ = 0;
  napped_ = true;
  arrivals_before_ = arrivals_;
}

void Worker::park(Look done, void* context, std::uint64_t now_ns) noexcept {
  std::uint64_t timeout = kParkNs;
  const std::uint64_t deadline = timers_.next_deadline_ns();
  if (deadline != kNever) timeout = deadline > now_ns ? std::min(timeout, deadline - now_ns) : 0;
  ++counters_.parks;
  if (!sources_.empty()) return park_on_descriptors(done, context, timeout);
  doorbell_.sleep([&] { return done(context) || progress() > 0 || done(context); }, timeout);
}

void Worker::park_on_descriptors(Look done, void* context, std::uint64_t timeout_ns) noexcept {
  const std::uint64_t now = clock_.now_ns();
  for (const WakeSource* source : sources_) {
    const std::uint64_t deadline = source->deadline_ns();
    if (deadline != 0) timeout_ns = deadline > now ? std::min(timeout_ns, deadline - now) : 0;
    if (source->descriptor() < 0) timeout_ns = std::min(timeout_ns, kBlindParkNs);
  }
  Status failure;
  if (descriptor(failure) < 0) {
    const auto look = [&] { return done(context) || progress() > 0 || done(context); };
    return doorbell_.sleep(look, std::min(timeout_ns, kBlindParkNs));
  }
  doorbell_.arm_descriptor(descriptor_->mailbox());
  const bool idle = !done(context) && progress_once() == 0 && !done(context);
  if (idle && arm_sources()) descriptors_->wait(timeout_ns);
  disarm();
}

Outcome Worker::start_thread() {
  ESP_ASSERT(tasks_ != nullptr);
  ESP_ASSERT(!thread_.has_value());
  stop_.store(false, std::memory_order_relaxed);
  pthread_t thread{};
  const int failure = ::pthread_create(&thread, nullptr, &thread_main, this);
  if (failure != 0) {
    // EAGAIN: no memory for the stack, or too many threads; the rest, a sandbox that forbids it.
    return error(failure == EAGAIN ? ESP_ERR_NO_MEMORY : ESP_ERR_SYSTEM,
                 fmt::format("cannot start the progress thread: {} (limits: ulimit -u, -v and -s, "
                             "pids.max of the control group); ESP_THREAD_OWNER needs none",
                             std::strerror(failure)),
                 kNoRank, failure);
  }
  thread_ = thread;
  return Unit{};
}

void* Worker::thread_main(void* worker) noexcept {
  Worker& self = *static_cast<Worker*>(worker);
  self.wait([&self] { return self.stop_.load(std::memory_order_acquire); });
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
