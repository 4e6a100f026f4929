// Broadcast models: how long a broadcast over nodes takes by ring, k-nomial tree and multicast, as
// published, to choose between them.
//
// Seconds, bytes, and bytes per second. M bytes go to n nodes, one process each; nodes: 1 takes no
// time. Source: [C] Chu et al., multicast and GPUDirect for broadcast, TPDS, table of models, in
// the order and with the letters of the table. Pure; any thread. path: setup
#pragma once

#include <cstdint>
#include <limits>

namespace espalier::broadcast_models {

struct Model {
  double setup = 0;      // t_s, of a message, or of a packet
  double bandwidth = 0;  // B: of the memory that the network reads, B_H where staged
  double stage_bandwidth = std::numeric_limits<double>::infinity();  // B_H2D; infinite: not staged
  double chunk_bytes = 0;                                            // C
  double packet_bytes = 0;                                           // U, of multicast
  double group_fit = 20;                                             // a, 15 to 20
};

// t_o(n) = ln(n) / a, in [C]'s microseconds: what a packet to a group of n costs on top.
double group_overhead(const Model& model, std::uint64_t nodes) noexcept;

// (n - 1) (t_s + M / B), after M / B_H2D where staged.
double ring(const Model& model, std::uint64_t nodes, double bytes) noexcept;
// (M / C + n - 2) (t_s + C / B)
double pipelined_ring(const Model& model, std::uint64_t nodes, double bytes) noexcept;
// ceil(log_k n) (t_s + M / B), after M / B_H2D where staged. One message per round, although k - 1
// leave one card.
double knomial(const Model& model, std::uint64_t nodes, std::uint64_t k, double bytes) noexcept;
// M / C ceil(log_k n) (t_s + C / B)
double pipelined_knomial(const Model& model, std::uint64_t nodes, std::uint64_t k,
                         double bytes) noexcept;
// C / B_H2D + M / U (t_s + t_o(n) + U / B); not staged: without the first term.
double multicast(const Model& model, std::uint64_t nodes, double bytes) noexcept;

// The k-nomial tree with all messages of a round, which leave one card: ceil(log_k n)
// (t_s + (k - 1) M / B), after M / B_H2D where staged. Ours: with one message per round the best k
// would always be n.
double knomial_by_one_card(const Model& model, std::uint64_t nodes, std::uint64_t k,
                           double bytes) noexcept;
struct Best {
  std::uint64_t k = 0;
  double seconds = 0;
};
// Of all k from 2 to n, the smallest one if several are.
Best best_knomial(const Model& model, std::uint64_t nodes, double bytes) noexcept;
// The smallest number of nodes, up to `most`, at which multicast takes less than the best k-nomial
// tree; 0: none.
std::uint64_t multicast_pays_from(const Model& model, double bytes, std::uint64_t most) noexcept;

// Several sources at once: OP = (m T_single - T_multi) / (m T_single), the share that overlaps.
double overlap(std::uint64_t sources, double single, double together) noexcept;
// (1 - OP) m T_single
double concurrent(std::uint64_t sources, double single, double overlap) noexcept;

}  // namespace espalier::broadcast_models
