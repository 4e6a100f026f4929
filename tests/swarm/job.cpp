// Job: the ranks, what they call, and the run.
#include "tests/swarm/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "tests/swarm/job_node.hpp"

namespace espalier::swarm {
namespace {

// A rank that has found nothing for so long looks round, as a worker's waits do.
constexpr std::uint64_t kLookAfterNs = 20'000'000;
constexpr std::uint32_t kRoundsMax = 128;
// Who has refused a portion is asked again.
constexpr std::uint64_t kAskAgainNs = 200;
constexpr std::uint64_t kTimeoutNs = 200'000'000;
constexpr std::uint64_t kEventsMax = 5'000'000;

std::size_t index(Rank rank) noexcept {
  return static_cast<std::size_t>(rank);
}

}  // namespace

Job::Node::Node(Job& job, Rank rank_, const WatchLimits& limits)
    : rank(rank_),
      wire(job.audit_, job.stage_->wire(rank_), rank_),
      engine(job.stage_->counters(rank_), job.trace_, job.scenario_.tuning),
      watch(engine, *job.liveness_, Log(LogLevel::kError), limits) {
  const Scenario& scenario = job.scenario_;
  if (!scenario.moves) return;
  Stage& stage = *job.stage_;
  mover.emplace(
      *scenario.moves, scenario.seed, rank, [&stage, this] { return stage.clock(rank).now_ns(); },
      [&stage, this](std::uint64_t at_ns) { stage.schedule(rank, at_ns); });
  engine.set_mover(&*mover);
  if (!scenario.devices) return;
  away.emplace(*scenario.devices, scenario.seed, rank, *mover);
  stage.set_away(rank, &*away);
}

Job::Job(const Scenario& scenario)
    : scenario_(scenario),
      stage_(make_stage(scenario)),
      liveness_(std::make_unique<JobLiveness>(*this)),
      expected_(scenario.ops.size()) {
  audit_.tell_dead([this](Rank rank) { return stage_->crashed(rank) || stage_->cut_off(rank); });
  const bool may_time_out = scenario.deviation.has_value() || scenario.departure.has_value();
  const WatchLimits limits = {0, may_time_out ? kTimeoutNs : 0};
  for (std::uint32_t r = 0; r < scenario.ranks; ++r) {
    nodes_.push_back(std::make_unique<Node>(*this, static_cast<Rank>(r), limits));
  }
  make_teams();
  make_agendas();
  stage_->set_turn(on_turn, this);
}

Job::~Job() = default;

void Job::make_teams() {
  constexpr std::uint64_t kShortBytes = 112;
  for (std::size_t t = 0; t < scenario_.teams.size(); ++t) {
    auto membership = std::make_shared<Membership>();
    membership->ranks = scenario_.teams[t];
    if (const TeamNodes* layout = scenario_.layout(t)) membership->localities = *layout;
    const auto size = static_cast<int>(membership->ranks.size());
    const auto id = static_cast<std::uint32_t>(t + 1);
    Board board;
    if (scenario_.board) {
      boards_.push_back(std::make_unique<BoardMemory>(Board::bytes(size, kShortBytes)));
      board = Board(boards_.back()->data(), size, kShortBytes, std::uint64_t{id} << 40);
    }
    for (int member = 0; member < size; ++member) {
      Node& node = *nodes_[index(membership->ranks[static_cast<std::size_t>(member)])];
      node.teams.resize(scenario_.teams.size());
      auto team = std::make_unique<Team>();
      team->id = id;
      // Few calls: let plans go, though.
      team->plans.set_limits({.plans = 1});
      team->wire = &node.wire;
      team->board = board;
      team->segment_limit = node.wire.caps(node.rank).segment_bytes;
      team->set_membership(member, membership);
      node.watch.add(*team);
      node.teams[t] = std::move(team);
    }
  }
}

void Job::make_agendas() {
  settled_ns_ = scenario_.world.faults.heal_ns;
  for (std::size_t op = 0; op < scenario_.ops.size(); ++op) {
    const OpSpec& spec = scenario_.ops[op];
    const std::vector<Rank>& members = scenario_.teams[spec.team];
    for (std::size_t m = 0; m < members.size(); ++m) {
      const auto member = static_cast<std::int32_t>(m);
      if (spec.flow() && member != spec.root && member != spec.peer) continue;
      Node& node = *nodes_[index(members[m])];
      node.calls.push_back(std::make_unique<CallState>());
      CallState& call = *node.calls.back();
      call.job = this;
      call.node = &node;
      call.op = op;
      call.member = member;
      const std::uint64_t entry = scenario_.entries[op][index(node.rank)].not_before_ns;
      settled_ns_ = std::max(settled_ns_, entry);
    }
    if (!spec.flow()) {
      allow_windows(op);
    } else {
      audit_.allow(FlowId(static_cast<std::uint32_t>(spec.team + 1), 256, 0),
                   {static_cast<std::uint32_t>(scenario_.tuning.window_send),
                    static_cast<std::uint32_t>(scenario_.tuning.window_recv)});
    }
  }
}

// The windows of each collective, by its number on its team.
void Job::allow_windows(std::size_t op) {
  const std::size_t team = scenario_.ops[op].team;
  std::uint64_t sequence = 0;
  for (std::size_t i = 0; i <= op; ++i) {
    if (scenario_.ops[i].team == team && !scenario_.ops[i].flow()) ++sequence;
  }
  const auto allow = [&](const OpSpec& spec) {
    auto request = plan_request(scenario_, spec, 0);
    ESP_ASSERT(request.ok());
    const bool one =
        request->variant != ESP_VARIANT_EVENT && request->algorithm == ESP_ALGORITHM_TREE;
    audit_.allow(FlowId(static_cast<std::uint32_t>(team + 1), 0, sequence),
                 {one ? 1U : static_cast<std::uint32_t>(request->window_send),
                  one ? 1U : static_cast<std::uint32_t>(request->window_recv),
                  spec.in_place && spec.collective == Collective::kAllreduce});
  };
  allow(scenario_.ops[op]);
  if (scenario_.deviation && scenario_.deviation->op == op) allow(scenario_.deviation->call);
}

Report Job::run() {
  for (const auto& node : nodes_) stage_->schedule(node->rank, 0);
  if (scenario_.departure) {
    stage_->schedule(scenario_.departure->rank, scenario_.departure->at_ns);
  }
  for (const Look& look : scenario_.looks) {
    nodes_[index(look.rank)]->look_times.push_back(look.at_ns);
    stage_->schedule(look.rank, look.at_ns);
  }
  do {
    run_stage();
  } while (!audit_.failed() && wake_waiting());
  if (!audit_.failed()) check_end();
  report_.events = stage_ != nullptr ? stage_->events() : 0;
  report_.posts = audit_.posts();
  report_.connection_frames = stage_ != nullptr ? stage_->connection_frames() : 0;
  if (!audit_.failed()) {
    report_.unseed ^= stage_->unseed();
    take_down();
  }
  report_.failure = audit_.failure();
  return report_;
}

void Job::run_stage() {
  while (!audit_.failed() && stage_->step()) {
    if (stage_->events() > kEventsMax) return fail("no end: more events than any run needs");
  }
}

// Nothing happens any more. True: ranks that still wait will look round.
bool Job::wake_waiting() {
  std::string waiting;
  for (const auto& node : nodes_) {
    if (node->departed || stage_->crashed(node->rank)) continue;
    const auto open = std::find_if(node->calls.begin(), node->calls.end(),
                                   [](const auto& call) { return !call->ended; });
    if (open == node->calls.end()) continue;
    waiting += fmt::format(" {}:op {}", node->rank, (*open)->op);
    node->looks = true;
    stage_->schedule(node->rank, stage_->now_ns() + kLookAfterNs);
  }
  if (waiting.empty()) return false;
  if (scenario_.troubled() && rounds_++ < kRoundsMax) return true;
  fail(fmt::format("ranks wait for ever (rank:op):{}", waiting));
  return false;
}

int Job::on_turn(void* job, Rank rank) {
  auto& self = *static_cast<Job*>(job);
  return self.take_turn(*self.nodes_[index(rank)]);
}

int Job::take_turn(Node& node) {
  const std::uint64_t now = stage_->clock(node.rank).now_ns();
  const auto& departure = scenario_.departure;
  if (departure && departure->rank == node.rank && departure->at_ns <= now) depart(node);
  if (std::erase_if(node.look_times, [&](std::uint64_t at) { return at <= now; }) > 0) {
    node.looks = true;
  }
  if (std::exchange(node.looks, false) && !node.departed) {  // as Worker does
    stage_->wire(node.rank).idle();
    node.watch.look(0, now);
  }
  int events = node.mover ? node.mover->progress() : 0;
  if (scenario_.partial()) look_at_gates(node);
  do {
    events += node.engine.progress();
  } while (!audit_.failed() && enter_calls(node));
  const bool again = std::any_of(node.calls.begin(), node.calls.end(), [](const auto& call) {
    return call->use.has_refused() && !call->ended;
  });
  if (again) stage_->schedule(node.rank, now + kAskAgainNs);
  return events;
}

// Enters what may be entered; true: something was.
bool Job::enter_calls(Node& node) {
  bool any = false;
  node.entering = true;
  while (!audit_.failed() && !node.departed && node.next < node.calls.size()) {
    CallState& call = *node.calls[node.next];
    const Entry& entry = scenario_.entries[call.op][index(node.rank)];
    if (entry.after_all && node.open > 0) break;
    if (stage_->clock(node.rank).now_ns() < entry.not_before_ns) {
      if (std::exchange(node.woken_for, node.next + 1) != node.next + 1) {
        stage_->schedule(node.rank, entry.not_before_ns);
      }
      break;
    }
    ++node.next;
    ++node.open;
    any = true;
    enter(node, call);
  }
  node.entering = false;
  return any;
}

void Job::enter(Node& node, CallState& call) {
  const OpSpec& spec = scenario_.call(call.op, call.member);
  Team& team = *node.teams[spec.team];
  call.prepare(spec);
  if (scenario_.partial()) begin_partial(node, call, spec);
  call.entered = true;
  if (team.failed()) return finish(call, team.fault);
  Result<Engine::Started> started{Engine::Started{}};
  if (spec.flow()) {
    Engine::Flow flow;
    const bool sends = call.member == spec.root;
    flow.direction = sends ? Engine::Direction::kSend : Engine::Direction::kReceive;
    flow.buffer = call.output.data();
    flow.bytes = spec.count;
    flow.peer = sends ? spec.peer : spec.root;
    flow.channel = spec.channel;
    if (spec.shares && spec.is_there(call.member, OpSpec::kOutputBuffer)) flow.mover = &*node.mover;
    flow.gate = call.use.gate();
    flow.consumer = call.use.consumer();
    started = node.engine.start_flow(team, flow, {on_finish, &call});
  } else {
    Call made = call.make_call(spec);
    made.gate = call.use.gate();
    made.consumer = call.use.consumer();
    started = node.engine.start(team, made, {on_finish, &call});
  }
  call.use.entered();
  if (!started) return fail(fmt::format("op {} is refused: {}", call.op, started.error().text));
  if (started->done) finish(call, started->status);
}

// Its input comes by and by: the rank has turns until all is there.
void Job::begin_partial(Node& node, CallState& call, const OpSpec& spec) {
  const std::uint64_t now = stage_->clock(node.rank).now_ns();
  call.use.choose(spec, call.member);
  call.use.begin(spec, call.member, call.input, call.output, now);
  // What is there at once is handed out in the next turn.
  if (call.use.delivers()) stage_->schedule(node.rank, now + kAskAgainNs);
  if (!call.use.awaits()) return;
  constexpr std::uint64_t kTurns = 8;
  for (std::uint64_t turn = 1; turn <= kTurns; ++turn) {
    stage_->schedule(node.rank, now + (call.use.open_ns() - now) * turn / kTurns);
  }
  settled_ns_ = std::max(settled_ns_, call.use.open_ns());
}

void Job::look_at_gates(Node& node) {
  const std::uint64_t now = stage_->clock(node.rank).now_ns();
  for (const auto& call : node.calls) {
    if (!call->entered || call->ended || !call->use.awaits()) continue;
    call->use.set_now(now);
    node.engine.look_at_gates(*node.teams[scenario_.call(call->op, call->member).team]);
  }
}

void Job::on_finish(void* context, Status status) noexcept {
  auto& call = *static_cast<CallState*>(context);
  call.job->finish(call, status);
}

void Job::finish(CallState& call, Status status) noexcept {
  Node& node = *call.node;
  if (std::exchange(call.ended, true)) {
    return fail(fmt::format("op {} ends twice at rank {}", call.op, node.rank));
  }
  --node.open;
  const std::uint64_t now = stage_->clock(node.rank).now_ns();
  report_.unseed = (report_.unseed ^ static_cast<std::uint64_t>(node.rank) << 32 ^ call.op << 16 ^
                    static_cast<std::uint64_t>(status.code())) *
                       0x9e3779b97f4a7c15ULL +
                   now;
  ++(status.ok() ? report_.completed : report_.failed);
  if (now > settled_ns_ && !scenario_.troubled()) {
    report_.late_ns = std::max(report_.late_ns, now - settled_ns_);
  }
  check_status(call, status);
  call.use.end();
  if (status.ok()) check_result(call);
  const std::string complaint = call.use.complaint(status.ok());
  if (!complaint.empty()) fail(fmt::format("op {} at rank {}: {}", call.op, node.rank, complaint));
  if (node.mover && (node.mover->uses(call.input.data(), call.input.bytes()) ||
                     node.mover->uses(call.output.data(), call.output.bytes()))) {
    fail(fmt::format("op {} has ended at rank {}, and its memory is still in use", call.op,
                     node.rank));
  }
  call.spoil();
  if (node.entering || node.departed) return;
  if (scenario_.start_in_callbacks) {
    (void)enter_calls(node);
  } else {
    stage_->schedule(node.rank, now);
  }
}

void Job::depart(Node& node) {
  if (std::exchange(node.departed, true)) return;
  for (const auto& team : node.teams) {
    if (team != nullptr) node.engine.cancel(*team);
  }
}

void Job::take_down() {
  for (const auto& node : nodes_) {
    for (const auto& team : node->teams) {
      if (team != nullptr) node->engine.cancel(*team);
    }
  }
  if (audit_.open_operations() > 0) {
    fail(fmt::format("{} wire operations are still open when all calls have ended",
                     audit_.open_operations()));
  }
  for (const auto& node : nodes_) {
    for (const auto& team : node->teams) {
      if (team == nullptr) continue;
      team->plans.for_each([&](const PlanEntry& entry) {
        if (entry.in_use == 0) return;
        fail(fmt::format("rank {} has lost an instance of {}", node->rank, entry.plan.algorithm));
      });
    }
  }
  if (audit_.failed()) return;
  for (const auto& node : nodes_) {
    report_.shared_bytes += stage_->counters(node->rank).device_shared_bytes.value();
    if (node->away) stage_->set_away(node->rank, nullptr);
  }
  nodes_.clear();
  const std::string left = stage_->close();
  if (!left.empty()) fail(left);
}

}  // namespace espalier::swarm
