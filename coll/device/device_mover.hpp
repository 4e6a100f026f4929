// DeviceMover: carries out what calls with memory of devices copy, by the devices' own copy
// engines (Chu et al., section 3; ADAPT, section 4: the explicit host buffer).
//
//   input on a device --copy--> staging --(the plan, on the host)--> staging --copy--> output there
//
// What lies on a device is packed into memory of the host piece by piece, and unpacked from it; the
// network and other members take it from there while the next pieces are copied. Each device has a
// stream for either direction, so the two overlap. Nothing waits for a device: progress() asks the
// events of the oldest copies, and a timer calls it while there are some. What combines by kernels
// does so beside the copies (coll/device/device_reducer.hpp), and may stay on the device wholly, in
// memory that is taken there (device_pool.hpp).
//
// Errors: the operation ends with ESP_ERR_DEVICE, and why() has the driver's text. What is left of
// a device that is lost ends likewise.
//
// Ownership: borrows drivers, timers, clock and counters. Threads: the owner of the worker.
// path: data
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "coll/device/device_pool.hpp"
#include "coll/device/device_reducer.hpp"
#include "coll/device/staging_memory.hpp"
#include "coll/engine/mover.hpp"
#include "core/clock.hpp"
#include "core/counters.hpp"
#include "core/device/pointer_kinds.hpp"
#include "core/timer_queue.hpp"
#include "core/worker.hpp"

namespace espalier {

class DeviceMover final : public Mover, public Agent {
 public:
  struct Context {
    device::Drivers& drivers;  // one is loaded
    device::Driver& driver;    // that one
    TimerQueue& timers;
    Clock& clock;
    Counters& counters;
    Rank rank = kNoRank;
    device::Home home{0, 0};  // of the first memory that will be met
  };

  explicit DeviceMover(const Context& context) noexcept
      : context_(context),
        kinds_(context.drivers),
        staging_(context.driver),
        pool_(context.driver),
        reducer_(context.driver, staging_, context.counters) {}
  ~DeviceMover() override;

  Posted move(const Move& move, Completion& op) noexcept override;
  Posted repack(const Repack& repack, Completion& op) noexcept override;
  std::byte* allocate(std::uint64_t bytes) noexcept override;
  void release(std::byte* memory, std::uint64_t bytes) noexcept override;
  bool reduces_in(const std::byte* memory) const noexcept override {
    return staging_.is_registered(memory);
  }
  std::byte* allocate_beside(const Reduction& reduction, std::uint64_t bytes) noexcept override;
  void release_beside(std::byte* memory) noexcept override { pool_.give_back(memory); }
  std::string why() const override { return why_; }
  // Waits for the copy or kernel that is under way, kGiveUpNs at most.
  void cancel(Completion& op) noexcept override;

  int progress() noexcept override;

  // Of the device that was met first.
  device::Home home() const noexcept {
    return devices_.empty() ? context_.home : devices_.front()->home;
  }

 private:
  enum class Direction : std::uint8_t { kToHost, kToDevice };
  static constexpr std::size_t kDirections = 2;
  // Of one stream.
  static constexpr std::uint32_t kDepth = 128;
  static constexpr std::uint64_t kPollNs = 20'000, kGiveUpNs = 10 * kNanosecondsPerSecond;

  struct Copy {
    Completion* op = nullptr;  // nullptr: taken back
    device::Event event;
    Status status;  // what is known before the event
    // Elements that travel in another form are brought into it by the processor.
    std::byte* values = nullptr;
    std::uint64_t value_bytes = 0;
    Repack repack;
  };
  struct Lane {
    device::Stream stream;
    std::vector<Copy> copies;  // a ring of kDepth
    std::uint32_t begin = 0, end = 0;

    bool full() const noexcept { return end - begin == kDepth; }
    Copy& at(std::uint32_t number) noexcept { return copies[number % kDepth]; }
  };
  struct Device {
    device::Home home;
    std::array<Lane, kDirections> lanes;
  };

  Outcome open(Lane& lane, device::Home home) noexcept;
  Lane* lane_of(device::Home home, Direction direction) noexcept;
  Outcome copy_pieces(Lane& lane, const Repack& repack, std::byte* packed) noexcept;
  Posted post(Lane& lane, const Repack& repack, Completion& op) noexcept;
  // kPending: not yet. kDone: `status` says how it went.
  Posted look(Copy& copy, Status& status) noexcept;
  void conclude(Copy& copy, Status status) noexcept;
  int progress(Lane& lane) noexcept;
  Posted await(StreamOrder* behind, Completion& op) noexcept;
  Posted reduce(const Move& move, Completion& op) noexcept;
  Posted copy(const Move& move, Completion& op) noexcept;
  int progress_reductions() noexcept;
  Status failed(const Error& error) noexcept;
  void fail_later(const Error& error, Completion& op) noexcept;
  void set_timer() noexcept;
  static void on_timer(Timer&, std::uint64_t) noexcept {}

  const Context context_;
  device::PointerKinds kinds_;
  const Pattern bytes_ = Pattern::plain(ESP_BYTE);
  StagingMemory staging_;
  DevicePool pool_;
  DeviceReducer reducer_;
  std::vector<std::unique_ptr<Device>> devices_;        // in the order in which they were met
  std::vector<std::pair<Completion*, Status>> failed_;  // still to be told, from progress()
  std::vector<std::byte> scratch_;                      // of users' operators
  std::string why_;
  std::uint32_t under_way_ = 0;
  Timer timer_{on_timer};
};

}  // namespace espalier
