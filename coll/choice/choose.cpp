#include "coll/choice/choose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coll/algorithms/exchange_steps.hpp"
#include "coll/team/board.hpp"

namespace espalier {
namespace {

Outcome check_range(const char* name, long value, long lowest, long highest) {
  if (lowest <= value && value <= highest) return Unit{};
  return error(ESP_ERR_ARGUMENT,
               fmt::format("option {}: {} is not in {}..{}", name, value, lowest, highest));
}

std::uint64_t message_bytes(const PlanRequest& request) {
  return request.elements * request.element_bytes;
}

struct Chosen {
  esp_algorithm algorithm;
  const char* why;
};

bool crosses_network(const PlanRequest& request) {
  return request.nodes.nodes != nullptr && request.nodes.nodes->count() > 1;
}

// Between a root and all others.
bool moves_blocks(const PlanRequest& request) {
  return request.collective == Collective::kGather || request.collective == Collective::kScatter;
}

Chosen choose_over_nodes(const PlanRequest& request, const Tuning& tuning) {
  const auto members = static_cast<std::uint64_t>(request.size);
  const bool spread = exists(ESP_ALGORITHM_SPREAD, request) && request.nodes.nodes->largest == 1 &&
                      message_bytes(request) >= tuning.spread_node_bytes * members &&
                      (members > 2 || message_bytes(request) > tuning.exchange_bytes);
  if (spread) return {ESP_ALGORITHM_SPREAD, "one rank per node, each combines its share"};
  return {ESP_ALGORITHM_TREE, "levels of the machine: between nodes, then inside them"};
}

// Of collectives without trees. What an alltoallv moves differs from member to member: it cannot
// be chosen by.
Chosen choose_exchange_algorithm(const PlanRequest& request, const Tuning& tuning) {
  switch (request.collective) {
    case Collective::kAllgather:
    case Collective::kAllgatherv: {
      const bool blocks = request.collective == Collective::kAllgather;
      const std::uint64_t bytes =
          message_bytes(request) * static_cast<std::uint64_t>(blocks ? request.size : 1);
      if (!crosses_network(request) && request.size <= tuning.gather_publish_ranks)
        return {ESP_ALGORITHM_PUBLISH, "one node: one copy of each block for all readers"};
      if (bytes > tuning.gather_rounds_bytes)
        return {ESP_ALGORITHM_RING, "much in all: each link carries each block once"};
      const TeamNodes* nodes = request.nodes.nodes;
      if (crosses_network(request) && nodes->largest > 1 &&
          nodes->count() <= tuning.gather_leader_nodes)
        return {ESP_ALGORITHM_TREE, "little in all, few nodes: one message of a node for another"};
      return {ESP_ALGORITHM_BRUCK, "little in all: fewest rounds"};
    }
    case Collective::kAlltoall:
      if (request.variant == ESP_VARIANT_EVENT && request.size >= tuning.bruck_ranks &&
          message_bytes(request) <= tuning.bruck_bytes)
        return {ESP_ALGORITHM_BRUCK, "many small blocks: fewer messages"};
      return {ESP_ALGORITHM_ONE_FACTOR, "each pair once, in every step all ranks"};
    case Collective::kAlltoallv:
    case Collective::kAlltoallw:
      return {ESP_ALGORITHM_ONE_FACTOR, "each pair once, in every step all ranks"};
    case Collective::kReduceScatterBlock:
    case Collective::kReduceScatter:
      return {ESP_ALGORITHM_SPREAD, "each rank combines its block"};
    case Collective::kNeighborAllgather:
    case Collective::kNeighborAllgatherv:
      return {ESP_ALGORITHM_PUBLISH, "one copy for all neighbours"};
    case Collective::kGatherv:
    case Collective::kScatterv:
    case Collective::kNeighborAlltoall:
    case Collective::kNeighborAlltoallv:
    case Collective::kNeighborAlltoallw:
      return {ESP_ALGORITHM_LINEAR, "each block straight to its rank"};
    default:
      if (message_bytes(request) <= tuning.scan_rounds_bytes)
        return {ESP_ALGORITHM_DOUBLING, "short: fewest rounds"};
      return {ESP_ALGORITHM_RING, "long: a pipeline from rank to rank"};
  }
}

Chosen choose_algorithm(const esp_coll_options& options, const PlanRequest& request,
                        const Tuning& tuning) {
  if (options.algorithm != ESP_ALGORITHM_AUTO) return {options.algorithm, "named by the call"};
  // Shapes and variants are properties of trees.
  const bool of_trees = options.shape != ESP_SHAPE_AUTO || options.variant != ESP_VARIANT_EVENT;
  if (of_trees && has_shapes(request.collective))
    return {ESP_ALGORITHM_TREE, "a shape or a variant is named, which trees have"};
  if (exists(tuning.preferred_algorithm, request))
    return {tuning.preferred_algorithm, "the setting ALGORITHM"};
  if (!has_shapes(request.collective)) {
    return choose_exchange_algorithm(request, tuning);
  }
  if (moves_blocks(request)) {
    if (request.size > tuning.linear_ranks && message_bytes(request) <= tuning.rooted_tree_bytes)
      return {ESP_ALGORITHM_TREE, "many small blocks: fewer messages at the root"};
    return {ESP_ALGORITHM_LINEAR, "each block straight between its rank and the root"};
  }
  if (request.nodes.nodes != nullptr) return choose_over_nodes(request, tuning);
  switch (request.collective) {
    case Collective::kBcast:
      return {ESP_ALGORITHM_PUBLISH, "one node: one publication for all readers"};
    case Collective::kAllreduce:
      if (message_bytes(request) <= tuning.allreduce_gather_bytes) {
        if (request.size <= tuning.gather_ranks)
          return {ESP_ALGORITHM_PUBLISH, "little data, few ranks: one combines and publishes"};
        return {ESP_ALGORITHM_TREE, "little data of many ranks"};
      }
      if (request.commutative) return {ESP_ALGORITHM_SPREAD, "each rank combines its share"};
      return {ESP_ALGORITHM_TREE, "the operator needs the order of ranks"};
    default:
      return {ESP_ALGORITHM_TREE, "one node: the root combines all, or a tree does"};
  }
}

std::uint64_t least_segment_bytes(const PlanRequest& request, const Tuning& tuning) {
  const bool spread = request.algorithm == ESP_ALGORITHM_SPREAD;
  if (crosses_network(request)) {
    if (spread) return tuning.network_spread_bytes_min;
    return request.nodes.nodes->count() == 2 ? tuning.network_hop_bytes_min
                                             : tuning.network_bytes_min;
  }
  return spread ? tuning.spread_bytes_min : tuning.segment_bytes_min;
}

std::uint64_t choose_segment_bytes(const PlanRequest& request, const Tuning& tuning) {
  // Both sides of a block know its length, and nobody the others'.
  if (is_irregular(request.collective)) {
    return crosses_network(request) ? tuning.network_bytes_max : tuning.segment_bytes_max;
  }
  std::uint64_t bytes = message_bytes(request);
  if (request.algorithm == ESP_ALGORITHM_SPREAD && request.collective == Collective::kAllreduce) {
    // segments of a block
    bytes /= static_cast<std::uint64_t>(request.size);
  }
  const bool network = crosses_network(request);
  const std::uint64_t wanted = bytes / (network ? tuning.network_segments : tuning.segments);
  const std::uint64_t most = network ? tuning.network_bytes_max : tuning.segment_bytes_max;
  // Doubled, so that pieces start on whole pages.
  std::uint64_t segment = least_segment_bytes(request, tuning);
  while (segment < wanted && segment < most) segment *= 2;
  return std::min(segment, most);
}

// Does the call leave it to this library how ranks are connected?
bool is_free(const esp_coll_options& options, const Tuning& tuning) {
  if (tuning.inner_levels == FollowLevels::kAlways) return true;
  return options.algorithm == ESP_ALGORITHM_AUTO && options.shape == ESP_SHAPE_AUTO &&
         options.variant == ESP_VARIANT_EVENT;
}

// Where members are, as far as a plan is to make use of it.
const TeamNodes* choose_nodes(const esp_coll_options& options, const PlanRequest& request,
                              const Tuning& tuning) {
  const TeamNodes* nodes = request.nodes.nodes;
  if (nodes == nullptr || nodes->inner.empty()) return nodes;
  if (!is_free(options, tuning) || exists(tuning.preferred_algorithm, request)) return nodes->plain;
  if (!request.commutative && !nodes->in_order()) return nodes->plain;
  const bool wanted = tuning.inner_levels == FollowLevels::kOn;
  if (wanted || tuning.inner_levels == FollowLevels::kAlways) return nodes;
  // On one node all ranks reduce their shares at once.
  const bool spread = nodes->plain == nullptr && request.collective == Collective::kAllreduce &&
                      request.commutative && message_bytes(request) > tuning.allreduce_gather_bytes;
  const bool pays = nodes->largest > tuning.flat_ranks && !spread;
  if (tuning.inner_levels != FollowLevels::kAuto || !pays) return nodes->plain;
  const bool collapse =
      nodes->in_one_memory > 0 && message_bytes(request) > tuning.one_memory_bytes;
  return collapse ? nodes->by_memory : nodes;
}

// A tree whose parts nobody has chosen follows the nodes of its team. An order of ranks that goes
// to and fro between nodes cannot be kept that way.
bool follows_nodes(const esp_coll_options& options, const PlanRequest& request,
                   const Tuning& tuning) {
  const TeamNodes* nodes = request.nodes.nodes;
  return nodes != nullptr && request.algorithm == ESP_ALGORITHM_TREE &&
         has_shapes(request.collective) && is_free(options, tuning) &&
         (request.commutative || nodes->in_order());
}

// Reductions of many groups, or members, in one pass would make their head the slowest rank.
LevelShape choose_level(const LevelShape& wished, std::int32_t many, bool up,
                        const Tuning& tuning) {
  if (wished.shape != ESP_SHAPE_AUTO) return wished;
  return {up && many > tuning.flat_ranks ? ESP_SHAPE_KNOMIAL : ESP_SHAPE_FLAT,
          tuning.knomial_radix};
}

void choose_exchange(const Tuning& tuning, PlanRequest& request) {
  NodePlan& plan = request.nodes;
  const std::int32_t nodes = plan.nodes->count();
  if (nodes == 1 || nodes > 1 << tuning.exchange_messages) return;  // it would be more than those
  if (tuning.level_shapes.nodes.shape != ESP_SHAPE_AUTO) return;
  const std::int32_t messages = exchange_steps(nodes, tuning.exchange_radix).messages();
  const std::uint64_t bytes = message_bytes(request) * static_cast<std::uint64_t>(messages);
  const bool fits = messages <= tuning.exchange_messages && bytes <= tuning.exchange_bytes;
  if (fits) plan.exchange_radix = tuning.exchange_radix;
}

// An allreduce that is no exchange: spread over the heads where each gets a segment, and where
// nodes have one level inside (who is no head has no children there, whose sums it would have to
// keep).
void choose_spread(const esp_coll_options& options, const Tuning& tuning, PlanRequest& request) {
  NodePlan& plan = request.nodes;
  const std::int32_t nodes = plan.nodes->count();
  const bool fits = plan.exchange_radix == 0 && 1 < nodes && nodes <= kSpreadNodesMax &&
                    plan.nodes->inner.empty() && plan.inside == ESP_SHAPE_FLAT &&
                    plan.nodes->largest <= tuning.flat_ranks &&
                    tuning.level_shapes.nodes.shape == ESP_SHAPE_AUTO;
  if (!fits) return;
  const std::uint64_t share = message_bytes(request) / static_cast<std::uint64_t>(nodes);
  std::uint64_t segment = request.segment_bytes;
  while (options.segment_bytes == 0 && segment > share && segment > tuning.network_bytes_min) {
    segment /= 2;
  }
  if (segment > share) return;
  request.segment_bytes = segment;
  plan.spread = true;
}

// Several leaders of each node, if the settings ask for them.
void choose_stripes(const esp_coll_options& options, const Tuning& tuning, PlanRequest& request) {
  NodePlan& plan = request.nodes;
  const bool one_way = plan.exchange_radix > 0 || plan.spread || moves_blocks(request);
  const bool fits = !one_way && plan.nodes->count() > 1 && plan.nodes->inner.empty() &&
                    request.commutative && options.variant == ESP_VARIANT_EVENT;
  if (fits) plan.stripes = std::min(tuning.level_shapes.stripes, plan.nodes->largest);
}

// Over switches as over nodes. A chain over all nodes in their order enters each switch once, too,
// and its nodes send each segment once, where the heads of a chain of chains would do so twice.
void choose_switch_level(const LevelShape& wished, PlanRequest& request) {
  if (request.nodes.nodes->outer.empty() || request.nodes.stripes > 1) return;
  request.nodes.switches = wished;
  if (wished.shape == ESP_SHAPE_AUTO && request.shape != ESP_SHAPE_CHAIN) {
    request.nodes.switches = {request.shape, request.radix};
  }
}

// `all`: with what a profile adds.
void choose_node_trees(const esp_coll_options& options, const esp_coll_options& all,
                       const Tuning& tuning, PlanRequest& request) {
  if (!follows_nodes(options, request, tuning)) return;
  NodePlan& plan = request.nodes;
  const LevelShapes& wished = tuning.level_shapes;
  const bool up = request.collective != Collective::kBcast;
  plan.follow = true;
  const LevelShape inside = choose_level(wished.inside, plan.nodes->largest_group, up, tuning);
  plan.inside = inside.shape;
  plan.inside_radix = inside.radix;
  for (std::size_t k = 0; k < kLocalityLevels; ++k) {
    plan.between[k] = choose_level(wished.between[k], 0, up, tuning);  // few everywhere
  }
  const std::uint64_t bytes = message_bytes(request);
  const auto nodes = static_cast<std::uint64_t>(plan.nodes->count());
  const bool returns =
      request.collective == Collective::kAllreduce || request.collective == Collective::kBarrier;
  const bool given = all.shape != ESP_SHAPE_AUTO;
  if (returns && !given && options.variant == ESP_VARIANT_EVENT) {
    choose_exchange(tuning, request);
    choose_spread(all, tuning, request);
  }
  choose_stripes(options, tuning, request);
  if (!given) {
    const std::uint64_t segments = bytes / request.segment_bytes;
    request.shape = !moves_blocks(request) && segments >= tuning.chain_segments_per_node * nodes
                        ? ESP_SHAPE_CHAIN
                        : ESP_SHAPE_BINOMIAL;
    if (wished.nodes.shape != ESP_SHAPE_AUTO) {
      request.shape = wished.nodes.shape;
      request.radix = wished.nodes.radix;
    }
  }
  choose_switch_level(wished.switches, request);
}

void choose_windows(const esp_coll_options& options, const Tuning& tuning, PlanRequest& request) {
  request.transfer = tuning.transfer;
  const bool many_to_one = request.collective == Collective::kGather && request.size > 2 &&
                           !crosses_network(request) && tuning.cores == CoreClass::kOwn;
  if (many_to_one && request.transfer.path == Path::kAny &&
      message_bytes(request) >= tuning.push_gather_bytes) {
    request.transfer.path = Path::kPush;
  }
  request.window_send = options.window_send > 0 ? options.window_send : tuning.window_send;
  request.window_recv = options.window_recv > 0 ? options.window_recv : tuning.window_recv;
  if (options.window_recv == 0 && request.window_recv <= request.window_send) {
    request.window_recv = std::min(2 * request.window_send, kMaxWindow);
  }
  if (options.window_send == 0 && request.window_send >= request.window_recv) {
    request.window_send = std::max(request.window_recv / 2, 1);
  }
}

// Of those that move blocks, or parts: all members know how long lines are.
bool has_lines(Collective collective) {
  return !is_irregular(collective) && !traits_of(collective).neighbors;
}

// From so many bytes on there is no room, or no way, for a call on the short path.
std::uint64_t short_room(const PlanRequest& request, std::uint64_t most) {
  const Collective collective = request.collective;
  const bool small = collective < Collective::kAllgather;
  if (!small && (!has_lines(collective) || crosses_network(request))) return 0;
  // As on several nodes: who waits for few others gains nothing from waiting for all.
  const bool scans = collective == Collective::kScan || collective == Collective::kExscan;
  if (scans || crosses_network(request)) most = std::min(most, Board::kNodesShortBytes);
  // A line has a block for each.
  if (traits_of(collective).input == Extent::kPerMember)
    most /= static_cast<std::uint64_t>(request.size);
  return most + 1;
}

// What a profile says, where the call and the settings leave the choice to this library.
const ProfileRow* advice(const esp_coll_options& options, const PlanRequest& request,
                         const Tuning& tuning) {
  const bool free = is_free(options, tuning) && options.radix == 0 && options.segment_bytes == 0 &&
                    !exists(tuning.preferred_algorithm, request);
  if (tuning.profile == nullptr || !free) return nullptr;
  const ProfileRow* row = tuning.profile->find(situation_of(request, tuning));
  const esp_algorithm algorithm = row != nullptr ? row->choice.algorithm : ESP_ALGORITHM_AUTO;
  const bool named = algorithm != ESP_ALGORITHM_AUTO && algorithm != ESP_ALGORITHM_SHORT;
  return named && !exists(algorithm, request) ? nullptr : row;
}

// The call's options, and what it leaves open as the row has it.
esp_coll_options advised(const esp_coll_options& options, const ProfileRow* row,
                         const Tuning& tuning) {
  esp_coll_options all = options;
  if (row == nullptr) return all;
  all.algorithm =
      row->choice.algorithm == ESP_ALGORITHM_SHORT ? ESP_ALGORITHM_AUTO : row->choice.algorithm;
  all.shape = row->choice.shape;
  all.radix = row->choice.radix;
  if (!tuning.segments_are_set) all.segment_bytes = row->choice.segment_bytes;
  const bool free = all.window_send == 0 && all.window_recv == 0 && !tuning.windows_are_set;
  if (free) all.window_send = row->choice.window_send;
  return all;
}

}  // namespace

bool exists(esp_algorithm algorithm, const PlanRequest& request) {
  if (!has_algorithm(request.collective, algorithm)) return false;
  const bool turns = request.collective == Collective::kAllreduce &&
                     (algorithm == ESP_ALGORITHM_SPREAD || algorithm == ESP_ALGORITHM_RING);
  if (turns) return request.commutative;
  return fits_team(request.collective, algorithm, request.size);
}

Situation situation_of(const PlanRequest& request, const Tuning& tuning) {
  Situation situation;
  situation.collective = request.collective;
  situation.ranks = request.size;
  situation.nodes = crosses_network(request) ? request.nodes.nodes->count() : 1;
  // Members know the processors of their own machine alone.
  const bool crosses = situation.nodes > 1;
  situation.network = crosses ? tuning.network : NetworkClass::kAny;
  situation.cores = crosses ? CoreClass::kAny : tuning.cores;
  situation.bytes = message_bytes(request);
  return situation;
}

std::uint64_t short_end(const PlanRequest& base, std::uint64_t most, const Tuning& tuning) {
  PlanRequest request = base;
  request.element_bytes = 1;
  const std::uint64_t room = short_room(base, most);
  std::uint64_t ruled = room;
  const bool own = tuning.cores == CoreClass::kOwn && !crosses_network(request);
  if (request.collective == Collective::kAllreduce && own && tuning.short_allreduce_bytes != 0) {
    const auto ranks = static_cast<std::uint64_t>(base.size);
    ruled = std::min(ruled, tuning.short_allreduce_bytes / ranks + 1);
  }
  if (tuning.profile == nullptr) return ruled;
  // Where a row for fewer bytes names something else, or one for these names the short path.
  std::uint64_t measured = room;
  bool says = false;
  for (const ProfileRow& from : tuning.profile->of(base.collective)) {
    if (from.from_bytes >= room) continue;
    request.elements = from.from_bytes;
    const ProfileRow* row = advice(ESP_COLL_OPTIONS_INIT, request, tuning);
    if (row == nullptr) continue;
    const esp_coll_options& choice = row->choice;
    says = says || choice.algorithm == ESP_ALGORITHM_SHORT;
    const bool other = choice.algorithm != ESP_ALGORITHM_SHORT &&
                       (choice.algorithm != ESP_ALGORITHM_AUTO || choice.shape != ESP_SHAPE_AUTO ||
                        choice.radix != 0 || choice.segment_bytes != 0);
    if (other) measured = std::min(measured, from.from_bytes);
  }
  return says ? measured : std::min(ruled, measured);
}

Outcome check_options(const esp_coll_options& options) {
  if (options.struct_size < sizeof(esp_coll_options)) {
    return error(ESP_ERR_ARGUMENT,
                 fmt::format("struct_size of esp_coll_options is {}, expected at least {}: "
                             "initialise it with ESP_COLL_OPTIONS_INIT",
                             options.struct_size, sizeof(esp_coll_options)));
  }
  const struct {
    const char* name;
    long value;
    long highest;
  } rules[] = {
      {"algorithm", static_cast<long>(options.algorithm), ESP_ALGORITHM_COUNT - 1},
      {"shape", static_cast<long>(options.shape), ESP_SHAPE_COUNT - 1},
      {"radix", options.radix, 0x7fffffff},
      {"window_send", options.window_send, kMaxWindow},
      {"window_recv", options.window_recv, kMaxWindow},
      {"variant", static_cast<long>(options.variant), ESP_VARIANT_COUNT - 1},
  };
  for (const auto& rule : rules) {
    Outcome outcome = check_range(rule.name, rule.value, 0, rule.highest);
    if (!outcome) return outcome;
  }
  if (options.shape == ESP_SHAPE_KNOMIAL && options.radix == 1) {
    return error(ESP_ERR_ARGUMENT, "option radix: a k-nomial tree needs a radix of 2 or more");
  }
  return Unit{};
}

Result<PlanRequest> resolve(const esp_coll_options& options, const PlanRequest& base,
                            const Tuning& tuning) {
  if (const Outcome outcome = check_options(options); !outcome) return outcome.error();
  const ProfileRow* const row = advice(options, base, tuning);
  const esp_coll_options all = advised(options, row, tuning);
  PlanRequest request = base;
  request.variant = options.variant;
  request.nodes.nodes = choose_nodes(options, base, tuning);
  const Chosen chosen = choose_algorithm(all, request, tuning);
  request.algorithm = chosen.algorithm;
  request.reason = {chosen.why, row != nullptr ? row->line : 0};
  request.shape = all.shape;
  request.radix = all.radix;
  if (request.shape == ESP_SHAPE_AUTO) {
    request.shape = base.size <= tuning.flat_ranks ? ESP_SHAPE_FLAT : ESP_SHAPE_KNOMIAL;
  }
  if (request.radix == 0) {
    request.radix = request.algorithm == ESP_ALGORITHM_BRUCK ? 2 : tuning.knomial_radix;
  }
  request.segment_bytes =
      all.segment_bytes > 0 ? all.segment_bytes : choose_segment_bytes(request, tuning);
  choose_node_trees(options, all, tuning, request);
  choose_windows(all, tuning, request);
  return request;
}

Partition flow_partition(std::uint64_t bytes, std::uint64_t segment_limit, const Tuning& tuning,
                         bool between_nodes) noexcept {
  Partition partition;
  partition.elements = bytes;
  const std::uint64_t most =
      std::min(between_nodes ? tuning.network_bytes_max : tuning.segment_bytes_max, segment_limit);
  // A setting may ask for segments below the least.
  const std::uint64_t least =
      std::min(between_nodes ? tuning.network_hop_bytes_min : tuning.flow_segment_bytes_min, most);
  const std::uint64_t segments = between_nodes ? tuning.network_segments : tuning.segments;
  partition.piece_elements = std::clamp(bytes / segments / 4096 * 4096, least, most);
  const std::uint64_t segment = partition.piece_elements;
  if (bytes > segment) partition.pieces = static_cast<std::uint32_t>((bytes - 1) / segment + 1);
  return partition;
}

}  // namespace espalier
