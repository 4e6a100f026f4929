#include "coll/short_path.hpp"

#include <algorithm>
#include <cstring>

namespace espalier {
namespace {

// Operands combined per kernel call: more members than that are combined in several steps, the
// partial result first, which keeps the order.
constexpr std::size_t kBatch = 32;

void copy(void* to, const void* from, std::uint64_t bytes) noexcept {
  if (bytes == 8) {
    std::memcpy(to, from, 8);  // One load, one store.
  } else if (bytes > 0) {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace

// A slot is used again after kSlots operations, and only when every member has entered an operation
// after its last use.
bool ShortPath::make_room(Team& team) noexcept {
  const std::uint64_t needed = team.sequence - Board::kSlots + 1;
  for (int member = 0; member < team.size(); ++member) {
    if (team.board.has_entered(member, needed)) continue;
    team.short_wait = needed;
    worker_.wait<4>([&] { return team.board.has_entered(member, needed) || team.failed(); });
    team.short_wait = 0;
    if (team.failed()) return false;
  }
  // The others may be further: ask again as late as possible.
  std::uint64_t safe = team.sequence;
  for (int member = 0; member < team.size(); ++member) {
    while (safe > needed && !team.board.has_entered(member, safe)) --safe;
  }
  team.safe = safe;
  return true;
}

void ShortPath::wake(Team& team) noexcept {
  for (std::size_t member = 0; member < team.bells.size(); ++member) {
    if (static_cast<int>(member) != team.rank && Doorbell::ring(*team.bells[member])) {
      ++worker_.counters().wakeups_sent;
    }
  }
}

inline bool ShortPath::put(Team& team, const void* data, std::uint64_t bytes) noexcept {
  if (team.sequence - team.safe >= Board::kSlots && !make_room(team)) [[unlikely]] {
    return false;
  }
  Board::Slot& slot = team.board.slot(team.rank, team.sequence);
  slot.history = team.history;
  copy(slot.payload, data, bytes);
  slot.turn.store(team.board.turn(team.sequence), std::memory_order_release);
  if (doorbell_.someone_sleeps()) [[unlikely]] {
    wake(team);
  }
  return true;
}

bool ShortPath::await(Team& team, const Board::Slot& slot, std::uint64_t turn) noexcept {
  const auto arrived = [&] { return slot.turn.load(std::memory_order_acquire) == turn; };
  team.short_wait = team.sequence;
  worker_.wait<4>([&] { return arrived() || team.failed(); });
  team.short_wait = 0;
  return arrived();
}

// The payload of the member's slot of this operation; nullptr when the team has failed.
inline const std::byte* ShortPath::get(Team& team, int member) noexcept {
  const Board::Slot& slot = team.board.slot(member, team.sequence);
  const std::uint64_t turn = team.board.turn(team.sequence);
  if (slot.turn.load(std::memory_order_acquire) != turn && !await(team, slot, turn)) {
    return nullptr;
  }
  if (slot.history != team.history) [[unlikely]] {
    mismatch(team, member);
    return nullptr;
  }
  return slot.payload;
}

// The histories differ: at this operation or at an earlier one.
void ShortPath::mismatch(Team& team, int member) noexcept {
  const Rank other = team.members[static_cast<std::size_t>(member)];
  CallSignature mine;
  (void)team.board.read(team.rank, team.sequence, mine);
  engine_.fail(team, Status(ESP_ERR_MISMATCH, other), explain_mismatch(team, mine, other));
}

bool ShortPath::barrier(Team& team) noexcept {
  if (!put(team, nullptr, 0)) return false;
  for (int member = 0; member < team.size(); ++member) {
    if (member != team.rank && get(team, member) == nullptr) return false;
  }
  team.safe = team.sequence;
  return true;
}

bool ShortPath::bcast(Team& team, int root, void* buffer, std::uint64_t bytes) noexcept {
  if (team.rank == root) return put(team, buffer, bytes);
  const std::byte* payload = get(team, root);
  if (payload == nullptr) return false;
  copy(buffer, payload, bytes);
  return true;
}

// Combines everybody's slot, and `own` as this rank's, into what.output, in rank order.
inline bool ShortPath::combine(Team& team, const void* own, const Reduction& what) noexcept {
  const int size = team.size();
  if (size > static_cast<int>(kBatch)) [[unlikely]]
    return combine_many(team, own, what);
  const void* operands[kBatch];
  for (int member = 0; member < size; ++member) {
    if (member == team.rank) {
      operands[member] = own;
    } else if ((operands[member] = get(team, member)) == nullptr) [[unlikely]] {
      return false;
    }
  }
  if (what.count > 0) [[likely]] {
    what.combiner.combine(what.output, operands, static_cast<std::size_t>(size), what.count,
                          team.user_scratch);
  }
  return true;
}

bool ShortPath::combine_many(Team& team, const void* own, const Reduction& what) noexcept {
  const void* operands[kBatch];
  std::size_t k = 0;
  const int size = team.size();
  for (int member = 0; member < size; ++member) {
    const void* operand = member == team.rank ? own : get(team, member);
    if (operand == nullptr && member != team.rank) return false;
    operands[k++] = operand;
    if (k < kBatch && member + 1 < size) continue;
    if (what.count > 0) {
      what.combiner.combine(what.output, operands, k, what.count, team.user_scratch);
    }
    operands[0] = what.output;
    k = 1;
  }
  return true;
}

const std::byte* ShortPath::own_slot(Team& team) const noexcept {
  return team.board.slot(team.rank, team.sequence).payload;
}

bool ShortPath::reduce(Team& team, int root, const Reduction& what) noexcept {
  if (team.rank != root) return put(team, what.input, what.bytes);
  if (static_cast<std::size_t>(team.size()) <= kBatch) return combine(team, what.input, what);
  // With several combining steps the output is written before the own input is read, which may be
  // the same memory.
  return put(team, what.input, what.bytes) && combine(team, own_slot(team), what);
}

bool ShortPath::allreduce(Team& team, const Reduction& what) noexcept {
  if (!put(team, what.input, what.bytes)) [[unlikely]]
    return false;
  // Up to kBatch members the output is written after everything has been read.
  const bool once = static_cast<std::size_t>(team.size()) <= kBatch;
  if (!combine(team, once ? what.input : own_slot(team), what)) [[unlikely]]
    return false;
  team.safe = team.sequence;
  return true;
}

}  // namespace espalier
