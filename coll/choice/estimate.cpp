#include "coll/choice/estimate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "coll/algorithms/exchange_steps.hpp"
#include "coll/choice/broadcast_models.hpp"

namespace espalier {
namespace {

// Of a tree over `n` places.
struct TreeForm {
  double depth = 0;
  double children = 0;  // of the root
  double inner = 0;     // of others, at most
  double waits = 0;     // sends to others before those on the longest way, all together
};

double log_of(double base, double n) {
  return std::ceil(std::log(n) / std::log(base) - 1e-9);
}

std::optional<TreeForm> form_of(esp_shape shape, std::int32_t radix, std::int32_t n) {
  if (n <= 1) return TreeForm{};
  const double others = n - 1;
  double r = std::max(radix, 2);
  switch (shape) {
    case ESP_SHAPE_FLAT:
      return TreeForm{1, others, 0, others - 1};
    case ESP_SHAPE_DOUBLE_LEADER:
      return TreeForm{std::min(2.0, others), 1, others - 1, std::max(0.0, others - 2)};
    case ESP_SHAPE_CHAIN:
      return TreeForm{others, 1, 1, 0};
    case ESP_SHAPE_BINARY:
    case ESP_SHAPE_KARY: {
      if (shape == ESP_SHAPE_BINARY) r = 2;
      if (shape == ESP_SHAPE_KARY && radix == 1) return TreeForm{others, 1, 1, 0};
      const double depth = log_of(r, others * (r - 1) + r) - 1;
      return TreeForm{std::max(depth, 1.0), std::min(r, others), std::min(r, others),
                      depth * (r - 1)};
    }
    case ESP_SHAPE_BINOMIAL:
      r = 2;
      [[fallthrough]];
    case ESP_SHAPE_KNOMIAL: {
      const double depth = log_of(r, n);
      const double most = std::min((r - 1) * depth, others);
      return TreeForm{depth, most, std::max(0.0, most - (r - 1)), (r - 2) * depth};
    }
    default:
      return {};
  }
}

// What one segment or message of so many bytes costs.
class Message {
 public:
  Message(const Costs& costs, double bytes) : costs_(costs), bytes_(bytes) {}
  // Of either side's processor.
  double handled() const { return side(costs_.between, true); }
  double port() const {
    return std::max(costs_.between.port_message, bytes_ * costs_.between.port_per_byte);
  }
  double hop() const { return 2 * handled() + port() + costs_.between.latency; }
  // Inside a node: written once, for all readers.
  double written() const { return side(costs_.inside, !pulls()); }
  double read(double readers = 1) const {
    const double others = pulls() ? (readers - 1) * bytes_ * costs_.reader_per_byte : 0;
    return side(costs_.inside, true) + (pulls() ? costs_.pull_message : 0) + others;
  }
  // For readers who combine it in place: those do not pull.
  double lent() const { return side(costs_.inside, true); }
  double seen() const { return side(costs_.inside, false); }
  double hop_inside(double readers = 1) const {
    return written() + costs_.inside.latency + read(readers);
  }
  double combined(double operands) const { return operands * bytes_ * costs_.combine_per_byte; }
  double copied() const { return bytes_ * costs_.inside.copy_per_byte; }

 private:
  bool pulls() const { return bytes_ > 0 && bytes_ >= static_cast<double>(costs_.pull_bytes); }
  double side(const LinkCosts& link, bool copies) const {
    return costs_.index + link.message + (copies ? bytes_ * link.copy_per_byte : 0);
  }
  const Costs& costs_;
  double bytes_;
};

// What one segment of so many bytes costs by multicast to a group of `members`.
class GroupMessage {
 public:
  GroupMessage(const Costs& costs, double bytes, std::int32_t members)
      : costs_(costs),
        bytes_(bytes),
        packets_(std::max(1.0, std::ceil(bytes / costs.group.packet_bytes))),
        // What a packet to a group costs on top, of the network.
        on_top_(broadcast_models::group_overhead({}, static_cast<std::uint64_t>(members)) * 1e9) {}

