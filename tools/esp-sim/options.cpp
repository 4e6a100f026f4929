#include "tools/esp-sim/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "core/config_value.hpp"
#include "tools/esp-sim/application_options.hpp"
#include "tools/esp-sim/names.hpp"

namespace esp_sim {
namespace {

constexpr std::uint32_t kRanksMax = 1u << 24;
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 40;
constexpr std::uint64_t kAllBlocksMax = std::uint64_t{1} << 46;
constexpr std::size_t kSeedsMax = 100'000;

// All but the short path, which has no plan: it is a board in the memory of one node.
std::vector<std::string> simulated_algorithms() {
  std::vector<std::string> names = algorithm_names();
  std::erase(names, "short");
  return names;
}

// The values given for each quality; all combinations are run.
struct Axes {
  std::vector<std::string> machines = {"cori"}, operations = {"bcast"}, placements = {"by-core"};
  std::vector<std::string> shapes = {"auto"}, variants = {"event"};
  std::vector<std::string> algorithms;  // none: trees, where there are any
  std::vector<std::string> noises = {"none"}, levels = {"none"};
  std::vector<std::string> multicast = {"off"};
  std::vector<std::string> devices = {"off"}, device_reduce;
  std::string multicast_leaders = "node";
  std::vector<std::uint32_t> noise_every = {1};
  std::vector<std::uint64_t> bytes = {1 << 20}, segments = {0};
  std::vector<std::uint32_t> ranks = {64}, ranks_per_node = {0};
  std::vector<int> radices = {0}, windows_send = {0}, windows_recv = {0};
  std::vector<std::uint32_t> eager = {espalier::kEagerSegments};
  std::int32_t root = 0;
  std::uint32_t calls = 1;
  std::string faults = "none", seeds = "1";
  ApplicationAxes application;
};

[[noreturn]] void refuse(const std::string& text) {
  fmt::print(stderr, "esp-sim: {}\nRun with --help for all options.\n", text);
  std::exit(2);
}

template <typename Enum>
Enum position(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

// Who combines matters.
bool reduces_in_pieces(const Scenario& scenario) {
  return scenario.staging >= espalier::sim::Staging::kPieces &&
         espalier::traits_of(scenario.operation).reduces;
}

// Replaces every scenario by one copy per value of the axis.
template <typename Value, typename Set>
void multiply(std::vector<Scenario>& scenarios, const std::vector<Value>& values, Set set) {
  scenarios = product(scenarios, values, set);
}

espalier::sim::NoiseSpec noise_of(const std::string& text) {
  auto noise = espalier::sim::parse_noise(text);
  if (!noise) refuse("--noise: " + noise.error().text);
  return noise.value();
}

bool has_trees(espalier::Collective operation) {
  return espalier::has_shapes(operation);
}

// "barrier, bcast, reduce and allreduce"
std::string operations_with_trees() {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < espalier::kCollectives; ++c) {
    const auto operation = static_cast<espalier::Collective>(c);
    if (has_trees(operation)) names.emplace_back(collective_name(operation));
  }
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

bool exists(const Scenario& scenario) {
  const esp_algorithm algorithm = scenario.options.algorithm;
  return algorithm == ESP_ALGORITHM_AUTO || espalier::has_algorithm(scenario.operation, algorithm);
}

// Of lists of operations and algorithms. Where nothing is left the library says why.
void leave_out_what_does_not_exist(std::vector<Scenario>& scenarios) {
  std::vector<Scenario> left;
  std::copy_if(scenarios.begin(), scenarios.end(), std::back_inserter(left), exists);
  if (!left.empty()) scenarios = std::move(left);
}

void choose_algorithms(std::vector<Scenario>& scenarios, const std::vector<std::string>& names) {
  for (Scenario& scenario : scenarios) {
    scenario.options.algorithm =
        has_trees(scenario.operation) ? ESP_ALGORITHM_TREE : ESP_ALGORITHM_AUTO;
  }
  if (names.empty()) return;
  multiply(scenarios, names, [](Scenario& s, const std::string& name) {
    s.options.algorithm = position<esp_algorithm>(algorithm_names(), name);
  });
  leave_out_what_does_not_exist(scenarios);
}

bool on_devices(const Scenario& scenario) {
  return scenario.staging != espalier::sim::Staging::kNone;
}

// Where buffers lie, and who combines there.
void choose_devices(std::vector<Scenario>& scenarios, const Axes& axes) {
  using Text = const std::string&;
  multiply(scenarios, axes.devices, [](Scenario& s, Text v) {
    s.staging = position<espalier::sim::Staging>(staging_names(), v);
  });
  if (axes.device_reduce.empty()) return;
  if (std::none_of(scenarios.begin(), scenarios.end(), reduces_in_pieces)) {
    refuse(
        "--device-reduce: nothing is reduced without --devices pieces or shared and --op reduce "
        "or another that reduces");
  }
  std::vector<Scenario> all;
  for (const Scenario& scenario : scenarios) {
    if (!reduces_in_pieces(scenario)) {
      all.push_back(scenario);
      continue;
    }
    for (Text name : axes.device_reduce) {
      all.push_back(scenario);
      all.back().reducer = position<espalier::sim::Reducer>(reducer_names(), name);
    }
  }
  scenarios = std::move(all);
}

std::vector<Scenario> product_of(const Axes& axes) {
  auto faults = espalier::sim::parse_faults(axes.faults);
  if (!faults) refuse("--faults: " + faults.error().text);
  Scenario first;
  first.root = axes.root;
  if (axes.multicast_leaders == "socket")
    first.multicast_leaders = espalier::MulticastLeaders::kSocket;
  first.calls = axes.calls;
  first.faults = faults.value();
  std::vector<Scenario> all = {first};
  using Text = const std::string&;
  multiply(all, axes.machines, [](Scenario& s, Text v) { s.machine = v; });
  multiply(all, axes.operations, [](Scenario& s, Text v) {
    s.operation = position<espalier::Collective>(operation_names(), v);
  });
  multiply(all, axes.bytes, [](Scenario& s, std::uint64_t v) { s.bytes = v; });
  multiply(all, axes.ranks, [](Scenario& s, std::uint32_t v) { s.ranks = v; });
  multiply(all, axes.ranks_per_node, [](Scenario& s, std::uint32_t v) { s.ranks_per_node = v; });
  multiply(all, axes.placements, [](Scenario& s, Text v) {
    s.placement = position<espalier::sim::Placement>(placement_names(), v);
  });
  choose_algorithms(all, axes.algorithms);
  multiply(all, axes.shapes,
           [](Scenario& s, Text v) { s.options.shape = position<esp_shape>(shape_names(), v); });
  multiply(all, axes.levels, [](Scenario& s, Text v) {
    if (v != "none") s.levels = position<esp_shape>(shape_names(), v);
  });
  multiply(all, axes.multicast, [&](Scenario& s, Text v) {
    s.multicast = position<espalier::Multicast>(multicast_names(), v);
    const bool follows = s.levels || s.multicast == espalier::Multicast::kOff;
    if (!follows) s.levels = ESP_SHAPE_AUTO;
    // Whose algorithm is named does not go through a group.
    const bool is_free = s.multicast != espalier::Multicast::kOff && axes.algorithms.empty();
    if (is_free) s.options.algorithm = ESP_ALGORITHM_AUTO;
  });
  choose_devices(all, axes);
  multiply(all, axes.noise_every, [](Scenario& s, std::uint32_t v) { s.noise_every = v; });
  multiply(all, axes.radices, [](Scenario& s, int v) { s.options.radix = v; });
  multiply(all, axes.segments, [](Scenario& s, std::uint64_t v) { s.options.segment_bytes = v; });
  multiply(all, axes.windows_send, [](Scenario& s, int v) { s.options.window_send = v; });
  multiply(all, axes.windows_recv, [](Scenario& s, int v) { s.options.window_recv = v; });
  multiply(all, axes.eager, [](Scenario& s, std::uint32_t v) { s.eager = v; });
  multiply(all, axes.noises, [](Scenario& s, Text v) { s.noise = noise_of(v); });
  multiply(all, axes.variants, [](Scenario& s, Text v) {
    s.options.variant = position<esp_variant>(variant_names(), v);
  });
  if (const auto outcome = apply(axes.application, all); !outcome) refuse(outcome.error().text);
  for (Scenario& scenario : all) {
    if (scenario.operation == espalier::Collective::kBarrier) scenario.bytes = 0;
  }
  return all;
}

void add_place_options(CLI::App& app, Axes& axes) {
  const std::string group = "Machine and ranks (lists a,b,c: all combinations are run)";
  const auto list = [&](CLI::Option* option) { option->delimiter(',')->group(group); };
  list(app.add_option("--machine", axes.machines, "name of one that ships, or a file")
           ->capture_default_str());
  list(app.add_option("--ranks,-n", axes.ranks)
           ->check(CLI::Range(1u, kRanksMax))
           ->capture_default_str());
  list(app.add_option("--ranks-per-node", axes.ranks_per_node, "0: one per core")
           ->check(CLI::Range(0u, kRanksMax)));
  list(app.add_option("--placement", axes.placements)->check(CLI::IsMember(placement_names())));
}

void add_operation_options(CLI::App& app, Axes& axes) {
  const std::string group = "Operation (lists a,b,c: all combinations are run)";
  const auto list = [&](CLI::Option* option) { option->delimiter(',')->group(group); };
  list(app.add_option("--op", axes.operations)
           ->check(CLI::IsMember(operation_names()))
           ->capture_default_str());
  list(app.add_option("--bytes", axes.bytes,
                      "message size, as 8,64K,4M; of collectives with blocks that of each block, "
                      "of which irregular ones have an empty one")
           ->transform(CLI::AsSizeValue(false))
           ->check(CLI::Range(std::uint64_t{0}, kBytesMax))
           ->capture_default_str());
  app.add_option("--root", axes.root)->check(CLI::NonNegativeNumber)->group(group);
  app.add_option("--repeat", axes.calls, "calls back to back; times are per call")
      ->check(CLI::Range(1u, 1'000'000u))
      ->group(group);
  list(app.add_option("--algorithm", axes.algorithms,
                      "tree where there is one, else auto; of lists, those that an operation has")
           ->check(CLI::IsMember(simulated_algorithms())));
  list(app.add_option("--shape", axes.shapes, "of the tree, of " + operations_with_trees())
           ->check(CLI::IsMember(shape_names())));
  list(app.add_option(
              "--levels", axes.levels,
              "trees follow nodes, boards, sockets, NUMA nodes and caches: their shape inside a "
              "node; --shape is then that of the tree of nodes; auto: as the library chooses, and "
              "what has no trees follows nodes, too")
           ->check(CLI::IsMember({"none", "auto", "flat", "chain", "binary", "binomial"})));
  list(app.add_option("--multicast", axes.multicast,
                      "heads of nodes publish to all others through the network's group: wherever "
                      "there is a plan for it, or as the library chooses; --levels auto, if not "
                      "given")
           ->check(CLI::IsMember(multicast_names())));
  app.add_option("--multicast-leaders", axes.multicast_leaders,
                 "who of a node is in the network's group: one rank, or one of each socket")
      ->check(CLI::IsMember({"node", "socket"}))
      ->group(group);
  list(app.add_option("--devices", axes.devices,
                      "buffers on the device of each rank. whole: copied before and after; pieces: "
                      "the plans copy, piece by piece; shared: and devices of a node read each "
                      "other")
           ->check(CLI::IsMember(staging_names())));
  list(app.add_option("--device-reduce", axes.device_reduce,
                      "who combines what lies there: the host, or the device where it lies")
           ->check(CLI::IsMember(reducer_names())));
  list(app.add_option("--radix", axes.radices, "of kary, knomial and bruck")
           ->check(CLI::Range(1, 1024)));
  list(app.add_option("--segment", axes.segments, "bytes, as 64K")
           ->transform(CLI::AsSizeValue(false))
           ->check(CLI::Range(std::uint64_t{0}, kBytesMax)));
  list(app.add_option("--window-send", axes.windows_send, "N")->check(CLI::Range(1, 64)));
  list(app.add_option("--window-recv", axes.windows_recv, "M")->check(CLI::Range(1, 64)));
  list(app.add_option("--eager", axes.eager,
                      "segments of a flow that may come before they are expected; the library's "
                      "protocols: 16")
           ->check(CLI::Range(1u, 1u << 20)));
  list(app.add_option("--variant", axes.variants)
           ->check(CLI::IsMember(variant_names()))
           ->capture_default_str());
}

void add_chance_options(CLI::App& app, Axes& axes) {
  const std::string group = "Chance";
  app.add_option("--noise", axes.noises,
                 "list of none, uniform:10hz:0-10ms, fixed:1000hz:25us, exponential:10hz:2.5ms, "
                 "each with :aligned (all ranks at once), trace:FILE")
      ->delimiter(',')
      ->group(group);
  app.add_option("--noise-every", axes.noise_every, "noise on the ranks 0, k, 2k, ... only")
      ->delimiter(',')
      ->check(CLI::Range(1u, kRanksMax))
      ->group(group);
  app.add_option("--faults", axes.faults,
                 "delay=0.1:5us,retry=,no-memory=,clog=2,partition=,crash=1,slow=,heal=2ms")
      ->group(group);
  app.add_option("--seeds", axes.seeds, "as 1,5,10-20; each is one run")
      ->group(group)
      ->capture_default_str();
}

void add_output_options(CLI::App& app, Options& options) {
  const std::string group = "Output";
  Outputs& outputs = options.outputs;
  app.add_option("--csv", outputs.csv, "file for a line per run (-: standard output)")
      ->group(group);
  app.add_option("--json", outputs.json, "file for everything (-: standard output)")->group(group);
  app.add_option("--svg", outputs.svg,
                 "file for a plot along the first option with several numbers")
      ->group(group);
  app.add_option("--trace", outputs.trace, "file for a timeline (Chrome trace format), of one run")
      ->group(group);
  app.add_flag("--explain", outputs.explain, "show the critical path, of one run")->group(group);
  app.add_option("--goal", outputs.goal,
                 "file for the plans of all ranks as LogGOPSim reads them, of one scenario")
      ->group(group);
  app.add_flag("--quiet", outputs.quiet, "no table")->group(group);
  app.add_flag("--list-machines", options.list_machines, "names of the machines that ship")
      ->group(group);
}

// Faults that would do nothing here, or never let a run end.
void check_faults(const Scenario& scenario) {
  const espalier::sim::FaultSpec& faults = scenario.faults;
  const bool has_packets = scenario.multicast != espalier::Multicast::kOff;
  if ((faults.loss > 0 && !has_packets) || faults.duplicate > 0 || faults.reorder > 0 ||
      faults.corrupt > 0 || faults.branch_loss > 0) {
    refuse(
        "--faults: loss, duplicate, reorder, corrupt and branch-loss act on datagrams; the wire "
        "that esp-sim simulates is reliable (and repairs what multicast loses: loss with "
        "--multicast)");
  }
  if (faults.rnr > 0 || faults.echo > 0 || faults.breaks > 0 || faults.overruns > 0) {
    refuse(
        "--faults: rnr, echo, break and overrun act on connections of an adapter; esp-sim "
        "simulates none");
  }
  if (faults.heal_ns == 0 && (faults.retry >= 1 || faults.no_memory >= 1)) {
    refuse("--faults: a share of 1 without heal=TIME lets nothing through, ever");
  }
  if (faults.crashes > scenario.ranks || faults.slow_ranks > scenario.ranks) {
    refuse(fmt::format("--faults: more ranks crash or are slow than the {} that there are",
                       scenario.ranks));
  }
}

// What would do nothing.
void check_trees(const Scenario& scenario) {
  const bool is_shaped = scenario.options.shape != ESP_SHAPE_AUTO;
  const bool is_levelled = scenario.levels.value_or(ESP_SHAPE_AUTO) != ESP_SHAPE_AUTO;
  if ((!is_shaped && !is_levelled) || has_trees(scenario.operation)) return;
  refuse(fmt::format("{}: {} has no trees; {} have", is_shaped ? "--shape" : "--levels",
                     collective_name(scenario.operation), operations_with_trees()));
}

void check(const Options& options) {
  const Outputs& outputs = options.outputs;
  const bool is_one = options.scenarios.size() == 1;
  const bool is_one_run = is_one && options.seeds.size() == 1;
  if (!is_one_run && (!outputs.trace.empty() || outputs.explain)) {
    refuse(
        fmt::format("--trace and --explain are about one run, and these are {}: give one value "
                    "per option, and one seed",
                    options.scenarios.size() * options.seeds.size()));
  }
  if (!is_one && !outputs.goal.empty()) {
    refuse("--goal is about one scenario: give one value per option");
  }
  const auto axes = varying(options.scenarios);
  if (!outputs.svg.empty() && std::none_of(axes.begin(), axes.end(), [](const Quality* axis) {
        return axis->number != nullptr;
      })) {
    refuse("--svg needs an option with several numbers to draw along, as --bytes 64K,1M,16M");
  }
  for (const Scenario& scenario : options.scenarios) {
    if (static_cast<std::uint32_t>(scenario.root) >= scenario.ranks) {
      refuse(fmt::format("--root {}: there are {} ranks", scenario.root, scenario.ranks));
    }
    const espalier::CollectiveTraits& traits = espalier::traits_of(scenario.operation);
    const bool is_block =
        std::max(traits.input, traits.output) > espalier::Extent::kOne && !traits.neighbors;
    if (is_block && scenario.bytes > kAllBlocksMax / scenario.ranks) {
      refuse(fmt::format("--bytes {}: {} blocks of that size are more than 64 TiB", scenario.bytes,
                         scenario.ranks));
    }
    check_trees(scenario);
    check_faults(scenario);
    const auto outcome = check_application(scenario);
    if (!outcome) refuse(outcome.error().text);
    const bool is_plan = outputs.explain || !outputs.goal.empty();
    if (on_devices(scenario) && is_plan) {
      refuse("--explain and --goal know no devices: they are without --devices");
    }
    if (on_devices(scenario) && scenario.application.any()) {
      refuse("--overlap and --consumer are about memory of the host, not --devices");
    }
    if (scenario.application.any() && is_plan) {
      refuse("--explain and --goal are about the operation alone, not --overlap and --consumer");
    }
  }
}

}  // namespace

espalier::Result<std::vector<std::uint64_t>> parse_seeds(std::string_view text) {
  std::vector<std::uint64_t> seeds;
  const auto wrong = [text](std::string_view item) {
    return espalier::error(
        ESP_ERR_ARGUMENT,
        fmt::format("seeds \"{}\": \"{}\" is neither a number nor a range, as in 1,5,10-20", text,
                    item));
  };
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    const std::size_t dash = std::min(item.find('-'), item.size());
    const auto first = espalier::parse_integer(item.substr(0, dash));
    const auto last = dash < item.size() ? espalier::parse_integer(item.substr(dash + 1)) : first;
    if (!first || !last || *first < 0 || *last < *first) return wrong(item);
    if (static_cast<std::uint64_t>(*last - *first) >= kSeedsMax - seeds.size()) {
      return espalier::error(ESP_ERR_ARGUMENT,
                             fmt::format("seeds \"{}\": more than {}", text, kSeedsMax));
    }
    for (std::int64_t seed = *first; seed <= *last; ++seed) {
      seeds.push_back(static_cast<std::uint64_t>(seed));
    }
    if (comma == text.size()) return seeds;
    text.remove_prefix(comma + 1);
  }
}

Options parse_options(int argc, const char* const* argv) {
  Options options;
  Axes axes;
  CLI::App app(
      "Runs collectives of the library on a simulated machine, in virtual time: the same engine,\n"
      "plans and protocols, any number of ranks, noise and faults. Equal seeds give equal runs.",
      "esp-sim");
  add_place_options(app, axes);
  add_operation_options(app, axes);
  add_application_options(app, axes.application);
  add_chance_options(app, axes);
  add_output_options(app, options);
  app.set_version_flag("--version", fmt::format("espalier {}.{}.{}", ESP_VERSION_MAJOR,
                                                ESP_VERSION_MINOR, ESP_VERSION_PATCH));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::exit(app.exit(help));
  } catch (const CLI::ParseError& error) {
    refuse(error.what());
  }
  if (options.list_machines) return options;
  auto seeds = parse_seeds(axes.seeds);
  if (!seeds) refuse("--seeds: " + seeds.error().text);
  options.seeds = std::move(seeds.value());
  options.scenarios = product_of(axes);
  check(options);
  return options;
}

}  // namespace esp_sim
