// The composition root: bootstrap, network, shared segment, wires, worker, engine, in this order.
// path: setup
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "api/api.hpp"
#include "api/handles.hpp"
#include "api/membership.hpp"
#include "api/node_memory.hpp"
#include "api/setting_warnings.hpp"
#include "bootstrap/config_from_env.hpp"
#include "bootstrap/directory_maker.hpp"
#include "bootstrap/find_profile.hpp"
#include "bootstrap/make_tuning.hpp"
#include "core/prng.hpp"

namespace espalier {
namespace {

// Into the directory; `mine` is this rank's.
Outcome read_cards(esp_job& job, std::span<const std::vector<std::byte>> blobs, const Card& mine,
                   bool share, const SwitchMap& switches) {
  DirectoryMaker::Rules rules{.share = share, .localities = job.config.needs_localities()};
  Machine machine;
  if (rules.localities && !job.config.topology.empty()) {
    auto loaded = load_machine(job.config.topology);
    if (!loaded) return error(ESP_ERR_CONFIG, "ESPALIER_TOPOLOGY: " + loaded.error().text);
    machine = std::move(*loaded);
    if (machine.emulated) rules.emulated = &machine;
    rules.adapter = numa_locality(machine, job.config.adapter_numa);
  }
  if (!switches.empty()) rules.switches = &switches;
  DirectoryMaker maker(mine, job.rank, rules);
  for (Rank rank = 0; rank < job.size; ++rank) {
    auto card = parse_card(blobs[static_cast<std::size_t>(rank)], rank);
    if (!card) return card.error();
    if (auto done = check_agreement(mine, job.rank, *card, rank); !done) return done;
    maker.add(*card);
  }
  job.nodes = maker.nodes();
  job.directory = maker.directory();
  if (const auto& unnamed = maker.unnamed(); !unnamed.empty() && job.rank == 0) {
    job.log.warn(
        "{} does not name {} of {} nodes, the first is {}: each counts as behind a switch "
        "of its own",
        job.config.written_name("SWITCHES"), unnamed.size(), job.nodes.count(), unnamed.front());
  }
  return Unit{};
}

// Of this rank; 0: nobody says where the adapter is.
std::uint8_t distance_to_adapter(const esp_job& job) {
  Locality adapter;
  if (job.config.adapter_numa >= 0) {
    adapter = numa_locality(job.config.adapter_numa);
  } else if (job.network != nullptr) {
    adapter = device_locality(job.network->device());
  }
  const bool known = adapter.numa != kUnknownLocality;
  return known ? static_cast<std::uint8_t>(distance(current_locality(), adapter)) : 0;
}

Outcome exchange_cards(esp_job& job, const std::vector<WireKind>& allowed) {
  job.nonce = std::make_unique<std::uint64_t>(job.steady_clock.now_ns() * 0x9e3779b97f4a7c15ULL ^
                                              static_cast<std::uint64_t>(::getpid()) << 32 ^
                                              reinterpret_cast<std::uint64_t>(&job));
  // Under Yama (ptrace_scope 1) a process may allow its siblings to read it; elsewhere this fails.
  if (job.config.cma != CmaMode::kOff) (void)::prctl(PR_SET_PTRACER, ~0UL, 0, 0, 0);
  auto switches = SwitchMap::load(job.config.switches);
  if (!switches) {
    return error(ESP_ERR_CONFIG,
                 fmt::format("{}: {}", job.config.written_name("SWITCHES"), switches.error().text));
  }
  const auto* meeting = job.meeting_point ? &job.meeting_point->address() : nullptr;
  Card card = make_card(job.config, *job.nonce, meeting, job.bootstrap->node_name());
  if (job.network != nullptr) {
    card.addresses = job.network->addresses();
    card.port_mbits = job.network->port_mbits();
    card.groups = job.network->group_terms();
    card.adapter = job.network->group_adapter();
  }
  card.profile = job.profile != nullptr ? job.profile->digest() : 0;
  card.switches = switches->digest();
  card.to_adapter = distance_to_adapter(job);
  auto blobs = job.bootstrap->exchange(card_bytes(card));
  if (!blobs) return blobs.error();
  if (blobs->size() != static_cast<std::size_t>(job.size)) {
    return error(ESP_ERR_BOOTSTRAP, fmt::format("the bootstrap returned {} cards for {} ranks",
                                                blobs->size(), job.size));
  }
  return read_cards(job, *blobs, card, allows(allowed, WireKind::kShm), *switches);
}

// The network's addresses must be known before it is known whether anybody needs it; where the
// launcher says that all ranks are on one node, nobody does.
Outcome open_network(esp_job& job, const std::vector<WireKind>& allowed) {
  const bool one_node = job.bootstrap->ranks_on_node() == job.size;
  if (job.size == 1) return Unit{};
  if (one_node && allows(allowed, WireKind::kShm) && job.config.node_name.empty()) return Unit{};
  auto network =
      Network::open(job.config, allowed, {job.rank, job.size, job.bootstrap->node_rank()},
                    job.clock, job.counters, job.log);
  if (!network) return network.error();
  job.network = std::move(*network);
  return Unit{};
}

// Why this rank has none.
std::vector<ClosedWire> without_network(const std::vector<WireKind>& allowed) {
  std::vector<ClosedWire> closed;
  for (const WireKind kind : allowed) {
    if (kind == WireKind::kShm) continue;
    closed.push_back({kind,
                      "all ranks are on one node, as the launcher says; NODE_NAME is for all "
                      "ranks or for none"});
  }
  return closed;
}

// It is not known yet who is where.
std::uint32_t local_ranks_at_most(const esp_job& job) {
  const bool by_launcher = job.config.node_name.empty() && job.config.nodes == NodeRule::kLauncher;
  const int told = by_launcher ? job.bootstrap->ranks_on_node() : 0;
  const auto ranks = static_cast<std::uint32_t>(told > 0 ? told : job.size);
  return std::min(ranks, shm::kMaxLocalRanks);
}

// Who shares memory with this rank, and how the others are reached.
Outcome find_peers(esp_job& job, const std::vector<WireKind>& allowed) {
  job.any_threaded = job.directory.head().any_threaded != 0;
  job.wire_chooser.emplace(
      job.directory, job.nodes, job.rank, allowed,
      job.network != nullptr ? job.network->closed() : without_network(allowed));
  auto wires = job.wire_chooser->choose();
  if (!wires) return wires.error();
  job.peer_wires = std::move(*wires);
  job.all_have_rdma = all_have_rdma(job.directory, allowed);
  if (job.nodes.locals.size() > shm::kMaxLocalRanks) {
    return error(ESP_ERR_UNSUPPORTED, fmt::format("{} ranks on one node, at most {} are possible",
                                                  job.nodes.locals.size(), shm::kMaxLocalRanks));
  }
  if (!job.nodes.several()) {
    job.network.reset();
    return Unit{};
  }
  return job.network->connect(job.config, job.directory, job.peer_wires, job.clock, job.counters);
}

// Measured with esp-bench on 2 cores, where a system call takes 1.1 us and a switch between
// processes 4.7 us.
WaitPolicy wait_policy(const esp_job& job) {
  const bool crowded = job.nodes.crowded();
  const bool network = job.nodes.locals.size() < static_cast<std::size_t>(job.size);
  // A look at shared memory with a pause takes about 40 ns, one at sockets a system call.
  const std::uint32_t looks_per_us = network ? 1 : 25;
  WaitPolicy policy;
  policy.shared_spins = network ? 1 : 8;
  policy.spins = 40 * looks_per_us;
  policy.spin_ns = 50'000;  // after the last arrival, in a wait that had some
  policy.yield_ns = 100'000;
  // Who is alone on its node is woken by a network only, which costs the waker no further call (a
  // rank of the same node, or a thread that hands in work, would have to make one). So where others
  // want its core it sleeps soon (4 nodes x 1 rank on 2 cores, broadcast of 1 MiB: 0.8 of the time
  // with the default).
  const bool alone = job.nodes.locals.size() == 1 && !job.threaded;
  if (alone) policy.shared_yield_ns = policy.yield_ns;
  if (crowded) {
    policy.spins = policy.shared_spins;
    policy.spin_ns = 0;
    policy.yield_ns = policy.shared_yield_ns;
    // The others that share the core are this job's, and may all copy megabytes (2 nodes x 2 ranks
    // on each of 2 cores, allreduce of 4 MiB: 9.9 ms; by the limit for strangers 12.4).
    policy.long_yield_ns *= job.nodes.ranks_per_cpu();
  }
  if (job.config.spin_us >= 0) {
    // Nobody looks around in the first part of the spinning, so that part is short: a death is
    // found in time also by those who spin for a minute.
    const double blind_us = std::min(job.config.spin_us, 40.0);
    policy.spins = static_cast<std::uint32_t>(blind_us * looks_per_us);
    policy.spin_ns = static_cast<std::uint64_t>((job.config.spin_us - blind_us) * 1000);
    policy.adaptive = false;
  }
  if (job.config.yield_us >= 0) {
    policy.yield_ns = static_cast<std::uint64_t>(job.config.yield_us * 1000);
    policy.shared_yield_ns = policy.yield_ns;
  }
  return policy;
}

Outcome make_wires(esp_job& job) {
  job.liveness = std::make_unique<NodeLiveness>(*job.segment, job.nodes, *job.processes, job.rank,
                                                *job.bootstrap);
  std::vector<shm::ShmPeer> peers;
  for (const Rank r : job.nodes.locals) peers.push_back({r, {}});
  shm::ShmOptions options;
  options.quantum_bytes = job.config.cma_quantum_bytes;
  options.crowded = job.nodes.crowded();
  options.liveness = job.liveness.get();
  options.log = job.log;
  options.measure_pull = job.config.cma_threshold_bytes == 0;
  if (!options.measure_pull) options.pull.threshold = job.config.cma_threshold_bytes;
  job.shm_wire =
      std::make_unique<shm::ShmWire>(*job.segment, peers, options, *job.doorbell, job.counters);
  job.pull_probes = std::make_unique<PullProbes>(
      PullProbes::Parts{*job.segment, *job.shm_wire, job.nodes, *job.processes}, job.config.cma);
  return job.pull_probes->begin();
}

static_assert(static_cast<int>(FollowLevels::kOff) == static_cast<int>(LevelRule::kOff));

Tuning tuning_of(const esp_job& job) {
  Tuning tuning = make_tuning(
      job.config, job.level_shapes,
      {.crowded = job.nodes.crowded(),
       .usable_cpus = job.nodes.usable_cpus,
       .all_have_rdma = job.all_have_rdma,
       .several_nodes = job.nodes.several(),
       .some_crowded = job.directory.head().some_crowded != 0,
       .port_mbits = job.directory.head().port_mbits,
       .multicast_packet_bytes = job.network != nullptr ? job.network->group_payload_bytes() : 0});
  tuning.profile = job.profile;
  return tuning;
}

// Members must choose alike.
void agree_on_profile(esp_job& job) {
  if (job.directory.head().same_profile != 0) return;
  if (job.rank == 0) {
    job.log.warn(
        "no profile is used: not all ranks have read the same ({} on this one); give all "
        "the same in TUNING, or TUNING=off",
        job.profile != nullptr ? job.profile->name : "none");
  }
  job.profile.reset();
}

// What ranks of several nodes tell each other beside the flows.
void make_correspondence(esp_job& job) {
  if (job.network == nullptr) return;
  job.news = std::make_unique<TeamNews>(*job.network, *job.liveness, job.clock, job.steady_clock,
                                        job.size, job.rank);
  job.leaving =
      std::make_unique<Leaving>(job.nodes, *job.segment, *job.liveness, *job.network, job.clock);
  job.network->attach(MessageKind::kNews, *job.news);
  job.network->attach(MessageKind::kLeaving, *job.leaving);
  job.network->on_lost([&liveness = *job.liveness](Rank rank, bool left, const Status& why) {
    liveness.note_lost(rank, left, why);
  });
  job.engine->set_listener(job.news.get());
}

void make_one_sided(esp_job& job, const WatchLimits& limits) {
  const auto note = [](void* errors, std::string text) {
    static_cast<ErrorTexts*>(errors)->set(std::move(text));
  };
  job.one_sided = std::make_unique<OneSided>(
      OneSided::Parts{job.nodes, job.rank, *job.segment, *job.doorbell, job.network.get(),
                      *job.liveness, *job.worker, job.counters, job.log, limits.timeout_ns});
  job.one_sided->on_failure(note, &job.errors);
  job.worker->attach(*job.one_sided);
  const TagLimits tag_limits = {job.config.tag_eager_bytes, job.config.tag_window_bytes,
                                job.config.tag_unexpected_bytes};
  job.tags = std::make_unique<TagMessages>(
      TagMessages::Parts{*job.engine, *job.one_sided, *job.liveness, job.counters, job.log,
                         job.rank, tag_limits, limits, *job.watch, &api::is_awaited});
  job.tags->on_failure(note, &job.errors);
  job.one_sided->set_own(job.tags.get());
  job.worker->attach(*job.tags);
}

void make_worker(esp_job& job) {
  job.worker = std::make_unique<Worker>(job.clock, *job.doorbell, job.counters, wait_policy(job));
  job.engine = std::make_unique<Engine>(job.counters, job.trace, tuning_of(job));
  job.engine->set_log(&job.log);
  job.short_path = std::make_unique<ShortPath>(*job.worker, *job.engine, *job.doorbell);
  job.short_operations =
      std::make_unique<ShortOperations>(*job.short_path, *job.engine, job.counters);
  make_correspondence(job);
  WatchLimits limits;
  limits.warn_ns = static_cast<std::uint64_t>(job.config.stall_warning * 1e9);
  limits.timeout_ns = static_cast<std::uint64_t>(job.config.timeout * 1e9);
  job.watch =
      std::make_unique<TeamWatch>(*job.engine, *job.liveness, job.log, limits, job.news.get());
  job.watch->set_awaited(&api::is_awaited);
  job.worker->attach(*job.shm_wire);
  if (job.network != nullptr) {
    job.network->attach_to(*job.worker);
    job.worker->attach(static_cast<Agent&>(*job.watch));
    job.worker->attach(*job.leaving);
  }
  make_one_sided(job, limits);
  if (!job.pull_probes->done()) job.worker->attach(*job.pull_probes);
  job.worker->attach(*job.engine);
  job.worker->attach(*job.short_operations);
  job.worker->attach(job.deferred);
  job.worker->attach(job.partials);
  if (job.threaded) job.worker->attach(job.announcer);
  job.report = std::make_unique<StateReport>(job, *job.watch);
  job.worker->set_watchdog(job.report.get());
  // A progress thread waits always. What counts are the threads that it works for.
  if (!job.threaded) job.worker->set_state(job.state.get());
}

Outcome choose_kernels(Config& config) {
  if (config.isa == Isa::kAuto) config.isa = best_isa();
  if (isa_supported(config.isa)) return Unit{};
  return error(ESP_ERR_UNSUPPORTED,
               fmt::format("ESPALIER_ISA={}, but this processor and this build have kernels for {}",
                           isa_name(config.isa), supported_isas_text()));
}

void fill_tables(esp_job& job) {
  const auto& [cached, past] = *kernels_of(job.config.isa);
  for (int type = 0; type < ESP_TYPE_COUNT; ++type) {
    const auto t = static_cast<esp_type>(type);
    job.short_tables.type_bytes[static_cast<std::size_t>(type)] = type_size(t);
    for (int op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
      job.short_tables.kernels[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)] =
          cached[kernel_index(op, t)];
      job.short_tables.past_kernels[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)] =
          past[kernel_index(op, t)];
    }
    job.short_tables.plain_patterns[static_cast<std::size_t>(type)] = Pattern::plain(t);
    // Such sums do not go the quick way; where there is no form, nor any way.
    if (job.config.reproducible && !op_exact(ESP_SUM, t)) {
      job.short_tables.kernels[ESP_SUM][static_cast<std::size_t>(type)] = nullptr;
    }
  }
}

