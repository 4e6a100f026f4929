// The composition root: bootstrap, shared segment, wire, worker, engine, in this order.
// path: setup
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "bootstrap/api.hpp"
#include "bootstrap/config_from_env.hpp"
#include "bootstrap/job.hpp"
#include "core/prng.hpp"
#include "shm/cma.hpp"

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

namespace espalier {
namespace {

Outcome exchange_cards(esp_job& job, int memory_file) {
  job.nonce = std::make_unique<std::uint64_t>(job.clock.now_ns() * 0x9e3779b97f4a7c15ULL ^
                                              static_cast<std::uint64_t>(::getpid()) << 32 ^
                                              reinterpret_cast<std::uint64_t>(&job));
  // Under Yama (ptrace_scope 1) a process may allow its siblings to read it; elsewhere this fails.
  if (job.config.cma != CmaMode::kOff) (void)::prctl(PR_SET_PTRACER, ~0UL, 0, 0, 0);
  const Card card = make_card(job.config, *job.nonce, memory_file);
  auto blobs = job.bootstrap->exchange(card_bytes(card));
  if (!blobs) return blobs.error();
  if (blobs->size() != static_cast<std::size_t>(job.size)) {
    return error(ESP_ERR_BOOTSTRAP, fmt::format("the bootstrap returned {} cards for {} ranks",
                                                blobs->size(), job.size));
  }
  for (int r = 0; r < job.size; ++r) {
    auto parsed = parse_card((*blobs)[static_cast<std::size_t>(r)], r);
    if (!parsed) return parsed.error();
    job.cards.push_back(*parsed);
  }
  return check_agreement(job.cards, job.rank);
}

// Finds the ranks of this machine. Until there is a network wire, that must be all.
Outcome find_locals(esp_job& job) {
  const Card& mine = job.cards[static_cast<std::size_t>(job.rank)];
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (int r = 0; r < job.size; ++r) {
    const Card& card = job.cards[static_cast<std::size_t>(r)];
    job.any_threaded = job.any_threaded || card.progress_thread != 0;
    if (card.machine != mine.machine) {
      return error(ESP_ERR_UNSUPPORTED,
                   fmt::format("rank {} runs on {} and rank {} on {}: this version connects only "
                               "ranks of one machine",
                               r, card.host, job.rank, mine.host),
                   r);
    }
    if (r == job.rank) job.local_index = static_cast<std::uint32_t>(job.locals.size());
    job.locals.push_back(r);
    CPU_OR(&cpus, &cpus, &card.cpus);
  }
  job.usable_cpus = std::max(1, CPU_COUNT(&cpus));
  if (job.locals.size() > shm::kMaxLocalRanks) {
    return error(ESP_ERR_UNSUPPORTED,
                 fmt::format("{} ranks on one machine, at most {} are possible", job.locals.size(),
                             shm::kMaxLocalRanks));
  }
  return Unit{};
}

// All arenas together should stay well below the last cache, each hold a message or two of a MiB.
std::uint64_t arena_bytes(std::uint64_t configured, std::size_t ranks) noexcept {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  if (configured == 0) return std::clamp<std::uint64_t>(32 * kMiB / ranks, 2 * kMiB, 4 * kMiB);
  return std::max<std::uint64_t>((configured + 4095) / 4096 * 4096, 65536);
}

Outcome map_segment(esp_job& job, shm::MemoryFile own) {
  const Rank leader = job.locals.front();
  const Card& card = job.cards[static_cast<std::size_t>(leader)];
  if (leader != job.rank) {
    auto opened = shm::MemoryFile::open_of(static_cast<pid_t>(card.pid), card.memory_file);
    if (!opened) return opened.error();
    own = std::move(*opened);
  }
  job.config.heap_bytes = (job.config.heap_bytes + 4095) / 4096 * 4096;
  job.config.shm_arena_bytes = arena_bytes(job.config.shm_arena_bytes, job.locals.size());
  const shm::Layout layout(static_cast<std::uint32_t>(job.locals.size()),
                           job.config.shm_arena_bytes, job.config.heap_bytes);
  auto segment = shm::Segment::map(std::move(own), layout, job.local_index);
  if (!segment) return segment.error();
  job.segment = std::move(*segment);
  job.heap.emplace(job.segment->heap(job.local_index), job.config.heap_bytes);
  const bool asymmetric = std::all_of(job.cards.begin(), job.cards.end(),
                                      [](const Card& c) { return c.asymmetric_fence != 0; });
  job.doorbell.emplace(job.segment->rank_block(job.local_index).bell,
                       job.segment->header().sleepers, asymmetric);
  return Unit{};
}

// Which local ranks may this one read by CMA?
Outcome probe_pulls(esp_job& job) {
  shm::RankBlock& mine = job.segment->rank_block(job.local_index);
  std::size_t allowed = 0;
  for (std::uint32_t i = 0; i < job.locals.size(); ++i) {
    shm::ProbeResult result{shm::PullAccess::kNo, 0};
    const Card& card = job.cards[static_cast<std::size_t>(job.locals[i])];
    if (job.config.cma != CmaMode::kOff) {
      result = shm::probe_pull(static_cast<pid_t>(card.pid), card.nonce_address, card.nonce);
    }
    mine.may_pull[i].store(static_cast<std::uint8_t>(result.access), std::memory_order_relaxed);
    if (result.access == shm::PullAccess::kYes) {
      ++allowed;
    } else if (job.config.cma == CmaMode::kOff) {
      job.pull_text = "off: ESPALIER_CMA=off";
    } else if (job.pull_text.empty()) {
      job.pull_text = fmt::format("denied for rank {}: {}", job.locals[i],
                                  shm::explain_denied(result.error_number));
    }
  }
  if (allowed == job.locals.size()) job.pull_text = "available between all ranks of this machine";
  if (job.config.cma == CmaMode::kOn && allowed != job.locals.size()) {
    return error(ESP_ERR_UNSUPPORTED, "ESPALIER_CMA=on, but CMA is " + job.pull_text);
  }
  return Unit{};
}

// More ranks than cores. All ranks answer alike.
bool is_crowded(const esp_job& job) noexcept {
  return static_cast<int>(job.locals.size()) > job.usable_cpus;
}

WaitPolicy wait_policy(const esp_job& job) {
  const bool crowded = is_crowded(job);
  WaitPolicy policy;
  policy.spins = crowded ? 8 : 1000;
  policy.yield_ns = crowded ? 2'000'000 : 100'000;
  if (job.config.spin_us >= 0) {
    // A look with a pause takes about 40 ns. Nobody looks around in the first part of the spinning,
    // so that part is short: a death is found in time also by those who spin for a minute.
    const double blind_us = std::min(job.config.spin_us, 40.0);
    policy.spins = static_cast<std::uint32_t>(blind_us * 25);
    policy.spin_ns = static_cast<std::uint64_t>((job.config.spin_us - blind_us) * 1000);
  }
  if (job.config.yield_us >= 0) {
    policy.yield_ns = static_cast<std::uint64_t>(job.config.yield_us * 1000);
  }
  return policy;
}

void connect(esp_job& job) {
  std::vector<shm::ShmPeer> peers;
  for (const Rank r : job.locals) {
    peers.push_back({r, static_cast<pid_t>(job.cards[static_cast<std::size_t>(r)].pid)});
  }
  shm::ShmOptions options;
  options.quantum_bytes = job.config.cma_quantum_bytes;
  options.crowded = is_crowded(job);
  options.measure_pull = job.config.cma_threshold_bytes == 0;
  if (!options.measure_pull) options.pull.threshold = job.config.cma_threshold_bytes;
  job.shm_wire = std::make_unique<shm::ShmWire>(*job.segment, peers, job.size, options,
                                                *job.doorbell, job.counters);
  job.liveness =
      std::make_unique<NodeLiveness>(*job.segment, job.cards, job.locals, job.rank, *job.bootstrap);
  job.worker = std::make_unique<Worker>(job.clock, *job.doorbell, job.counters, wait_policy(job));
  Tuning tuning;
  // Spreading a reduction over all ranks pays at once when they run at once; when they take turns,
  // each of its two exchanges costs a round of the scheduler. Measured with esp-bench, 2 cores: at
  // 2 ranks spread is ahead from 4 KiB on, at 4 and 8 ranks gathering is up to about 128 KiB.
  tuning.preferred_algorithm = job.config.algorithm;
  tuning.allreduce_gather_bytes = is_crowded(job) ? 131072 : 4095;
  // Measured on the same machine at 4 and 16 ranks: broadcasts, reductions and spread allreduces of
  // 32 KiB to 4 MiB take 5-20 % less than with 8 KiB.
  if (is_crowded(job)) {
    tuning.segment_bytes_min = 32768;
    tuning.gather_ranks = std::max(tuning.gather_ranks, 8 * job.usable_cpus);
  }
  if (job.config.segment_bytes > 0) {
    tuning.segment_bytes_min = tuning.segment_bytes_max = job.config.segment_bytes;
    tuning.spread_bytes_min = job.config.segment_bytes;
  }
  if (job.config.window_send > 0) tuning.window_send = job.config.window_send;
  if (job.config.window_recv > 0) tuning.window_recv = job.config.window_recv;
  job.engine = std::make_unique<Engine>(job.clock, job.counters, job.trace, tuning);
  job.short_path = std::make_unique<ShortPath>(*job.worker, *job.engine, *job.doorbell);
  WatchLimits limits;
  limits.warn_ns = static_cast<std::uint64_t>(job.config.stall_warning * 1e9);
  limits.timeout_ns = static_cast<std::uint64_t>(job.config.timeout * 1e9);
  job.watch = std::make_unique<TeamWatch>(*job.engine, *job.liveness, job.log, limits);
  job.worker->attach(*job.shm_wire);
  job.worker->attach(*job.engine);
  job.worker->attach(job.deferred);
  job.worker->set_watchdog(job.watch.get());
}

Outcome choose_kernels(Config& config) {
  if (config.isa == Isa::kAuto) config.isa = best_isa();
  if (isa_supported(config.isa)) return Unit{};
  return error(ESP_ERR_UNSUPPORTED,
               fmt::format("ESPALIER_ISA={}, but this processor and this build have kernels for {}",
                           isa_name(config.isa), supported_isas_text()));
}

void fill_tables(esp_job& job) {
  const KernelTable& kernels = *kernels_of(job.config.isa);
  for (int type = 0; type < ESP_TYPE_COUNT; ++type) {
    const auto t = static_cast<esp_type>(type);
    job.short_tables.type_bytes[static_cast<std::size_t>(type)] = type_size(t);
    for (int op = 0; op < ESP_OP_BUILTIN_COUNT; ++op) {
      job.short_tables.kernels[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)] =
          kernels[kernel_index(op, t)];
    }
  }
}

// The world's board is the first allocation of the lowest rank's heap, so its place needs no
// telling.
void add_world(esp_job& job) {
  std::vector<Rank> members(static_cast<std::size_t>(job.size));
  for (int r = 0; r < job.size; ++r) members[static_cast<std::size_t>(r)] = r;
  const std::uint64_t bytes = Board::bytes(job.size, job.config.short_bytes);
  std::byte* board = bytes <= job.config.heap_bytes ? job.segment->heap(0) : nullptr;
  if (board != nullptr && job.local_index == 0) (void)job.heap->allocate(bytes);
  add_team(job, 0, std::move(members), board).is_world = true;
}

}  // namespace

