#include "coll/engine/group.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace espalier {

TeamGroup::TeamGroup(std::span<const Reader> readers) {
  std::vector<Wire*> wires;
  for (const Reader& reader : readers) {
    if (std::find(wires.begin(), wires.end(), reader.wire) == wires.end()) {
      wires.push_back(reader.wire);
    }
  }
  std::vector<Rank> ranks;
  for (Wire* wire : wires) {
    ranks.clear();
    for (const Reader& reader : readers) {
      if (reader.wire == wire) ranks.push_back(reader.rank);
    }
    parts_.push_back({wire, wire->open_group(ranks)});
  }
}

TeamGroup::~TeamGroup() = default;

// False: no memory.
bool TeamGroup::take_shares(SendOp& op) noexcept {
  if (free_.empty()) {
    std::unique_ptr<Share[]> made(new (std::nothrow) Share[parts_.size()]);
    if (made == nullptr) return false;
    free_.push_back(made.get());
    shares_.push_back(std::move(made));
  }
  Share* share = free_.back();
  free_.pop_back();
  op.chain = share;
  op.readers = static_cast<std::uint32_t>(parts_.size());  // shares that are missing yet
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    share[i].on_complete = on_share;
    share[i].owner = this;
    share[i].whole = &op;
    share[i].posted = Posted::kRetry;
  }
  return true;
}

void TeamGroup::give_back_shares(SendOp& op) noexcept {
  free_.push_back(shares(op));
  op.chain = nullptr;
}

Posted TeamGroup::publish_parts(const Send& send, SendOp& op) noexcept {
  if (op.chain == nullptr && !take_shares(op)) return Posted::kRetry;
  Share* share = shares(op);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (share[i].posted != Posted::kRetry) continue;
    share[i].posted = parts_[i].wire->publish(send, *parts_[i].group, share[i]);
    if (share[i].posted == Posted::kDone) --op.readers;
    if (share[i].posted == Posted::kRetry) ++refused;
  }
  const bool untouched = refused == parts_.size(), done = op.readers == 0;
  if (untouched || done) give_back_shares(op);
  if (refused > 0) return Posted::kRetry;
  return done ? Posted::kDone : Posted::kPending;
}

void TeamGroup::on_share(Completion& completion, Status status) noexcept {
  auto& share = static_cast<Share&>(completion);
  SendOp& whole = *share.whole;
  share.posted = Posted::kDone;
  --whole.readers;
  if (status.ok() && whole.readers > 0) return;
  share.owner->cancel(whole);  // Of what is over only the shares come back.
  whole.complete(status);
}

std::vector<Rank> TeamGroup::awaited() const {
  std::vector<Rank> ranks;
  for (const Part& part : parts_) {
    const Rank late = part.group->late();
    const std::span<const Rank> readers = part.group->readers();
    if (late != kNoRank) {
      ranks.push_back(late);
    } else {
      ranks.insert(ranks.end(), readers.begin(), readers.end());
    }
  }
  return ranks;
}

void TeamGroup::cancel(SendOp& op) noexcept {
  if (parts_.size() == 1) return parts_.front().wire->cancel(op);
  Share* share = shares(op);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (share[i].posted == Posted::kPending) parts_[i].wire->cancel(share[i]);
  }
  give_back_shares(op);
}

}  // namespace espalier
