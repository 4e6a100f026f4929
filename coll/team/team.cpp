#include "coll/team/team.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/assert.hpp"

namespace espalier {

void Membership::follow(TeamNodes made, std::span<const NetworkPlace> network_of) {
  if (made.inner.empty()) return;
  localities = std::move(made);
  localities.plain = nodes.empty() ? nullptr : &nodes;
  localities.by_memory = localities.plain;
  if (localities.in_one_memory == 0 || localities.in_one_memory == localities.inner.size()) return;
  memories = localities.without_levels_in_one_memory(network_of);
  localities.by_memory = &memories;
}

void Membership::lead(std::span<const std::int32_t> parts,
                      std::span<const MemberLocality> locality_of,
                      std::span<const NetworkPlace> network_of) {
  if (parts.empty() || nodes.empty()) return;
  auto made = std::make_shared<Leaders>();
  made->plain = TeamNodes::of(parts, {}, network_of);
  nodes.leaders = &made->plain;
  if (!localities.empty()) {
    made->levels = TeamNodes::of(parts, locality_of, network_of);
    made->levels.plain = &made->plain;
    localities.leaders = made->levels.inner.empty() ? &made->plain : &made->levels;
    if (!memories.empty()) memories.leaders = &made->plain;
  }
  leaders_ = std::move(made);
}

const std::shared_ptr<const std::vector<Rank>>& Membership::group() const {
  if (group_ != nullptr) return group_;
  const TeamNodes& parts = nodes.of_group();
  std::vector<Rank> made;
  made.reserve(static_cast<std::size_t>(parts.count()));
  for (std::int32_t part = 0; part < parts.count(); ++part) {
    made.push_back(ranks[static_cast<std::size_t>(parts.group_member(part))]);
  }
  std::sort(made.begin(), made.end());
  group_ = std::make_shared<const std::vector<Rank>>(std::move(made));
  return group_;
}

Team::~Team() {
  ESP_ASSERT(active == nullptr && short_operations == nullptr);
}

// A failure leaves it: the others may be looking for whom to name at the same moment.
void Team::withdraw_blame() noexcept {
  if (failed()) return;
  if (std::exchange(blames_for, nullptr) != nullptr) board.set_blame(row_, blamed_at, {});
}

void Team::show_unread(std::uint64_t oldest) noexcept {
  if (board && std::exchange(shown_unread, oldest) != oldest) board.set_unread(row_, oldest);
}

bool Team::read_call(int member, std::uint64_t at, CallSignature& signature) const noexcept {
  if (!is_remote(member)) return board && board.read(row(member), at, signature);
  const auto known = remote.find(member);
  return known != remote.end() && known->second.ring.read(at, signature);
}

bool Team::has_entered(int member, std::uint64_t at) const noexcept {
  if (!is_remote(member)) return !is_known(member) || (board && board.has_entered(row(member), at));
  const auto known = remote.find(member);
  return known != remote.end() && known->second.ring.last >= at;
}

int Team::member_of(Rank job_rank) const noexcept {
  const auto at = std::find(members.begin(), members.end(), job_rank);
  return at == members.end() ? -1 : static_cast<int>(at - members.begin());
}

bool Team::has_answered(int member) const noexcept {
  const auto known = remote.find(member);
  return known != remote.end() && known->second.asked_about == sequence &&
         known->second.answered_ns >= known->second.first_asked_ns &&
         known->second.first_asked_ns > 0;
}

PointToPointCounter& Team::flow(int member, unsigned channel) {
  if (flows.empty()) flows.resize(members.size());
  auto& table = flows[static_cast<std::size_t>(member)];
  if (table == nullptr) table = std::make_unique<std::array<PointToPointCounter, kFlowChannels>>();
  return (*table)[channel];
}

CallSignature Call::signature() const noexcept {
  CallSignature s;
  s.collective = static_cast<std::uint8_t>(collective);
  s.root = root;
  if (neighbors != nullptr) s.root = static_cast<std::int32_t>(neighbors->serial);
  if (all_know_lengths(collective)) s.root = static_cast<std::int32_t>(lengths_hash);
  s.count = count;
  s.type = static_cast<std::uint8_t>(type);
  // Operators of the user are numbered locally: all that members can compare is that each brought
  // one, and whether it commutes.
  s.op = static_cast<std::uint8_t>(
      op < ESP_OP_BUILTIN_COUNT ? op : ESP_OP_BUILTIN_COUNT + (combiner.commutative() ? 1 : 0));
  const bool plain = blocking && (choice_is_free || purpose != Purpose::kUser);
  s.options = plain ? static_cast<std::uint8_t>(purpose)
                    : hash_options(options, combiner.commutative(), blocking);
  return s;
}

}  // namespace espalier
