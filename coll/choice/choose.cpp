#include "coll/choice/choose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coll/choice/cheapest.hpp"
#include "coll/choice/choose_nodes.hpp"
#include "coll/choice/estimate.hpp"
#include "coll/team/board.hpp"

namespace espalier {
namespace {

Outcome check_range(const char* name, long value, long lowest, long highest) {
  if (lowest <= value && value <= highest) return Unit{};
  return error(ESP_ERR_ARGUMENT,
               fmt::format("option {}: {} is not in {}..{}", name, value, lowest, highest));
}

struct Chosen {
  esp_algorithm algorithm;
  const char* why;
};

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
  const bool known = !is_irregular(collective) || all_know_lengths(collective);
  return known && !traits_of(collective).neighbors;
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

// The request with all that follows from its algorithm.
PlanRequest complete(const Chosen& chosen, const esp_coll_options& options,
                     const esp_coll_options& all, const Tuning& tuning, PlanRequest request) {
  request.algorithm = chosen.algorithm;
  request.reason.rule = chosen.why;
  request.shape = all.shape;
  request.radix = all.radix;
  if (request.shape == ESP_SHAPE_AUTO) {
    request.shape = request.size <= tuning.flat_ranks ? ESP_SHAPE_FLAT : ESP_SHAPE_KNOMIAL;
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

// Has nobody said what is done?
bool is_unnamed(const esp_coll_options& options, const esp_coll_options& all,
                const PlanRequest& request, const Tuning& tuning) {
  return options.algorithm == ESP_ALGORITHM_AUTO && options.shape == ESP_SHAPE_AUTO &&
         options.variant == ESP_VARIANT_EVENT && all.algorithm == ESP_ALGORITHM_AUTO &&
         all.shape == ESP_SHAPE_AUTO && all.radix == 0 &&
         !exists(tuning.preferred_algorithm, request);
}
// How trees are between nodes.
bool is_level_set(const Tuning& tuning) {
  const LevelShapes& wished = tuning.level_shapes;
  return wished.nodes.shape != ESP_SHAPE_AUTO || wished.switches.shape != ESP_SHAPE_AUTO ||
         wished.stripes > 1;
}

// Costs say how messages cross a network, where nobody else does.
bool is_for_costs(const esp_coll_options& options, const esp_coll_options& all,
                  const PlanRequest& request, const Tuning& tuning) {
  return tuning.costs && crosses_network(request) && !is_level_set(tuning) &&
         is_unnamed(options, all, request, tuning);
}

constexpr Chosen kByTree{ESP_ALGORITHM_TREE, ""};

// A call by multicast, complete, in `group`. Returns what is against it, for people; nullptr:
// nothing. `request`: the call's, on the nodes that a plan follows.
const char* find_multicast(const esp_coll_options& options, const esp_coll_options& all,
                           const Tuning& tuning, const PlanRequest& request, PlanRequest& group) {
  if (tuning.multicast == Multicast::kOff) return "the setting MULTICAST";
  if (tuning.multicast_packet_bytes == 0) return "not all ranks have a group of the network";
  const bool is_on = tuning.multicast == Multicast::kOn;
  if (!is_on && tuning.network == NetworkClass::kTcp)
    return "over UDP only if the setting MULTICAST is on";
  // Nobody has measured it there, and a source waits until all its readers have had a core.
  if (!is_on && !tuning.costs) return "where ranks share cores only if the setting MULTICAST is on";
  const esp_coll_options& free = is_on ? options : all;  // The setting goes before a profile.
  if (!is_unnamed(options, free, request, tuning) || (!is_on && is_level_set(tuning)))
    return "the call, a setting or a profile names another way";
  group = complete(kByTree, options, free, tuning, request);
  group.nodes.exchange_radix = 0;
  group.nodes.spread = false;
  group.nodes.stripes = 1;
  group.nodes.multicast = true;
  if (request.collective == Collective::kBcast) {  // There is no tree over the nodes.
    group.shape = ESP_SHAPE_BINOMIAL;
    group.nodes.switches = {ESP_SHAPE_AUTO, 2};
  }
  group.reason = {is_on ? "the setting MULTICAST" : "for all nodes, each port sends it once"};
  return why_no_multicast(group);
}

// Where there is no estimate. Of the longest block nothing is known here.
bool multicast_pays(const PlanRequest& ruled, const Tuning& tuning) {
  return ruled.collective == Collective::kAllgatherv &&
         ruled.nodes.nodes->count() >= tuning.multicast_nodes &&
         message_bytes(ruled) / static_cast<std::uint64_t>(ruled.size) <=
             tuning.multicast_gather_bytes;
}

}  // namespace

bool exists(esp_algorithm algorithm, const PlanRequest& request) {
  if (!has_algorithm(request.collective, algorithm)) return false;
  const bool turns = request.collective == Collective::kAllreduce &&
                     (algorithm == ESP_ALGORITHM_SPREAD || algorithm == ESP_ALGORITHM_RING);
  const bool leads = algorithm == ESP_ALGORITHM_TREE && !has_shapes(request.collective);
  if (turns || (leads && traits_of(request.collective).reduces)) return request.commutative;
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
  request.reason.line = row != nullptr ? row->line : 0;
  const PlanRequest ruled =
      complete(choose_algorithm(all, request, tuning), options, all, tuning, request);
  PlanRequest group;
  const bool has_group = find_multicast(options, all, tuning, request, group) == nullptr;
  if (has_group && tuning.multicast == Multicast::kOn) return group;
  if (!is_for_costs(options, all, request, tuning)) return ruled;
  Costs costs = *tuning.costs;
  costs.group.packet_bytes = tuning.multicast_packet_bytes;
  if (has_group && multicast_pays(ruled, tuning) && !estimate(group, costs)) return group;
  const bool has_tree = has_shapes(base.collective) && ruled.algorithm != kByTree.algorithm;
  const PlanRequest tree = has_tree ? complete(kByTree, options, all, tuning, request) : ruled;
  const auto is_left = [](const LevelShape& level) { return level.shape == ESP_SHAPE_AUTO; };
  const LevelShapes& wished = tuning.level_shapes;
  const Freedom freedom = {
      .segments = all.segment_bytes == 0 && !tuning.segments_are_set,
      .inside = is_left(wished.inside) && std::ranges::all_of(wished.between, is_left)};
  return cheapest(ruled, tree, freedom, costs, has_group ? &group : nullptr);
}

const char* without_multicast(const esp_coll_options& options, const PlanRequest& base,
                              const Tuning& tuning) {
  if (tuning.multicast != Multicast::kOn) return nullptr;
  PlanRequest request = base, group;
  request.variant = options.variant;
  request.nodes.nodes = choose_nodes(options, base, tuning);
  return find_multicast(options, options, tuning, request, group);
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
