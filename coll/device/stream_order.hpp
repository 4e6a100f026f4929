// StreamOrder: the place of a call in a stream of the program's.
//
//   ... | before | wait for the flag | the program's event | passed | what comes later
//
// What the call copies from and to the caller's buffers begins when `before` has come. The host
// asks for that: a stream of ours that waited would hold up the copies of other calls, among them
// one that the program's stream waits for. What comes later in the stream waits, without the host,
// until the library has written the flag, at the end of the call, however that ends.
//
// Ownership: StreamOrders'. Threads: enter(): who makes the call; else the owner of the worker,
// which the call is handed to. path: data
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/device/device.hpp"
#include "core/log.hpp"

namespace espalier {

class StreamOrder {
 public:
  // One round: the call begins behind what is in the stream now. When it fails end() is due all the
  // same.
  Outcome enter();
  // Has what was before the call in the stream happened?
  Result<bool> is_reached();
  // The stream goes on.
  void end() noexcept { __atomic_store_n(flag_, value_, __ATOMIC_RELEASE); }

 private:
  friend class StreamOrders;

  device::Driver* driver_ = nullptr;
  device::ForeignStream stream_;
  void* event_ = nullptr;  // the program's, or nullptr
  device::Event before_, passed_;
  // In registered memory. Writer: end(); reader: the stream.
  std::uint32_t* flag_ = nullptr;
  std::uint32_t value_ = 0;  // only grows, so a late reader of an early round goes on, too
  bool reached_ = false;
  // Writers: who takes it, under the lock of StreamOrders' owner; who gives it back (release).
  std::atomic<bool> free_{false};
};

// Those of a job, used again. Threads: take(): one at a time; give_back(): any.
class StreamOrders {
 public:
  StreamOrders(device::Driver& driver, Clock& clock, const Log& log) noexcept
      : driver_(driver), clock_(clock), log_(log) {}
  // Waits until no stream looks at a flag any more, kGiveUpNs at most; then the flags stay.
  ~StreamOrders();
  StreamOrders(const StreamOrders&) = delete;
  StreamOrders& operator=(const StreamOrders&) = delete;

  // Handles of the driver's; `event` may be nullptr. ESP_ERR_ARGUMENT: the stream or event is none.
  Result<StreamOrder*> take(void* stream, void* event);
  static void give_back(StreamOrder& order) noexcept;

 private:
  static constexpr std::size_t kPageBytes = 4096, kFlagBytes = 64;
  static constexpr std::size_t kFlags = kPageBytes / kFlagBytes;  // of a page
  static constexpr std::uint64_t kGiveUpNs = 10'000'000'000;

  struct Page {
    std::byte* begin;
    device::HostRegistration registration;
  };

  Result<StreamOrder*> make(const device::Home& home);
  bool have_passed();

  device::Driver& driver_;
  Clock& clock_;
  const Log& log_;
  std::vector<Page> pages_;
  std::vector<std::unique_ptr<StreamOrder>> orders_;
};

}  // namespace espalier
