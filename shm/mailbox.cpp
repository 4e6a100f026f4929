#include "shm/mailbox.hpp"

#include <bit>
#include <cstring>

#include "core/copy.hpp"

namespace espalier::shm {
namespace {

// Messages taken from one ring by one progress(): a storm does not starve the others.
constexpr int kBudget = 64;
// So many found no room among the hot ones before one of these gives way.
constexpr std::uint32_t kRefusalsPerCooling = 256;

// `word`: bytes of the payload (32 bits), 1 + id (8), context (24); 0: nothing is there.
struct RecordHead {
  std::uint64_t word;
  std::uint64_t argument;
};
constexpr std::uint64_t kFiller = std::uint64_t{0xff} << 32;  // up to the end of the ring
static_assert(sizeof(RecordHead) == 16 && kMailRingBytes % sizeof(RecordHead) == 0);
static_assert(kMailRingBytes >= 2 * (kMessageBytes + sizeof(RecordHead)));
static_assert(kOwnMessagesEnd + 1 < 0xff);

constexpr std::uint64_t word_of(const ActiveMessage& message) noexcept {
  return message.bytes | std::uint64_t{message.id + 1} << 32 | std::uint64_t{message.context} << 40;
}
constexpr std::uint64_t payload_bytes(std::uint64_t word) noexcept {
  return word & 0xffffffff;
}
constexpr std::uint64_t record_bytes(std::uint64_t payload) noexcept {
  return sizeof(RecordHead) +
         (payload + sizeof(RecordHead) - 1) / sizeof(RecordHead) * sizeof(RecordHead);
}

// Writer: the sender (release: publishes the record); reader: the receiver.
std::atomic_ref<std::uint64_t> word_at(MailRing& ring, std::uint64_t position) noexcept {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(ring.bytes + position % kMailRingBytes));
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

// So many bytes in one piece from `tail` on, or from the begin of the ring, and the first word
// behind them; nullptr: not now.
std::byte* Mailbox::room(Peer& p, std::uint64_t bytes) noexcept {
  const std::uint64_t at = p.tail % kMailRingBytes;
  const std::uint64_t skipped = at + bytes > kMailRingBytes ? kMailRingBytes - at : 0;
  const std::uint64_t end = p.tail + skipped + bytes + sizeof(std::uint64_t);
  if (end - p.head_seen > kMailRingBytes) {
    p.head_seen = p.out->head.load(std::memory_order_acquire);
    if (end - p.head_seen > kMailRingBytes) return nullptr;
  }
  return p.out->bytes + (p.tail + skipped) % kMailRingBytes;
}

Posted Mailbox::send(std::uint32_t to, const ActiveMessage& message) noexcept {
  Peer& p = peers_[to];
  const std::uint64_t bytes = record_bytes(message.bytes);
  std::byte* record = room(p, bytes);
  if (record == nullptr) {
    if (!std::exchange(p.waits, true)) p.out->waits.store(1, std::memory_order_relaxed);
    return Posted::kRetry;
  }
  if (p.waits) {
    p.waits = false;
    p.out->waits.store(0, std::memory_order_relaxed);
  }
  std::memcpy(record + sizeof(std::uint64_t), &message.argument, sizeof message.argument);
  if (message.bytes > 0) copy_bytes(record + sizeof(RecordHead), message.payload, message.bytes);
  counters_.copy_in_bytes += message.bytes;
  const std::uint64_t begin = p.tail;
  const auto at = static_cast<std::uint64_t>(record - p.out->bytes);
  const bool skips = at != begin % kMailRingBytes;
  const std::uint64_t position = skips ? begin + kMailRingBytes - begin % kMailRingBytes : begin;
  p.tail = position + bytes;
  word_at(*p.out, p.tail).store(0, std::memory_order_relaxed);
  word_at(*p.out, position).store(word_of(message), std::memory_order_release);
  if (skips) [[unlikely]]
    word_at(*p.out, begin).store(kFiller, std::memory_order_release);
  asymmetric_fence_light(doorbell_.asymmetric());
  if (p.out->hot.load(std::memory_order_relaxed) == 0) {
    // Also when the bit is set already: the receiver takes the bits first and then looks at the
    // rings, and whether it has not yet looked at this one only the exchange of both can tell.
    const std::uint32_t me = segment_.index();
    segment_.rank_block(to).mail.of[me / 64].fetch_or(std::uint64_t{1} << me % 64,
                                                      std::memory_order_acq_rel);
  }
  wake(to);
  return Posted::kDone;
}

bool Mailbox::refused(std::uint32_t to, unsigned id) const noexcept {
  return (peers_[to].out->refused.load(std::memory_order_relaxed) >> id & 1) != 0;
}

// Of the next record, behind a filler; 0: there is none.
std::uint64_t Mailbox::next_word(Peer& p) const noexcept {
  std::uint64_t word = word_at(*p.in, p.head).load(std::memory_order_acquire);
  if (word != kFiller) [[likely]]
    return word;
  p.head += kMailRingBytes - p.head % kMailRingBytes;
  return word_at(*p.in, p.head).load(std::memory_order_acquire);
}

std::optional<ActiveMessage> Mailbox::front(std::uint32_t from) noexcept {
  Peer& p = peers_[from];
  const std::uint64_t word = next_word(p);
  if (word == 0) return std::nullopt;
  const std::byte* record = p.in->bytes + p.head % kMailRingBytes;
  ActiveMessage message;
  message.id = static_cast<unsigned>(word >> 32 & 0xff) - 1;
  message.context = static_cast<std::uint32_t>(word >> 40);
  message.bytes = payload_bytes(word);
  std::memcpy(&message.argument, record + sizeof(std::uint64_t), sizeof message.argument);
  message.payload = record + sizeof(RecordHead);
  return message;
}

void Mailbox::free_record(Peer& p, std::uint64_t bytes) noexcept {
  p.head += record_bytes(bytes);
  p.in->head.store(p.head, std::memory_order_release);
}

void Mailbox::pop(std::uint32_t from) noexcept {
  Peer& p = peers_[from];
  free_record(p, payload_bytes(word_at(*p.in, p.head).load(std::memory_order_relaxed)));
  p.used = true;
  if (!p.hot) [[unlikely]]
    heat(from);
  tell_of_room(from);
}

// A sender that waits for room says so before it goes to sleep and looks once more.
void Mailbox::tell_of_room(std::uint32_t from) noexcept {
  if (!doorbell_.someone_sleeps()) [[likely]]
    return;
  if (peers_[from].in->waits.load(std::memory_order_relaxed) == 0) return;
  if (Doorbell::ring(segment_.rank_block(from).bell)) ++counters_.wakeups_sent;
}

int Mailbox::progress() noexcept {
  int events = 0;
  for (std::size_t i = 0; i < hot_count_; ++i) {
    Peer& p = peers_[hot_[i]];
    if (word_at(*p.in, p.head).load(std::memory_order_relaxed) != 0) events += drain(hot_[i]);
  }
  auto& mail = segment_.rank_block(segment_.index()).mail;
  for (std::size_t word = 0; word * 64 < peers_.size(); ++word) {
    // Of 16 words most have nothing: two loads each and no store (1,024 ranks: 9 ns instead of 21).
    if ((left_[word] | mail.of[word].load(std::memory_order_relaxed)) == 0) [[likely]]
      continue;
    std::uint64_t bits = std::exchange(left_[word], 0);
    bits |= mail.of[word].exchange(0, std::memory_order_acq_rel);
    for (; bits != 0; bits &= bits - 1) {
      const std::uint32_t from = static_cast<std::uint32_t>(word * 64) +
                                 static_cast<std::uint32_t>(std::countr_zero(bits));
      const int taken = drain(from);
      events += taken;
      if (taken > 0 && !peers_[from].hot) heat(from);
    }
  }
  return events;
}

int Mailbox::drain(std::uint32_t from) noexcept {
  Peer& p = peers_[from];
  int events = 0;
  for (; events < kBudget; ++events) {
    const std::optional<ActiveMessage> message = front(from);
    if (!message) break;
    take(from, *message);
    free_record(p, message->bytes);
  }
  p.used = p.used || events > 0;
  if (events == kBudget) left_[from / 64] |= std::uint64_t{1} << from % 64;
  tell_of_room(from);
  return events;
}

void Mailbox::take(std::uint32_t from, const ActiveMessage& message) noexcept {
  if (taker_.take(ranks_[from], message)) return;
  auto& refused = peers_[from].in->refused;
  refused.store(refused.load(std::memory_order_relaxed) | std::uint64_t{1} << message.id,
                std::memory_order_relaxed);
}

// Its sender leaves the bit alone from when it sees this on.
void Mailbox::heat(std::uint32_t from) noexcept {
  if (hot_count_ == kHot) {
    if (++refusals_ < kRefusalsPerCooling) return;
    refusals_ = 0;
    cool_one();
    if (hot_count_ == kHot) return;
  }
  hot_[hot_count_++] = from;
  peers_[from].hot = true;
  peers_[from].in->hot.store(1, std::memory_order_relaxed);
}

// One in which nothing has come since the last look, if there is one.
void Mailbox::cool_one() noexcept {
  std::size_t idle = kHot;
  for (std::size_t i = 0; i < hot_count_; ++i) {
    if (!std::exchange(peers_[hot_[i]].used, false)) idle = i;
  }
  if (idle == kHot) return;
  const std::uint32_t gone = hot_[idle];
  hot_[idle] = hot_[--hot_count_];
  Peer& p = peers_[gone];
  p.hot = false;
  p.in->hot.store(0, std::memory_order_relaxed);
  asymmetric_fence_heavy(doorbell_.asymmetric());
  // What came without a bit stands there now, or its sender has seen the word.
  left_[gone / 64] |= std::uint64_t{1} << gone % 64;
}

}  // namespace espalier::shm
