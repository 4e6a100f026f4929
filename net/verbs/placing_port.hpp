// VerbsPlacingPort: net/multicast/placing_port.hpp on a UD queue pair that is in a multicast group
// (group_membership.hpp).
//
//   receive: | GRH, header of the lane (a slot of ours) | payload (the caller's memory) |
//   send:    | header of the lane (a slot of ours)      | payload (the caller's memory) |
//
// Receives complete in the order of their posts, so places are a ring; wr_ids carry the generation
// of the queue pair, by which completions of the time before it was reset are told apart. To take
// places back it goes through the error state, which completes them, and RESET, after which the
// device holds nothing of ours; it stays attached to the group.
//
// Ownership: borrows the adapter; leaves the group when it ends. Threads: owner. path: data
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "net/multicast/placing_port.hpp"
#include "net/verbs/completion_queue.hpp"
#include "net/verbs/group_membership.hpp"
#include "net/verbs/packet_memory.hpp"

namespace espalier::verbs {

class VerbsPlacingPort final : public multicast::PlacingPort, private EventTarget {
 public:
  static Result<std::unique_ptr<multicast::PlacingPort>> create(
      VerbsAdapter& adapter, const multicast::GroupAddress& group, const PlacingOptions& options);

  multicast::Joined joined() noexcept override;
  std::uint32_t payload_bytes() const noexcept override {
    return adapter_.mtu_bytes() - multicast::kLaneHeaderBytes;
  }
  std::uint32_t depth() const noexcept override { return options_.places; }
  Result<rdma::Region> enroll(const void* begin, std::uint64_t bytes) override;
  void withdraw(const rdma::Region& region) noexcept override;

  bool post_place(std::byte* memory, std::uint32_t bytes, std::uint32_t key,
                  std::uint64_t token) noexcept override;
  void show_places() noexcept override;
  void flush_places(multicast::PlacingSink& sink) noexcept override { start_again(sink); }
  bool send(multicast::LaneHeader header, const std::byte* payload, std::uint32_t bytes,
            std::uint32_t key, bool more) noexcept override;
  void flush() noexcept override { ring(); }
  std::uint32_t sending() const noexcept override { return sent_ - completed_; }
  int poll(multicast::PlacingSink& sink, int budget) noexcept override;
  const Status& fault() const noexcept override;
  int descriptor() const noexcept override { return completions_->descriptor(); }
  bool arm() noexcept override;

 private:
  static constexpr std::uint32_t kAllMembers = 0xFFFFFF;  // as a queue pair's number
  static constexpr std::size_t kPosts = 32;               // of one call

  struct Place {
    std::uint64_t token = 0;
    std::uint32_t bytes = 0;
  };

  VerbsPlacingPort(VerbsAdapter& adapter, const PlacingOptions& options, std::uint32_t key);
  Outcome open(const multicast::GroupAddress& group);
  Outcome create_queue_pair();
  Outcome start_queue_pair();
  void queue_broken(std::uint32_t queue_pair) noexcept override;
  std::uint64_t id(bool receive, std::uint32_t position) const noexcept;
  rdma::Packet& place_slot(std::uint32_t position) noexcept {
    return (*slots_)[position & (options_.places - 1)];
  }
  rdma::Packet& send_slot(std::uint32_t position) noexcept {
    return (*slots_)[options_.places + (position & (options_.send_depth - 1))];
  }
  void ring() noexcept;
  void finish(const ibv_wc& completion, multicast::PlacingSink& sink) noexcept;
  void finish_place(const ibv_wc& completion, multicast::PlacingSink& sink) noexcept;
  void drain(multicast::PlacingSink& sink) noexcept;
  void start_again(multicast::PlacingSink& sink) noexcept;
  void gone(int error_number) noexcept;

  VerbsAdapter& adapter_;
  const PlacingOptions options_;  // places and send_depth are powers of two
  const std::uint32_t key_;
  std::unique_ptr<CompletionQueue> completions_;
  std::unique_ptr<PacketMemory> slots_;  // for headers: of places, then of sends
  QueuePair queue_pair_;
  std::unique_ptr<GroupMembership> membership_;  // ends before the queue pair

  // Places [used_, posted_) are in the queue, but for the last unshown_.
  std::vector<Place> places_;
  std::uint32_t used_ = 0, posted_ = 0, unshown_ = 0;
  std::array<ibv_recv_wr, kPosts> receives_ = {};
  std::array<std::array<ibv_sge, 2>, kPosts> receive_parts_ = {};
  // Sends [completed_, sent_) are, but for the last batched_.
  std::uint32_t completed_ = 0, sent_ = 0, batched_ = 0;
  std::array<ibv_send_wr, kPosts> sends_ = {};
  std::array<std::array<ibv_sge, 2>, kPosts> send_parts_ = {};

  std::uint32_t generation_ = 0;
  std::uint32_t taken_back_ = 0;  // receives that the error state has completed
  bool broken_ = false;
  unsigned idle_polls_ = 0;
};

}  // namespace espalier::verbs
