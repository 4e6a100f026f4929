// TeamGroup: the readers of a publication, whichever wires reach them.
//
// Where one wire reaches all, its group is all there is. Else each wire has a *part* of the
// readers, and a publication has a *share* per part:
//
//   publish(op) --> share 0: the network's readers --\                                          .
//              \--> share 1: this node's readers  ----> the last that ends completes op
//
// A wire without room refuses its part alone: the post answers kRetry and remembers in `op` who has
// the segment, so that the next post of the same op asks only the others. The first share that
// fails takes the others back and completes op, also if its last post answered kRetry.
//
// Ownership: borrows the wires, which outlive everything under way; owns groups and shares. Shares
// are re-used: so many are made as were ever under way at once. Threads: owner. path: data
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/wire.hpp"

namespace espalier {

class TeamGroup {
 public:
  struct Reader {
    Wire* wire;
    Rank rank;  // in the job
  };
  // Opens a group at each wire; at least one reader. Parts come in the order of their first
  // readers.
  explicit TeamGroup(std::span<const Reader> readers);
  ~TeamGroup();
  TeamGroup(const TeamGroup&) = delete;
  TeamGroup& operator=(const TeamGroup&) = delete;

  // As Wire::publish. Of several wires, also kRetry when some readers have the segment: op then
  // belongs to this group until it is posted again or cancelled. Also kRetry: no memory.
  Posted publish(const Send& send, SendOp& op) noexcept {
    if (parts_.size() == 1) [[likely]]
      return parts_.front().wire->publish(send, *parts_.front().group, op);
    return publish_parts(send, op);
  }
  // Some readers have the segment of an op whose last post answered kRetry.
  bool is_half_made(const SendOp& op) const noexcept {
    return parts_.size() > 1 && op.chain != nullptr;
  }
  // Of one that is pending or half made: its completion will not fire.
  void cancel(SendOp& op) noexcept;

  // Readers for whom a publication may wait: of a wire that knows who is late only that one.
  // path: slow
  std::vector<Rank> awaited() const;

 private:
  struct Part {
    Wire* wire;
    std::unique_ptr<Group> group;
  };
  struct Share : SendOp {
    TeamGroup* owner = nullptr;
    SendOp* whole = nullptr;
    Posted posted = Posted::kRetry;
  };
  // SendOp::chain of the whole is the first of its shares, which are one array.
  static Share* shares(const SendOp& op) noexcept { return static_cast<Share*>(op.chain); }

  [[gnu::noinline]] Posted publish_parts(const Send& send, SendOp& op) noexcept;
  static void on_share(Completion& completion, Status status) noexcept;
  bool take_shares(SendOp& op) noexcept;
  void give_back_shares(SendOp& op) noexcept;

  std::vector<Part> parts_;
  std::vector<std::unique_ptr<Share[]>> shares_;
  std::vector<Share*> free_;
};

}  // namespace espalier
