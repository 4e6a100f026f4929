// Every published closed form whose operation exists, against the simulator without contention.
//
//   esp-closed-forms [--markdown FILE]
//
// Rows of three kinds: exact formulas must equal the simulation to the nanosecond; models must lie
// within 10 %; rows with a remark show where a published simplification does not hold, and why, and
// are not judged. Ends with 1 if a judged row fails. Simulated figures only.
#include "tools/esp-sim/closed_forms.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "bench/experiments/simulated.hpp"

namespace espalier::experiments {
namespace {

namespace forms = closed_forms;
using forms::LogGP;
using Count = std::uint64_t;

constexpr double kExact = 0;
constexpr double kModel = 0.10;
constexpr double kShown = INFINITY;

struct Row {
  std::string formula;
  std::string source;
  Count ranks = 0;
  Count bytes = 0;
  Count segments = 1;
  double predicted_ns = 0;
  double simulated_ns = 0;
  double allowed = kExact;  // relative
  std::string remark;

  double difference() const { return predicted_ns / simulated_ns - 1; }
  bool good() const {
    // Virtual time is whole nanoseconds.
    return std::fabs(predicted_ns - simulated_ns) <= 0.5 || std::fabs(difference()) < allowed;
  }
};

// Copies by the receiver, without contention: for the models of copies inside a node.
constexpr const char* kPullMachine = R"(
[level node]
arity = 1 # assumed: one node
carrier = pull # assumed: CMA
latency = 100 ns # assumed: round
overhead = 100 ns # assumed: round
bandwidth = 8 GB/s # assumed: round
[level core]
arity = 64 # assumed: enough
[cma]
call = 1 us # assumed: round
page = 0.1 us # assumed: round
reader = 0 ns # assumed: no contention
[compute]
reduce = 8 GB/s # assumed: round
)";

class Experiment {
 public:
  Experiment() : flat_(machine_or_exit("flat")), pull_(parse_pull()) {
    const sim::Level& network = flat_.levels.front();
    model_ = {network.latency_ns, network.overhead_send_ns, network.gap_ns, network.ns_per_byte};
  }

  std::vector<Row> rows() {
    for (const Count bytes : {Count{8}, Count{65536}}) trees(bytes);
    pipelines();
    up_and_down();
    multicast_paper();
    copies();
    for (const Count bytes : {Count{8}, Count{65536}}) gathers(bytes);
    return std::move(rows_);
  }

 private:
  static sim::Machine parse_pull() {
    auto machine = sim::parse_machine(kPullMachine, "pull.machine");
    if (!machine) fmt::print(stderr, "{}\n", machine.error().text);
    return machine.value();
  }

  double simulate(const sim::Operation& operation, Count ranks) const {
    return simulate(flat_, operation, ranks);
  }
  static double simulate(const sim::Machine& machine, const sim::Operation& operation,
                         Count ranks) {
    Job job;
    job.machine = &machine;
    job.ranks = static_cast<std::uint32_t>(ranks);
    return static_cast<double>(run_or_exit(job, operation).makespan_ns);
  }

  double bcast(esp_shape shape, Count ranks, Count bytes, Count segments = 1, int radix = 0) const {
    sim::Operation operation = tree_operation(Collective::kBcast, shape, bytes, segments);
    operation.options.radix = radix;
    return simulate(operation, ranks);
  }
  // With a narrow window children are served in turn, segment by segment, as the formula has it.
  double binary_in_turn(Count ranks, Count bytes, Count segments) const {
    sim::Operation operation =
        tree_operation(Collective::kBcast, ESP_SHAPE_BINARY, bytes, segments);
    operation.options.window_send = 2;
    return simulate(operation, ranks);
  }

  void add(Row row) { rows_.push_back(std::move(row)); }

