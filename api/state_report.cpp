#include "api/state_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/handles.hpp"
#include "bootstrap/launcher_env.hpp"

namespace espalier {
namespace {

// More would not fit, and tell no more.
constexpr std::size_t kLinesMost = 8, kRangesMost = 16;

// "ranks 0-2, 5", "rank 3"
std::string ranks_text(std::vector<Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < ranks.size(); ++ranges) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (ranges == kRangesMost) return text + fmt::format(" and {} more", ranks.size() - i);
    text += fmt::format("{}{}", ranges == 0 ? "" : ", ", ranks[i]);
    if (end - i > 1) text += fmt::format("-{}", ranks[end - 1]);
    i = end;
  }
  return text;
}

void add_line(std::string& text, std::uint64_t waited_ns, const std::string& what,
              const std::vector<Rank>& awaited) {
  text += fmt::format("\n{}\t{}", waited_ns, what);
  if (!awaited.empty()) text += "; awaits " + ranks_text(awaited);
}

std::vector<Rank> locals_not_leaving(esp_job& job) {
  std::vector<Rank> ranks;
  for (const Rank rank : job.nodes.locals) {
    const bool gone = job.liveness->is_leaving(rank) || job.liveness->has_left(rank);
    if (rank != job.rank && !gone) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace

void StateReport::look(std::uint64_t since_ns, std::uint64_t now_ns) noexcept {
  teams_.look(since_ns, now_ns);
  job_.tags->look(since_ns, now_ns);
  if (job_.state == nullptr) return;
  const std::uint64_t parks = job_.counters.parks.value();
  const bool slept = std::exchange(parks_, parks) != parks;
  if (!job_.state->look()) return;
  const char* how = job_.threaded ? "thread" : slept ? "asleep" : "awake";
  job_.state->answer(text(how, since_ns, now_ns));
}

void StateReport::look_of_poller(std::uint64_t since_ns, std::uint64_t now_ns) noexcept {
  teams_.look(since_ns, now_ns);
  job_.tags->look(since_ns, now_ns);
  if (job_.state == nullptr || !job_.state->look()) return;
  job_.state->answer(text("polls", since_ns, now_ns));
}

std::string StateReport::text(const char* how, std::uint64_t since_ns, std::uint64_t now_ns) {
  std::string text = how;
  const std::uint64_t waited_ns = elapsed_ns(since_ns, now_ns);
  std::vector<TeamWait> waits = teams_.waits(since_ns, now_ns);
  for (TeamWait& wait : job_.tags->waits(now_ns)) waits.push_back(std::move(wait));
  for (std::size_t i = 0; i < std::min(waits.size(), kLinesMost); ++i) {
    add_line(text, waits[i].waited_ns, waits[i].text, waits[i].awaited);
  }
  if (waits.size() > kLinesMost) {
    add_line(text, waited_ns, fmt::format("{} operations more", waits.size() - kLinesMost), {});
  }
  const std::vector<Rank> targets = job_.one_sided->targets();
  if (!targets.empty()) {
    add_line(text, waited_ns,
             fmt::format("{} one-sided operations and messages", job_.one_sided->open()), targets);
  }
  if (job_.counter_waits.load(std::memory_order_relaxed) != 0) {
    add_line(text, waited_ns, "esp_counter_wait", {});
  }
  if (job_.leaving_job) add_line(text, waited_ns, "esp_job_finalize", locals_not_leaving(job_));
  return text;
}

std::unique_ptr<RankState> open_rank_state(const Log& log) {
  const std::optional<RankStatePlace> place = take_rank_state_place();
  if (!place) return nullptr;
  auto state = RankState::open(*place);
  if (state) return std::move(*state);
  log.debug("{}", state.error().text);
  return nullptr;
}

}  // namespace espalier
