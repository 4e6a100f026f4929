// TagMessages, the sender's half. path: data
#include <fmt/format.h>

#include "core/plant.hpp"
#include "tags/tag_state.hpp"

namespace espalier {

TagMessages::TagMessages(const Parts& parts) : parts_(parts) {}

TagMessages::~TagMessages() {
  close();
}

TagMessages::Peer& TagMessages::peer(Rank rank) noexcept {
  if (Peer* met = peers_.find(rank)) return *met;
  return peers_.meet(rank, std::make_unique<Peer>());
}

void TagMessages::add(Operation& operation) noexcept {
  open_.push_back(operation);
  ++operation.team.tagged;
}

Result<TagMessages::Started> TagMessages::send(const TagSending& sending, const Finish& finish) {
  if (closed_) return error(ESP_ERR_CANCELED, "the job is being finalized");
  const Rank to = sending.team.members[static_cast<std::size_t>(sending.to)];
  if (ESP_PLANT(89, !sending.synchronous, true) &&
      sending.block.bytes <= parts_.limits.eager_bytes && sending.block.device == nullptr)
      [[likely]] {
    Peer& p = peer(to);
    const std::uint64_t cost = sending.block.bytes + ESP_PLANT(92, kTagOverhead, 0);
    if (p.untaken + cost <= parts_.limits.window_bytes) [[likely]] {
      p.untaken += cost;
      auto sent = send_eager(sending, to, finish);
      if (!sent) p.untaken -= cost;
      return sent;
    }
    ++parts_.counters.tags_window_full;
  }
  return announce(sending, to, finish);
}

bool TagMessages::send_now(const TagSending& sending) noexcept {
  const Rank to = sending.team.members[static_cast<std::size_t>(sending.to)];
  const TagBlock& block = sending.block;
  Peer& p = peer(to);
  const std::uint64_t cost = block.bytes + kTagOverhead;
  if (closed_ || p.untaken + cost > parts_.limits.window_bytes) return false;
  const ActiveMessage message{sending.aside ? kAsideEager : kTagEager, sending.tag, block.memory,
                              block.bytes, sending.team.id};
  if (!parts_.sender.send_own_now(to, message)) return false;
  p.untaken += cost;
  ++parts_.counters.tags_eager;
  return true;
}

Result<TagMessages::Started> TagMessages::send_eager(const TagSending& sending, Rank to,
                                                     const Finish& finish) {
  ++parts_.counters.tags_eager;
  const TagBlock& block = sending.block;
  ActiveMessage message{sending.aside ? kAsideEager : kTagEager, sending.tag, block.memory,
                        block.bytes, sending.team.id};
  if (block.pattern == nullptr || block.bytes == 0) [[likely]] {
    Result<bool> sent = parts_.sender.send_own(to, message, finish);
    if (!sent) return sent.error();
    return Started{*sent, {}};
  }
  Send* send = sends_.allocate(*this, sending, finish);
  std::byte* packed = send != nullptr ? tag_packed(block, block.bytes, send->packed) : nullptr;
  if (packed == nullptr) {
    if (send != nullptr) sends_.release(send);
    return error(ESP_ERR_NO_MEMORY, "no memory for a message");
  }
  block.pattern->pack(packed, static_cast<const std::byte*>(block.memory), 0, block.bytes);
  message.payload = packed;
  add(*send);
  send->moves = true;
  Result<bool> sent = parts_.sender.send_own(to, message, {&on_sent, send});
  if (sent && !*sent) return Started{};
  release(*send);
  if (!sent) return sent.error();
  return Started{true, {}};
}

bool TagMessages::take_slot(Send& send) noexcept {
  if (free_slots_.empty()) {
    if (slots_.size() > kContextMax) return false;
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  send.slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[send.slot] = {&send, slots_[send.slot].uses + 1};
  return true;
}

Result<TagMessages::Started> TagMessages::announce(const TagSending& sending, Rank to,
                                                   const Finish& finish) {
  Send* send = sends_.allocate(*this, sending, finish);
  if (send == nullptr || !take_slot(*send)) {
    if (send != nullptr) sends_.release(send);
    return error(ESP_ERR_NO_MEMORY, "no memory for a message");
  }
  add(*send);
  ++parts_.counters.tags_announced;
  const TagAnnouncement announcement = {send->bytes,
                                        std::uint64_t{send->slot} << kNameUseBits |
                                            (slots_[send->slot].uses & ((1U << kNameUseBits) - 1))};
  Result<bool> told =
      parts_.sender.send_own(to,
                             {sending.aside ? kAsideAnnounced : kTagAnnounced, sending.tag,
                              &announcement, sizeof announcement, sending.team.id},
                             {&tag_ignore, nullptr});
  if (told) return Started{};
  release(*send);
  return told.error();
}

// nullptr: there is no such send, or not any more.
TagMessages::Send* TagMessages::named(std::uint64_t name) noexcept {
  const std::uint64_t slot = name >> kNameUseBits;
  const std::uint64_t use_mask = (std::uint64_t{1} << kNameUseBits) - 1;
  if (slot >= slots_.size() || slots_[slot].send == nullptr) return nullptr;
  return ((slots_[slot].uses ^ name) & use_mask) == 0 ? slots_[slot].send : nullptr;
}

// The receiver has posted a receive of so many bytes. One of a send that has ended, for its team
// has failed, is answered by nobody.
void TagMessages::go(Rank from, std::uint64_t bytes, std::uint64_t name) noexcept {
  Send* send = named(name);
  if (send == nullptr || send->rank != from || send->moves || bytes > send->bytes) {
    parts_.log.debug("rank {} is ready for a message that is not waiting", from);
    return;
  }
  Team& team = send->team;
  send->moves = true;
  if (team.failed()) return end(*send, team.fault);
  if (bytes == 0) return end(*send, {});
  std::byte* packed = tag_packed(send->block, bytes, send->packed);
  if (packed == nullptr) {
    parts_.engine.fail(team, Status(ESP_ERR_NO_MEMORY), "no memory to pack a message");
    return end(*send, ESP_ERR_NO_MEMORY);
  }
  if (send->packed != nullptr) tag_pack(packed, send->block, bytes);
  auto started = parts_.engine.start_flow(team,
                                          tag_flow(Engine::Direction::kSend, send->block, packed,
                                                   ESP_PLANT(88, bytes, bytes / 2 + 1), send->to),
                                          {&on_sent, send});
  if (!started) {
    const Error& why = started.error();
    parts_.engine.fail(team, why.status, why.text);
    return end(*send, why.status);
  }
  if (started->done) end(*send, started->status);
}

void TagMessages::on_sent(void* context, Status status) noexcept {
  auto& send = *static_cast<Send*>(context);
  send.owner.end(send, status);
}

void TagMessages::release(Send& send) noexcept {
  if (send.slot != Send::kNone) {
    slots_[send.slot].send = nullptr;
    free_slots_.push_back(ESP_PLANT(87, send.slot, 0));
  }
  --send.team.tagged;
  send.unlink();
  sends_.release(&send);
}

void TagMessages::end(Send& send, Status status) noexcept {
  const Finish finish = send.finish;
  release(send);
  finish.function(finish.context, status);
}

}  // namespace espalier
