#include "tests/unit/plan_results.hpp"

#include <algorithm>

#include "coll/algorithms/trees.hpp"

namespace espalier::plan_check {

bool Results::has_input(std::size_t rank) const {
  const CollectiveTraits& traits = traits_of(request_.collective);
  const bool is_root = static_cast<std::int32_t>(rank) == request_.root;
  if (request_.collective == Collective::kBarrier) return true;
  if (traits.input == Extent::kNone || traits.root_sends) return is_root;
  return true;
}

bool Results::has_output(std::size_t rank) const {
  const CollectiveTraits& traits = traits_of(request_.collective);
  const bool is_root = static_cast<std::int32_t>(rank) == request_.root;
  if (traits.root_gets) return is_root;
  return !(traits.root_sends && request_.in_place && is_root);
}

Place Results::input(std::size_t rank) const {
  const CollectiveTraits& traits = traits_of(request_.collective);
  if (traits.root_sends && traits.input == Extent::kNone) return output(rank);
  return plans_[rank].packs_input ? Place::kUserInput : Place::kInput;
}

Place Results::output(std::size_t rank) const {
  return plans_[rank].packs_output ? Place::kUserOutput : Place::kOutput;
}

bool Results::shares_memory(std::size_t rank, std::uint64_t& at) const {
  const CollectiveTraits& traits = traits_of(request_.collective);
  at = 0;
  const Plan& plan = plans_[rank];
  if (traits.neighbors || plan.packs_input || plan.packs_output) return false;
  if (traits.root_sends && traits.input != Extent::kNone) return false;
  const bool is_root = static_cast<std::int32_t>(rank) == request_.root;
  if (traits.root_gets && traits.output != Extent::kOne && !is_root) return false;
  if (traits.input == Extent::kOne && traits.output != Extent::kOne) {
    at = layout(rank, Place::kOutput).begin(rank);
  }
  return true;
}

bool Results::arrives_once() const {
  switch (request_.collective) {
    case Collective::kBarrier:
    case Collective::kBcast:
    case Collective::kReduce:
      return true;
    case Collective::kAllreduce:
      // Else some ranks, or all, make parts of it.
      return request_.algorithm != ESP_ALGORITHM_RING &&
             request_.algorithm != ESP_ALGORITHM_DOUBLING &&
             request_.algorithm != ESP_ALGORITHM_HALVING;
    default:
      return false;
  }
}

// Who makes element e of the result, and the rank its combination begins with.
std::int32_t Results::maker(std::uint64_t e) const {
  if (traits_of(request_.collective).rooted) return request_.root;
  const Layout& of = layout(0, Place::kOutput);
  std::uint64_t block = 0;
  while (of.begin(block) + of.length(block) <= e) ++block;
  if (request_.algorithm == ESP_ALGORITHM_SPREAD) return static_cast<std::int32_t>(block);
  if (request_.algorithm == ESP_ALGORITHM_RING)
    return static_cast<std::int32_t>(block + 1) % size();
  const std::uint64_t piece = (e - of.begin(block)) / plans_[0].piece_elements;
  if (request_.nodes.stripes > 1) {  // a leader of the first node
    const TeamNodes& nodes = *request_.nodes.nodes;
    const auto stripe =
        static_cast<std::int32_t>(piece % static_cast<std::uint64_t>(request_.nodes.stripes));
    return nodes.position_of(stripe_leader(nodes, stripe, 0));
  }
  if (!request_.nodes.spread) return 0;
  const auto count = static_cast<std::uint64_t>(request_.nodes.nodes->count());
  return request_.nodes.nodes->head_of(static_cast<std::int32_t>(piece % count));
}

// Every head makes the result of an exchange. Members are numbered in the order of nodes here.
bool Results::makes(std::int32_t r, std::uint64_t e) const {
  if (!request_.nodes.follow || request_.nodes.exchange_radix == 0) return r == maker(e);
  const TeamNodes& nodes = *request_.nodes.nodes;
  return nodes.head_of(nodes.node_of(nodes.member_at(r))) == r;
}

// What the other end of the same edge sends.
Value Results::from_neighbor(std::size_t rank, std::uint32_t b, std::uint64_t e) const {
  const Neighbors& mine = (*graph_)[rank];
  const std::int32_t source = mine.sources[b];
  if (source == Neighbors::kNone) return {};
  const auto from = static_cast<std::size_t>(source);
  if (traits_of(request_.collective).input == Extent::kOne) return {source, 1, e};
  const Neighbors& theirs = (*graph_)[from];
  for (std::size_t j = 0; j < theirs.destinations.size(); ++j) {
    const bool same = theirs.destinations[j] == static_cast<std::int32_t>(rank) &&
                      theirs.destination_edges[j] == mine.source_edges[b];
    if (same) return {source, 1, layout(from, input(from)).begin(j) + e};
  }
  return {};
}

namespace {

bool leaders_reduce(const PlanRequest& request) {
  return request.collective == Collective::kReduceScatterBlock &&
         request.algorithm == ESP_ALGORITHM_TREE && request.nodes.nodes != nullptr;
}

}  // namespace

std::int32_t Results::name(std::size_t rank) const {
  const auto r = static_cast<std::int32_t>(rank);
  return leaders_reduce(request_) ? request_.nodes.nodes->position_of(r) : r;
}

Value Results::expected(std::size_t rank, std::uint32_t b, std::uint64_t e, bool in_place) const {
  const auto r = static_cast<std::int32_t>(rank);
  const std::uint64_t at = layout(rank, output(rank)).begin(b) + e;
  const auto block_of = [&](std::size_t sender, std::size_t block) {
    const Place place = request_.in_place && !plans_[sender].packs_input &&
                                !traits_of(request_.collective).root_sends
                            ? output(sender)
                            : input(sender);
    return layout(sender, place).begin(block) + e;
  };
  switch (request_.collective) {
    case Collective::kBcast:
      return {request_.root, 1, at};
    case Collective::kAllgather:
    case Collective::kAllgatherv:
    case Collective::kGather:
    case Collective::kGatherv:
      return {static_cast<std::int32_t>(b), 1, e};
    case Collective::kAlltoall:
    case Collective::kAlltoallv:
    case Collective::kAlltoallw:
      return {static_cast<std::int32_t>(b), 1, block_of(b, rank)};
    case Collective::kScatter:
    case Collective::kScatterv: {
      const auto root = static_cast<std::size_t>(request_.root);
      return {request_.root, 1, block_of(root, rank)};
    }
    case Collective::kReduceScatterBlock:
    case Collective::kReduceScatter: {
      const bool turned = request_.commutative && size() > 16;
      const std::uint64_t own = layout(rank, input(rank)).begin(rank) + e;
      if (leaders_reduce(request_)) {  // from the first of the own node on
        const TeamNodes& nodes = *request_.nodes.nodes;
        return {nodes.begin[static_cast<std::size_t>(nodes.node_of(r))], size(), own};
      }
      if (request_.algorithm == ESP_ALGORITHM_TREE) return {0, size(), own};
      return {turned ? r : 0, size(), own};
    }
    case Collective::kScan:
      return {0, r + 1, at};
    case Collective::kExscan:
      if (r == 0) return in_place ? Value{0, 1, at} : Value{};
      return {0, r, at};
    default:
      if (traits_of(request_.collective).neighbors) return from_neighbor(rank, b, e);
      return {request_.commutative ? maker(at) : 0, size(), at};
  }
}

}  // namespace espalier::plan_check
