#include "tools/esp-sim/closed_forms.hpp"

#include <algorithm>
#include <cmath>

#include "coll/choice/broadcast_models.hpp"

namespace espalier::closed_forms {
namespace {

namespace models = broadcast_models;

constexpr double kNsPerSecond = 1e9;

double number(std::uint64_t count) noexcept {
  return static_cast<double>(count);
}

}  // namespace

double LogGP::between(double bytes) const noexcept {
  return std::max({overhead, gap, bytes * per_byte});
}

std::uint32_t floor_log(std::uint64_t n, std::uint64_t k) noexcept {
  std::uint32_t result = 0;
  while (n >= k) {
    n /= k;
    ++result;
  }
  return result;
}

std::uint32_t ceil_log(std::uint64_t n, std::uint64_t k) noexcept {
  return n <= 1 ? 0 : floor_log(n - 1, k) + 1;
}

double flat_bcast(const LogGP& model, std::uint64_t ranks, double bytes) noexcept {
  return ranks < 2 ? 0 : model.message(bytes) + number(ranks - 2) * model.between(bytes);
}

double chain_bcast(const LogGP& model, std::uint64_t ranks, double bytes) noexcept {
  return number(ranks - 1) * model.message(bytes);
}

double kary_bcast(const LogGP& m, std::uint64_t ranks, std::uint64_t k, double bytes) noexcept {
  return floor_log(ranks, k) *
         (m.latency + number(k) * (m.overhead + bytes * m.per_byte) + m.overhead);
}

double binomial_bcast(const LogGP& model, std::uint64_t ranks, double bytes) noexcept {
  return ceil_log(ranks, 2) * model.message(bytes);
}

double knomial_bcast(const LogGP& model, std::uint64_t ranks, std::uint64_t k,
                     double bytes) noexcept {
  return ceil_log(ranks, k) * (model.message(bytes) + number(k - 2) * model.between(bytes));
}

double pipelined_chain(double segment_ns, std::uint64_t ranks, std::uint64_t segments) noexcept {
  return ranks < 2 ? 0 : number(ranks + segments - 2) * segment_ns;
}

double pipelined_chain(const LogGP& model, std::uint64_t ranks, std::uint64_t segments,
                       double bytes) noexcept {
  return pipelined_chain(model.message(bytes / number(segments)), ranks, segments);
}

double pipelined_chain_best_segments(const LogGP& m, std::uint64_t ranks, double bytes) noexcept {
  if (ranks <= 2) return 1;
  return std::sqrt(number(ranks - 2) * bytes * m.per_byte / (m.latency + 2 * m.overhead));
}

double chain_in_loggp(const LogGP& m, std::uint64_t ranks, std::uint64_t segments,
                      double bytes) noexcept {
  const double segment = bytes / number(segments);
  const double inner_rank = ranks > 2 ? 2 * m.overhead : m.overhead;
  const double pace = std::max({inner_rank, m.gap, segment * m.per_byte});
  return number(ranks - 1) * m.message(segment) + number(segments - 1) * pace;
}

double chain_of_chains(std::span<const Hops> path, std::uint64_t segments) noexcept {
  double first = 0;
  double slowest = 0;
  for (const Hops& hops : path) {
    first += number(hops.count) * hops.segment_ns;
    if (hops.count > 0) slowest = std::max(slowest, hops.segment_ns);
  }
  return first + number(segments - 1) * slowest;
}

double pipelined_binary(const LogGP& m, std::uint64_t ranks, std::uint64_t segments,
                        double bytes) noexcept {
  const double depth = floor_log(ranks, 2);
  return depth * (m.latency + m.overhead) +
         2 * (depth + number(segments - 1)) * (m.overhead + bytes / number(segments) * m.per_byte);
}

double chain_barrier(const LogGP& model, std::uint64_t ranks) noexcept {
  return 2 * chain_bcast(model, ranks, 0);
}

double binomial_barrier(const LogGP& model, std::uint64_t ranks) noexcept {
  return 2 * binomial_bcast(model, ranks, 0);
}

double binomial_reduce(const LogGP& model, std::uint64_t ranks, double bytes,
                       double combine_per_byte) noexcept {
  return ceil_log(ranks, 2) * (model.message(bytes) + bytes * combine_per_byte);
}

double binomial_reduce_one_pass(const LogGP& model, std::uint64_t ranks, double bytes,
                                double combine_per_byte) noexcept {
  // Passes of 2, 3, ..., depth + 1 operands lie on the longest path.
  const double depth = ceil_log(ranks, 2);
  return depth * model.message(bytes) + depth * (depth + 3) / 2 * bytes * combine_per_byte;
}

double binomial_scatter(const LogGP& model, std::uint64_t ranks, double bytes) noexcept {
  return ceil_log(ranks, 2) * model.message(0) + number(ranks - 1) * bytes * model.per_byte;
}

double ring_allgather(const LogGP& model, std::uint64_t ranks, double bytes) noexcept {
  return number(ranks - 1) * model.message(bytes);
}

double bruck_allgather(const LogGP& model, std::uint64_t ranks, double bytes) noexcept {
  return binomial_scatter(model, ranks, bytes);  // the same messages, doubling instead of halving
}

double bruck_alltoall(const LogGP& model, std::uint64_t ranks, std::uint64_t k,
                      double bytes) noexcept {
  const double blocks = number((ranks + k - 1) / k);
  return ceil_log(ranks, k) * number(k - 1) * model.message(blocks * bytes);
}

double direct_alltoall(const LogGP& model, std::uint64_t ranks, double bytes) noexcept {
  return number(ranks - 1) * model.message(bytes);
}

double overlapped_alltoall(const LogGP& m, std::uint64_t ranks, double bytes) noexcept {
  const double pace = std::max({2 * m.overhead, m.gap, bytes * m.per_byte});
  return ranks < 2 ? 0 : m.message(bytes) + number(ranks - 2) * pace;
}

double alltoall_crossover_bytes(const LogGP& model, std::uint64_t ranks) noexcept {
  const double rounds = ceil_log(ranks, 2);
  const double blocks = number((ranks + 1) / 2);
  const double others = number(ranks - 1);
  return (others - rounds) / (blocks * rounds - others) * model.message(0) / model.per_byte;
}

namespace {

// The forms hold in any unit of time, but for t_o(n): a is made to fit.
models::Model in_nanoseconds(const MulticastModel& m) noexcept {
  return {.setup = m.setup_ns,
          .bandwidth = 1 / m.read_ns_per_byte,
          .stage_bandwidth = 1 / m.stage_ns_per_byte,
          .chunk_bytes = m.chunk_bytes,
          .packet_bytes = m.multicast_unit_bytes,
          .group_fit = m.multicast_overhead_fit / kNsPerSecond};
}

}  // namespace

double MulticastModel::multicast_overhead_ns(std::uint64_t ranks) const noexcept {
  return models::group_overhead(in_nanoseconds(*this), ranks);
}

double ring_bcast(const MulticastModel& m, std::uint64_t ranks, double bytes) noexcept {
  return models::ring(in_nanoseconds(m), ranks, bytes);
}

double ring_bcast_pipelined(const MulticastModel& m, std::uint64_t ranks, double bytes) noexcept {
  return models::pipelined_ring(in_nanoseconds(m), ranks, bytes);
}

double knomial_bcast(const MulticastModel& m, std::uint64_t ranks, std::uint64_t k,
                     double bytes) noexcept {
  return models::knomial(in_nanoseconds(m), ranks, k, bytes);
}

double knomial_bcast_pipelined(const MulticastModel& m, std::uint64_t ranks, std::uint64_t k,
                               double bytes) noexcept {
  return models::pipelined_knomial(in_nanoseconds(m), ranks, k, bytes);
}

double multicast_bcast(const MulticastModel& m, std::uint64_t ranks, double bytes) noexcept {
  return models::multicast(in_nanoseconds(m), ranks, bytes);
}

double CopyModel::contention(std::uint64_t readers) const noexcept {
  return readers == 0 ? 0 : 1 + contention_per_reader * number(readers - 1);
}

double CopyModel::copy(double bytes, std::uint64_t readers) const noexcept {
  return (call_ns + bytes * per_byte_ns) * contention(readers);
}

double linear_pull_bcast(const CopyModel& m, std::uint64_t ranks, double bytes) noexcept {
  return m.notify_ns + m.copy(bytes, ranks - 1) + m.notify_ns * ceil_log(ranks, 2);
}

double pipelined_pull_bcast(const CopyModel& m, std::uint64_t height, std::uint64_t readers,
                            std::uint64_t segments, double bytes) noexcept {
  return number(segments + height - 1) * (m.notify_ns + m.copy(bytes / number(segments), readers));
}

double hierarchical_bcast(const LogGP& network, const CopyModel& node, std::uint64_t fanout,
                          std::uint64_t height, std::uint64_t ranks_per_node,
                          std::uint64_t segments, double bytes) noexcept {
  const double segment = bytes / number(segments);
  const double copy = node.copy(segment, ranks_per_node - 1);
  const double pace = std::max(number(fanout) * network.message(segment), node.notify_ns + copy);
  return number(segments + height - 1) * pace + copy;
}

std::uint64_t ring_allgather_remote_reads(std::uint64_t links, std::uint64_t numa_nodes,
                                          std::uint64_t ranks_per_numa_node) noexcept {
  return links * (ranks_per_numa_node * numa_nodes - 1);
}

}  // namespace espalier::closed_forms