esp_team& add_team(esp_job& job, std::uint32_t id, std::vector<Rank> members, std::byte* board) {
  auto handle = std::make_unique<esp_team>();
  handle->job = &job;
  Team& team = handle->team;
  team.id = id;
  const auto own = std::find(members.begin(), members.end(), job.rank);
  ESP_ASSERT(own != members.end());
  team.rank = static_cast<int>(own - members.begin());
  auto membership = std::make_shared<Membership>();
  for (const Rank r : members) {
    membership->bells.push_back(&job.segment->rank_block(job.shm_wire->local(r)).bell);
  }
  membership->ranks = std::move(members);
  team.set_membership(std::move(membership));
  team.wire = job.shm_wire.get();
  team.segment_limit = job.shm_wire->caps(job.rank).segment_bytes;
  team.inline_limit = job.shm_wire->caps(job.rank).inline_bytes;
  if (board != nullptr) {
    team.board = Board(board, team.size(), job.config.short_bytes, std::uint64_t{id} << 40);
    team.short_path = !job.any_threaded && job.plain_config;
  }
  job.watch->add(team);
  job.teams.push_back(std::move(handle));
  return *job.teams.back();
}

void bury_boards(esp_job& job) {
  std::erase_if(job.old_boards, [&](const OldBoard& old) {
    for (int member = 0; member < old.members; ++member) {
      if (!old.board.has_entered(member, old.last)) return false;
    }
    return job.heap->release(old.memory);
  });
}

