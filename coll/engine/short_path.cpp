#include "coll/engine/short_path.hpp"

#include "coll/engine/lines.hpp"
#include "coll/engine/short_blocks.hpp"
#include "coll/engine/short_operations.hpp"

namespace espalier {

// Slots and pages are used again some operations later, and only when every member has entered an
// operation after their last use, and has read that. True: now.
bool ShortPath::find_room(Team& team, std::uint64_t sequence, std::uint64_t depth) noexcept {
  const std::uint64_t needed = sequence - depth + 1;
  const int rows = team.rows();
  for (int row = 0; row < rows; ++row) {
    if (!team.board.is_past(row, needed)) return false;
  }
  // The others may be further: ask again as late as possible.
  std::uint64_t safe = sequence;
  for (int row = 0; row < rows; ++row) {
    while (safe > needed && !team.board.is_past(row, safe)) --safe;
  }
  team.safe = safe;
  return true;
}

bool ShortPath::make_room(Team& team, Entered call, std::uint64_t depth) noexcept {
  if (find_room(team, call.sequence, depth)) return true;
  begin_wait(team, call.sequence, call.sequence - depth + 1);
  worker_.wait<4>([&] { return find_room(team, call.sequence, depth) || team.failed(); });
  end_wait(team);
  return !team.failed();
}

// Callbacks may enter other operations meanwhile: ShortOperations::conclude.
void ShortPath::begin_wait(Team& team, std::uint64_t own, std::uint64_t needed) noexcept {
  waits_ = &team;
  team.short_call = own;
  team.short_wait = needed;
}
void ShortPath::end_wait(Team& team) noexcept {
  waits_ = nullptr;
  team.short_call = team.short_wait = 0;
}

void ShortPath::wake(Team& team) noexcept {
  // The own bell among them is not armed.
  for (Bell* bell : team.bells) {
    if (Doorbell::ring(*bell)) ++worker_.counters().wakeups_sent;
  }
}

[[gnu::always_inline]] inline bool ShortPath::put(Team& team, Entered call, const void* data,
                                                  std::uint64_t bytes) noexcept {
  // A local, because the compiler must assume that stores to the board change the team.
  const std::uint64_t turn = team.board.turn(call.sequence);
  const std::uint64_t depth = Board::depth(bytes);
  if (call.sequence - team.safe >= depth && !make_room(team, call, depth)) [[unlikely]] {
    return false;
  }
  Board::Slot& slot = team.board.slot(team.own_row(), call.sequence);
  slot.history = call.history;
  copy_line(team.board.payload(slot, team.own_row(), call.sequence, bytes), data, bytes);
  slot.turn.store(turn, std::memory_order_release);
  if (doorbell_.someone_sleeps()) [[unlikely]] {
    wake(team);
  }
  return true;
}

bool ShortPath::await(Team& team, Entered call, const Board::Slot& slot) noexcept {
  const std::uint64_t turn = team.board.turn(call.sequence);
  const auto arrived = [&] { return slot.turn.load(std::memory_order_acquire) == turn; };
  begin_wait(team, call.sequence, call.sequence);
  worker_.wait<4>([&] { return arrived() || team.failed(); });
  end_wait(team);
  return arrived();
}

// The payload of the member's slot of this operation; nullptr when the team has failed.
[[gnu::always_inline]] inline const std::byte* ShortPath::get(Team& team, Entered call, int member,
                                                              std::uint64_t bytes) noexcept {
  const std::uint64_t turn = team.board.turn(call.sequence);
  Board::Slot& slot = team.board.slot(member, call.sequence);
  if (slot.turn.load(std::memory_order_acquire) != turn && !await(team, call, slot)) {
    return nullptr;
  }
  if (slot.history != call.history) [[unlikely]] {
    mismatch(team, call, member);
    return nullptr;
  }
  return team.board.payload(slot, member, call.sequence, bytes);
}

bool ShortPath::try_put(Team& team, Entered call, const void* data, std::uint64_t bytes) noexcept {
  const std::uint64_t depth = Board::depth(bytes);
  if (call.sequence - team.safe >= depth && !find_room(team, call.sequence, depth)) return false;
  return put(team, call, data, bytes);
}

const std::byte* ShortPath::look(Team& team, Entered call, int row, std::uint64_t bytes) noexcept {
  const Board::Slot& slot = team.board.slot(row, call.sequence);
  if (slot.turn.load(std::memory_order_acquire) != team.board.turn(call.sequence)) return nullptr;
  return get(team, call, row, bytes);
}

// The histories differ: at this operation or at an earlier one.
void ShortPath::mismatch(Team& team, Entered call, int row) noexcept {
  const Rank other = team.members[static_cast<std::size_t>(team.member_in(row))];
  CallSignature mine;
  const ShortOperation* op = ShortOperations::find(team, call.sequence);
  if (op != nullptr) mine = op->call.signature();
  if (op == nullptr) (void)team.board.read(team.own_row(), call.sequence, mine);
  engine_.fail(team, Status(ESP_ERR_MISMATCH, other), explain_mismatch(team, mine, other));
}

bool ShortPath::barrier(Team& team) noexcept {
  const Entered call(team);
  if (!put(team, call, nullptr, 0)) return false;
  for (int member = 0; member < team.size(); ++member) {
    if (member != team.rank && get(team, call, member, 0) == nullptr) return false;
  }
  team.safe = call.sequence;
  return true;
}

bool ShortPath::bcast(Team& team, int root, void* buffer, std::uint64_t bytes) noexcept {
  const Entered call(team);
  if (team.rank == root) return put(team, call, buffer, bytes);
  announce(team);
  const std::byte* payload = get(team, call, root, bytes);
  if (payload == nullptr) return false;
  copy_line(buffer, payload, bytes);
  return true;
}

bool ShortPath::try_bcast(Team& team, int root, void* buffer, std::uint64_t bytes,
                          const CallSignature& signature) noexcept {
  const std::uint64_t sequence = team.sequence + 1;
  if (team.rank == root) {
    const std::uint64_t depth = Board::depth(bytes);
    if (sequence - team.safe >= depth && !find_room(team, sequence, depth)) return false;
    team.enter(signature);
    return put(team, Entered(team), buffer, bytes);
  }
  Board::Slot& slot = team.board.slot(root, sequence);
  if (slot.turn.load(std::memory_order_acquire) != team.board.turn(sequence)) return false;
  if (slot.history != team.history_after(signature.words())) return false;
  team.enter(signature);
  announce(team);
  copy_line(buffer, team.board.payload(slot, root, sequence, bytes), bytes);
  return true;
}

// Combines everybody's slot, and `own` as this rank's, into what.output, in rank order. Up to
// kLineOperands members: written after everything has been read, so `own` may be the same memory.
[[gnu::always_inline]] inline bool ShortPath::combine(Team& team, Entered call, const void* own,
                                                      const Reduction& what) noexcept {
  const int size = team.size(), rank = team.own_row();
  const void* operands[kLineOperands];
  operands[rank] = own;
  // From the neighbour on, so that not everybody begins with the same member's line.
  for (int member = rank + 1 == size ? 0 : rank + 1; member != rank;
       member = member + 1 == size ? 0 : member + 1) {
    operands[member] = get(team, call, member, what.bytes);
    if (operands[member] == nullptr) [[unlikely]]
      return false;
  }
  if (what.count > 0) [[likely]] {
    what.kernel(what.output, operands, static_cast<std::size_t>(size), what.count);
  }
  return true;
}

// In several steps: the output is written before this rank's input is read, which may be the same
// memory. So it is read where it has been put.
bool ShortPath::combine_many(Team& team, Entered call, const Reduction& what) noexcept {
  Board::Slot& mine = team.board.slot(team.own_row(), call.sequence);
  const std::byte* own = team.board.payload(mine, team.own_row(), call.sequence, what.bytes);
  LineReduction reduction(what.kernel, what.output, what.count);
  for (int member = 0; member < team.size(); ++member) {
    const void* operand = member == team.rank ? own : get(team, call, member, what.bytes);
    if (operand == nullptr) return false;
    reduction.add(operand);
  }
  reduction.finish();
  return true;
}

bool ShortPath::reduce(Team& team, int root, const Reduction& what) noexcept {
  const Entered call(team);
  if (team.rank != root) return put(team, call, what.input, what.bytes);
  announce(team);
  if (static_cast<std::size_t>(team.size()) <= kLineOperands)
    return combine(team, call, what.input, what);
  return put(team, call, what.input, what.bytes) && combine_many(team, call, what);
}

bool ShortPath::allreduce(Team& team, const Reduction& what) noexcept {
  const Entered call(team);
  if (!put(team, call, what.input, what.bytes)) [[unlikely]]
    return false;
  const bool few = static_cast<std::size_t>(team.size()) <= kLineOperands;
  const bool combined =
      few ? combine(team, call, what.input, what) : combine_many(team, call, what);
  if (!combined) [[unlikely]]
    return false;
  team.safe = call.sequence;
  return true;
}

bool ShortPath::hears_all(Collective collective) noexcept {
  switch (collective) {
    case Collective::kBarrier:
    case Collective::kAllreduce:
    case Collective::kAllgather:
    case Collective::kAllgatherv:
    case Collective::kAlltoall:
    case Collective::kReduceScatterBlock:
    case Collective::kReduceScatter:
      return true;
    default:
      return false;
  }
}

void ShortPath::take(Team& team, Entered call, ShortBlocks& blocks, const void* own) noexcept {
  for (int row = blocks.begin(); row < blocks.end(); ++row) {
    const bool is_own = row == team.own_row();
    Board::Slot& slot = team.board.slot(row, call.sequence);
    const bool stands = !is_own || own == nullptr;
    blocks.take(row,
                stands ? team.board.payload(slot, row, call.sequence, blocks.bytes(row)) : own);
  }
  blocks.finish();
}

bool ShortPath::exchange(Team& team, const Call& what) noexcept {
  const Entered call(team);
  ShortBlocks blocks(team, what);
  const int own = team.own_row();
  if (blocks.puts()) {
    if (!put(team, call, what.input, blocks.bytes(own))) return false;
  } else {
    announce(team);
  }
  // From the neighbour on, so that not everybody begins with the same member's line.
  const int begin = blocks.begin(), end = blocks.end();
  const int first = begin <= own && own < end ? own + 1 : begin;
  for (int i = 0; i < end - begin; ++i) {
    const int row = first + i < end ? first + i : first + i - (end - begin);
    if (row != own && get(team, call, row, blocks.bytes(row)) == nullptr) return false;
  }
  take(team, call, blocks, blocks.puts() ? nullptr : what.input);
  if (hears_all(what.collective)) team.safe = call.sequence;
  return true;
}

}  // namespace espalier
