// TeamWatch: what is waited for, for a launcher that asks.
#include <fmt/format.h>

#include "coll/team/watch.hpp"

namespace espalier {
namespace {

// "receive of 8 bytes on channel 3"
std::string message_text(bool sends, std::uint64_t bytes, unsigned channel) {
  return fmt::format("{} of {} bytes on channel {}", sends ? "send" : "receive", bytes, channel);
}

bool sends(const Instance& message) {
  return message.plan->vertices.front().action == Action::kSend;
}

std::vector<Rank> ranks_of(const Team& team, const std::vector<int>& members) {
  std::vector<Rank> ranks;
  for (const int member : members) ranks.push_back(team.members[static_cast<std::size_t>(member)]);
  return ranks;
}

}  // namespace

std::vector<TeamWait> TeamWatch::waits(std::uint64_t since_ns, std::uint64_t now_ns) const {
  std::vector<TeamWait> found;
  const std::uint64_t waited_ns = elapsed_ns(since_ns, now_ns);
  for (const Watched& watched : watched_) {
    const Team& team = *watched.team;
    const std::string where = fmt::format("team {}", team.id);
    if (const Pending what = pending(team); is_collective(what)) {
      const bool known = what.identity == watched.identity && what.sequence == watched.sequence;
      const std::uint64_t begin_ns = known ? std::max(since_ns, watched.since_ns) : since_ns;
      found.push_back(
          {fmt::format("{} (operation {} on {})", what.signature.to_text(), what.sequence, where),
           elapsed_ns(begin_ns, now_ns), late(team, what)});
      continue;
    }
    for (const Instance* i = team.active; i != nullptr; i = i->active_next) {
      if (i->channel == 0) continue;
      found.push_back(
          {fmt::format("{} of {}", message_text(sends(*i), i->call.bytes(), i->channel - 256U),
                       where),
           waited_ns, ranks_of(team, partners(*i))});
    }
  }
  return found;
}

}  // namespace espalier