// The world's board is the first allocation in the heap of the node's lowest rank, so its place
// needs no telling.
void add_world(esp_job& job) {
  std::vector<Rank> members(static_cast<std::size_t>(job.size));
  for (int r = 0; r < job.size; ++r) members[static_cast<std::size_t>(r)] = r;
  BoardShape shape = {static_cast<int>(job.nodes.largest), job.nodes.several(), true};
  const auto fits = [&] { return board_bytes(job, shape) <= job.config.heap_bytes; };
  TeamBoard board;
  board.slots = board.everywhere = shape.slots = fits();
  shape.rows = static_cast<int>(job.nodes.locals.size());
  if (fits() && (board.slots || job.nodes.several())) {
    board.memory = job.segment->heap(0);
    if (job.nodes.local_index == 0) (void)job.heap->allocate(board_bytes(job, shape));
  }
  job.world = &add_team(job, 0, std::move(members), board);
  job.world->is_world = true;
}

// Members on several nodes: the network to those of others. What one of its ways can do less is
// done by all teams, so that members with different peers cut alike.
void span_nodes(esp_job& job, Team& team) {
  team.network = job.network.get();
  const WireCaps caps = job.network->common_caps();
  team.segment_limit = std::min(team.segment_limit, caps.segment_bytes);
  team.inline_limit = std::min(team.inline_limit, caps.inline_bytes);
}

