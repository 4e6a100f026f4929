#include "tools/esp-sim/cluster.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "coll/engine/engine.hpp"
#include "coll/team/watch.hpp"
#include "net/sim/sim_wire.hpp"
#include "tools/esp-sim/buffers.hpp"
#include "tools/esp-sim/localities.hpp"

namespace espalier::sim {
namespace {

// A rank that has found nothing for so long looks whether somebody died, as Worker's waits do.
constexpr std::uint64_t kLookAfterNs = 20'000'000;

// Memory that nobody touches stays so.
class NoMover final : public Mover {
 public:
  Posted move(const Move&, Completion&) noexcept override { return Posted::kDone; }
  Posted repack(const Repack&, Completion&) noexcept override { return Posted::kDone; }
  std::byte* allocate(std::uint64_t bytes) noexcept override {
    return new (std::nothrow) std::byte[bytes];
  }
  void release(std::byte* memory, std::uint64_t) noexcept override { delete[] memory; }
  std::string why() const override { return {}; }
  void cancel(Completion&) noexcept override {}
};

class WorldLiveness final : public Liveness {
 public:
  explicit WorldLiveness(const World& world) noexcept : world_(world) {}
  bool is_dead(Rank rank) noexcept override { return world_.crashed(rank); }
  bool is_stopped(Rank) noexcept override { return false; }
  bool is_leaving(Rank) noexcept override { return false; }
  bool has_left(Rank) noexcept override { return false; }

 private:
  const World& world_;
};

std::size_t index(Rank rank) noexcept {
  return static_cast<std::size_t>(rank);
}

}  // namespace

struct Cluster::Node {
  Node(Cluster& cluster_, Rank rank_)
      : cluster(cluster_),
        rank(rank_),
        wire(cluster_.world_, rank_, counters),
        engine(counters, cluster_.trace_, cluster_.options_.tuning) {
    engine.set_mover(cluster_.mover_.get());
    team.rank = rank_;
    team.wire = &wire;
    if (cluster_.devices_ != nullptr) {
      mover = std::make_unique<SimMover>(
          SimMover::Context{cluster_.world_, rank_, counters, wire, *cluster_.devices_});
    }
    if (cluster_.options_.staging == Staging::kShared) wire.set_away(mover.get());
    team.segment_limit = wire.caps(rank_).segment_bytes;
  }
  // What is under way on a team must end before the team does.
  ~Node() { engine.cancel(team); }

  Cluster& cluster;
  Rank rank;
  bool starts = false;
  bool looks = false;
  bool done = false;
  std::uint32_t calls_left = 0;
  std::uint32_t calls_started = 0;
  std::uint64_t computed_ns = 0;  // when the computation beside is over, unless on a shared core
  std::unique_ptr<Consumption> consumption;
  Counters counters;
  SimWire wire;
  std::unique_ptr<SimMover> mover;  // of buffers on devices
  Engine engine;
  Team team;
};

std::uint64_t RunResult::counter(Counter Counters::*member) const noexcept {
  const auto table = counter_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].member == member) return counters[i];
  }
  return 0;
}

std::size_t Cluster::bytes_per_rank() noexcept {
  return sizeof(Node);
}

Cluster::Cluster(const Machine& machine, const Map& map, const ClusterOptions& options)
    : options_(options), world_(machine, map, options.world) {
  if (!options.world.carry_data) mover_ = std::make_unique<NoMover>();
  if (options.staging != Staging::kNone) devices_ = std::make_unique<Devices>(world_);
  auto membership = std::make_shared<Membership>();
  if (options_.around != nullptr) membership->localities = followed(*options_.around);
  membership->ranks.resize(map.ranks());
  for (std::uint32_t r = 0; r < map.ranks(); ++r) membership->ranks[r] = static_cast<Rank>(r);
  for (std::uint32_t r = 0; r < map.ranks(); ++r) {
    nodes_.push_back(std::make_unique<Node>(*this, static_cast<Rank>(r)));
    nodes_.back()->team.set_membership(static_cast<int>(r), membership);
  }
  world_.set_turn(on_turn, this);
}

Cluster::~Cluster() = default;

void Cluster::on_turn(void* cluster, Rank rank) {
  auto& self = *static_cast<Cluster*>(cluster);
  self.take_turn(*self.nodes_[index(rank)]);
}

void Cluster::take_turn(Node& node) {
  if (std::exchange(node.starts, false)) start(node);
  if (std::exchange(node.looks, false) && !node.done) look_for_the_dead(node);
  if (node.mover != nullptr) (void)node.mover->progress();
  (void)node.engine.progress();
}

void Cluster::start(Node& node) {
  const std::uint32_t calls = operation_.at_once ? operation_.calls : 1;
  for (std::uint32_t i = 0; i < calls && !node.done; ++i) start_call(node);
}