  void trees(Count bytes) {
    const auto size = static_cast<double>(bytes);
    for (const Count p : {2, 9, 64}) {
      add({"flat tree", "LogGP", p, bytes, 1, forms::flat_bcast(model_, p, size),
           bcast(ESP_SHAPE_FLAT, p, bytes), kExact, ""});
      add({"chain", "LogGP", p, bytes, 1, forms::chain_bcast(model_, p, size),
           bcast(ESP_SHAPE_CHAIN, p, bytes), kExact, ""});
    }
    for (const Count p : {2, 16, 1024}) {
      add({"binomial", "Kowalewski (4.3)", p, bytes, 1, forms::binomial_bcast(model_, p, size),
           bcast(ESP_SHAPE_BINOMIAL, p, bytes), kExact, ""});
    }
    add({"binomial", "Kowalewski (4.3)", 9, bytes, 1, forms::binomial_bcast(model_, 9, size),
         bcast(ESP_SHAPE_BINOMIAL, 9, bytes), kShown,
         "the formula rounds 9 ranks up to 16; the last child is a leaf"});
    for (const Count p : {16, 256}) {
      add({"4-nomial", "rounds of k - 1 messages", p, bytes, 1,
           forms::knomial_bcast(model_, p, 4, size), bcast(ESP_SHAPE_KNOMIAL, p, bytes, 1, 4),
           kExact, ""});
    }
    for (const Count p : {7, 127}) {
      add({"binary", "Kowalewski (4.1)", p, bytes, 1, forms::kary_bcast(model_, p, 2, size),
           bcast(ESP_SHAPE_BINARY, p, bytes), kModel, ""});
    }
    add({"4-ary", "Kowalewski (4.1)", 85, bytes, 1, forms::kary_bcast(model_, 85, 4, size),
         bcast(ESP_SHAPE_KARY, 85, bytes, 1, 4), kModel, ""});
  }

  void pipelines() {
    constexpr Count kBytes = Count{4} << 20;
    for (const Count p : {3, 32, 256}) {
      for (const Count s : {4, 16, 64}) {
        const auto size = static_cast<double>(kBytes);
        const double simulated = bcast(ESP_SHAPE_CHAIN, p, kBytes, s);
        add({"pipelined chain, LogGP", "chain_in_loggp", p, kBytes, s,
             forms::chain_in_loggp(model_, p, s, size), simulated, kExact, ""});
        const bool long_segments = s < 64;
        add({"(P + S - 2) (alpha + beta m)", "Luo et al.; Kowalewski (4.5)", p, kBytes, s,
             forms::pipelined_chain(model_, p, s, size), simulated, long_segments ? kModel : kShown,
             long_segments ? ""
                           : "counts the latency of every segment; only the first one's shows"});
      }
    }
    for (const Count p : {7, 127}) {
      for (const Count s : {4, 32}) {
        const double predicted = forms::pipelined_binary(model_, p, s, static_cast<double>(kBytes));
        add({"pipelined binary tree, N = 2", "Kowalewski (4.6)", p, kBytes, s, predicted,
             binary_in_turn(p, kBytes, s), kModel, ""});
        add({"pipelined binary tree, N = 32", "Kowalewski (4.6)", p, kBytes, s, predicted,
             bcast(ESP_SHAPE_BINARY, p, kBytes, s), kShown,
             "wide windows serve one child in bursts: the other lags"});
      }
    }
    best_segments(64, Count{1} << 20);
  }

  // The simulated optimum against the formula's: within a factor of two in S the time hardly moves.
  void best_segments(Count ranks, Count bytes) {
    const double best =
        forms::pipelined_chain_best_segments(model_, ranks, static_cast<double>(bytes));
    double least = INFINITY;
    for (Count s = 1; s <= 4096; s *= 2) {
      least = std::min(least, bcast(ESP_SHAPE_CHAIN, ranks, bytes, s));
    }
    const auto chosen = static_cast<Count>(std::lround(best));
    add({"time at the best S over the least time", "Kowalewski, 4.3", ranks, bytes, chosen,
         bcast(ESP_SHAPE_CHAIN, ranks, bytes, chosen), least, kShown,
         "with overlapped latency more segments than the formula's pay"});
  }

  void up_and_down() {
    for (const Count p : {2, 8, 64}) {
      add({"barrier, chain", "2 (p - 1) messages", p, 0, 1, forms::chain_barrier(model_, p),
           simulate(tree_operation(Collective::kBarrier, ESP_SHAPE_CHAIN, 0, 1), p), kExact, ""});
      add({"barrier, binomial", "2 log2 p messages", p, 0, 1, forms::binomial_barrier(model_, p),
           simulate(tree_operation(Collective::kBarrier, ESP_SHAPE_BINOMIAL, 0, 1), p), kExact,
           ""});
      for (const Count bytes : {Count{8}, Count{65536}}) {
        const auto size = static_cast<double>(bytes);
        const double reduce = flat_.reduce_ns_per_byte;
        const double simulated =
            simulate(tree_operation(Collective::kReduce, ESP_SHAPE_BINOMIAL, bytes, 1), p);
        add({"reduce, binomial, one pass", "binomial_reduce_one_pass", p, bytes, 1,
             forms::binomial_reduce_one_pass(model_, p, size, reduce), simulated, kExact, ""});
        add({"reduce, binomial, by duality", "Kowalewski, 4", p, bytes, 1,
             forms::binomial_reduce(model_, p, size, 2 * reduce), simulated,
             p == 2 || bytes == 8 ? kModel : kShown,
             p == 2 || bytes == 8 ? "" : "combines as messages come; the plans wait for all"});
      }
    }
  }

