// Worker: the progress engine of one job. Everything that happens in a job happens in progress().
//
// One owner at a time drives it: the caller's thread (default), or the worker's own thread
// (start_thread), which sleeps when there is nothing to do. Other threads hand in work through a
// bounded queue (submit). Nothing here waits for one operation except wait(), which is what
// blocking calls are made of.
//
// Waiting is spin-then-park: look a few times, give the core away for a while, then sleep on the
// doorbell, or on the doorbell's and the network's descriptors. A rank that has nothing to do must
// not keep the one it waits for from running, so where ranks share a core the spinning is left
// out. Nobody can tell in advance (other jobs, other containers), but a yield can: alone on a core
// it takes as long as a system call, otherwise somebody else has run meanwhile. Yields that take a
// time slice hand the core to a process that computes, where a sleeper would be woken in time:
// after two such in a row there are none for a while, which doubles when the next one is long
// again.
//
// Schedulers that share fairly (EEVDF, Linux 6.6 and later) owe a rank that was away for long as
// much time in return, and until it has had that a yield gives the core to nobody: the rank would
// burn what the other could use. So after a yield of 0.3 ms or more, for as long as it took (4 ms
// at most), one that comes back at once is followed by a nap of an eighth of it, and for longer
// while a stream of events comes. Else an absence makes a rank as late again, at most. Timers and
// networks are heeded; what other threads submit waits for the end of a nap. Measured:
// docs/tuning.md.
//
// Ownership: borrows wires, clock, doorbell, counters. path: data (progress), slow (park)
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/assert.hpp"
#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/descriptor_alarm.hpp"
#include "core/descriptor_set.hpp"
#include "core/doorbell.hpp"
#include "core/idle_work.hpp"
#include "core/mpsc_queue.hpp"
#include "core/rank_state.hpp"
#include "core/submission.hpp"
#include "core/timer_queue.hpp"
#include "core/wake_source.hpp"
#include "core/wire.hpp"

namespace espalier {

// Something that wants a turn in every progress(), after the wires.
class Agent {
 public:
  virtual ~Agent() = default;
  virtual int progress() noexcept = 0;  // events handled; never blocks
};

// Looks after the waits of a worker: called when a wait has found nothing for some milliseconds.
class Watchdog {
 public:
  virtual ~Watchdog() = default;
  // May end operations with an error. `since_ns`: begin of the wait.
  virtual void look(std::uint64_t since_ns, std::uint64_t now_ns) noexcept = 0;
};

struct WaitPolicy {
  std::uint32_t spins = 1000;       // looks and nothing else, at the begin of a wait
  std::uint64_t spin_ns = 0;        // goes on looking, with the watchdog, before the first yield
  std::uint64_t yield_ns = 50'000;  // yields before the first sleep
  // While others want the core, too, if that is watched.
  bool adaptive = true;
  std::uint32_t shared_spins = 8;
  std::uint64_t shared_yield_ns = 2'000'000;
  // A yield of so long has given the core to a stranger that computes: as long as a time slice, of
  // which ranks that copy megabytes take a part.
  std::uint64_t long_yield_ns = 2'000'000;
};

class Worker {
 public:
  Worker(Clock& clock, Doorbell& doorbell, Counters& counters, const WaitPolicy& policy) noexcept;
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Setup, before the first progress().
  void attach(Wire& wire) { wires_.push_back(&wire); }
  // Of agents the owner, at any time.
  void attach(Agent& agent) { agents_.push_back(&agent); }
  void attach(WakeSource& source) { sources_.push_back(&source); }
  void set_watchdog(Watchdog* watchdog) noexcept { watchdog_ = watchdog; }
  // Owner, outside progress(). What its waits do besides.
  void set_idle(const IdleWork& work) noexcept { idle_ = work; }
  // Where long waits are written down, for the launcher.
  void set_state(RankState* state) noexcept { state_ = state; }
  Outcome enable_submission();

  // Owner. One round over wires, agents, tasks, timers. Not reentrant.
  int progress() noexcept;

  // Owner. Returns when done() holds. done() must only look (or flush()); it is called very often.
  // kLooks: looks per round of progress(): 1 where progress() itself brings the news, more where
  // done() reads shared memory directly. `since_ns`: begin of a longer wait of which this is a
  // part; 0: it begins here.
  template <unsigned kLooks = 1, typename Done>
  void wait(Done&& done, std::uint64_t since_ns = 0) noexcept {
    for (std::uint32_t spin = spins() / kLooks; spin > 0; --spin) {
      for (unsigned look = 0; look < kLooks; ++look) {
        if (done()) return;
        pause();
      }
      if (kLooks == 1 || spin % 16 == 0) progress();
    }
    using Function = std::remove_reference_t<Done>;
    wait_slow([](void* f) noexcept { return static_cast<bool>((*static_cast<Function*>(f))()); },
              const_cast<void*>(static_cast<const void*>(&done)), since_ns);
  }