Result<std::unique_ptr<esp_job>> bring_up(const esp_job_options& options) {
  auto job = std::make_unique<esp_job>();
  job->completed.job = job.get();
  job->completed.done.store(1, std::memory_order_relaxed);
  auto config = config_from_env(options.settings);
  if (!config) return config.error();
  job->config = std::move(*config);
  if (auto done = choose_kernels(job->config); !done) return done.error();
  if (job->config.shape == ESP_SHAPE_KNOMIAL && job->config.radix == 1) {
    return error(ESP_ERR_CONFIG, "SHAPE=knomial needs a RADIX of 2 or more, not 1");
  }
  job->user_operators.reserve(200);  // Never moves: read by any thread that calls a reduction.
  job->log = Log(job->config.log_level);
  for (const std::string& warning : job->config.warnings) job->log.warn("{}", warning);
  job->threaded = options.thread_mode == ESP_THREAD_PROGRESS || job->config.progress_thread;
  job->config.progress_thread = job->threaded;
  job->plain_config = (job->config.algorithm == ESP_ALGORITHM_AUTO ||
                       job->config.algorithm == ESP_ALGORITHM_SHORT) &&
                      job->config.shape == ESP_SHAPE_AUTO && job->config.radix == 0 &&
                      job->config.variant == ESP_VARIANT_EVENT;
  auto bootstrap = open_bootstrap(options.bootstrap, job->config);
  if (!bootstrap) return bootstrap.error();
  job->bootstrap = std::move(*bootstrap);
  job->rank = job->bootstrap->rank();
  job->size = job->bootstrap->size();
  job->log = Log(job->config.log_level, job->rank);
  if (job->config.trace) {
    auto trace = Trace::create(job->config.trace_events, job->clock);
    if (!trace) return trace.error();
    job->trace = std::move(*trace);
  }
  // All ranks are on this machine, or find_locals() ends the matter.
  const std::uint32_t ranks = std::min(static_cast<std::uint32_t>(job->size), shm::kMaxLocalRanks);
  const shm::Layout layout(ranks, job->config.shm_arena_bytes, job->config.heap_bytes);
  if (auto done = shm::Segment::check_limits(layout); !done) return done.error();
  auto file = shm::MemoryFile::create();
  if (!file) return file.error();
  if (auto done = exchange_cards(*job, file->fd()); !done) return done.error();
  if (auto done = find_locals(*job); !done) return done.error();
  if (auto done = map_segment(*job, std::move(*file)); !done) return done.error();
  if (auto done = probe_pulls(*job); !done) return done.error();
  fill_tables(*job);
  connect(*job);
  add_world(*job);
  if (job->threaded) {
    if (auto done = job->worker->enable_submission(); !done) return done.error();
    if (auto done = job->worker->start_thread(); !done) return done.error();
  }
  job->log.debug("job {} up: rank {} of {}, {} ranks on {} cpus, {}", job->bootstrap->job_id(),
                 job->rank, job->size, job->locals.size(), job->usable_cpus, job->pull_text);
  return job;
}

