#include "core/worker.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/no_threads.hpp"

namespace espalier {
namespace {

struct Fixture {
  explicit Fixture(WaitPolicy policy = {})
      : doorbell(bell, sleepers, asymmetric_fence_register()),
        worker(clock, doorbell, counters, policy) {}
  SteadyClock clock;
  Bell bell;
  SleeperCount sleepers;
  Doorbell doorbell;
  Counters counters;
  Worker worker;
};

// Adds one.
Submission counts(std::atomic<int>& count) {
  return Submission([&count] { ++count; });
}

double cpu_seconds(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

TEST(Worker, RunsTasksOfOtherThreadsOnItsOwner) {
  Fixture f;
  ASSERT_TRUE(f.worker.enable_submission().ok());
  std::atomic<int> count{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        while (!f.worker.submit(counts(count))) std::this_thread::yield();
      }
    });
  }
  f.worker.wait([&] { return count == 400; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 400);
}

TEST(Worker, SleepsUntilATaskComes) {
  Fixture f({.spins = 1, .yield_ns = 1000});
  ASSERT_TRUE(f.worker.enable_submission().ok());
  std::atomic<int> count{0};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_TRUE(f.worker.submit(counts(count)));
  });
  f.worker.wait([&] { return count == 1; });
  other.join();
  EXPECT_GE(f.counters.parks.value(), 1U);
}

// Every look at it takes so long: a yield is as long as whoever gets the core keeps it.
class LeapingClock final : public Clock {
 public:
  explicit LeapingClock(std::uint64_t every_ns) : leap_ns(every_ns) {}
  std::uint64_t now_ns() noexcept override { return now_ns_ += leap_ns; }
  std::uint64_t leap_ns;

 private:
  std::uint64_t now_ns_ = 0;
};

constexpr std::uint64_t kForEver = std::uint64_t{1} << 62;