  // Before the owner leaves the library for a while: nothing that it has posted waits for its next
  // call. False: see Wire::flush().
  bool flush() noexcept {
    bool gone = true;
    for (Wire* wire : wires_) gone = wire->flush() && gone;
    return gone;
  }

  // For an owner that sleeps in a loop of its own. Makes the descriptor (made at the first call),
  // or -1 with the reason in `failure`.
  int descriptor(Status& failure);
  // Arms it, with an alarm for what is due next. 0: sleep until it is readable; more: events were
  // handled, do not sleep. The next progress() disarms.
  int arm() noexcept;

  // Any thread. The owner does it, from progress(); what one thread submits in its order. False:
  // the queue is full. Needs enable_submission().
  bool submit(const Submission& work) noexcept {
    if (!submissions_->try_push(work)) return false;
    doorbell_.ring_self();
    return true;
  }
  static constexpr std::size_t kSubmissions = 1024;  // that the queue takes

  // Owner, which the new thread is from then on; it may run on `cpus` alone, where there are any.
  // ESP_ERR_NO_MEMORY when there is no thread to be had, ESP_ERR_SYSTEM for other reasons; the
  // worker is as before then.
  Outcome start_thread(std::span<const int> cpus = {});
  // Does what has been submitted, then.
  void stop_thread() noexcept;
  bool on_thread() const noexcept {
    return thread_.has_value() && ::pthread_equal(::pthread_self(), *thread_) != 0;
  }

  TimerQueue& timers() noexcept { return timers_; }
  // Looks at the begin of a wait.
  std::uint32_t spins() const noexcept { return shared_ ? policy_.shared_spins : policy_.spins; }
  Clock& clock() noexcept { return clock_; }
  // For how long the descriptor may stay as it is after arm(), by timers; 0: for ever.
  std::uint64_t alarm_ns() const noexcept { return alarm_ns_; }
  Counters& counters() noexcept { return counters_; }
  bool in_progress() const noexcept { return in_progress_; }
  // Calls what may run callbacks outside progress(): for them it is as inside.
  template <typename Work>
  void call_back(Work&& work) {
    ESP_ASSERT(!in_progress_);
    in_progress_ = true;
    work();
    in_progress_ = false;
  }

  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }

 private:
  using Look = bool (*)(void*) noexcept;
  [[gnu::noinline]] void wait_slow(Look done, void* context, std::uint64_t since_ns) noexcept;
  std::uint64_t patience_ns() const noexcept;
  void yield(std::uint64_t now_ns) noexcept;
  void nap(std::uint64_t now_ns) noexcept;
  std::uint64_t next_deadline_ns() const noexcept;
  bool do_idle_work() noexcept;
  void park(Look done, void* context, std::uint64_t now_ns, std::uint64_t idle_ns) noexcept;
  void park_on_descriptors(Look done, void* context, std::uint64_t timeout_ns) noexcept;
  Outcome make_descriptor();
  Outcome make_alarm();
  void set_alarm() noexcept;
  bool arm_sources() noexcept;
  int run_submissions() noexcept;
  void disarm() noexcept;
  int progress_once() noexcept;
  static void* thread_main(void* worker) noexcept;

  Clock& clock_;
  Doorbell& doorbell_;
  Counters& counters_;
  WaitPolicy policy_;
  std::vector<Wire*> wires_;
  std::vector<Agent*> agents_;
  std::vector<WakeSource*> sources_;
  Watchdog* watchdog_ = nullptr;
  RankState* state_ = nullptr;
  IdleWork idle_;
  TimerQueue timers_;
  std::unique_ptr<MpscQueue<Submission>> submissions_;
  std::unique_ptr<DescriptorBell> descriptor_;
  std::unique_ptr<DescriptorSet> descriptors_;  // the bell's, the sources', the alarm's
  std::unique_ptr<DescriptorAlarm> alarm_;      // for who sleeps elsewhere
  std::uint64_t alarm_ns_ = 0;
  std::uint64_t yields_again_ns_ = 0;  // none before
  std::uint64_t yieldless_ns_ = 0;     // how long there were none; 0: the last were good
  std::uint64_t naps_until_ns_ = 0;    // 0: none after yields
  std::uint64_t nap_ns_ = 0;           // how long one is
  std::uint64_t nap_began_ns_ = 0, nap_events_ = 0;  // of the last one; events before it
  std::uint64_t events_ = 0;                         // so far
  static constexpr std::uint32_t kGoodYields = 4;    // in a row: long ones are the exception
  std::uint32_t good_yields_ = kGoodYields;          // since a long one
  bool shared_ = false;                              // the core, as far as the last yields tell
  std::uint32_t short_yields_ = 0;                   // since one that gave it away
  bool armed_ = false;                               // by descriptor
  bool in_progress_ = false;
  // Writer: stop_thread(); reader: the thread. Publishes nothing.
  std::atomic<bool> stop_{false};
  // Not std::thread, which ends the process when there is none to be had: no exceptions here.
  std::optional<pthread_t> thread_;
};

}  // namespace espalier