// Nobody unmaps or leaves while another still copies from here. Not a barrier of the bootstrap:
// that would not end for the survivors of a death.
static void wait_for_others(esp_job& job) {
  const auto flags = [&](std::uint32_t i) -> shm::RankBlock::Flags& {
    return job.segment->rank_block(i).flags;
  };
  flags(job.local_index).leaving.store(1, std::memory_order_release);
  for (std::uint32_t i = 0; i < job.locals.size(); ++i) {
    (void)Doorbell::ring(job.segment->rank_block(i).bell);
  }
  std::vector<bool> dead(job.locals.size(), false);
  const std::uint64_t begin = job.clock.now_ns();
  std::uint64_t looked = begin;
  job.worker->wait([&] {
    const std::uint64_t now = job.clock.now_ns();
    const bool look = now - looked > 20'000'000;
    if (look) looked = now;
    for (std::uint32_t i = 0; i < job.locals.size(); ++i) {
      if (dead[i] || flags(i).leaving.load(std::memory_order_acquire) != 0) continue;
      if (look) dead[i] = job.liveness->is_dead(job.locals[i]);
      const bool too_late =
          job.config.timeout > 0 && static_cast<double>(now - begin) > job.config.timeout * 1e9;
      if (!dead[i] && !too_late) return false;
    }
    return true;
  });
}

// Calls that differed without anybody meeting it: a root is complete before the others have called.
static Outcome compare_calls(const std::vector<Team*>& teams) {
  for (const Team* team : teams) {
    std::uint64_t sequence = 0;
    int member = -1;
    CallSignature mine, theirs;
    if (!find_difference(*team, sequence, member, mine, theirs)) continue;
    const Rank other = team->members[static_cast<std::size_t>(member)];
    return error(ESP_ERR_MISMATCH, explain_mismatch(*team, mine, other));
  }
  return Unit{};
}

Outcome take_down(esp_job& job) {
  job.worker->stop_thread();
  job.threaded = false;  // From here on the caller is the owner, also for callbacks.
  std::vector<Team*> sound;
  for (const auto& handle : job.teams) {
    if (!handle->team.failed()) sound.push_back(&handle->team);
    job.engine->cancel(handle->team);
  }
  while (job.engine->progress() + job.deferred.progress() > 0) {
  }
  while (job.open_requests != nullptr) api::release_request(job, *job.open_requests);
  // A job that has lost a member, or waited for one that did not come, does not wait again.
  const bool whole = std::none_of(job.teams.begin(), job.teams.end(), [](const auto& handle) {
    const esp_status fault = handle->team.fault.code();
    return fault == ESP_ERR_PEER_DIED || fault == ESP_ERR_TIMEOUT;
  });
  Outcome compared = Unit{};
  if (whole) {
    wait_for_others(job);
    compared = compare_calls(sound);
  }
  job.segment->rank_block(job.local_index).flags.left.store(1, std::memory_order_release);
  auto closed = job.bootstrap->close();
  return compared ? closed : compared;
}

}  // namespace espalier