// Where there is no common memory, calls are kept for oneself.
std::byte* private_board(const esp_job& job, esp_team& handle) {
  handle.team.board_is_own = true;
  const std::uint64_t bytes = board_bytes(job, {handle.team.rows(), true, false});
  handle.private_board.resize(bytes + alignof(Board::Fault));
  void* memory = handle.private_board.data();
  std::size_t room = handle.private_board.size();
  return static_cast<std::byte*>(std::align(alignof(Board::Fault), bytes, memory, room));
}

}  // namespace

namespace {

std::uint64_t short_bytes(const esp_job& job, const BoardShape& shape) noexcept {
  const std::uint64_t most = job.config.short_bytes;
  return shape.several_nodes ? std::min(most, Board::kNodesShortBytes) : most;
}

}  // namespace

std::uint64_t board_bytes(const esp_job& job, const BoardShape& shape) noexcept {
  return shape.slots ? Board::bytes(shape.rows, short_bytes(job, shape))
                     : Board::bytes_of_calls(shape.rows);
}

Board board_in(const esp_job& job, std::byte* memory, const BoardShape& shape,
               std::uint64_t turn_base) noexcept {
  return shape.slots ? Board(memory, shape.rows, short_bytes(job, shape), turn_base)
                     : Board::of_calls(memory, shape.rows, turn_base);
}

