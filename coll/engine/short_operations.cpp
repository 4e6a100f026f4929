#include "coll/engine/short_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "coll/engine/lines.hpp"
#include "coll/engine/short_blocks.hpp"
#include "coll/engine/short_delivery.hpp"

namespace espalier {
namespace {

using Stage = ShortOperation::Stage;
using Route = ShortOperation::Route;

bool spans_nodes(const Team& team) noexcept {
  return team.nodes() != nullptr;
}

Route route_across(const ShortOperation& op) noexcept {
  const bool is_head = op.head == op.team->own_row();
  switch (op.call.collective) {
    case Collective::kBcast:
      if (op.team->rank == op.call.root) return {Stage::kShow, Stage::kCross, Stage::kDone};
      if (is_head) return {Stage::kCross, Stage::kShow, Stage::kDone};
      return {Stage::kCollect, Stage::kDone};
    case Collective::kReduce:
      if (is_head) return {Stage::kGather, Stage::kCross, Stage::kDone};
      return {Stage::kPut, Stage::kDone};
    default:
      if (is_head) return {Stage::kGather, Stage::kCross, Stage::kShow, Stage::kDone};
      return {Stage::kPut, Stage::kCollect, Stage::kDone};
  }
}

Route route_inside(const ShortOperation& op) noexcept {
  const bool is_root = op.team->rank == op.call.root;
  if (op.call.collective == Collective::kBcast) {
    return {is_root ? Stage::kShow : Stage::kCollect, Stage::kDone};
  }
  if (op.call.collective == Collective::kReduce && !is_root) return {Stage::kPut, Stage::kDone};
  if (!ShortBlocks(*op.team, op.call).puts()) return {Stage::kGather, Stage::kDone};
  return {Stage::kPut, Stage::kGather, Stage::kDone};
}

}  // namespace

ShortOperation::ShortOperation(Team& of, const Call& what) noexcept
    : team(&of), call(what), entered(of) {
  if (spans_nodes(of)) {
    head = of.row(of.head_of(of.node(), what.root));
    route = route_across(*this);
  } else {
    head = what.root;
    route = route_inside(*this);
  }
}

void ShortOperations::set_limits(Team& team, const Tuning& tuning) {
  for (std::size_t c = 0; c < kCollectives; ++c) {
    PlanRequest base;
    base.collective = static_cast<Collective>(c);
    base.size = team.size();
    base.nodes.nodes = team.layout();
    team.short_end[c] = short_end(base, team.board.short_bytes(), tuning);
  }
}

bool ShortOperations::takes(const Team& team, const Call& call) noexcept {
  if (!team.short_path || !call.choice_is_free || call.options.segment_bytes != 0) return false;
  if (traits_of(call.collective).reduces && call.op >= ESP_OP_BUILTIN_COUNT) return false;
  // A bound one has lengths of what is packed, and the caller's arrays may be gone.
  if (call.purpose == Purpose::kPersistent && is_irregular(call.collective)) return false;
  const std::uint64_t end = team.short_end[static_cast<std::size_t>(call.collective)];
  // Of a block, the longest where they differ; of an operand.
  const bool differ = call.collective == Collective::kAllgatherv;
  return (differ ? call.longest * call.element_bytes : call.bytes()) < end;
}

Result<Engine::Started> ShortOperations::start(Team& team, const Call& call,
                                               const CallSignature& signature,
                                               const Finish& finish) {
  const bool combines = spans_nodes(team) && traits_of(call.collective).reduces;
  ShortOperation::Scratch* scratch = combines ? scratches_.allocate() : nullptr;
  const Consumer& consumer = call.consumer;
  const bool has_room = consumer.function == nullptr ||
                        consumer.expect(consumer.context, static_cast<std::uint64_t>(team.size()));
  const bool may = has_room && (!combines || scratch != nullptr);
  ShortOperation* op = may ? operations_.allocate(team, call) : nullptr;
  if (op != nullptr && ShortPacking::is_for(call)) [[unlikely]] {
    op->packing.reset(new (std::nothrow) ShortPacking);
    if (op->packing == nullptr || !op->packing->begin(team, op->call)) {
      operations_.release(op);
      op = nullptr;
    } else {
      op->closed = true;
    }
  }
  if (op == nullptr) {
    if (scratch != nullptr) scratches_.release(scratch);
    return error(ESP_ERR_NO_MEMORY, "no memory for an operation");
  }
  team.enter(signature);
  op->entered = Entered(team);
  op->scratch = scratch;
  if (call.gate.function != nullptr) [[unlikely]]
    op->closed = true;
  ++counters_.short_operations;
  if (engine_.trace().enabled()) engine_.trace().begin(trace_kind(call.collective), subject(*op));
  path_.announce(team);
  // No consumer is called in a start.
  const bool completed = advance(*op) && (op->call.consumer.function == nullptr || team.failed());
  if (!completed && (!team.failed() || op->crossing)) {
    op->finish = finish;
    append(*op);
    return Engine::Started{};
  }
  complete(*op);
  return Engine::Started{true, team.fault};
}

int ShortOperations::run(Team& team) noexcept {
  int events = 0;
  // Later ones find no room before the oldest has ended.
  const std::uint64_t end = team.short_operations->entered.sequence + Board::kSlots;
  ShortOperation** link = &team.short_operations;
  ShortOperation* before = nullptr;
  while (*link != nullptr && (team.failed() || (*link)->entered.sequence < end)) {
    ShortOperation& op = **link;
    const bool completed = !team.failed() && advance(op);
    // One whose heads' plan is still to be told of stays, whatever has failed.
    if (!completed && (!team.failed() || op.crossing != op.crossed)) {
      before = &op;
      link = &op.next;
      continue;
    }
    *link = op.next;
    if (team.short_last == &op) team.short_last = before;
    ++events;
    const bool last = team.short_operations == nullptr;
    note_oldest(team);
    complete(op);  // Its callback may start others, or free a team that has none.
    if (last) return events;
  }
  note_oldest(team);
  return events;
}

int ShortOperations::progress() noexcept {
  int events = 0;
  for (std::size_t i = 0; i < waiting_.size();) {
    Team* team = waiting_[i];
    events += run(*team);
    if (i < waiting_.size() && waiting_[i] == team) ++i;
  }
  return events;
}

void ShortOperations::append(ShortOperation& op) {
  Team& team = *op.team;
  if (team.short_operations == nullptr) {
    team.short_operations = &op;
    waiting_.push_back(&team);
    team.quick = false;
  } else {
    team.short_last->next = &op;
  }
  team.short_last = &op;
  note_oldest(team);
}

// The member whose line the operation waits for, or that has not read what stands in its slot; -1:
// the heads' plan knows.
int ShortOperations::awaited(const ShortOperation& op) noexcept {
  const Team& team = *op.team;
  switch (op.stage()) {
    case Stage::kGather:
      return op.cursor < team.rows() ? team.member_in(op.cursor) : -1;
    case Stage::kCollect:
      return team.member_in(op.head);
    case Stage::kPut:
    case Stage::kShow: {
      const bool puts = op.stage() == Stage::kPut;
      const ShortBlocks blocks(team, op.call);
      const std::uint64_t bytes = puts ? blocks.bytes(team.own_row()) : op.call.bytes();
      const std::uint64_t needed = op.entered.sequence - Board::depth(bytes) + 1;
      for (int row = 0; row < team.rows(); ++row) {
        if (!team.board.is_past(row, needed)) return team.member_in(row);
      }
      return -1;
    }
    default:
      return -1;
  }
}

const ShortOperation* ShortOperations::find(const Team& team, std::uint64_t sequence) noexcept {
  const ShortOperation* op = team.short_operations;
  while (op != nullptr && op->entered.sequence != sequence) op = op->next;
  return op;
}

// What the watchdog and the other members are told.
void ShortOperations::note_oldest(Team& team) noexcept {
  const ShortOperation* oldest = team.short_operations;
  if (oldest == nullptr) {
    std::erase(waiting_, &team);
    team.quick = team.quick_allowed;
  }
  if (path_.waits(team)) return;  // That one is older.
  team.short_call = team.short_wait = oldest != nullptr ? oldest->entered.sequence : 0;
  if (team.shown_unread == 0) return;
  team.show_unread(team.short_call);
  path_.announce(team);  // Who waits for room.
}

void ShortOperations::complete(ShortOperation& op) noexcept {
  Team& team = *op.team;
  Trace& trace = engine_.trace();
  if (trace.enabled()) {
    const TraceKind kind = trace_kind(op.call.collective);
    team.failed() ? trace.cancel(kind, subject(op)) : trace.end(kind, subject(op));
  }
  // Whoever began a blocking one had read everything before.
  if (op.call.blocking && ShortPath::hears_all(op.call.collective) && !team.failed()) {
    team.safe = std::max(team.safe, op.entered.sequence);
  }
  const Finish told = op.finish;
  const Status status = team.fault;
  if (op.scratch != nullptr) scratches_.release(op.scratch);
  if (op.call.consumer.function != nullptr && !team.failed()) [[unlikely]]
    deliver_all(team, op.call);
  operations_.release(&op);
  if (told.function != nullptr) told.function(told.context, status);
}

namespace {

// Nothing of it is put on lines before all of the input is there.
bool is_open(const Gate& gate) noexcept {
  Portion all;
  all.bytes = Portion::kAll;
  return gate.function(gate.context, all);
}

}  // namespace

// True: the operation is complete here.
bool ShortOperations::advance(ShortOperation& op) noexcept {
  const ShortOperation* oldest = op.team->short_operations;
  if (op.call.blocking && oldest != nullptr && oldest != &op) return false;
  if (op.closed) [[unlikely]] {
    if (op.call.gate.function != nullptr && !is_open(op.call.gate)) return false;
    if (op.packing != nullptr && !op.packing->is_packed()) return waits_for_mover(op);
    op.closed = false;
  }
  while (op.stage() != Stage::kDone) {
    if (!step(op)) return false;
    ++op.at;
  }
  if (op.packing != nullptr && !op.packing->is_unpacked()) [[unlikely]]
    return waits_for_mover(op);
  return true;
}

bool ShortOperations::waits_for_mover(ShortOperation& op) noexcept {
  const Status& status = op.packing->status();
  if (!status.ok()) {
    engine_.fail(*op.team, status,
                 fmt::format("{}, rank {}: {}", op.call.signature().to_text(), status.rank(),
                             op.packing->why()));
  }
  return false;
}

bool ShortOperations::step(ShortOperation& op) noexcept {
  Team& team = *op.team;
  switch (op.stage()) {
    case Stage::kPut:
      op.puts = path_.try_put(team, op.entered, op.call.input,
                              ShortBlocks(team, op.call).bytes(team.own_row()));
      return op.puts;
    case Stage::kGather:
      return gather(op);
    case Stage::kCross:
      return cross(op);
    case Stage::kShow: {
      const void* result = op.scratch != nullptr ? op.scratch->bytes.data() : op.call.output;
      return path_.try_put(team, op.entered, result, op.call.bytes());
    }
    case Stage::kCollect:
      return collect(op);
    case Stage::kDone:
      break;
  }
  return true;
}

bool ShortOperations::collect(ShortOperation& op) noexcept {
  const std::byte* payload = path_.look(*op.team, op.entered, op.head, op.call.bytes());
  if (payload == nullptr) return false;
  copy_line(op.call.output, payload, op.call.bytes());
  return true;
}

bool ShortOperations::gather(ShortOperation& op) noexcept {
  Team& team = *op.team;
  ShortBlocks blocks(team, op.call, op.scratch != nullptr ? op.scratch->bytes.data() : nullptr);
  for (op.cursor = std::max(op.cursor, blocks.begin()); op.cursor < blocks.end(); ++op.cursor) {
    if (op.cursor == team.own_row()) continue;
    if (path_.look(team, op.entered, op.cursor, blocks.bytes(op.cursor)) == nullptr) return false;
  }
  path_.take(team, op.entered, blocks, op.puts ? nullptr : op.call.input);
  return true;
}

// The heads' part. False: it is under way.
bool ShortOperations::cross(ShortOperation& op) noexcept {
  Team& team = *op.team;
  if (!op.crossing) {
    Call among = op.call;
    among.purpose = Purpose::kUser;  // bound for this once
    among.gate = {};                 // It is open,
    among.consumer = {};             // and what comes is handed out at the end.
    if (op.scratch != nullptr) {
      among.output = op.scratch->bytes.data();
      among.input = among.output;
    }
    auto started = engine_.start_among_heads(team, among, op.entered, Finish{on_crossed, &op});
    if (!started) {
      engine_.fail(team, started.error().status, started.error().text);
      return false;
    }
    op.crossing = true;
    op.crossed = started->done;
  }
  if (!op.crossed || team.failed()) return false;
  const bool gets = op.scratch != nullptr &&
                    (!traits_of(op.call.collective).root_gets || team.rank == op.call.root);
  if (gets) copy_line(op.call.output, op.scratch->bytes.data(), op.call.bytes());
  return true;
}

// A failure is the team's.
void ShortOperations::on_crossed(void* operation, Status) noexcept {
  static_cast<ShortOperation*>(operation)->crossed = true;
}

}  // namespace espalier