  // Data in host memory, B the network's bandwidth, t_s the time of an empty message.
  void multicast_paper() {
    constexpr Count kBytes = Count{2} << 20;
    constexpr Count kChunk = Count{512} << 10;
    const auto size = static_cast<double>(kBytes);
    forms::MulticastModel model;
    model.setup_ns = model_.message(0);
    model.read_ns_per_byte = model_.per_byte;
    model.chunk_bytes = static_cast<double>(kChunk);
    for (const Count n : {2, 4, 8, 16}) {
      add({"ring", "Chu et al.", n, kBytes, 1, forms::ring_bcast(model, n, size),
           bcast(ESP_SHAPE_CHAIN, n, kBytes), kExact, ""});
      add({"ring, pipelined", "Chu et al.", n, kBytes, kBytes / kChunk,
           forms::ring_bcast_pipelined(model, n, size),
           bcast(ESP_SHAPE_CHAIN, n, kBytes, kBytes / kChunk), kModel, ""});
      add({"2-nomial", "Chu et al.", n, kBytes, 1, forms::knomial_bcast(model, n, 2, size),
           bcast(ESP_SHAPE_KNOMIAL, n, kBytes, 1, 2), kExact, ""});
      add({"2-nomial, pipelined", "Chu et al.", n, kBytes, kBytes / kChunk,
           forms::knomial_bcast_pipelined(model, n, 2, size),
           bcast(ESP_SHAPE_KNOMIAL, n, kBytes, kBytes / kChunk, 2), kModel, ""});
    }
    add({"4-nomial", "Chu et al.", 16, kBytes, 1, forms::knomial_bcast(model, 16, 4, size),
         bcast(ESP_SHAPE_KNOMIAL, 16, kBytes, 1, 4), kShown,
         "counts one message per round; k - 1 leave one card"});
  }

  void copies() {
    const sim::Level& level = pull_.levels.front();
    forms::CopyModel model;
    model.call_ns = pull_.cma.call_ns;
    model.per_byte_ns = level.ns_per_byte + pull_.cma.page_ns / 4096;
    model.notify_ns = level.latency_ns + 2 * level.overhead_send_ns;
    for (const Count p : {4, 16, 48}) {
      for (const Count bytes : {Count{65536}, Count{1} << 20}) {
        const auto size = static_cast<double>(bytes);
        sim::Operation all = tree_operation(Collective::kBcast, ESP_SHAPE_FLAT, bytes, 1);
        all.options.shape = ESP_SHAPE_AUTO;
        all.options.algorithm = ESP_ALGORITHM_PUBLISH;
        add({"linear, all pull", "Ma, 3.5", p, bytes, 1, forms::linear_pull_bcast(model, p, size),
             simulate(pull_, all, p), bytes > 65536 ? kModel : kShown,
             bytes > 65536 ? "" : "acknowledgements do not climb a tree here"});
        add({"pipelined pulls, chain", "Ma, 3.3", p, bytes, 4,
             forms::pipelined_pull_bcast(model, p - 1, 1, 4, size),
             simulate(pull_, tree_operation(Collective::kBcast, ESP_SHAPE_CHAIN, bytes, 4), p),
             p == 48 ? kModel : kShown,
             p == 48 ? "" : "the first reader copies all that is there before it forwards any"});
      }
    }
  }

  double gather(Collective collective, esp_algorithm algorithm, Count ranks, Count bytes) const {
    sim::Operation operation;
    operation.collective = collective;
    operation.bytes = bytes;
    operation.options.algorithm = algorithm;
    operation.options.segment_bytes = Count{1} << 30;  // one per message
    return simulate(operation, ranks);
  }