esp_team& add_team(esp_job& job, std::uint32_t id, std::vector<Rank> members,
                   const TeamBoard& board) {
  auto handle = std::make_unique<esp_team>();
  handle->job = &job;
  Team& team = handle->team;
  team.id = id;
  const auto own = std::find(members.begin(), members.end(), job.rank);
  ESP_ASSERT(own != members.end());
  team.rank = static_cast<int>(own - members.begin());
  team.wire = job.shm_wire.get();
  team.segment_limit = job.shm_wire->caps(job.rank).segment_bytes;
  team.inline_limit = job.shm_wire->caps(job.rank).inline_bytes;
  auto membership = make_membership(job, std::move(members));
  const bool several = !membership->nodes.empty();
  if (several) span_nodes(job, team);
  team.set_membership(team.rank, std::move(membership));
  std::byte* memory = board.memory;
  if (memory == nullptr && several) memory = private_board(job, *handle);
  if (memory != nullptr) {
    team.board =
        board_in(job, memory, {team.rows(), several, board.slots}, std::uint64_t{id} << 40);
  }
  team.short_path = board.everywhere && !job.any_threaded && job.plain_config;
  ShortOperations::set_limits(team, job.engine->tuning());
  team.quick_allowed = team.short_path && !several && !job.trace.enabled() && !job.config.explain;
  team.quick = team.quick_allowed;
  job.watch->add(team);
  job.teams.push_back(std::move(handle));
  return *job.teams.back();
}