  // Of the source's processor, or of a receiver's, with what they have to answer.
  double handled() const {
    const double packet = costs_.group.packet > 0 ? costs_.group.packet : costs_.between.message;
    return costs_.index + packets_ * packet * (1 + 1 / costs_.group.packets_per_answer) +
           bytes_ * costs_.group.copy_per_byte;
  }
  double port() const {
    constexpr double kHeaderBytes = 40;
    const double each = (bytes_ / packets_ + kHeaderBytes) * costs_.between.port_per_byte;
    return packets_ * (std::max(costs_.between.port_message, each) + on_top_);
  }
  // Packets are taken while the next ones come.
  double way() const {
    return std::max(handled(), port()) + costs_.between.latency + handled() / packets_;
  }

 private:
  const Costs& costs_;
  double bytes_, packets_, on_top_;
};

// What a rank sends in rounds at distances 1, 2, 4, ..., of so much in all: to partners, twice as
// much in each (doubling) or half as much (halving), or along a ring (Bruck), twice as much or half
// of all blocks in each.
enum class Rounds { kDoubled, kHalved, kShifted, kHalfOfBlocks };

// What a pipeline is made of.
struct Load {
  double way = 0;      // of the first segment
  double work = 0;     // of the busiest head, for a segment
  double port = 0;     // of the busiest port
  double members = 0;  // of the busiest member that is no head of a node
  double total(double segments) const {
    return way + (segments - 1) * std::max({work, port, members});
  }
  Load operator+(const Load& next) const {
    return {way + next.way, work + next.work, std::max(port, next.port), members + next.members};
  }
};

class Estimate {
 public:
  Estimate(const PlanRequest& request, const TeamNodes& nodes, const Costs& costs)
      : request_(request),
        nodes_(nodes),
        costs_(costs),
        ranks_(request.size),
        n_(nodes_.count()),
        q_(nodes_.largest),
        bytes_(static_cast<double>(request.elements * request.element_bytes)) {}

  std::optional<double> followed() const;
  std::optional<double> exchanged() const;

 private:
  double segment() const { return std::min(bytes_, static_cast<double>(request_.segment_bytes)); }
  double segments(double bytes) const {
    return std::max(1.0, std::ceil(bytes / static_cast<double>(request_.segment_bytes)));
  }
  Message message(double bytes) const { return Message(costs_, bytes); }
  GroupMessage to_group(double bytes) const { return {costs_, bytes, nodes_.of_group().count()}; }
  LevelShape level(std::size_t k) const {
    const NodePlan& plan = request_.nodes;
    if (k < nodes_.inner.size())
      return plan.between[static_cast<std::size_t>(nodes_.inner[k].level)];
    return {plan.inside, plan.inside_radix};
  }
  // From the head of a node to its members, and back with sums.
  std::optional<Load> inside(bool up) const;
  std::optional<TreeForm> outside() const;
  std::optional<Load> tree(bool up) const;
  Load exchange() const;
  double ring(double block, double steps, double combines) const;
  double rounds(double most, Rounds kind) const;
  std::optional<double> multicast() const;
  double gathered_by_leaders() const;
  double gathered_by_multicast() const;
  double spread() const;
  double alltoall_pairs() const;
  double alltoall_leaders() const;
  double reduce_scatter_leaders() const;