void Cluster::start_call(Node& node) {
  Call call = buffers_->call(node.rank);
  call.root = operation_.root_of(node.calls_started++, world_.ranks());
  if (options_.staging != Staging::kNone) stage(node, call);
  if (node.consumption != nullptr) call.consumer = {on_portion, nullptr, &node};
  auto started = node.engine.start(node.team, call, {on_finish, &node});
  if (!started) {
    result_.failure = started.error().text;
    return finish(node, started.error().status);
  }
  if (started->done) finish(node, started->status);
  start_computing(node);
}

void Cluster::stage(Node& node, Call& call) {
  const Sides sides = sides_of(operation_, node.rank, world_.ranks());
  if (options_.staging == Staging::kWhole) {
    if (sides.gives > 0) node.mover->lanes().copy_and_wait(DeviceLanes::Way::kToHost, sides.gives);
    return;
  }
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool in_output = traits.input == Extent::kNone;
  call.mover = node.mover.get();
  call.pattern = &pattern_;
  call.packs_input = sides.gives > 0 && !in_output;
  call.packs_output = sides.gets > 0 || (sides.gives > 0 && in_output);
  call.shares = shares(call);
  if (traits.reduces && options_.reducer == Reducer::kDevice) call.reduction = &reduction_;
  const std::uint64_t out_bytes = std::max(sides.gets, in_output ? sides.gives : 0);
  node.mover->set_buffers({static_cast<const std::byte*>(call.input), in_output ? 0 : sides.gives},
                          {static_cast<const std::byte*>(call.output), out_bytes});
}

// As calls of the library do; all devices of a node reach each other.
bool Cluster::shares(const Call& call) const noexcept {
  const std::uint64_t least = options_.tuning.device_share_bytes;
  return options_.staging == Staging::kShared && least > 0 && call.bytes() >= least;
}

Outcome Cluster::check(const Operation& operation) const {
  const CollectiveTraits& traits = traits_of(operation.collective);
  const DeviceCost& device = world_.machine().device;
  if (options_.staging == Staging::kNone) return espalier::Unit{};
  const auto refuse = [](const char* why) { return error(ESP_ERR_UNSUPPORTED, why); };
  if (!device.any()) return refuse("buffers on devices: the machine's file has no [device]");
  if (traits.neighbors || is_irregular(operation.collective)) {
    return refuse("buffers on devices: of collectives whose blocks are alike, without neighbours");
  }
  if (options_.staging == Staging::kShared && !device.reaches_peers()) {
    return refuse("devices that read each other: the machine's [device] has no \"peer\"");
  }
  return espalier::Unit{};
}

// After the start, but on another core: there it begins with the operation.
void Cluster::start_computing(Node& node) {
  const Application& application = options_.application;
  if (application.overlap == Overlap::kNone) {
    node.computed_ns = world_.charge(node.rank, static_cast<double>(application.work_ns));
  } else if (application.overlap == Overlap::kShared) {
    world_.run_beside(node.rank, application.work_ns);
  }
}

std::uint64_t Cluster::computed_ns(const Node& node) const noexcept {
  const bool is_shared = options_.application.overlap == Overlap::kShared;
  return is_shared ? world_.beside_done_ns(node.rank) : node.computed_ns;
}

// What was combined for it is computed first.
bool Cluster::on_portion(void* context, const Portion& portion) noexcept {
  auto& node = *static_cast<Node*>(context);
  node.wire.charge_combines();
  node.consumption->land(portion, node.cluster.world_.local_ns(node.rank));
  return true;
}

void Cluster::on_finish(void* context, Status status) noexcept {
  auto& node = *static_cast<Node*>(context);
  node.cluster.finish(node, status);
}

void Cluster::finish(Node& node, Status status) noexcept {
  ESP_ASSERT(!node.done || operation_.at_once);
  if (node.done) return;  // an earlier one has failed
  node.wire.charge_combines();
  const std::uint64_t gets = sides_of(operation_, node.rank, world_.ranks()).gets;
  if (options_.staging == Staging::kWhole && status.ok() && gets > 0) {
    node.mover->lanes().copy_and_wait(DeviceLanes::Way::kToDevice, gets);
  }
  --calls_left_;
  if (status.ok() && --node.calls_left > 0) {
    if (operation_.at_once) return;
    node.starts = true;
    return world_.schedule_turn(node.rank, world_.local_ns(node.rank));
  }
  node.done = true;
  --left_;
  if (status.ok()) {
    result_.completed_ns[index(node.rank)] = world_.local_ns(node.rank) - result_.started_ns;
  } else if (result_.status.ok()) {
    result_.status = status;
    if (node.team.failed()) result_.failure = node.team.fault_text;
  }
}

void Cluster::look_for_the_dead(Node& node) {
  WorldLiveness liveness(world_);
  TeamWatch watch(node.engine, liveness, Log(), {0, 0});
  watch.add(node.team);
  watch.look(0, world_.now_ns());
}

