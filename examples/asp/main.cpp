// asp: all-pairs shortest paths of a graph, on all ranks of a job. docs/asp.md explains its use.
//
// Failures that all ranks see alike (bad input, a failed self-check) end in an orderly way with
// exit code 1 (2: bad command line), explained by rank 0. Any other failure on one rank ends the
// job, so that no rank waits for it.
#include <espalier/espalier.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <new>

#include "evaluate.hpp"
#include "floyd_warshall.hpp"
#include "graph_reader.hpp"
#include "options.hpp"
#include "problem.hpp"
#include "report.hpp"
#include "row_broadcast.hpp"
#include "share_problem.hpp"
#include "team.hpp"
#include "timeline.hpp"

namespace asp {
namespace {

constexpr int kFailure = 1;

// Rank 0's problem and output file; false (on all ranks) after explaining what is wrong.
bool prepare(Team& team, const Options& options, Problem& problem, std::ofstream& timeline_file) {
  bool loaded = false;
  if (team.is_root()) {
    try {
      problem = load_problem(options);
      if (!options.timeline.empty()) {
        timeline_file.open(options.timeline);
        if (!timeline_file) throw InputError(options.timeline + ": cannot be written");
      }
      loaded = true;
    } catch (const FileError& error) {
      fmt::print(stderr, "asp: {}\n", error.what());
    } catch (const InputError& error) {
      fmt::print(stderr, "asp: {}\n", error.what());
    } catch (const std::bad_alloc&) {
      fmt::print(stderr, "asp: not enough memory for the graph\n");
    }
  }
  return share_problem(team, problem, loaded);
}

// Collective: the root writes the spans of all ranks.
void collect_timeline(Team& team, const Timeline& timeline, std::ofstream& file) {
  const std::vector<Span>& mine = timeline.spans();
  const std::vector<std::size_t> counts = team.gather(mine.size());
  if (!team.is_root()) {
    team.send_to_root(mine.data(), mine.size());
    return;
  }
  std::vector<std::vector<Span>> all{mine};
  for (int rank = 1; rank < team.size(); ++rank) {
    all.emplace_back(counts[static_cast<std::size_t>(rank)]);
    team.receive(all.back().data(), all.back().size(), rank);
  }
  write_timeline(file, all);
  file.close();
  if (!file) throw InputError("the timeline cannot be written completely");
}

// What the library did, segment by segment, if it was told to record that: one file for each rank.
void write_library_trace(esp_job* job, const std::string& timeline) {
  const std::string path = fmt::format("{}.rank{}", timeline, esp_job_rank(job));
  const esp_status status = esp_trace_write(job, path.c_str());
  if (status != ESP_OK && status != ESP_ERR_STATE) throw InputError(esp_job_error(job));
}

// Collective. Exit code of the self-check, equal on all ranks.
template <typename Distance>
int check(Team& team, const RowLayout& layout, const RowBlock<Distance>& block,
          const Graph& graph) {
  const CheckPlan plan = plan_check(graph.vertex_count, std::ssize(graph.arcs));
  const std::string difference = self_check(team, layout, block, graph, plan);
  if (team.is_root()) print_check(plan, graph.vertex_count, difference);
  int exit_code = difference.empty() ? 0 : kFailure;
  team.broadcast(&exit_code, 1);
  return exit_code;
}

template <typename Distance>
Times compute(Team& team, const RowLayout& layout, const Options& options,
              RowBlock<Distance>& block, Timeline& timeline) {
  team.barrier();
  const double start = esp_time();
  ProgressBar progress(team.is_root() ? options.progress : ProgressMode::kOff, layout.row_count(),
                       start);
  RowBroadcast<Distance> broadcast(team, layout, options.lookahead, options.coll, timeline,
                                   progress);
  FloydWarshall<Distance, RowBroadcast<Distance>>(block, options.lookahead, broadcast).run();
  return {esp_time() - start, broadcast.seconds()};
}

template <typename Distance>
int solve(Team& team, const Options& options, const Problem& problem, Timeline& timeline) {
  const Graph& graph = problem.graph;
  const RowLayout layout(graph.vertex_count, team.size());
  if (team.is_root()) print_header(problem, team.size(), options.lookahead);

  RowBlock<Distance> block(layout, team.rank());
  for (const Arc& arc : graph.arcs) block.insert(arc);
  const Times mine = compute(team, layout, options, block, timeline);

  const double begin = esp_time();
  const std::vector<Times> times = team.gather(mine);
  const std::vector<Facts> facts = team.gather(facts_of(block));
  if (team.is_root()) {
    print_times(times, layout.row_count(), block.columns() * sizeof(Distance));
    print_facts(graph, merge(facts), options.unit);
  }
  for (const Query& query : problem.queries) {
    const auto to_target = gather_column(team, layout, block, query.to);
    if (team.is_root()) print_route(graph, query, to_target, options.unit);
  }
  const int exit_code = options.self_check ? check(team, layout, block, graph) : 0;
  timeline.add({SpanKind::kEvaluate, -1, begin, esp_time()});
  return exit_code;
}

int run(esp_job* job, Team& team, const Options& options) {
  Timeline timeline(!options.timeline.empty());
  const double begin = esp_time();
  Problem problem;
  std::ofstream timeline_file;
  if (!prepare(team, options, problem, timeline_file)) return kFailure;
  timeline.add({SpanKind::kSetup, -1, begin, esp_time()});

  const int exit_code = problem.wide ? solve<std::int64_t>(team, options, problem, timeline)
                                     : solve<std::int32_t>(team, options, problem, timeline);
  if (timeline.enabled()) {
    write_library_trace(job, options.timeline);
    collect_timeline(team, timeline, timeline_file);
    if (team.is_root()) fmt::print("timeline     {}\n", options.timeline);
  }
  return exit_code;
}

// Ends the whole job when this rank cannot go on.
int run_or_abort(esp_job* job, const Options& options) {
  Team team(esp_job_world(job));
  std::string reason;
  try {
    return run(job, team, options);
  } catch (const std::bad_alloc&) {
    reason = "not enough memory for this rank's rows";
  } catch (const std::exception& error) {
    reason = error.what();
  }
  const std::string message = fmt::format("asp: rank {}: {}", team.rank(), reason);
  fmt::print(stderr, "{}\n", message);
  std::fflush(nullptr);
  esp_abort(job, kFailure, message.c_str());
  return kFailure;
}

int start(int argc, char** argv) {
  // Every rank parses, only rank 0 complains: it has to know first which one it is.
  const CommandLine line = parse_command_line(argc, argv);
  std::array<char, 1024> error_text{};
  esp_job_options job_options = ESP_JOB_OPTIONS_INIT;
  job_options.error_text = error_text.data();
  job_options.error_text_bytes = error_text.size();
  esp_job* job = nullptr;
  const esp_status status = esp_job_init(&job_options, &job);
  if (status != ESP_OK) {
    fmt::print(stderr, "{}asp: cannot join the job: {}: {}\n", line.text, esp_status_text(status),
               error_text.data());
    return kFailure;
  }
  int exit_code = line.exit_code;
  if (line.options.has_value()) {
    exit_code = run_or_abort(job, *line.options);
  } else if (esp_job_rank(job) == Team::kRoot) {
    fmt::print(exit_code == 0 ? stdout : stderr, "{}", line.text);
  }
  std::fflush(nullptr);
  if (esp_job_finalize(job) != ESP_OK && exit_code == 0) exit_code = kFailure;
  return exit_code;
}

}  // namespace
}  // namespace asp

int main(int argc, char** argv) {
  return asp::start(argc, argv);
}
