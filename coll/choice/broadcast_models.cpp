#include "coll/choice/broadcast_models.hpp"

#include <cmath>

namespace espalier::broadcast_models {
namespace {

constexpr double kMicrosecond = 1e-6;

// ceil(log_k n), exact in integers.
double rounds_of(std::uint64_t nodes, std::uint64_t k) noexcept {
  double rounds = 0;
  for (std::uint64_t reached = 1; reached < nodes; ++rounds) {
    reached = reached > nodes / k ? nodes : reached * k;
  }
  return rounds;
}

double message(const Model& model, double bytes) noexcept {
  return model.setup + bytes / model.bandwidth;
}

double staging(const Model& model, double bytes) noexcept {
  return bytes / model.stage_bandwidth;
}

}  // namespace

double group_overhead(const Model& model, std::uint64_t nodes) noexcept {
  return std::log(static_cast<double>(nodes)) / model.group_fit * kMicrosecond;
}

double ring(const Model& model, std::uint64_t nodes, double bytes) noexcept {
  if (nodes < 2) return 0;
  return staging(model, bytes) + static_cast<double>(nodes - 1) * message(model, bytes);
}

double pipelined_ring(const Model& model, std::uint64_t nodes, double bytes) noexcept {
  if (nodes < 2) return 0;
  return (bytes / model.chunk_bytes + static_cast<double>(nodes - 2)) *
         message(model, model.chunk_bytes);
}

double knomial(const Model& model, std::uint64_t nodes, std::uint64_t k, double bytes) noexcept {
  if (nodes < 2) return 0;
  return staging(model, bytes) + rounds_of(nodes, k) * message(model, bytes);
}

double pipelined_knomial(const Model& model, std::uint64_t nodes, std::uint64_t k,
                         double bytes) noexcept {
  return bytes / model.chunk_bytes * rounds_of(nodes, k) * message(model, model.chunk_bytes);
}

double multicast(const Model& model, std::uint64_t nodes, double bytes) noexcept {
  if (nodes < 2) return 0;
  return staging(model, model.chunk_bytes) +
         bytes / model.packet_bytes *
             (group_overhead(model, nodes) + message(model, model.packet_bytes));
}

double knomial_by_one_card(const Model& model, std::uint64_t nodes, std::uint64_t k,
                           double bytes) noexcept {
  if (nodes < 2) return 0;
  return staging(model, bytes) +
         rounds_of(nodes, k) * message(model, static_cast<double>(k - 1) * bytes);
}

Best best_knomial(const Model& model, std::uint64_t nodes, double bytes) noexcept {
  Best best = {2, knomial_by_one_card(model, nodes, 2, bytes)};
  for (std::uint64_t k = 3; k <= nodes; ++k) {
    const double seconds = knomial_by_one_card(model, nodes, k, bytes);
    if (seconds < best.seconds) best = {k, seconds};
  }
  return best;
}

std::uint64_t multicast_pays_from(const Model& model, double bytes, std::uint64_t most) noexcept {
  for (std::uint64_t nodes = 2; nodes <= most; ++nodes) {
    if (multicast(model, nodes, bytes) < best_knomial(model, nodes, bytes).seconds) return nodes;
  }
  return 0;
}

double overlap(std::uint64_t sources, double single, double together) noexcept {
  const double in_turn = static_cast<double>(sources) * single;
  return (in_turn - together) / in_turn;
}

double concurrent(std::uint64_t sources, double single, double overlap) noexcept {
  return (1 - overlap) * static_cast<double>(sources) * single;
}

}  // namespace espalier::broadcast_models
