#include "esp-bench/options.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>

#include "esp-bench/backend.hpp"
#include "esp-bench/one_sided.hpp"

namespace espalier::bench {
namespace {

const std::map<std::string, Mode> kModes = {{"ops", Mode::kOps},         {"floors", Mode::kFloors},
                                            {"memory", Mode::kMemory},   {"idle", Mode::kIdle},
                                            {"init", Mode::kInit},       {"calls", Mode::kCalls},
                                            {"sockets", Mode::kSockets}, {"peers", Mode::kPeers}};
const std::map<std::string, Alloc> kAllocs = {
    {"malloc", Alloc::kMalloc}, {"esp", Alloc::kLibrary}, {"device", Alloc::kDevice}};
// Positions are the values of esp_algorithm, esp_shape and esp_variant.
const std::vector<std::string> kAlgorithms = {"auto",       "short", "tree",    "publish",
                                              "spread",     "ring",  "bruck",   "doubling",
                                              "one-factor", "xor",   "halving", "linear"};
const std::vector<std::string> kShapes = {"auto", "flat",    "chain",    "binary",       "binomial",
                                          "kary", "knomial", "two-tree", "double-leader"};
const std::vector<std::string> kVariants = {"event", "waitall", "blocking"};

// The lists of values given for each axis of Choice; {} means {auto}.
struct Axes {
  std::vector<std::string> algorithms, shapes, variants;
  std::vector<std::size_t> segments;
  std::vector<int> radices, windows_send, windows_recv;
  bool started = false;
  bool any() const {
    return started || !algorithms.empty() || !shapes.empty() || !variants.empty() ||
           !segments.empty() || !radices.empty() || !windows_send.empty() || !windows_recv.empty();
  }
};

int position(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

// Replaces every choice by one copy per value of the axis.
template <typename Value, typename Set>
void multiply(std::vector<Choice>& choices, const std::vector<Value>& values, Set set) {
  if (values.empty()) return;
  std::vector<Choice> product;
  for (const Choice& choice : choices) {
    for (const Value& value : values) {
      product.push_back(choice);
      set(product.back(), value);
    }
  }
  choices = std::move(product);
}

bool may_be_tree(const Choice& choice) {
  const std::string& algorithm = kAlgorithms[static_cast<std::size_t>(choice.algorithm)];
  return algorithm == "auto" || algorithm == "tree";
}

std::vector<Choice> product_of(const Axes& axes) {
  std::vector<Choice> choices(1);
  choices.front().started = axes.started;
  multiply(choices, axes.algorithms,
           [](Choice& c, const std::string& v) { c.algorithm = position(kAlgorithms, v); });
  multiply(choices, axes.shapes, [](Choice& c, const std::string& v) {
    if (may_be_tree(c)) c.shape = position(kShapes, v);
  });
  choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
  multiply(choices, axes.radices, [](Choice& c, int v) { c.radix = v; });
  multiply(choices, axes.segments, [](Choice& c, std::size_t v) { c.segment_bytes = v; });
  multiply(choices, axes.windows_send, [](Choice& c, int v) { c.window_send = v; });
  multiply(choices, axes.windows_recv, [](Choice& c, int v) { c.window_recv = v; });
  multiply(choices, axes.variants,
           [](Choice& c, const std::string& v) { c.variant = position(kVariants, v); });
  return choices;
}

// What --sweep means for the axes that were not given.
void fill_for_sweep(Axes& axes, bool has_trees, bool has_others) {
  const bool fills_algorithms = axes.algorithms.empty();
  if (fills_algorithms && has_trees) axes.algorithms = {"tree"};
  if (fills_algorithms && has_others) {
    axes.algorithms.insert(axes.algorithms.end(), {"publish", "spread", "ring", "bruck", "doubling",
                                                   "one-factor", "xor", "linear"});
  }
  if (axes.shapes.empty() && has_trees) axes.shapes = {"flat", "chain", "binary", "binomial"};
  if (axes.segments.empty()) axes.segments = {16384, 65536, 262144};
  if (axes.variants.empty()) axes.variants = {"event"};
}

void add_choice_options(CLI::App& app, Axes& axes, bool& sweep) {
  const std::string group = "Espalier only (each takes a list a,b,c; all combinations are run)";
  const auto list = [&](CLI::Option* option) { option->delimiter(',')->group(group); };
  list(app.add_option("--algorithm", axes.algorithms)->check(CLI::IsMember(kAlgorithms)));
  list(app.add_option("--shape", axes.shapes)->check(CLI::IsMember(kShapes)));
  list(app.add_option("--variant", axes.variants)->check(CLI::IsMember(kVariants)));
  list(app.add_option("--radix", axes.radices, "of kary, knomial and bruck")
           ->check(CLI::Range(1, 64)));
  list(app.add_option("--segment", axes.segments, "bytes, as 64K")
           ->transform(CLI::AsSizeValue(false)));
  list(app.add_option("--window-send", axes.windows_send, "N")->check(CLI::Range(1, 64)));
  list(app.add_option("--window-recv", axes.windows_recv, "M")->check(CLI::Range(1, 64)));
  app.add_flag("--started", axes.started,
               "the non-blocking form and its wait, in place of the blocking one")
      ->group(group);
  app.add_flag("--sweep", sweep, "fill the axes not given with a useful range, sort by time")
      ->group(group);
}

void add_measurement_options(CLI::App& app, Options& options) {
  app.add_option("--bytes", options.sizes,
                 "message sizes, as 8,64K,1M; multiples of 4; of gathers, scatters and alltoalls "
                 "the size of each block, of which those with a v have empty or short ones")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--budget-ms", options.budget_ms, "sampling time per row")
      ->check(CLI::Range(1.0, 60000.0))
      ->capture_default_str();
  app.add_option("--limit-s", options.limit_s,
                 "no row but the first begins after that many seconds; those left out say so")
      ->check(CLI::Range(1e-6, 86400.0));
  app.add_option("--samples-min", options.samples_min)->check(CLI::Range(1, 100000));
  app.add_option("--samples-max", options.samples_max)->check(CLI::Range(1, 100000));
  app.add_option("--batch", options.batch_max, "most calls per sample")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--offset", options.offset,
                 "where buffers begin in a page: 16 is usual for those of malloc; a multiple of 4")
      ->check(CLI::Range(0, 4092))
      ->check([](const std::string& text) {
        return std::stoul(text) % sizeof(float) == 0 ? "" : "not a multiple of 4";
      })
      ->capture_default_str();
  app.add_option("--ring", options.ring_bytes, "bytes of rotating buffers where several fit")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--json", options.json_path, "where rank 0 writes the results (-: stdout)");
  app.add_flag("--smoke", options.smoke, "two small sizes and few samples: a check, no result");
  app.add_option("--calls", options.calls, "mode calls: how many")->check(CLI::Range(1, 1000000));
  app.add_option("--late", options.late_rank, "mode calls: the rank that arrives last");
  app.add_option("--seconds", options.idle_seconds, "mode idle: how long the others wait")
      ->check(CLI::Range(0.05, 600.0));
}

[[noreturn]] void refuse(const std::string& text) {
  std::fprintf(stderr, "esp-bench: %s\nRun with --help for all options.\n", text.c_str());
  std::exit(2);
}

void check_sizes(const Options& options) {
  for (const std::size_t bytes : options.sizes) {
    if (bytes == 0 || bytes % sizeof(float) != 0) {
      refuse("--bytes " + std::to_string(bytes) + ": sizes are positive multiples of 4 (floats)");
    }
    if (bytes > (std::size_t{1} << 30)) {
      refuse("--bytes " + std::to_string(bytes) + ": at most 1 GiB (MPI counts are int)");
    }
  }
  if (options.samples_min > options.samples_max) refuse("--samples-min exceeds --samples-max");
}

void check_ops(const Options& options) {
  for (const OpKind kind : options.ops) {
    if (is_one_sided(kind) && !OneSided::is_there()) {
      refuse("--op " + std::string(op_name(kind)) + ": needs the program for Espalier");
    }
    if (is_one_sided(kind) && options.alloc == Alloc::kDevice) {
      refuse("--op " + std::string(op_name(kind)) + ": not with --alloc device");
    }
  }
}

void set_root(Options& options, const std::string& root) {
  options.rotate_root = root == "rotate";
  if (options.rotate_root) return;
  char* end = nullptr;
  options.root = static_cast<int>(std::strtol(root.c_str(), &end, 10));
  if (root.empty() || *end != '\0' || options.root < 0) {
    refuse("--root " + root + ": neither a rank nor `rotate`");
  }
}

void set_buffers(Options& options, bool reuses) {
  options.reuses_buffers = reuses;
  if (!reuses) return;
  if (options.mode != Mode::kOps) refuse("--buffers reused: of mode ops");
  if (options.rotate_root) {
    refuse("--root rotate: needs buffers that rotate, too, not --buffers reused");
  }
}

void apply_defaults(Options& options) {
  if (options.ops.empty()) options.ops = default_ops();
  if (options.sizes.empty()) {
    options.sizes = {8, 1 << 10, 16 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
    if (options.smoke) options.sizes = {8, 64 << 10};
  }
  if (options.smoke) {
    options.budget_ms = 2.0;
    options.samples_min = 3;
    options.samples_max = 10;
    options.batch_max = 8;
    options.idle_seconds = 0.2;
    options.calls = 5;
  }
}

}  // namespace

std::string describe(const Choice& choice) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  if (choice.algorithm != 0) add(kAlgorithms[static_cast<std::size_t>(choice.algorithm)]);
  if (choice.shape != 0) add(kShapes[static_cast<std::size_t>(choice.shape)]);
  if (choice.radix != 0) add("radix=" + std::to_string(choice.radix));
  if (choice.segment_bytes != 0) add("segment=" + std::to_string(choice.segment_bytes));
  if (choice.window_send != 0) add("N=" + std::to_string(choice.window_send));
  if (choice.window_recv != 0) add("M=" + std::to_string(choice.window_recv));
  if (choice.started) add("started");
  if (choice.variant != 0) add(kVariants[static_cast<std::size_t>(choice.variant)]);
  return text;
}

Options parse_options(int argc, char** argv) {
  Options options;
  Axes axes;
  std::string mode = "ops", root = "0", alloc = "malloc", buffers = "rewritten";
  std::vector<std::string> ops;
  bool sweep = false, quiet = false;
  CLI::App app("Measures collectives and point-to-point (" + Backend::library() + ")", "esp-bench");
  app.add_option("mode", mode,
                 "ops: time operations; floors: what the machine allows (no launcher); memory: "
                 "resident memory, after the collectives of --op; idle: CPU of waiting ranks; "
                 "init: start and stop only; calls: "
                 "plain calls for an instruction counter; sockets: a plain socket between two "
                 "ranks; peers: first and later exchanges with every rank, memory per peer")
      ->check(CLI::IsMember(kModes));
  app.add_option("--op", ops,
                 "operations, as bcast,gatherv; only if named: all but barrier, bcast, reduce, "
                 "allreduce and p2p; those of one side (put, get, fetch-add, am) are Espalier only")
      ->delimiter(',')
      ->check(CLI::IsMember(all_ops()));
  app.add_option("--root", root, "rank, or `rotate`: another root every call");
  app.add_option("--alloc", alloc,
                 "buffers from malloc, from esp_alloc (`esp`), or in the memory of a device, whose "
                 "copies are the floors then")
      ->check(CLI::IsMember(kAllocs));
  app.add_option("--buffers", buffers,
                 "rewritten: they rotate, and get new data between samples; reused: one for all "
                 "calls, written once, as in the OSU benchmarks")
      ->check(CLI::IsMember({"rewritten", "reused"}))
      ->capture_default_str();
  app.add_flag("--quiet", quiet, "no table");
  add_measurement_options(app, options);
  add_choice_options(app, axes, sweep);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::exit(app.exit(help));
  } catch (const CLI::ParseError& error) {
    refuse(error.what());
  }
  options.alloc = kAllocs.at(alloc);
  if (!Backend::has_choices() && (axes.any() || sweep || options.alloc != Alloc::kMalloc)) {
    refuse("this program measures " + Backend::library() +
           "; the options marked `Espalier only`, "
           "--alloc esp and --alloc device need the one for Espalier");
  }
  options.mode = kModes.at(mode);
  for (const std::string& op : ops) options.ops.push_back(all_ops().at(op));
  check_ops(options);
  set_root(options, root);
  set_buffers(options, buffers == "reused");
  options.table = !quiet;
  apply_defaults(options);
  const auto has_trees = [](OpKind kind) {
    return kind <= OpKind::kAllreduce || kind == OpKind::kGather || kind == OpKind::kScatter;
  };
  const auto any = [&](auto which) {
    return std::any_of(options.ops.begin(), options.ops.end(), which);
  };
  if (sweep && options.limit_s > 0.0) refuse("--limit-s: not with --sweep");
  if (sweep) {
    options.leaves_out_refused = axes.algorithms.empty();
    const auto has_others = [](OpKind kind) { return kind > OpKind::kAllreduce && !is_pair(kind); };
    fill_for_sweep(axes, any(has_trees), any(has_others));
  }
  options.choices = product_of(axes);
  check_sizes(options);
  return options;
}

}  // namespace espalier::bench
