// FrameWire: publications, and what groups of the network need of it. path: data
#include <algorithm>

#include "net/frame_wire.hpp"

namespace espalier::net {

struct FrameWire::PeerGroup : Group {
  PeerGroup(FrameWire& wire, std::span<const Rank> ranks) : Group(ranks) {
    for (const Rank rank : ranks) peers.push_back(&wire.peer(rank));
  }
  Rank late() const noexcept override { return network != nullptr ? network->late() : kNoRank; }

  std::vector<Peer*> peers;
  // Of the team that publishes: known with its first publication, there until the team is freed.
  mutable FrameGroup* network = nullptr;
};

std::unique_ptr<Group> FrameWire::open_group(std::span<const Rank> readers) {
  return std::make_unique<PeerGroup>(*this, readers);
}

Posted FrameWire::publish(const Send& send, const Group& group, SendOp& op) noexcept {
  const auto& readers = static_cast<const PeerGroup&>(group);
  const bool to_all = send.transfer.path == Path::kMulticast && groups_ != nullptr;
  const Posted posted = to_all ? post_to_all(send, readers, op) : post(send, readers.peers, op);
  if (posted != Posted::kRetry) ++counters_.publishes;
  return posted;
}

// One frame for all.
Posted FrameWire::post_to_all(const Send& send, const PeerGroup& group, SendOp& op) noexcept {
  ESP_ASSERT(!send.synchronous);
  if (group.network == nullptr) {
    group.network = groups_->find(FlowId::team_of(send.segment.flow.key));
    ESP_ASSERT(group.network != nullptr);
    ESP_ASSERT(group.peers.size() + 1 == group.network->members().size());
  }
  // It fails, as any post to those who are lost.
  if (group.network->has_lost_members()) return post(send, group.peers, op);
  op.chain = nullptr;
  Part* part = nullptr;
  if (may_send(send, group.peers)) {
    part = parts_.allocate(*this, *group.peers.front(), &FrameWire::on_sent);
  }
  if (part == nullptr) {
    ++counters_.retries;
    return Posted::kRetry;
  }
  part->op = &op;
  part->group = group.network;
  part->frame.header = header_of(send);
  part->frame.payload = send.data;
  open_.push_back(*part);
  op.chain = part;
  const Posted posted = group.network->post(part->frame);
  part->pending = posted == Posted::kPending;
  if (posted != Posted::kPending) drop(*part);
  if (posted == Posted::kRetry) return posted;
  if (send.segment.ordinal >= kEagerSegments) {
    for (const Peer* p : group.peers) grants_.sent(p->rank, send.segment);
  }
  ++counters_.segments_sent;
  counters_.bytes_sent += send.bytes;
  return posted;
}

void FrameWire::use_groups(Clock& clock, const FrameGroupsOptions& options) {
  GroupHost& host = *this;
  groups_ = std::make_unique<FrameGroups>(host, clock, counters_, options);
}

void FrameWire::join_group(std::uint32_t team, std::shared_ptr<const std::vector<Rank>> members) {
  if (groups_ != nullptr) groups_->join(team, std::move(members));
}

// ---- of what comes by the link ----

std::byte* FrameWire::begin_of_group(FrameArrival& in, const FrameHeader& header) noexcept {
  const bool word = header.kind == FrameKind::kGroup && header.ordinal < kGroupWords;
  const bool known = header.kind == FrameKind::kRelayed || word;
  if (groups_ != nullptr && known) return land(in, header.bytes);
  link_.lose(in.from, error(ESP_ERR_NETWORK, "a frame of a group, which nobody expects", in.from));
  return nullptr;
}

void FrameWire::end_of_group(FrameArrival& in) noexcept {
  std::byte* landed = std::exchange(in.landing, nullptr);
  if (groups_ != nullptr) groups_->frame(in.from, in.header, landed);
}

bool FrameWire::cancel_of_groups(RecvOp& op) noexcept {
  bool stopped = false;
  groups_->visit_arrivals(op.peer,
                          [&](FrameArrival& in) { stopped = stopped || stop_receiving(in, op); });
  return stopped;
}

// Of a source with many readers those next to it in its tree watch it, else it would have a
// connection to each of them.
Rank FrameWire::whom_to_watch(const RecvOp& op) const noexcept {
  if (op.transfer.path != Path::kMulticast || groups_ == nullptr) return op.peer;
  const FrameGroup* group = groups_->find(FlowId::team_of(op.flow));
  return group != nullptr ? group->above(op.peer) : op.peer;
}

// ---- as the host of groups ----

bool FrameWire::tell(Rank to, std::uint32_t team, GroupWord word,
                     std::span<const std::byte> payload) noexcept {
  Peer& p = peer(to);
  if (p.controls >= kMailsMax) return false;
  FrameHeader header;
  header.kind = FrameKind::kGroup;
  header.flow = team;
  header.ordinal = static_cast<std::uint32_t>(word);
  header.bytes = payload.size();
  send_own(p, header, payload.data());
  return true;
}

Posted FrameWire::post_relayed(Rank to, OutgoingFrame& frame) noexcept {
  Peer& p = peer(to);
  return p.lost ? Posted::kDone : post(p, frame);
}

void FrameWire::withdraw_relayed(Rank to, OutgoingFrame& frame) noexcept {
  (void)withdraw(to, frame);
}

void FrameWire::lose_peer(Rank peer, Error why) noexcept {
  link_.lose(peer, std::move(why));
}

}  // namespace espalier::net
