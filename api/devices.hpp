// Devices: calls whose buffers are memory of devices (GPUs), of any rank by itself: nobody else
// need know.
//
// A program without such memory pays for one look at the list of loaded libraries: only who has
// loaded the driver can have any. With it the quick ways are closed, and each call asks where its
// buffers are; those on a device are packed by the mover (coll/device/device_mover.hpp), which also
// combines what lies on one device.
//
// Ownership: a job's. Threads: any (look_at), the owner of the worker (the mover). path: data
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "api/staged_accesses.hpp"
#include "api/staged_messages.hpp"
#include "coll/device/device_mover.hpp"
#include "coll/device/device_reductions.hpp"
#include "coll/device/device_shares.hpp"
#include "coll/device/staged_copies.hpp"
#include "coll/device/stream_order.hpp"
#include "core/device/drivers.hpp"
#include "core/device/pointer_kinds.hpp"

struct esp_job;
struct esp_team;

namespace espalier {

struct Call;

class Devices {
 public:
  explicit Devices(esp_job& job);
  ~Devices();

  // May any memory be a device's?
  bool may_be() const noexcept { return drivers_.may_be(); }
  // Of a call that is checked: who reaches its buffers. Where the driver does not say, the team
  // fails: the others wait for this member.
  esp_status look_at(esp_team& team, Call& call);
  // Of the options of a call: is a stream of theirs one that the call can be ordered with?
  esp_status check_stream(const Call& call);
  // Gives a call with such a stream its place there (Call::order), which who holds it gives back.
  esp_status order(esp_team& team, Call& call);
  // The call, or a round of it, begins: behind what is in the stream. An error of a call: it has
  // given its place back; of a round: the team has failed.
  esp_status enter(esp_team& team, Call& call);
  void enter(esp_team& team, const char* caller, StreamOrder& order);
  // Of a message: its mover is set where it is a device's. `caller` is for the text.
  esp_status look_at(const char* caller, esp_team& team, const void* buffer, Mover*& mover);
  esp_status look_at(const char* caller, esp_team& team, const void* buffer, bool& on_device);
  // Of anything: the processor cannot reach it.
  bool is_out_of_reach(const void* buffer);
  // The team fails, for the others wait for this member.
  esp_status fail(const char* caller, esp_team& team, const std::string& why);

  // Of an operation of this rank's alone: where the driver does not say, that is its error.
  esp_status locate(const char* caller, const void* buffer, std::uint64_t bytes, bool& on_device);

  // Of a job that has met a device.
  StagedCopies& copies();
  StagedAccesses& accesses();
  StagedMessages& messages();
  // nullptr: none was staged yet.
  StagedMessages* staged_messages();
  // Waits until it is done: not in callbacks. The text of what fails is the caller's to tell.
  Outcome copy(const Repack& what);
  // Copies end, and there are no more.
  void close() noexcept;

  // For people; "": no driver is loaded.
  std::string describe() const;
  // How its elements get from and to a device, and who combines; "": it has no memory of one.
  std::string explain(const Call& call, bool is_short) const;

 private:
  // Which are a device's, or why nobody knows.
  struct Found {
    std::optional<device::Home> input, output;
    std::string refused;
  };
  Found look(const void* input, const void* output);
  Result<std::optional<device::Home>> home_of(const void* buffer);
  const Reduction* reduction_of(const Call& call, device::Home home);
  Mover& mover() { return copies().mover(); }
  // Do the others of the node reach what is on devices, and is this long enough?
  bool shares(Team& team, std::uint64_t bytes) const;
  // Do adapters bring what is on devices to other nodes, likewise?
  bool goes_directly(const Team& team, std::uint64_t bytes) const;
  void offer(AwayMemory* away) noexcept;
  esp_status refuse_stream(esp_team& team, const Call& call, const Error& why);

  esp_job& job_;
  mutable std::mutex mutex_;         // of all below
  mutable device::Drivers drivers_;  // looks when it is asked
  device::PointerKinds kinds_;
  device::Home home_{0, 0};  // of the memory that was met last before there was a mover
  std::unique_ptr<DeviceReductions> reductions_;
  std::unique_ptr<DeviceMover> mover_;
  std::optional<StagedCopies> copies_;  // by it
  std::optional<StagedAccesses> accesses_;
  std::optional<StagedMessages> messages_;
  std::unique_ptr<DeviceShares> shares_;
  std::unique_ptr<StreamOrders> orders_;
};

}  // namespace espalier
