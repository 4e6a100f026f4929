// How a job ends: what is under way is cancelled, everybody waits for everybody, the last calls are
// compared once more.
// path: setup
#include <algorithm>

#include "api/api.hpp"
#include "api/handles.hpp"

namespace espalier {
namespace {

constexpr std::uint64_t kLookNs = 20'000'000;
// What is on its way to other nodes, good-byes included, has so long to get there.
constexpr std::uint64_t kDrainNs = 2'000'000'000;
// All ranks are in finalize when a node asks another about the last calls: who is silent for so
// long has gone.
constexpr std::uint64_t kAnswerNs = 10'000'000'000;

// Nobody unmaps or leaves while another still copies from here. Not a barrier of the bootstrap:
// that would not end for the survivors of a death.
void wait_for_locals(esp_job& job) {
  const auto flags = [&](std::uint32_t i) -> shm::RankBlock::Flags& {
    return job.segment->rank_block(i).flags;
  };
  flags(job.nodes.local_index).leaving.store(1, std::memory_order_release);
  for (std::uint32_t i = 0; i < job.nodes.locals.size(); ++i) {
    (void)Doorbell::ring(job.segment->rank_block(i).bell);
  }
  std::vector<bool> dead(job.nodes.locals.size(), false);
  const std::uint64_t begin = job.clock.now_ns();
  std::uint64_t looked = begin;
  job.worker->wait([&] {
    const std::uint64_t now = job.clock.now_ns();
    const bool look = now - looked > kLookNs;
    if (look) looked = now;
    for (std::uint32_t i = 0; i < job.nodes.locals.size(); ++i) {
      if (dead[i] || flags(i).leaving.load(std::memory_order_acquire) != 0 ||
          flags(i).left.load(std::memory_order_acquire) != 0) {
        continue;
      }
      if (look) dead[i] = job.liveness->is_dead(job.nodes.locals[i]);
      const bool too_late =
          job.config.timeout > 0 && static_cast<double>(now - begin) > job.config.timeout * 1e9;
      if (!dead[i] && !too_late) return false;
    }
    return true;
  });
}

// Calls that differed without anybody meeting it: a root is complete before the others have called.
Outcome compare_calls(const std::vector<Team*>& teams) {
  for (const Team* team : teams) {
    std::uint64_t sequence = 0;
    int member = -1;
    CallSignature mine, theirs;
    if (!find_difference(*team, sequence, member, mine, theirs)) continue;
    const Rank other = team->members[static_cast<std::size_t>(member)];
    return error(ESP_ERR_MISMATCH, explain_mismatch(*team, mine, other), other);
  }
  return Unit{};
}

// The step of all ranks of the job, on whatever node; or they do not do it together.
void take_step(esp_job& job, Leaving::Step step, const FoundMismatch& found = {}) {
  const std::uint64_t begin = job.clock.now_ns();
  const double limit = job.config.timeout * 1e9;
  job.leaving->reach(step, found);
  job.worker->wait([&] {
    if (job.leaving->complete(step)) return true;
    return limit > 0 && static_cast<double>(job.clock.now_ns() - begin) > limit;
  });
  if (!job.leaving->complete(step)) job.leaving->abandon();
}

// The first member of a team on each node compares the node's calls with those of the team's first
// node, which learns of them by the question.
void ask_first_node(esp_job& job, const std::vector<Team*>& teams) {
  std::vector<std::pair<Team*, int>> asked;
  for (Team* team : teams) {
    const TeamNodes* nodes = team->nodes();
    if (nodes == nullptr || nodes->node_of(team->rank) == 0 || nodes->place(team->rank) != 0) {
      continue;
    }
    const int member = nodes->member(0, 0);
    team->remote[member].first_asked_ns = job.clock.now_ns();
    team->remote[member].asked_about = team->sequence;
    job.news->ask_now(*team, member);
    asked.emplace_back(team, member);
  }
  const std::uint64_t begin = job.clock.now_ns();
  std::uint64_t looked = 0;
  job.worker->wait([&] {
    const std::uint64_t now = job.clock.now_ns();
    if (now - looked < kLookNs) {
      return std::none_of(asked.begin(), asked.end(),
                          [](auto& one) { return !one.first->has_answered(one.second); });
    }
    looked = now;
    bool all = true;
    for (auto& [team, member] : asked) {
      const Rank rank = team->members[static_cast<std::size_t>(member)];
      if (team->has_answered(member) || job.leaving->abandoned() || job.liveness->is_dead(rank)) {
        continue;
      }
      job.news->ask(*team, member);  // A question to a rank that has left tells that it has.
      all = false;
    }
    return all || now - begin > kAnswerNs;
  });
}

// A mismatch that was found on another node: not by this rank, which so cannot say whose fault it
// is.
Outcome find_told(const esp_job& job, const std::vector<Team*>& teams) {
  const FoundMismatch told = job.leaving->mismatch();
  for (const Team* team : teams) {
    if (told.blamed == kNoRank || told.team != team->id) continue;
    // All teams of a split have the same number.
    if (team->member_of(told.blamed) < 0) continue;
    CallSignature mine;
    (void)team->read_call(team->rank, team->sequence, mine);
    return error(ESP_ERR_MISMATCH, explain_mismatch(*team, mine, kNoRank));
  }
  return Unit{};
}

// What this rank has found, for those who could not.
FoundMismatch first_difference(const std::vector<Team*>& teams) {
  for (Team* team : teams) {
    const Outcome compared = compare_calls({team});
    if (!compared) return {team->id, compared.error().status.rank()};
  }
  return {};
}

// `sound`: teams on which nothing has failed. `differing`: on which a mismatch has ended a call; a
// letter about it may come too late for those who have nothing more to call.
Outcome leave_together(esp_job& job, const std::vector<Team*>& sound,
                       const std::vector<Team*>& differing) {
  job.news->set_leaving();
  take_step(job, Leaving::Step::kLeaving);
  if (job.leaving->abandoned()) {
    wait_for_locals(job);
    return compare_calls(sound);
  }
  ask_first_node(job, sound);
  FoundMismatch found = first_difference(sound);
  if (found.blamed == kNoRank) found = first_difference(differing);
  take_step(job, Leaving::Step::kCompared, found);
  Outcome compared = compare_calls(sound);
  return compared ? find_told(job, sound) : compared;
}

void close_network(esp_job& job) {
  // What is still owed to them would be sent again and again.
  for (Rank rank = 0; rank < job.size; ++rank) {
    if (rank != job.rank && job.liveness->is_dead(rank)) job.network->lose(rank);
  }
  // A peer that takes nothing more does not keep the others from being told.
  const auto wait = [&](auto&& done) {
    const std::uint64_t begin = job.clock.now_ns();
    job.worker->wait([&] { return done() || job.clock.now_ns() - begin > kDrainNs; });
  };
  job.network->leave_groups();
  wait([&] { return job.network->all_posted(); });
  job.network->say_goodbye();
  wait([&] { return job.network->drained(); });
}

}  // namespace

Outcome take_down(esp_job& job) {
  job.worker->stop_thread();
  job.threaded = false;  // From here on the caller is the owner, also for callbacks.
  job.leaving_job = true;
  job.worker->set_state(job.state.get());
  if (job.state != nullptr) job.state->enter(RankPhase::kLeaving);
  std::vector<Team*> sound, differing;
  for (const auto& handle : job.teams) {
    const esp_status fault = handle->team.fault.code();
    if (fault == ESP_OK) sound.push_back(&handle->team);
    if (fault == ESP_ERR_MISMATCH) differing.push_back(&handle->team);
    if (fault != ESP_OK && job.network != nullptr) job.network->abandon_group(handle->team.id);
    job.engine->cancel(handle->team);
  }
  job.worker->call_back([&] {
    job.devices->close();
    job.tags->close();
    job.one_sided->close();
    while (job.engine->progress() + job.short_operations->progress() + job.deferred.progress() >
           0) {
    }
  });
  while (job.open_requests != nullptr) api::release_request(job, *job.open_requests);
  // A job that has lost a member, or waited for one that did not come, does not wait again.
  const bool whole = std::none_of(job.teams.begin(), job.teams.end(), [](const auto& handle) {
    const esp_status fault = handle->team.fault.code();
    return fault == ESP_ERR_PEER_DIED || fault == ESP_ERR_TIMEOUT;
  });
  Outcome compared = Unit{};
  if (!whole) {
    if (job.network != nullptr) job.leaving->abandon();
  } else if (job.network != nullptr) {
    compared = leave_together(job, sound, differing);
  } else {
    wait_for_locals(job);
    compared = compare_calls(sound);
  }
  if (job.network != nullptr) close_network(job);
  job.segment->rank_block(job.nodes.local_index).flags.left.store(1, std::memory_order_release);
  job.segment->header().lives.changes.fetch_add(1, std::memory_order_release);
  write_trace_file(job);
  auto closed = job.bootstrap->close();
  return compared ? closed : compared;
}

}  // namespace espalier
