// Drawing: the parts of draw_scenario(). Private to the files that draw.
#pragma once

#include "core/prng.hpp"
#include "tests/swarm/scenario.hpp"

namespace espalier::swarm {

template <typename T, std::size_t n>
T pick(Prng& prng, const T (&values)[n]) {
  return values[prng.below(n)];
}

// What all ranks call (operations.cpp); teams and tuning are drawn.
void draw_ops(Prng& prng, Scenario& scenario);
// One member has another count, collective or root.
Deviation draw_deviation(Prng& prng, const Scenario& scenario);
// What does not exist becomes a plain algorithm; then all members can make a plan.
void make_possible(const Scenario& scenario, OpSpec& op);
void draw_operator(Prng& prng, OpSpec& op);
void draw_windows(Prng& prng, esp_coll_options& options);

// Allgathers, alltoalls and scans (exchanges.cpp).
inline bool draws_exchanges(const Scenario& scenario) noexcept {
  return scenario.seed >= kFirstExchangeSeed;
}
void draw_exchange_tuning(Scenario& scenario);
OpSpec draw_exchange(Prng& prng, const std::vector<std::vector<Rank>>& teams);
// An earlier one with one thing changed, or nothing.
OpSpec vary_exchange(Prng& prng, OpSpec op);
// Another call than `op`, as one member may make it by mistake. It may be impossible.
OpSpec mistake_exchange(Prng& prng, OpSpec op, std::int32_t member);

// Blocks of a root, of owners and of neighbours, and elements that lie apart (parts.cpp).
inline bool draws_parts(const Scenario& scenario) noexcept {
  return scenario.seed >= kFirstPartSeed;
}
OpSpec draw_part(Prng& prng, const Scenario& scenario);
OpSpec vary_part(Prng& prng, OpSpec op);
OpSpec mistake_part(Prng& prng, OpSpec op, std::int32_t member);
void draw_pattern(Prng& prng, OpSpec& op);
// Of exchanges, too.
void draw_exchange_options(Prng& prng, OpSpec& op);
std::uint64_t draw_surplus(Prng& prng, const OpSpec& op);
// Of seeds with parts: leaders, and the variants of direct exchanges.
void draw_newer_options(Prng& prng, OpSpec& op);

// Whether the ranks have RDMA links, and what those have and suffer (networks.cpp).
void draw_links(Scenario& scenario);
void draw_network(Scenario& scenario);

// Memory of devices, when all else is drawn (devices.cpp).
inline bool draws_devices(const Scenario& scenario) noexcept {
  return scenario.seed >= kFirstDeviceSeed;
}
void draw_devices(Scenario& scenario);

// A machine of up to three levels whose carriers and prices are drawn (machines.cpp).
sim::Machine draw_machine(Prng& prng, std::uint32_t ranks, bool& has_pulls);

}  // namespace espalier::swarm
