#include "tests/vm/lane_nodes.hpp"

namespace espalier::verbs {

LaneNode::LaneNode(Rank me, std::unique_ptr<GroupPort> port,
                   std::array<std::unique_ptr<PlacingPort>, kLaneSources> lanes,
                   std::deque<Letter>& letters, const Options& options)
    : me_(me), letters_(letters), port_(std::move(port)), lanes_(std::move(lanes)) {
  multicast::GroupOptions group;
  group.epoch = 77;
  group.group = 1;
  group.ranks = kLaneNodes;
  group.rank = me;
  group.sources = kLaneSources;
  group_ = std::make_unique<multicast::Group>(kLaneRanks, *port_, *this, clock_, *this, group);
  multicast::PlacedOptions placed;
  placed.rank = me;
  // A repair is a message of the stream.
  placed.packet_bytes = port_->packet_bytes() -
                        static_cast<std::uint32_t>(multicast::kHeaderBytes) -
                        static_cast<std::uint32_t>(multicast::kPlacedMessageBytes);
  placed.packets_max = options.packets_max;
  placed.degree = 2;
  placed.reorder_ns = options.reorder_ns;
  for (Rank source = 0; source < static_cast<Rank>(kLaneSources); ++source) {
    const auto index = static_cast<std::size_t>(source);
    placed.lane = {77, static_cast<std::uint32_t>(source), source, kLaneByte};
    if (source != me) {
      sinks_[index] = std::make_unique<Sink>(*this, source, placed);
    } else {
      source_ = std::make_unique<PlacedSource>(kLaneRanks, *lanes_[index], *this, *this, placed);
    }
  }
}

void LaneNode::start(std::uint64_t bytes) {
  const auto number = static_cast<std::uint32_t>(sent_.size());
  LaneMemory& memory =
      *sent_.emplace_back(std::make_unique<LaneMemory>(lane(static_cast<std::size_t>(me_)), bytes));
  for (std::uint64_t at = 0; at < bytes; ++at) memory.begin()[at] = lane_byte(me_, number, at);
  source_->start(memory.begin(), memory.region.local_key, bytes, number);
}

void LaneNode::progress() {
  EXPECT_GE(group_->progress(), 0);
  if (source_ != nullptr) (void)source_->progress();
  for (auto& sink : sinks_) {
    if (sink != nullptr) (void)sink->half.progress();
  }
}

void LaneNode::mail_arrived(const Letter& letter) {
  multicast::LaneOfMessage lane;
  if (letter.bytes.front() != kLaneByte || !multicast::lane_of(letter.bytes, lane)) {
    group_->mail_arrived(letter.from, letter.bytes);
  } else if (lane.source == me_) {
    source_->mail_arrived(letter.from, letter.bytes);
  } else {
    sinks_[lane.lane]->half.mail_arrived(letter.from, letter.bytes);
  }
}

bool LaneNode::idle() const {
  if (source_ != nullptr && (!source_->idle() || finished_ != sent_.size())) return false;
  return group_->drained();
}

bool LaneNode::publish(std::span<const std::byte> head,
                       std::span<const std::byte> payload) noexcept {
  const std::span<std::byte> room = group_->room();
  if (room.size() < head.size() + payload.size()) return false;
  std::memcpy(room.data(), head.data(), head.size());
  if (!payload.empty()) std::memcpy(room.data() + head.size(), payload.data(), payload.size());
  group_->publish(head.size() + payload.size(), 0);
  return true;
}

void LaneNode::Sink::whole(Sequence segment) noexcept {
  LaneMemory& got = *memory[segment.value];
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 0; at < got.bytes(); ++at) {
    wrong += got.begin()[at] != lane_byte(source, segment.value, at) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0u) << "segment " << segment.value << " of " << source;
  EXPECT_TRUE(got.guarded());
  right += wrong == 0 && got.guarded() ? 1 : 0;
}

}  // namespace espalier::verbs