void bury_boards(esp_job& job) {
  std::erase_if(job.old_boards, [&](const OldBoard& old) {
    for (int row = 0; row < old.rows; ++row) {
      if (!old.board.has_freed(row)) return false;
    }
    return job.heap->release(old.memory);
  });
}

Result<std::unique_ptr<esp_job>> bring_up(const esp_job_options& options) {
  auto job = std::make_unique<esp_job>();
  job->completed.job = job.get();
  job->completed.state.store(esp_request::kEnded, std::memory_order_relaxed);
  auto config = config_from_env(options.settings);
  if (!config) return config.error();
  job->config = std::move(*config);
  job->devices.emplace(*job);
  if (auto done = choose_kernels(job->config); !done) return done.error();
  job->state = open_rank_state(Log(job->config.log_level));
  if (job->state != nullptr) job->state->enter(RankPhase::kJoining);
  job->user_operators.reserve(200);  // Never moves: read by any thread that calls a reduction.
  job->log = Log(job->config.log_level);
  job->threaded = options.thread_mode == ESP_THREAD_PROGRESS || job->config.progress_thread;
  job->config.progress_thread = job->threaded;
  job->plain_config = (job->config.algorithm == ESP_ALGORITHM_AUTO ||
                       job->config.algorithm == ESP_ALGORITHM_SHORT) &&
                      job->config.shape == ESP_SHAPE_AUTO && job->config.radix == 0 &&
                      job->config.variant == ESP_VARIANT_EVENT;
  auto level_shapes = parse_level_shapes(job->config.level_shapes);
  if (!level_shapes) return level_shapes.error();
  job->level_shapes = *level_shapes;
  auto profile = find_profile(job->config);
  if (!profile) return profile.error();
  job->profile = std::move(*profile);
  auto bootstrap = open_bootstrap(options.bootstrap, job->config);
  if (bootstrap) job->bootstrap = std::move(*bootstrap);
  say_warnings_for_node(*job);
  if (!bootstrap) return bootstrap.error();
  job->rank = job->bootstrap->rank();
  job->size = job->bootstrap->size();
  job->log = Log(job->config.log_level, job->rank);
  if (auto done = begin_trace(*job); !done) return done.error();
  auto wires = parse_wires(job->config.wires);
  if (!wires) {
    return error(ESP_ERR_CONFIG, fmt::format("{} on rank {}: {}", job->config.written_name("WIRES"),
                                             job->rank, wires.error().text));
  }
  if (auto done = open_network(*job, *wires); !done) return done.error();
  const shm::Layout layout(local_ranks_at_most(*job), job->config.shm_arena_bytes,
                           job->config.heap_bytes);
  if (auto done = shm::Segment::check_limits(layout); !done) return done.error();
  if (job->size > 1 && allows(*wires, WireKind::kShm)) {
    if (auto done = open_meeting_point(*job); !done) return done.error();
  }
  if (auto done = exchange_cards(*job, *wires); !done) return done.error();
  if (auto done = find_peers(*job, *wires); !done) return done.error();
  if (auto done = share_memory(*job); !done) return done.error();
  say_differing_warnings(*job);
  fill_tables(*job);
  if (auto done = make_wires(*job); !done) return done.error();
  agree_on_profile(*job);
  make_worker(*job);
  add_world(*job);
  if (job->threaded) {
    if (auto done = start_progress_thread(*job); !done) return done.error();
  }
  job->log.debug("job {} up: rank {} of {} on {} nodes, {} ranks here, {} cpus, CMA {}",
                 job->bootstrap->job_id(), job->rank, job->size, job->nodes.count(),
                 job->nodes.locals.size(), job->nodes.usable_cpus, job->pull_probes->text());
  if (job->state != nullptr) job->state->enter(RankPhase::kJoined);
  return job;
}

}  // namespace espalier