  // The formulas know no copies inside a rank; here those are added that nothing hides.
  void gathers(Count bytes) {
    const auto size = static_cast<double>(bytes);
    const double copy = size * flat_.reduce_ns_per_byte;
    for (const Count p : {2, 16, 64}) {
      const auto all = static_cast<double>(p);
      add({"allgather, ring, own block", "Kowalewski, 4.4", p, bytes, 1,
           forms::ring_allgather(model_, p, size) + copy,
           gather(Collective::kAllgather, ESP_ALGORITHM_RING, p, bytes), kExact, ""});
      add({"allgather, doubling, own block", "log2 p messages", p, bytes, 1,
           forms::bruck_allgather(model_, p, size) + copy,
           gather(Collective::kAllgather, ESP_ALGORITHM_DOUBLING, p, bytes), kExact, ""});
      add({"allgather, Bruck, all blocks twice", "log2 p messages", p, bytes, 1,
           forms::bruck_allgather(model_, p, size) + (all + 1) * copy,
           gather(Collective::kAllgather, ESP_ALGORITHM_BRUCK, p, bytes), kExact, ""});
      const double pairs = gather(Collective::kAlltoall, ESP_ALGORITHM_ONE_FACTOR, p, bytes);
      add({"alltoall, one-factor", "Kowalewski, 5.3.3", p, bytes, 1,
           forms::direct_alltoall(model_, p, size), pairs, kShown,
           "one step does not wait for another"});
      add({"alltoall, steps overlapped", "overlapped_alltoall", p, bytes, 1,
           forms::overlapped_alltoall(model_, p, size), pairs, bytes > 8 ? kModel : kShown,
           bytes > 8 ? "" : "the first message's latency hides behind sends"});
      add({"alltoall, Bruck", "Kowalewski (4.7)", p, bytes, 1,
           forms::bruck_alltoall(model_, p, 2, size),
           gather(Collective::kAlltoall, ESP_ALGORITHM_BRUCK, p, bytes), kShown,
           "without its local copies"});
    }
  }

  sim::Machine flat_;
  sim::Machine pull_;
  LogGP model_;
  std::vector<Row> rows_;
};

std::string verdict(const Row& row) {
  if (std::isinf(row.allowed)) return row.remark;
  if (row.good()) return row.allowed == kExact ? "equal" : "within 10 %";
  return row.allowed == kExact ? "NOT EQUAL" : "MORE THAN 10 %";
}

std::string to_markdown(const std::vector<Row>& rows) {
  std::string text =
      "# Closed forms against the simulator\n\n"
      "Simulated on the machine `flat` (and one with pulled copies), without contention. Made by "
      "`esp-closed-forms`; the formulas are in `tools/esp-sim/closed_forms.hpp`.\n\n"
      "| formula | source | ranks | message | segments | formula | simulated | difference | |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {:+.1f} % | {} |\n", row.formula,
                        row.source, row.ranks, human_bytes(row.bytes), row.segments,
                        human_time(row.predicted_ns), human_time(row.simulated_ns),
                        100 * row.difference(), verdict(row));
  }
  return text;
}

void print(const std::vector<Row>& rows) {
  fmt::print("# simulated; formula over simulation\n{:<42} {:>6} {:>9} {:>5} {:>12} {:>12} {:>8}\n",
             "formula", "ranks", "message", "S", "formula", "simulated", "diff");
  for (const Row& row : rows) {
    fmt::print("{:<42} {:>6} {:>9} {:>5} {:>12} {:>12} {:>+7.1f}%  {}\n", row.formula, row.ranks,
               human_bytes(row.bytes), row.segments, human_time(row.predicted_ns),
               human_time(row.simulated_ns), 100 * row.difference(), verdict(row));
  }
}

}  // namespace
}  // namespace espalier::experiments

int main(int argc, char** argv) {
  using namespace espalier::experiments;
  CLI::App app("Published closed forms against the simulator without contention");
  std::string markdown;
  app.add_option("--markdown", markdown, "also write the table to this file");
  CLI11_PARSE(app, argc, argv);
  const std::vector<Row> rows = Experiment().rows();
  print(rows);
  if (!markdown.empty() && !write_file(markdown, to_markdown(rows))) return 1;
  bool good = true;
  for (const Row& row : rows) good = good && row.good();
  return good ? 0 : 1;
}
