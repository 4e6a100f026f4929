#include "shm/mailbox.hpp"

#include <bit>
#include <cstring>

#include "core/copy.hpp"

namespace espalier::shm {
namespace {

// Messages taken from one ring by one progress(): a storm does not starve the others.
constexpr int kBudget = 64;

struct RecordHead {
  std::uint32_t bytes;  // of the payload
  std::uint8_t id;      // kMessageIds: nothing, fills the ring up to its end
  std::uint64_t argument;
};
static_assert(sizeof(RecordHead) == 16 && kMailRingBytes % sizeof(RecordHead) == 0);
static_assert(kMailRingBytes >= 2 * (kMessageBytes + sizeof(RecordHead)));

constexpr std::uint64_t record_bytes(std::uint64_t payload) noexcept {
  return sizeof(RecordHead) +
         (payload + sizeof(RecordHead) - 1) / sizeof(RecordHead) * sizeof(RecordHead);
}

}  // namespace

Mailbox::Mailbox(Segment& segment, std::span<const Rank> ranks, Doorbell& doorbell,
                 Counters& counters, MessageTaker& taker)
    : segment_(segment),
      doorbell_(doorbell),
      counters_(counters),
      taker_(taker),
      ranks_(ranks.begin(), ranks.end()),
      peers_(ranks.size()) {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    peers_[i].out = &segment.mail_ring(segment.index(), i);
    peers_[i].in = &segment.mail_ring(i, segment.index());
  }
}

void Mailbox::wake(std::uint32_t local) noexcept {
  if (doorbell_.someone_sleeps()) [[unlikely]] {
    if (Doorbell::ring(segment_.rank_block(local).bell)) ++counters_.wakeups_sent;
  }
}

// So many bytes in one piece at `tail`, which may move to the begin of the ring for it; nullptr:
// not now.
std::byte* Mailbox::room(Peer& p, std::uint64_t bytes) noexcept {
  const std::uint64_t at = p.tail % kMailRingBytes;
  const std::uint64_t skipped = at + bytes > kMailRingBytes ? kMailRingBytes - at : 0;
  const auto fits = [&] { return p.tail + skipped + bytes - p.head_seen <= kMailRingBytes; };
  if (!fits()) {
    p.head_seen = p.out->head.load(std::memory_order_acquire);
    if (!fits()) return nullptr;
  }
  if (skipped > 0) {
    auto* filler = reinterpret_cast<RecordHead*>(p.out->bytes + at);
    filler->id = kMessageIds;
    p.tail += skipped;
  }
  return p.out->bytes + p.tail % kMailRingBytes;
}

Posted Mailbox::send(std::uint32_t to, const ActiveMessage& message) noexcept {
  Peer& p = peers_[to];
  const std::uint64_t bytes = record_bytes(message.bytes);
  std::byte* record = room(p, bytes);
  if (record == nullptr) {
    if (!std::exchange(p.waits, true)) p.out->waits.store(1, std::memory_order_relaxed);
    return Posted::kRetry;
  }
  if (std::exchange(p.waits, false)) p.out->waits.store(0, std::memory_order_relaxed);
  const RecordHead head{static_cast<std::uint32_t>(message.bytes),
                        static_cast<std::uint8_t>(message.id), message.argument};
  std::memcpy(record, &head, sizeof head);
  if (message.bytes > 0) copy_bytes(record + sizeof head, message.payload, message.bytes);
  counters_.copy_in_bytes += message.bytes;
  p.tail += bytes;
  p.out->tail.store(p.tail, std::memory_order_release);
  // Also when the bit is set already: the receiver takes the bits first and then looks at the
  // rings, and whether it has not yet looked at this one only the exchange of both can tell.
  const std::uint32_t me = segment_.index();
  segment_.rank_block(to).mail.of[me / 64].fetch_or(std::uint64_t{1} << me % 64,
                                                    std::memory_order_acq_rel);
  wake(to);
  return Posted::kDone;
}

bool Mailbox::refused(std::uint32_t to, unsigned id) const noexcept {
  return (peers_[to].out->refused.load(std::memory_order_relaxed) >> id & 1) != 0;
}

int Mailbox::progress() noexcept {
  auto& mail = segment_.rank_block(segment_.index()).mail;
  int events = 0;
  for (std::size_t word = 0; word * 64 < peers_.size(); ++word) {
    // Of 16 words most have nothing: two loads each and no store (1,024 ranks: 9 ns instead of 21).
    if ((left_[word] | mail.of[word].load(std::memory_order_relaxed)) == 0) [[likely]]
      continue;
    std::uint64_t bits = std::exchange(left_[word], 0);
    bits |= mail.of[word].exchange(0, std::memory_order_acq_rel);
    for (; bits != 0; bits &= bits - 1) {
      events += drain(static_cast<std::uint32_t>(word * 64) +
                      static_cast<std::uint32_t>(std::countr_zero(bits)));
    }
  }
  return events;
}

int Mailbox::drain(std::uint32_t from) noexcept {
  Peer& p = peers_[from];
  int events = 0;
  const std::uint64_t tail = p.in->tail.load(std::memory_order_acquire);
  while (p.head != tail && events < kBudget) {
    const std::uint64_t at = p.head % kMailRingBytes;
    const std::byte* record = p.in->bytes + at;
    RecordHead head;
    std::memcpy(&head, record, sizeof head);
    if (head.id >= kMessageIds) {
      p.head += kMailRingBytes - at;
      continue;
    }
    take(from, record);
    p.head += record_bytes(head.bytes);
    p.in->head.store(p.head, std::memory_order_release);
    ++events;
  }
  if (p.head != tail) left_[from / 64] |= std::uint64_t{1} << from % 64;
  // A sender that waits for room says so before it goes to sleep and looks once more.
  if (doorbell_.someone_sleeps() && p.in->waits.load(std::memory_order_relaxed) != 0) {
    if (Doorbell::ring(segment_.rank_block(from).bell)) ++counters_.wakeups_sent;
  }
  return events;
}

void Mailbox::take(std::uint32_t from, const std::byte* record) noexcept {
  RecordHead head;
  std::memcpy(&head, record, sizeof head);
  if (taker_.take(ranks_[from], {head.id, head.argument, record + sizeof head, head.bytes})) return;
  auto& refused = peers_[from].in->refused;
  refused.store(refused.load(std::memory_order_relaxed) | std::uint64_t{1} << head.id,
                std::memory_order_relaxed);
}

}  // namespace espalier::shm
