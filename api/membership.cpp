#include "api/membership.hpp"

#include <numeric>

#include "coll/plan/plan.hpp"

namespace espalier {
namespace {

std::vector<std::int32_t> nodes_of(const esp_job& job, const Membership& membership) {
  std::vector<std::int32_t> node_of;
  for (const Rank r : membership.ranks) node_of.push_back(job.directory.node_of(r));
  return node_of;
}

// By member; empty where nothing is known.
std::vector<NetworkPlace> network_places(const esp_job& job, const Membership& membership) {
  std::vector<NetworkPlace> places;
  if (job.directory.head().has_network_places == 0) return places;
  for (const Rank r : membership.ranks) places.push_back(job.directory.site(r).network);
  return places;
}

// Nodes, and who talks to others for them.
void find_nodes(const esp_job& job, Membership& membership) {
  const std::vector<NetworkPlace> network_of = network_places(job, membership);
  membership.nodes = TeamNodes::of(nodes_of(job, membership), {}, network_of);
  std::vector<std::int32_t> heads(static_cast<std::size_t>(membership.nodes.count()));
  std::iota(heads.begin(), heads.end(), 0);
  std::vector<NetworkPlace> network_of_heads;
  if (!network_of.empty()) {
    for (const std::int32_t node : heads) {
      const std::int32_t head = membership.nodes.head(node);
      network_of_heads.push_back(network_of[static_cast<std::size_t>(head)]);
    }
  }
  membership.heads = TeamNodes::of(heads, {}, network_of_heads);
}

// As far as LEVELS follows it.
MemberLocality followed(LevelRule rule, const MemberLocality& place) {
  if (rule < LevelRule::kBoard) return place;
  const auto level = static_cast<std::size_t>(rule) - static_cast<std::size_t>(LevelRule::kBoard);
  MemberLocality one = kBoundNowhere;
  one[level] = place[level];
  return one;
}

std::vector<MemberLocality> localities(const esp_job& job, const Membership& membership) {
  std::vector<MemberLocality> locality_of;
  for (const Rank r : membership.ranks) {
    locality_of.push_back(followed(job.config.levels, job.directory.site(r).locality));
  }
  return locality_of;
}

// Members that are bound to several sockets or the like, of whatever node.
void find_levels(const esp_job& job, Membership& membership) {
  const std::vector<NetworkPlace> network_of = network_places(job, membership);
  membership.follow(
      TeamNodes::of(nodes_of(job, membership), localities(job, membership), network_of),
      network_of);
}

// Nodes may have parts with leaders of their own.
bool may_have_parts(const esp_job& job) {
  if (job.network == nullptr || job.network->group_payload_bytes() == 0) return false;
  const MulticastLeaders by = job.config.multicast_leaders;
  if (by == MulticastLeaders::kSocket) return true;
  return by != MulticastLeaders::kNode && job.directory.head().several_adapters != 0;
}

// The part of its node to which it belongs; 0: none.
std::uint64_t part_of(const esp_job& job, Rank rank) {
  const Directory::Site& site = job.directory.site(rank);
  if (job.config.multicast_leaders != MulticastLeaders::kSocket) return site.adapter;
  constexpr auto kSocket = static_cast<std::size_t>(LocalityLevel::kSocket);
  return static_cast<std::uint64_t>(site.locality[kSocket] + 1);
}

// Members of one node that are in the network's group each for a part of it.
void find_leaders(const esp_job& job, Membership& membership) {
  if (membership.nodes.count() < kMulticastNodesMin || !may_have_parts(job)) return;
  std::vector<std::uint64_t> parts;
  for (const Rank r : membership.ranks) parts.push_back(part_of(job, r));
  const std::vector<std::int32_t> numbers = TeamNodes::parts_of(nodes_of(job, membership), parts);
  if (numbers.empty()) return;
  const bool levels = !membership.localities.empty();
  membership.lead(numbers, levels ? localities(job, membership) : std::vector<MemberLocality>(),
                  network_places(job, membership));
}

}  // namespace

std::shared_ptr<Membership> make_membership(const esp_job& job, std::vector<Rank> members) {
  auto membership = std::make_shared<Membership>();
  for (const Rank r : members) {
    if (!job.nodes.is_local(r)) continue;
    membership->bells.push_back(&job.segment->rank_block(job.shm_wire->local(r)).bell);
  }
  const bool several = membership->bells.size() < members.size();
  membership->ranks = std::move(members);
  if (several) find_nodes(job, *membership);
  if (job.config.levels != LevelRule::kOff) find_levels(job, *membership);
  if (several) find_leaders(job, *membership);
  return membership;
}

}  // namespace espalier