  const PlanRequest& request_;
  const TeamNodes& nodes_;
  const Costs& costs_;
  double ranks_, n_, q_, bytes_;
};

std::optional<Load> Estimate::inside(bool up) const {
  Load load;
  const Message of = message(segment());
  const double each = of.seen() + of.combined(1);  // of a child's sum
  double children = 0, most = 0, depth = 0;
  for (std::size_t k = 0; k + 1 < nodes_.widest.size(); ++k) {
    const LevelShape shape = level(k);
    const auto form = form_of(shape.shape, shape.radix, nodes_.widest[k + 1]);
    if (!form) return {};
    children += form->children;
    most = std::max(most, form->children);
    depth += form->depth;
    const double sums = form->depth > 0 ? form->children / form->depth * each : 0;
    load.way += form->depth * (up ? of.lent() + costs_.inside.latency + of.combined(1)
                                  : of.hop_inside(form->children)) +
                (up ? form->depth * sums : 0);
  }
  if (children == 0) return load;
  load.work = up ? children * each : of.written();
  const double passed_on = depth > 1 ? (up ? most * each : of.written()) : 0;
  load.members = passed_on + (up ? of.lent() : of.read(children));
  return load;
}

// Over the nodes, or over switches and nodes.
std::optional<TreeForm> Estimate::outside() const {
  const NodePlan& plan = request_.nodes;
  if (nodes_.widest_outer.empty() || plan.switches.shape == ESP_SHAPE_AUTO)
    return form_of(request_.shape, request_.radix, nodes_.count());
  TreeForm all;
  for (std::size_t k = 0; k < nodes_.widest_outer.size(); ++k) {
    const bool last = k + 1 == nodes_.widest_outer.size();
    const LevelShape shape = last ? LevelShape{request_.shape, request_.radix} : plan.switches;
    const auto form = form_of(shape.shape, shape.radix, nodes_.widest_outer[k]);
    if (!form) return {};
    all = {all.depth + form->depth, all.children + form->children, all.inner + form->inner,
           all.waits + form->waits};
  }
  return all;
}

// Between the heads of nodes and inside them.
std::optional<Load> Estimate::tree(bool up) const {
  const auto form = outside();
  auto load = inside(up);
  if (!form || !load) return {};
  const Message of = message(segment());
  const double each = of.handled() + (up ? of.combined(1) : 0);
  load->way += form->depth * (of.hop() + (up ? of.combined(2) : 0)) +
               form->waits * std::max(each, of.port());
  const bool relays = form->depth > 1;
  load->work += std::max(form->children * each, relays ? (form->inner + 1) * each : of.handled()) +
                (up ? of.combined(1) : 0);
  load->port = std::max(form->children, form->inner) * of.port();
  if (const double leaders = request_.nodes.stripes; leaders > 1) {
    // Each has its share of the segments, and of the others' segments what members have.
    const double others = 1 - 1 / leaders;
    load->work = load->work / leaders + others * (up ? of.lent() + of.read() : of.read());
    load->way += of.hop_inside();
  }
  return load;
}

Load Estimate::exchange() const {
  const Message of = message(segment());
  Load load;
  const ExchangeSteps steps = exchange_steps(nodes_.count(), request_.nodes.exchange_radix);
  for (std::size_t k = 0; k < steps.count; ++k) {
    const double others = steps.groups[k] - 1;
    const double work = 2 * others * of.handled() + of.combined(others + 1);
    load.way += work + others * of.port() + costs_.between.latency;
    load.work += work;
    load.port += others * of.port();
  }
  return load;
}

// Inside the root's node, to all others at once, and inside each (or inside parts of nodes, where
// those have several leaders); before it a tree for a sum.
std::optional<double> Estimate::multicast() const {
  const GroupMessage of = to_group(segment());
  const bool up = request_.collective != Collective::kBcast;
  const Estimate below(request_, nodes_.of_group(), costs_);
  const auto there = up ? tree(true) : Load{}, after = below.inside(false);
  if (!there || !after) return {};
  Load across{of.way(), of.handled(), of.port(), 0};
  if (!up && below.q_ > 1) across.way += message(segment()).hop_inside();
  return (*there + across + *after).total(segments(bytes_));
}

// Trees, and what is done in their place.
std::optional<double> Estimate::followed() const {
  if (request_.nodes.multicast) return multicast();
  const double many = segments(bytes_);
  const bool down = request_.collective == Collective::kBcast;
  const bool both =
      request_.collective == Collective::kAllreduce || request_.collective == Collective::kBarrier;
  if (!both) {
    const auto load = tree(!down);
    return load ? std::optional(load->total(many)) : std::nullopt;
  }
  const auto up = inside(true), after = inside(false);
  if (!up || !after) return {};
  if (request_.nodes.exchange_radix > 0) return (*up + exchange() + *after).total(many);
  if (request_.nodes.spread) {
    const Message of = message(segment());
    const double share = 2 * (n_ - 1) / n_;  // messages of a head for each segment, either way
    const Load across{2 * of.hop() + (n_ - 1) * (of.handled() + of.port()) + of.combined(n_),
                      2 * share * of.handled() + of.combined(1), share * of.port(), 0};
    return (*up + across + *after).total(many);
  }
  const auto there = tree(true), back = tree(false);
  if (!there || !back) return {};
  return (*there + *back).total(many);
}

// A block goes around all ranks, while each of them handles all blocks.
double Estimate::ring(double block, double steps, double combines) const {
  const Message of = message(block);
  const double sums = of.combined(combines);
  const double each = std::max(2 * of.handled() + sums, of.port());
  const double around = n_ * (of.hop() + sums) + (ranks_ - n_) * (of.hop_inside() + sums);
  return std::max(steps * each, steps / ranks_ * around) + of.hop();
}

// Ranks of a node are neighbours.
double Estimate::rounds(double most, Rounds kind) const {
  const bool partners = kind == Rounds::kDoubled || kind == Rounds::kHalved;
  const bool even = partners && std::has_single_bit(static_cast<unsigned>(q_));
  double ns = 0;
  for (double far = 1; far < ranks_; far *= 2) {
    const double grown = most / ranks_ * std::min(far, ranks_ - far);
    const double bytes = kind == Rounds::kHalved         ? most / 2 / far
                         : kind == Rounds::kHalfOfBlocks ? most / 2
                                                         : grown;
    const Message of = message(bytes);
    if (even && far < q_) {
      ns += of.hop_inside();
      continue;
    }
    ns += 2 * of.handled() + std::min(q_, far) * of.port() + costs_.between.latency;
    // Its blocks lie apart: put together and taken apart.
    if (kind == Rounds::kHalfOfBlocks) ns += 2 * of.copied() + ranks_ * costs_.index;
  }
  return ns;
}

double Estimate::gathered_by_leaders() const {
  const double run = q_ * bytes_, many = segments(run);
  const Message of = message(run / many), block = message(bytes_);
  const double gathered =
      q_ > 1 ? block.written() + costs_.inside.latency + (q_ - 1) * block.read() : 0;
  const double published = q_ > 1 ? of.written() : 0;
  const double each = std::max(2 * of.handled() + published, of.port());
  const double around = (n_ - 1) * std::max(many * each, of.hop() + (many - 1) * each);
  const double members = n_ * many * of.read();
  const double unpacked = nodes_.in_order() ? 0 : 2 * ranks_ * block.copied();
  return gathered + std::max(around, members) + (q_ > 1 ? of.hop_inside() : 0) + unpacked;
}

// Heads take all runs one after the other; a source waits for that of four before it.
double Estimate::gathered_by_multicast() const {
  const double run = q_ * bytes_, many = segments(run);
  const Message of = message(run / many), block = message(bytes_);
  const GroupMessage to = to_group(run / many);
  const double gathered =
      q_ > 1 ? block.written() + costs_.inside.latency + (q_ - 1) * block.read() : 0;
  const double published = q_ > 1 ? of.written() : 0;
  const double each = std::max(to.handled() + published, to.port());
  const double one_run = to.way() + (many - 1) * std::max(to.handled(), to.port());
  const double heads = std::max(n_ * many * each, std::ceil(n_ / 4) * one_run);
  const double unpacked = nodes_.in_order() ? 0 : 2 * ranks_ * block.copied();
  return gathered + std::max(heads, n_ * many * of.read()) + to.way() +
         (q_ > 1 ? of.hop_inside() : 0) + unpacked;
}

// Every rank combines its share of all, and sends it to all.
double Estimate::spread() const {
  const Message of = message(bytes_ / ranks_);
  const double others = ranks_ - 1, far = ranks_ - q_;
  const double work = 4 * others * of.handled() + of.combined(ranks_);
  const Message first = message(std::min(bytes_ / ranks_, segment()));
  return std::max(work, 2 * q_ * far * of.port()) + 2 * first.hop();
}

double Estimate::alltoall_pairs() const {
  const Message of = message(bytes_);
  const double far = ranks_ - q_, near = q_ - 1;
  const double work = 2 * far * of.handled() + near * (of.written() + of.read());
  return std::max(work, q_ * far * of.port()) + costs_.between.latency;
}

double Estimate::alltoall_leaders() const {
  const Message run = message(q_ * bytes_), bundle = message(q_ * q_ * bytes_);
  const double runs = (q_ - 1) * n_;
  const double work = runs * (run.read() + run.written()) + 2 * (n_ - 1) * bundle.handled() +
                      2 * q_ * ranks_ * message(bytes_).copied();
  return std::max(work, (n_ - 1) * bundle.port()) + costs_.between.latency +
         2 * costs_.inside.latency + n_ * (run.written() + run.read());
}

// Of the two halves of a spread over heads the first, with runs of blocks.
double Estimate::reduce_scatter_leaders() const {
  const double run = q_ * bytes_, many = segments(run);
  const Message of = message(run / many), block = message(bytes_);
  const double inside = n_ * many * ((q_ - 1) * of.seen() + of.combined(q_));
  const double across = (n_ - 1) * many * (2 * of.handled() + of.combined(2));
  const double port = (n_ - 1) * many * of.port();
  const double handed = q_ > 1 ? (q_ - 1) * block.written() + block.hop_inside() : 0;
  const double lent = q_ > 1 ? of.lent() + costs_.inside.latency : 0;
  return lent + std::max(inside + across, port) + of.hop() + handed;
}

std::optional<double> Estimate::exchanged() const {
  if (request_.collective == Collective::kReduceScatterBlock) {
    if (request_.algorithm == ESP_ALGORITHM_TREE) return reduce_scatter_leaders();
    const Message of = message(bytes_);
    const double far = ranks_ - q_, near = q_ - 1;
    const double work = 2 * far * of.handled() + near * (of.lent() + of.seen());
    // Owners wait for their senders in turn, and the port with them.
    return work + of.combined(ranks_) + q_ * far * of.port() + of.hop();
  }
  const bool whole = request_.collective == Collective::kAllreduce;
  const double copies = message(ranks_ * bytes_).copied();
  switch (request_.algorithm) {
    case ESP_ALGORITHM_SPREAD:
      return spread();
    case ESP_ALGORITHM_RING:
      if (whole) return ring(bytes_ / ranks_, 2 * (ranks_ - 1), 1);
      if (request_.collective == Collective::kAllgather) return ring(bytes_, ranks_ - 1, 0);
      return alltoall_pairs();
    case ESP_ALGORITHM_BRUCK:
      if (request_.radix != 2) return {};
      if (request_.collective == Collective::kAlltoall)
        return rounds(ranks_ * bytes_, Rounds::kHalfOfBlocks);
      return rounds(ranks_ * bytes_, Rounds::kShifted) + copies;
    case ESP_ALGORITHM_DOUBLING:
      if (whole) return {};
      return rounds(ranks_ * bytes_, Rounds::kDoubled);
    case ESP_ALGORITHM_HALVING:
      return 2 * rounds(bytes_, Rounds::kHalved) + message(bytes_).combined(2);
    case ESP_ALGORITHM_ONE_FACTOR:
    case ESP_ALGORITHM_XOR:
      return alltoall_pairs();
    case ESP_ALGORITHM_TREE:
      if (request_.nodes.multicast) return gathered_by_multicast();
      if (request_.collective == Collective::kAllgather) return gathered_by_leaders();
      return alltoall_leaders();
    default:
      return {};
  }
}

}  // namespace

std::optional<double> estimate(const PlanRequest& request, const Costs& costs) {
  const TeamNodes* nodes = request.nodes.nodes;
  if (nodes == nullptr || nodes->count() < 2) return {};
  if (request.variant != ESP_VARIANT_EVENT) return {};
  if (request.nodes.multicast && costs.group.packet_bytes == 0) return {};
  const bool by_parts = request.nodes.multicast && !has_shapes(request.collective);
  const Estimate of(request, by_parts ? nodes->of_group() : *nodes, costs);
  switch (request.collective) {
    case Collective::kBarrier:
    case Collective::kBcast:
    case Collective::kReduce:
      if (request.algorithm != ESP_ALGORITHM_TREE || !request.nodes.follow) return {};
      return of.followed();
    case Collective::kAllreduce:
      if (request.nodes.follow) return of.followed();
      if (request.algorithm == ESP_ALGORITHM_TREE) return {};
      return of.exchanged();
    case Collective::kAllgather:
    case Collective::kAlltoall:
    case Collective::kReduceScatterBlock:
      return of.exchanged();
    default:
      return {};
  }
}

}  // namespace espalier
