// Closed forms: what published models say an operation takes, to hold against the simulator.
//
// Each function names its source. All times are nanoseconds, sizes bytes, rates ns per byte. Where
// a source counts s - 1 bytes gaps of a message of s bytes, s are counted here: one byte's time,
// for all formulas alike. "Exact" below means: equal to the costs of net/sim/world.hpp without
// contention between ranks; the others are the sources' simplifications.
//
// Sources: [A] Luo et al., "ADAPT", HPDC 2018. [K] Kowalewski, "Partial Aggregation for Collective
// Communication in Distributed Memory Machines", PhD thesis, LMU Munich, 2021; its chapter 4 uses
// LogGP (Alexandrov et al., 1995). [M] Ma, "Kernel-assisted and Topology-aware MPI Collective
// Communication among Multicore or Many-core Clusters", PhD thesis, University of Tennessee, 2012.
// [C] Chu et al., multicast and GPUDirect for broadcast, TPDS. Pure; any thread. path: setup
#pragma once

#include <cstdint>
#include <span>

namespace espalier::closed_forms {

struct LogGP {
  double latency = 0;   // L
  double overhead = 0;  // o, of either end
  double gap = 0;       // g, between messages
  double per_byte = 0;  // G

  // Half a round trip: L + 2 o + s G. [K] (3.3) for one message. Exact.
  double message(double bytes) const noexcept { return latency + 2 * overhead + bytes * per_byte; }
  // From one message of a sender to its next: whichever of processor and card is slower. Exact.
  double between(double bytes) const noexcept;
};

// floor(log_k n) and ceil(log_k n), exact in integers. n >= 1, k >= 2.
std::uint32_t floor_log(std::uint64_t n, std::uint64_t k) noexcept;
std::uint32_t ceil_log(std::uint64_t n, std::uint64_t k) noexcept;

// --- Trees, one segment ---

// The root sends to all p - 1 others in turn. Exact.
double flat_bcast(const LogGP& model, std::uint64_t ranks, double bytes) noexcept;
// p - 1 hops. Exact.
double chain_bcast(const LogGP& model, std::uint64_t ranks, double bytes) noexcept;
// [K] (4.1): floor(log_k p) (L + k (o + s G) + o). Counts complete trees, and neither overlaps the
// processor with the card nor one subtree with the next: an upper bound for a complete tree.
double kary_bcast(const LogGP& model, std::uint64_t ranks, std::uint64_t k, double bytes) noexcept;
// [K] (4.3): ceil(log2 p) (L + 2 o + s G). Exact where larger subtrees are served first.
double binomial_bcast(const LogGP& model, std::uint64_t ranks, double bytes) noexcept;
// ceil(log_k p) rounds, in each of which k - 1 messages leave an informed rank: k-nomial in [K]'s
// terms; for k = 2 it is (4.3).
double knomial_bcast(const LogGP& model, std::uint64_t ranks, std::uint64_t k,
                     double bytes) noexcept;

// --- Pipelines of S segments ---

// [A] section 5, [K] (4.5): (P + S - 2) (alpha + beta m), with alpha + beta m the time of a
// segment.
double pipelined_chain(double segment_ns, std::uint64_t ranks, std::uint64_t segments) noexcept;
double pipelined_chain(const LogGP& model, std::uint64_t ranks, std::uint64_t segments,
                       double bytes) noexcept;
// [K] section 4.3: sqrt((p - 2) s G / (L + 2 o)), the S that minimises (4.5). The printed formula
// has lost a bracket.
double pipelined_chain_best_segments(const LogGP& model, std::uint64_t ranks,
                                     double bytes) noexcept;
// The chain in full LogGP: the first segment takes p - 1 messages; another follows as soon as the
// busiest part lets it: an inner rank's processor (receive and send) or its card. Exact for p > 2.
double chain_in_loggp(const LogGP& model, std::uint64_t ranks, std::uint64_t segments,
                      double bytes) noexcept;
// A chain of chains: hops of several levels, each with its own time of a segment. The first segment
// takes every hop of the longest path, the others follow at the slowest hop's pace; with equal hops
// it is (P + S - 2) (alpha + beta m), the form of [A] section 5.
struct Hops {
  std::uint64_t count = 0;
  double segment_ns = 0;
};
double chain_of_chains(std::span<const Hops> path, std::uint64_t segments) noexcept;
// [K] (4.6): floor(log2 p) (L + o) + 2 (floor(log2 p) + S - 1) (o + s / S G).
double pipelined_binary(const LogGP& model, std::uint64_t ranks, std::uint64_t segments,
                        double bytes) noexcept;

// --- Barrier and allreduce over one tree: up, then down ---

// A barrier over a tree of this depth whose ranks have one child each is 2 D messages. Exact.
double chain_barrier(const LogGP& model, std::uint64_t ranks) noexcept;
// Over a binomial tree: 2 ceil(log2 p) messages, for p a power of two. Contributions of several
// children arrive one after the other, so none but the last costs more than what it overlaps with.
double binomial_barrier(const LogGP& model, std::uint64_t ranks) noexcept;
// Binomial reduction of one segment: each round a message and a combine. [K] 2.13 (duality).
double binomial_reduce(const LogGP& model, std::uint64_t ranks, double bytes,
                       double combine_per_byte) noexcept;

// The same where a rank combines its own and all its children's contributions in one pass when the
// last has come, as the library's plans do: a pass costs `combine_per_byte` per operand. Exact for
// p a power of two.
double binomial_reduce_one_pass(const LogGP& model, std::uint64_t ranks, double bytes,
                                double combine_per_byte) noexcept;

// --- Allgather and alltoall of s bytes per rank and block; without local copies ---

// [K] (4.4): ceil(log2 p) (L + 2 o) + s G (p - 1). The library has no scatter yet.
double binomial_scatter(const LogGP& model, std::uint64_t ranks, double bytes) noexcept;
// [K] section 4.4: (p - 1) (L + 2 o + s G). Exact.
double ring_allgather(const LogGP& model, std::uint64_t ranks, double bytes) noexcept;
// Recursive doubling (p a power of two) and Bruck: ceil(log2 p) (L + 2 o) + (p - 1) s G. Exact.
double bruck_allgather(const LogGP& model, std::uint64_t ranks, double bytes) noexcept;
// [K] (4.7): ceil(log_k p) (k - 1) (L + 2 o + ceil(p / k) s G).
double bruck_alltoall(const LogGP& model, std::uint64_t ranks, std::uint64_t k,
                      double bytes) noexcept;
// [K] section 5.3.3: (p - 1) (L + 2 o + s G): one step after the other.
double direct_alltoall(const LogGP& model, std::uint64_t ranks, double bytes) noexcept;
// The same where steps overlap, as far as card and processor let them.
double overlapped_alltoall(const LogGP& model, std::uint64_t ranks, double bytes) noexcept;
// The block size at which Bruck and steps one after the other are equal, for k = 2. Below it Bruck
// is faster.
double alltoall_crossover_bytes(const LogGP& model, std::uint64_t ranks) noexcept;

// --- Broadcast by ring, k-nomial tree and multicast: [C], table of models ---
// In the units of this file; the forms are those of coll/choice/broadcast_models.hpp.

struct MulticastModel {
  double setup_ns = 0;                // t_s
  double read_ns_per_byte = 0;        // 1 / B_G, or 1 / B_H where staged
  double stage_ns_per_byte = 0;       // 1 / B_H2D; 0: not staged
  double chunk_bytes = 0;             // C
  double multicast_unit_bytes = 0;    // U
  double multicast_overhead_fit = 0;  // a, 15..20: t_o(n) = ln(n) / a, in microseconds

