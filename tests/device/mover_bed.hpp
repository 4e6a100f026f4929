// A program's device with the library's mover on it, and what its moves end with.
#pragma once

#include "coll/device/device_mover.hpp"
#include "core/log.hpp"
#include "played.hpp"

namespace espalier::device::test {

struct Pending : Completion {
  Pending() noexcept
      : Completion([](Completion& self, Status how) noexcept {
          auto& waiting = static_cast<Pending&>(self);
          ++waiting.times;
          waiting.status = how;
        }) {}
  int times = 0;
  Status status;
};

struct MoverBed : Bed {
  explicit MoverBed(const char* environment = "") : Bed(environment) {}

  void finish(const Pending& waiting) {
    for (int i = 0; i < 100'000 && waiting.times == 0; ++i) {
      mover.progress();
      ::usleep(20);
    }
    ASSERT_EQ(waiting.times, 1);
  }

  static void keep_warning(void* bed, LogLevel, Rank, std::string_view text) noexcept {
    static_cast<MoverBed*>(bed)->warning = text;
  }

  std::string warning;  // the last
  Log log{LogLevel::kWarn, 0, {keep_warning, this}};
  TimerQueue timers;
  SteadyClock clock;
  Counters counters;
  DeviceMover mover{{drivers, *driver, timers, clock, counters, 0}};
};

}  // namespace espalier::device::test
