// RankState: what this rank is doing, where its launcher can read it.
//
// The launcher's daemon makes one memory file per node, with a page for itself and one for each
// rank, and its ranks inherit it. A rank writes down that a wait has become a long one; it answers
// with a text when the daemon has asked, from the next look of its watchdog. Who neither waits nor
// answers is not in the library. Nothing of it is on the way of a call that ends soon.
//
//   page 0      RankStateHeader   written by the daemon, read by all
//   page 1 + i  RankStatePage     written by rank i of the node, read by the daemon
//
// Ownership: a process has at most one, its first job's. Threads: any, but answer() (the owner of
// the worker). path: slow
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/clock.hpp"
#include "core/status.hpp"

namespace espalier {

enum class RankPhase : std::uint32_t { kNotJoined, kJoining, kJoined, kLeaving, kLeft };

struct RankStateHeader {
  static constexpr std::uint64_t kMagic = 0x3165746174735345;  // "ESstate1"
  std::uint64_t magic = kMagic;
  std::uint64_t nonce = 0;  // told to the ranks beside the descriptor: the file is this launcher's
  std::uint64_t page_bytes = 0, ranks = 0;
  // Writer: the daemon; readers: the ranks. Publishes nothing but itself. 0: nobody has asked.
  std::atomic<std::uint32_t> question{0};
};

// Writers: the rank's threads; reader: the daemon. Only `answered` publishes: what follows it.
struct RankStatePage {
  static constexpr std::size_t kTextBytes = 3072;
  std::atomic<std::uint32_t> phase{0};
  std::atomic<std::int32_t> process{0};
  std::atomic<std::uint32_t> waits{0};      // threads that are in a long wait
  std::atomic<std::uint64_t> since_ns{0};   // of the phase, of the last wait or of its end
  std::atomic<std::uint64_t> looked_ns{0};  // when the watchdog has looked, by CLOCK_MONOTONIC
  std::atomic<std::uint32_t> answered{0};   // the question; release
  std::atomic<std::uint32_t> text_bytes{0};
  std::array<char, kTextBytes> text{};
};
static_assert(sizeof(RankStatePage) <= 4096);

// As the launcher tells it in the environment, "DESCRIPTOR:INDEX:NONCE".
struct RankStatePlace {
  static constexpr const char* kVariable = "ESP_RUN_STATE";
  int descriptor = -1;
  std::uint32_t index = 0;
  std::uint64_t nonce = 0;
};

class RankState {
 public:
  // Takes the page that is this process's, and closes the descriptor. An error where there is no
  // such file (a program in between may have closed it, and another be open now) or another process
  // has the page.
  static Result<std::unique_ptr<RankState>> open(const RankStatePlace& place);
  ~RankState();
  RankState(const RankState&) = delete;
  RankState& operator=(const RankState&) = delete;

  void enter(RankPhase phase) noexcept;
  void begin_wait() noexcept;
  void end_wait() noexcept;
  // The watchdog has looked. True: the daemon has asked something that is not answered.
  bool look() noexcept;
  void answer(std::string_view text) noexcept;

 private:
  RankState(const RankStateHeader* header, RankStatePage* page) noexcept
      : header_(header), page_(page) {}
  void stamp() noexcept;

  SteadyClock clock_;  // the same for all processes of the machine
  const RankStateHeader* header_;
  RankStatePage* page_;
};

// A wait that has become a long one, until the end of the block. Without a state: nothing.
class LongWait {
 public:
  explicit LongWait(RankState* state) noexcept : state_(state) {
    if (state_ != nullptr) state_->begin_wait();
  }
  ~LongWait() {
    if (state_ != nullptr) state_->end_wait();
  }
  LongWait(const LongWait&) = delete;
  LongWait& operator=(const LongWait&) = delete;

 private:
  RankState* state_;
};

}  // namespace espalier