TEST(Worker, SleepsWhenTwoYieldsInARowAreLong) {
  LeapingClock clock(3'000'000);
  Fixture f;
  Worker worker(clock, f.doorbell, f.counters,
                {.spins = 1, .yield_ns = kForEver, .shared_yield_ns = kForEver});
  int looks = 0;
  worker.wait([&] { return f.counters.parks.value() > 0 || ++looks > 10'000; });
  EXPECT_GE(f.counters.parks.value(), 1U);
  EXPECT_EQ(f.counters.yields.value(), 2U);
}

// What a rank next to it on the same core does: nobody has counted it, the yields tell.
TEST(Worker, LooksLessOftenWhileItsYieldsGiveTheCoreAway) {
  LeapingClock clock(10'000);
  Fixture f;
  Worker worker(
      clock, f.doorbell, f.counters,
      {.spins = 1000, .yield_ns = kForEver, .shared_spins = 3, .shared_yield_ns = kForEver});
  EXPECT_EQ(worker.spins(), 1000U);
  worker.wait([&] { return f.counters.yields.value() == 1; });
  EXPECT_EQ(worker.spins(), 3U);
  clock.leap_ns = 100;  // The other has gone.
  worker.wait([&] { return f.counters.yields.value() == 4; });
  EXPECT_EQ(worker.spins(), 3U) << "a few short yields may be chance";
  worker.wait([&] { return f.counters.yields.value() == 2000; });
  EXPECT_EQ(worker.spins(), 1000U);
  EXPECT_EQ(f.counters.parks.value(), 0U);
}

TEST(Worker, SpinsAsItWasToldWhoeverSharesTheCore) {
  LeapingClock clock(10'000);
  Fixture f;
  Worker worker(clock, f.doorbell, f.counters,
                {.spins = 1000, .yield_ns = kForEver, .adaptive = false, .shared_spins = 3});
  worker.wait([&] { return f.counters.yields.value() == 3; });
  EXPECT_EQ(worker.spins(), 1000U);
}

// A fair scheduler owes a rank that was away for a millisecond as much: its yields come back at
// once for that long, though another one would have work for the core.
TEST(Worker, NapsAfterALongAbsenceForAsLongAsThatLasted) {
  for (const bool adaptive : {true, false}) {
    LeapingClock clock(100);
    Fixture f;
    Worker worker(
        clock, f.doorbell, f.counters,
        {.spins = 1, .yield_ns = kForEver, .adaptive = adaptive, .shared_yield_ns = kForEver});
    worker.wait([&] { return f.counters.yields.value() == 100; });
    EXPECT_EQ(f.counters.naps.value(), 0U);
    clock.leap_ns = 1'000'000;
    worker.wait([&] { return f.counters.yields.value() == 101; });
    clock.leap_ns = 10'000;
    worker.wait([&] { return f.counters.yields.value() == 102; });
    EXPECT_EQ(f.counters.naps.value(), 0U) << "somebody has taken what was yielded";
    clock.leap_ns = 1'000;
    worker.wait([&] { return f.counters.yields.value() == 110; });
    EXPECT_EQ(f.counters.naps.value(), adaptive ? 8U : 0U);
    worker.wait([&] { return f.counters.yields.value() == 2'000; });
    const std::uint64_t naps = f.counters.naps.value();
    EXPECT_LT(naps, 1'000U) << "1 ms, at two looks each";
    worker.wait([&] { return f.counters.yields.value() == 2'100; });
    EXPECT_EQ(f.counters.naps.value(), naps);
    EXPECT_EQ(f.counters.parks.value(), 0U);
  }
}

// Handles so many events in the first round after each nap.
struct BusyAfterNaps final : Agent {
  BusyAfterNaps(const Counters& counters, int events) : of(counters), many(events) {}
  int progress() noexcept override {
    return std::exchange(seen, of.naps.value()) != of.naps.value() ? many : 0;
  }
  const Counters& of;
  const int many;
  std::uint64_t seen = 0;
};

// Of 2,000 yields that come back at once, after one of `absence_ns`.
std::uint64_t naps_of(int arrivals, std::uint64_t absence_ns) {
  LeapingClock clock(absence_ns);
  Fixture f;
  Worker worker(clock, f.doorbell, f.counters,
                {.spins = 1, .yield_ns = kForEver, .shared_yield_ns = kForEver});
  BusyAfterNaps agent(f.counters, arrivals);
  worker.attach(agent);
  worker.wait([&] { return f.counters.yields.value() == 1; });
  clock.leap_ns = 1'000;
  worker.wait([&] { return f.counters.yields.value() == 2'000; });
  return f.counters.naps.value();
}

TEST(Worker, NapsGoOnWhileAStreamComesMeanwhile) {
  EXPECT_LT(naps_of(7, 1'000'000), 1'000U) << "calls in lockstep: each was kept waiting";
  EXPECT_LT(naps_of(7, 300'000), 1'000U) << "the shortest naps";
  EXPECT_GT(naps_of(20, 1'000'000), 1'900U);
}

// What came long after a nap was no stream during it.
TEST(Worker, AnOldNapDoesNotBringNewOnes) {
  LeapingClock clock(1'000'000);
  Fixture f;
  Worker worker(clock, f.doorbell, f.counters,
                {.spins = 1, .yield_ns = kForEver, .shared_yield_ns = kForEver});
  struct Busy final : Agent {
    int progress() noexcept override { return many; }
    int many = 0;
  } agent;
  worker.attach(agent);
  worker.wait([&] { return f.counters.yields.value() == 1; });
  clock.leap_ns = 1'000;
  worker.wait([&] { return f.counters.naps.value() == 1; });
  agent.many = 1000;
  for (int i = 0; i < 1000; ++i) (void)worker.progress();
  agent.many = 0;
  clock.leap_ns = 1'000'000'000;
  (void)clock.now_ns();
  clock.leap_ns = 1'000;
  worker.wait([&] { return f.counters.yields.value() == 100; });
  EXPECT_EQ(f.counters.naps.value(), 1U);
}

TEST(Worker, DrivesTheOtherLibraryInLongWaitsAlone) {
  LeapingClock clock(1'000);
  Fixture f;
  Worker worker(clock, f.doorbell, f.counters, {.spins = 1, .yield_ns = kForEver});
  int driven = 0;
  const auto count = [](void* times) { return ++*static_cast<int*>(times), 0; };
  worker.set_idle({count, &driven});
  worker.wait([&] { return f.counters.yields.value() == 5; });
  EXPECT_EQ(driven, 0) << "nothing has happened for a few microseconds";
  worker.wait([&] { return f.counters.yields.value() == 105; });
  EXPECT_GT(driven, 50);
  EXPECT_LT(driven, 100);
}

TEST(Worker, NoNapPastATimer) {
  LeapingClock clock(1'000'000);
  Fixture f;
  Worker worker(clock, f.doorbell, f.counters,
                {.spins = 1, .yield_ns = kForEver, .shared_yield_ns = kForEver});
  struct Alarm : Timer {
    Alarm() : Timer([](Timer&, std::uint64_t) noexcept {}) {}
  } alarm;
  worker.wait([&] { return f.counters.yields.value() == 1; });
  clock.leap_ns = 1'000;
  worker.timers().add(alarm, clock.now_ns() + 100'000);  // a nap would take 125 us
  worker.wait([&] { return f.counters.timers_fired.value() == 1; });
  EXPECT_EQ(f.counters.naps.value(), 0U);
  worker.wait([&] { return f.counters.naps.value() == 1; });
}

TEST(Worker, TimersFireWhileWaiting) {
  Fixture f({.spins = 1, .yield_ns = 1000});
  struct Alarm : Timer {
    Alarm()
        : Timer(
              [](Timer& self, std::uint64_t) noexcept { static_cast<Alarm&>(self).rang = true; }) {}
    bool rang = false;
  } alarm;
  const std::uint64_t begin = f.clock.now_ns();
  f.worker.timers().add(alarm, begin + 5'000'000);
  f.worker.wait([&] { return alarm.rang; });
  EXPECT_GE(f.clock.now_ns() - begin, 5'000'000U);
  EXPECT_EQ(f.counters.timers_fired.value(), 1U);
}

// A thread that has nothing to do uses no CPU: far less than 5 % of 400 ms here.
TEST(Worker, ProgressThreadIsIdleWhenThereIsNothingToDo) {
  Fixture f;
  ASSERT_TRUE(f.worker.enable_submission().ok());
  ASSERT_TRUE(f.worker.start_thread().ok());
  std::atomic<int> count{0};
  ASSERT_TRUE(f.worker.submit(counts(count)));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(count, 1);
  const double before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_LT(cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before, 0.020);
  f.worker.stop_thread();
}

// Also what was submitted last, and what that submits.
TEST(Worker, ThreadDoesWhatWasSubmittedBeforeItStops) {
  for (int turn = 0; turn < 50; ++turn) {
    Fixture f;
    ASSERT_TRUE(f.worker.enable_submission().ok());
    ASSERT_TRUE(f.worker.start_thread().ok());
    std::atomic<int> count{0};
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(f.worker.submit(counts(count)));
    const Submission more([&f, &count] { EXPECT_TRUE(f.worker.submit(counts(count))); });
    ASSERT_TRUE(f.worker.submit(more));
    f.worker.stop_thread();
    EXPECT_EQ(count, 101);
  }
}

// The refusal is a value, the worker stays usable, and a later attempt succeeds.
TEST(Worker, NoThreadToBeHad) {
  Fixture f;
  ASSERT_TRUE(f.worker.enable_submission().ok());
  {
    const ::test::NoThreads none;
    const Outcome started = f.worker.start_thread();
    ASSERT_FALSE(started.ok());
    EXPECT_EQ(started.error().status.code(), ESP_ERR_NO_MEMORY);
    EXPECT_EQ(started.error().status.error_number(), EAGAIN);
    EXPECT_NE(started.error().text.find("cannot start the progress thread"), std::string::npos);
    f.worker.stop_thread();
  }
  std::atomic<int> count{0};
  ASSERT_TRUE(f.worker.submit(counts(count)));
  EXPECT_GT(f.worker.progress(), 0);
  EXPECT_EQ(count, 1);
  ASSERT_TRUE(f.worker.start_thread().ok());
  EXPECT_FALSE(f.worker.on_thread());
  f.worker.stop_thread();
}

TEST(Worker, DescriptorBecomesReadableWhenRung) {
  Fixture f;
  ASSERT_TRUE(f.worker.enable_submission().ok());
  Status failure;
  const int fd = f.worker.descriptor(failure);
  ASSERT_GE(fd, 0);
  pollfd waiting{fd, POLLIN, 0};
  EXPECT_EQ(::poll(&waiting, 1, 0), 0);
  ASSERT_EQ(f.worker.arm(), 0);
  std::atomic<int> count{0};
  std::thread other([&] { ASSERT_TRUE(f.worker.submit(counts(count))); });
  EXPECT_EQ(::poll(&waiting, 1, 5000), 1);
  other.join();
  EXPECT_GT(f.worker.progress(), 0);
  EXPECT_EQ(count, 1);
  // Disarmed and drained: further work rings nobody.
  ASSERT_TRUE(f.worker.submit(counts(count)));
  EXPECT_EQ(::poll(&waiting, 1, 20), 0);
  // Armed with work waiting: handled at once instead of sleeping.
  EXPECT_GT(f.worker.arm(), 0);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(f.sleepers.value.load(), 0U);
}

// What a network has besides its descriptor: something is due, though nothing arrives.
struct Due final : WakeSource {
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return true; }
  std::uint64_t deadline_ns() const noexcept override { return due_ns; }
  std::uint64_t due_ns = 0;
};

TEST(Worker, DescriptorBecomesReadableWhenANetworkIsDue) {
  Fixture f;
  Due source;
  f.worker.attach(static_cast<WakeSource&>(source));
  Status failure;
  const int fd = f.worker.descriptor(failure);
  ASSERT_GE(fd, 0);
  pollfd waiting{fd, POLLIN, 0};
  ASSERT_EQ(f.worker.arm(), 0);
  EXPECT_EQ(::poll(&waiting, 1, 20), 0) << "nothing is due";
  const std::uint64_t begin = f.clock.now_ns();
  source.due_ns = begin + 30'000'000;
  ASSERT_EQ(f.worker.arm(), 0);
  EXPECT_EQ(::poll(&waiting, 1, 10'000), 1);
  EXPECT_GE(f.clock.now_ns(), source.due_ns);
  // The next progress() takes it back, rung or not.
  source.due_ns = 0;
  (void)f.worker.progress();
  EXPECT_EQ(::poll(&waiting, 1, 20), 0);
  source.due_ns = f.clock.now_ns() + 20'000'000;
  ASSERT_EQ(f.worker.arm(), 0);
  (void)f.worker.progress();
  EXPECT_EQ(::poll(&waiting, 1, 60), 0) << "not armed";
  // Late already: at once.
  source.due_ns = 1;
  ASSERT_EQ(f.worker.arm(), 0);
  EXPECT_EQ(::poll(&waiting, 1, 10'000), 1);
  (void)f.worker.progress();
}

TEST(Worker, DescriptorBecomesReadableWhenATimerIsDue) {
  Fixture f;
  struct Alarm : Timer {
    Alarm()
        : Timer(
              [](Timer& self, std::uint64_t) noexcept { static_cast<Alarm&>(self).rang = true; }) {}
    bool rang = false;
  } alarm;
  Status failure;
  const int fd = f.worker.descriptor(failure);
  ASSERT_GE(fd, 0);
  pollfd waiting{fd, POLLIN, 0};
  f.worker.timers().add(alarm, f.clock.now_ns() + 10'000'000);
  ASSERT_EQ(f.worker.arm(), 0);
  EXPECT_EQ(::poll(&waiting, 1, 10'000), 1);
  EXPECT_GT(f.worker.progress(), 0);
  EXPECT_TRUE(alarm.rang);
  EXPECT_EQ(::poll(&waiting, 1, 0), 0);
}

// A wait in parts is a wait since its first began: for a warning, and for the limit.
TEST(Worker, AWaitInPartsIsOneForTheWatchdog) {
  struct Watching final : Watchdog {
    void look(std::uint64_t since_ns, std::uint64_t) noexcept override { begin_ns = since_ns; }
    std::uint64_t begin_ns = 0;
  } watchdog;
  Fixture f;
  f.worker.set_watchdog(&watchdog);
  const std::uint64_t first_ns = f.clock.now_ns() - 1'000'000'000;
  f.worker.wait([&] { return watchdog.begin_ns != 0; }, first_ns);
  EXPECT_EQ(watchdog.begin_ns, first_ns);
  watchdog.begin_ns = 0;
  f.worker.wait([&] { return watchdog.begin_ns != 0; });
  EXPECT_GT(watchdog.begin_ns, first_ns + 1'000'000'000);
}

// Who parks sleeps with a limit, and has no alarm to be set.
TEST(Worker, ParkingSetsNoAlarm) {
  Fixture f({.spins = 1, .yield_ns = 1000});
  Due source;
  f.worker.attach(static_cast<WakeSource&>(source));
  Status failure;
  const int fd = f.worker.descriptor(failure);
  ASSERT_GE(fd, 0);
  source.due_ns = f.clock.now_ns() + 5'000'000'000;
  const std::uint64_t parks = f.counters.parks.value();
  f.worker.wait([&] { return f.counters.parks.value() > parks + 2; });
  source.due_ns = 0;
  pollfd waiting{fd, POLLIN, 0};
  ASSERT_EQ(f.worker.arm(), 0);
  EXPECT_EQ(::poll(&waiting, 1, 20), 0);
}

TEST(Worker, ArmingTwiceCountsOneSleeper) {
  Fixture f;
  Status failure;
  ASSERT_GE(f.worker.descriptor(failure), 0);
  EXPECT_EQ(f.worker.arm(), 0);
  EXPECT_EQ(f.worker.arm(), 0);
  EXPECT_EQ(f.sleepers.value.load(), 1U);
  (void)f.worker.progress();
  EXPECT_EQ(f.sleepers.value.load(), 0U);
}

}  // namespace
}  // namespace espalier
