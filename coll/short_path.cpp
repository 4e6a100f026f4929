#include "coll/short_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace espalier {
namespace {

// Operands combined per kernel call: more members than that are combined in several steps, the
// partial result first, which keeps the order.
constexpr int kBatch = 32;

}  // namespace

// A slot is used again after kSlots operations, and only when every member has entered an operation
// after its last use.
bool ShortPath::make_room(Team& team, const CallSignature& signature) noexcept {
  if (team.sequence <= Board::kSlots) return true;
  const std::uint64_t needed = team.sequence - Board::kSlots + 1;
  if (team.safe >= needed) [[likely]]
    return true;
  for (int member = 0; member < team.size(); ++member) {
    if (team.board.has_entered(member, needed)) continue;
    const ShortWait wait{needed, signature, false, true, member};
    team.short_wait = &wait;
    worker_.wait<4>([&] { return team.board.has_entered(member, needed) || team.failed(); });
    team.short_wait = nullptr;
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
  if (!doorbell_.someone_sleeps()) [[likely]]
    return;
  for (std::size_t member = 0; member < team.bells.size(); ++member) {
    if (static_cast<int>(member) != team.rank && Doorbell::ring(*team.bells[member])) {
      ++worker_.counters().wakeups_sent;
    }
  }
}

bool ShortPath::put(Team& team, const CallSignature& signature, const void* data,
                    std::uint64_t bytes) noexcept {
  if (!make_room(team, signature)) [[unlikely]]
    return false;
  Board::Slot& slot = team.board.slot(team.rank, team.sequence);
  slot.history = team.history;
  if (bytes == 8) {
    std::memcpy(slot.payload, data, 8);
  } else if (bytes > 0) {
    std::memcpy(slot.payload, data, bytes);
  }
  slot.turn.store(team.board.turn(team.sequence), std::memory_order_release);
  wake(team);
  return true;
}

// The member's slot of this operation; nullptr when the team has failed.
const Board::Slot* ShortPath::get(Team& team, const CallSignature& signature, int member) noexcept {
  const Board::Slot& slot = team.board.slot(member, team.sequence);
  const std::uint64_t turn = team.board.turn(team.sequence);
  const auto arrived = [&] { return slot.turn.load(std::memory_order_acquire) == turn; };
  if (!arrived()) {
    const ShortWait wait{team.sequence, signature, false, false, member};
    team.short_wait = &wait;
    worker_.wait<4>([&] { return arrived() || team.failed(); });
    team.short_wait = nullptr;
    if (!arrived()) return nullptr;
  }
  if (slot.history != team.history) [[unlikely]] {
    mismatch(team, signature, member);
    return nullptr;
  }
  return &slot;
}

// The histories differ: at this operation or at an earlier one.
void ShortPath::mismatch(Team& team, const CallSignature& mine, int member) noexcept {
  const Rank other = team.members[static_cast<std::size_t>(member)];
  engine_.fail(team, Status(ESP_ERR_MISMATCH, other), explain_mismatch(team, mine, other));
}

Status ShortPath::barrier(Team& team, const CallSignature& signature) noexcept {
  if (!put(team, signature, nullptr, 0)) return team.fault;
  for (int member = 0; member < team.size(); ++member) {
    if (member != team.rank && get(team, signature, member) == nullptr) return team.fault;
  }
  team.safe = team.sequence;
  return {};
}

Status ShortPath::bcast(Team& team, const CallSignature& signature, void* buffer,
                        std::uint64_t bytes) noexcept {
  if (team.rank == signature.root) {
    return put(team, signature, buffer, bytes) ? Status() : team.fault;
  }
  const Board::Slot* slot = get(team, signature, signature.root);
  if (slot == nullptr) return team.fault;
  if (bytes == 8) {
    std::memcpy(buffer, slot->payload, 8);
  } else if (bytes > 0) {
    std::memcpy(buffer, slot->payload, bytes);
  }
  return {};
}

// Combines everybody's slot into call.output, in rank order.
bool ShortPath::combine(Team& team, const CallSignature& signature, const Call& call) noexcept {
  const void* operands[kBatch];
  std::size_t k = 0;
  for (int member = 0; member < team.size(); ++member) {
    if (member == team.rank) {
      operands[k++] = call.input;
    } else {
      const Board::Slot* slot = get(team, signature, member);
      if (slot == nullptr) return false;
      operands[k++] = slot->payload;
    }
    const bool last = member + 1 == team.size();
    if (k < kBatch && !last) continue;
    if (k == 1 && call.count > 0) {
      std::memmove(call.output, operands[0], call.bytes());  // A team of one.
    } else if (call.count > 0) {
      call.combiner.combine(call.output, operands, k, call.count, team.user_scratch);
    }
    operands[0] = call.output;
    k = 1;
  }
  return true;
}

Status ShortPath::reduce(Team& team, const CallSignature& signature, const Call& call) noexcept {
  if (team.rank != signature.root) {
    return put(team, signature, call.input, call.bytes()) ? Status() : team.fault;
  }
  Call at_root = call;
  if (team.size() > kBatch && !own_slot(team, signature, at_root)) return team.fault;
  return combine(team, signature, at_root) ? Status() : team.fault;
}

Status ShortPath::allreduce(Team& team, const CallSignature& signature, const Call& call) noexcept {
  if (!put(team, signature, call.input, call.bytes())) return team.fault;
  Call from_slot = call;
  from_slot.input = team.board.slot(team.rank, team.sequence).payload;
  if (!combine(team, signature, from_slot)) return team.fault;
  team.safe = team.sequence;
  return {};
}

// With several combining steps the output is written before the own contribution is read.
bool ShortPath::own_slot(Team& team, const CallSignature& signature, Call& call) noexcept {
  if (!put(team, signature, call.input, call.bytes())) return false;
  call.input = team.board.slot(team.rank, team.sequence).payload;
  return true;
}

}  // namespace espalier