  // t_o(n)
  double multicast_overhead_ns(std::uint64_t ranks) const noexcept;
};

// (n - 1) (t_s + M / B), after M / B_H2D where staged.
double ring_bcast(const MulticastModel& model, std::uint64_t ranks, double bytes) noexcept;
// (M / C + n - 2) (t_s + C / B)
double ring_bcast_pipelined(const MulticastModel& model, std::uint64_t ranks,
                            double bytes) noexcept;
// ceil(log_k n) (t_s + M / B), after M / B_H2D where staged.
double knomial_bcast(const MulticastModel& model, std::uint64_t ranks, std::uint64_t k,
                     double bytes) noexcept;
// M / C ceil(log_k n) (t_s + C / B)
double knomial_bcast_pipelined(const MulticastModel& model, std::uint64_t ranks, std::uint64_t k,
                               double bytes) noexcept;
// C / B_H2D + M / U (t_s + t_o(n) + U / B); not staged: without the first term. The library has no
// multicast yet.
double multicast_bcast(const MulticastModel& model, std::uint64_t ranks, double bytes) noexcept;

// --- Copies inside a node: after [M]; the thesis has no time model, these are its algorithms ---

struct CopyModel {
  double call_ns = 0;                // a: one copy
  double per_byte_ns = 0;            // b: pages included
  double contention_per_reader = 0;  // c(k) = 1 + this (k - 1), for k readers of one source
  double notify_ns = 0;              // tau

  double contention(std::uint64_t readers) const noexcept;
  double copy(double bytes, std::uint64_t readers) const noexcept;
};

// [M] section 3.5: all read from the root, then acknowledge up a tree.
double linear_pull_bcast(const CopyModel& model, std::uint64_t ranks, double bytes) noexcept;
// [M] section 3.3: K segments down a tree of this height, readers per copy as given.
double pipelined_pull_bcast(const CopyModel& model, std::uint64_t height, std::uint64_t readers,
                            std::uint64_t segments, double bytes) noexcept;
// [M] section 5.1.2: K segments; leaders forward to `fanout` nodes in a tree of `height` while the
// other ranks of their nodes copy; the slower of the two sets the pace, and the last copy drains.
double hierarchical_bcast(const LogGP& network, const CopyModel& node, std::uint64_t fanout,
                          std::uint64_t height, std::uint64_t ranks_per_node,
                          std::uint64_t segments, double bytes) noexcept;
// [M] section 4.4.3: copies that cross between NUMA nodes in a ring allgather of N nodes of P
// ranks.
std::uint64_t ring_allgather_remote_reads(std::uint64_t links, std::uint64_t numa_nodes,
                                          std::uint64_t ranks_per_numa_node) noexcept;

}  // namespace espalier::closed_forms
