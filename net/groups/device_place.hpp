// DevicePlace: memory of a device that a segment's packets are put into by the lane's adapter, with
// memory of the host beside it (RecvOp::place and dst; net/multicast/placed_patches.hpp).
//
// Ownership: borrows all of it, and holds the registration, from begin() to end(). Threads: owner.
// path: data
#pragma once

#include <utility>

#include "core/wire.hpp"
#include "net/groups/group_host.hpp"
#include "net/multicast/placed_sink.hpp"

namespace espalier::net {

class DevicePlace : public Completion {
 public:
  using Completion::Completion;

  // False: the adapter does not write there, or the receive names nothing.
  bool begin(GroupPorts& ports, AwayMemory* memory, const RecvOp* op, std::uint64_t bytes) {
    const bool named = op != nullptr && op->status.ok() && op->takes_away && op->place != nullptr;
    if (!named || op->dst == nullptr || memory == nullptr) return false;
    auto* const at = static_cast<std::byte*>(op->place);
    const rdma::Region* region = ports.hold_away(at, bytes);
    if (region == nullptr) return false;
    memory_ = memory;
    lies_ = {at, region->local_key, true, static_cast<std::byte*>(op->dst)};
    by_adapter_ = bytes;
    failure_ = {};
    return true;
  }
  // Nothing is read or written any more.
  void end(GroupPorts& ports) noexcept {
    if (memory_ == nullptr) return;
    if (std::exchange(pending_, false)) memory_->cancel(*this);
    memory_ = nullptr;
    ports.drop_away(lies_.begin);
  }
  bool places_away() const noexcept { return memory_ != nullptr; }

  const multicast::PlacedMemory& lies() const noexcept { return lies_; }
  std::uint64_t by_adapter() const noexcept { return by_adapter_; }  // bytes
  const Status& failure() const noexcept { return failure_; }        // of a copy

  // As PlacedSinkUser::patch(): kPending: the completion runs, which calls patched().
  Posted patch(const multicast::PlacedPatch& patch) noexcept {
    if (!failure_.ok()) return Posted::kDone;
    const Posted posted =
        patch.fetches
            ? memory_->fetch(lies_.beside + patch.to, lies_.begin + patch.from, patch.bytes, *this)
            : memory_->store(lies_.begin + patch.to, lies_.beside + patch.from, patch.bytes, *this);
    pending_ = posted == Posted::kPending;
    if (posted != Posted::kRetry && !patch.fetches) by_adapter_ -= patch.bytes;
    return posted;
  }
  void patched(Status status) noexcept {
    pending_ = false;
    failure_ = status;
  }

 private:
  AwayMemory* memory_ = nullptr;
  multicast::PlacedMemory lies_;
  std::uint64_t by_adapter_ = 0;
  Status failure_;
  bool pending_ = false;
};

}  // namespace espalier::net