// Nothing happens any more. True: ranks that still wait will look round once.
bool Cluster::wake_waiting() {
  bool any = false;
  const bool death = std::any_of(nodes_.begin(), nodes_.end(),
                                 [&](const auto& node) { return world_.crashed(node->rank); });
  for (const auto& node : nodes_) {
    if (node->done || world_.crashed(node->rank) || !death) continue;
    any = node->looks = true;
    world_.schedule_turn(node->rank, world_.now_ns() + kLookAfterNs);
  }
  return any;
}

void Cluster::run_world() {
  constexpr std::uint64_t kEventsBetweenLooks = 1 << 15;
  const double calls = static_cast<double>(world_.ranks()) * operation_.calls;
  while (world_.step()) {
    if (watch_ != nullptr && world_.events() % kEventsBetweenLooks == 0) {
      watch_(1.0 - static_cast<double>(calls_left_) / calls, world_.events());
    }
  }
}

Result<RunResult> Cluster::run(const Operation& operation) {
  ESP_ASSERT(left_ == 0);
  ESP_ASSERT(operation.calls > 0);
  ESP_ASSERT(operation.calls == 1 || !options_.application.any());
  ESP_ASSERT(operation.sources > 0 && !(operation.at_once && world_.options().carry_data));
  if (operation.root < 0 || static_cast<std::size_t>(operation.root) >= nodes_.size()) {
    return error(ESP_ERR_ARGUMENT, "the root is not a rank of the job");
  }
  if (Outcome outcome = check(operation); !outcome) return outcome.error();
  pattern_ = Pattern::plain(operation.element_bytes() == 8 ? ESP_UINT64 : ESP_UINT8);
  operation_ = operation;
  buffers_ = std::make_unique<Buffers>(operation, world_.ranks(), world_.options().carry_data);
  result_ = {};
  result_.started_ns = world_.now_ns();
  for (const auto& node : nodes_) {
    result_.started_ns = std::max(result_.started_ns, world_.local_ns(node->rank));
  }
  result_.completed_ns.assign(nodes_.size(), kNever);
  result_.counters = counter_sums();
  left_ = world_.ranks();
  calls_left_ = std::uint64_t{left_} * operation.calls;
  const Application& application = options_.application;
  const bool has_core = application.overlap == Overlap::kThread;
  const bool has_blocks = traits_of(operation.collective).output > Extent::kOne;
  for (const auto& node : nodes_) {
    node->starts = true;
    node->done = false;
    node->calls_left = operation.calls;
    node->calls_started = 0;
    node->computed_ns = result_.started_ns + (has_core ? application.work_ns : 0);
    if (application.consuming != Consuming::kOff) {
      node->consumption = std::make_unique<Consumption>(
          application, has_blocks ? operation.bytes : 0, node->computed_ns);
    }
    world_.schedule_turn(node->rank, result_.started_ns);
  }
  const std::uint64_t events = world_.events();
  run_world();
  if (left_ > 0 && wake_waiting()) run_world();
  result_.events = world_.events() - events;
  const bool refused =
      result_.status.code() == ESP_ERR_ARGUMENT || result_.status.code() == ESP_ERR_UNSUPPORTED;
  if (refused) return Error{result_.status, result_.failure};
  return collect();
}

RunResult Cluster::collect() {
  result_.unseed = world_.unseed();
  result_.unfinished = left_;
  for (const auto& node : nodes_) {
    const std::uint64_t time = result_.completed_ns[index(node->rank)];
    if (time == kNever) continue;
    add_times(*node);
    if (!buffers_->right(node->rank)) ++result_.wrong;
  }
  const std::vector<std::uint64_t> before = std::exchange(result_.counters, counter_sums());
  for (std::size_t i = 0; i < before.size(); ++i) result_.counters[i] -= before[i];
  nodes_.front()->team.plans.for_each([&](const PlanEntry& entry) {
    if (entry.key.collective == operation_.collective) result_.algorithm = entry.plan.algorithm;
  });
  return std::move(result_);
}

void Cluster::add_times(Node& node) {
  const std::uint64_t complete_ns = result_.completed_ns[index(node.rank)];
  std::uint64_t end_ns = result_.started_ns + complete_ns;
  std::uint64_t work_ns = 0;
  if (options_.application.overlap != Overlap::kOff) {
    end_ns = std::max(end_ns, computed_ns(node));
    work_ns = options_.application.work_ns;
  }
  if (node.consumption != nullptr) {
    end_ns = std::max(end_ns, node.consumption->finish(result_.started_ns + complete_ns));
    work_ns += node.consumption->worked_ns();
  }
  result_.operation_ns = std::max(result_.operation_ns, complete_ns);
  result_.makespan_ns = std::max(result_.makespan_ns, end_ns - result_.started_ns);
  result_.work_ns = std::max(result_.work_ns, work_ns);
}

std::vector<std::uint64_t> Cluster::counter_sums() const {
  std::vector<std::uint64_t> sums;
  for (const CounterInfo& info : counter_table()) {
    std::uint64_t sum = 0;
    for (const auto& node : nodes_) sum += (node->counters.*info.member).value();
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace espalier::sim
