// esp-verbs: Espalier's RDMA transport between two processes, one per device, for a comparison with
// perftest (bench/verbs/verbs.py runs both). Prints one line of JSON per task, on rank 0.
//
//   esp-verbs --rank 0 --device rxe0 --exchange FOLDER --over rc --task latency --bytes 2,8,64
//   esp-verbs --rank 1 --device rxe1 --exchange FOLDER ... (the same)
//
// Prediction: a message costs what it costs perftest (one request, one doorbell, one packet, two
// completions) plus some hundred instructions for matching, credits and headers, and for datagrams
// an acknowledgement per second packet. Where a message takes 10 us or more nothing of it is seen.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <map>
#include <vector>

#include "verbs/measure.hpp"

namespace {

nlohmann::json measure(const std::string& kind, espalier::bench::End& end,
                       const espalier::bench::Task& task) {
  using namespace espalier::bench;
  if (kind == "latency") return measure_latency(end, task);
  if (kind == "bandwidth") return measure_bandwidth(end, task);
  if (kind == "late") return measure_late(end, task);
  return measure_access(end, task, kind == "put");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace espalier::bench;
  EndOptions options;
  Task task;
  std::string kind = "latency";
  std::vector<std::uint64_t> sizes = {8};
  CLI::App app("Espalier's RDMA transport between two processes");
  app.add_option("--rank", options.rank, "0 (measures) or 1")->required()->check(CLI::Range(0, 1));
  app.add_option("--device", options.device, "name[:port] of the RDMA device");
  app.add_option("--exchange", options.exchange, "empty folder that both processes see")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--over", options.over, "rc or ud")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Over>{{"rc", Over::kConnections}, {"ud", Over::kDatagrams}}));
  app.add_option("--task", kind, "what is measured")
      ->check(CLI::IsMember({"latency", "bandwidth", "put", "get", "late", "memory"}));
  app.add_option("--bytes", sizes, "of a segment")->delimiter(',')->check(CLI::Range(1, 1 << 26));
  app.add_option("--iterations", task.iterations, "segments")->check(CLI::Range(10, 1 << 24));
  app.add_option("--window", task.window, "posted receives of a stream, puts or gets at a time")
      ->check(CLI::Range(1, 64));
  app.add_option("--memory", task.memory, "registered, copied or cached")
      ->transform(
          CLI::CheckedTransformer(std::map<std::string, Memory>{{"registered", Memory::kRegistered},
                                                                {"copied", Memory::kUnregistered},
                                                                {"cached", Memory::kCached}}));
  app.add_flag("!--no-read", options.read, "late segments come as frames, not by RDMA reads");
  CLI11_PARSE(app, argc, argv);
  try {
    if (kind == "memory") {
      std::printf("%s\n", measure_memory(options.device).dump().c_str());
      return 0;
    }
    options.cache = task.memory == Memory::kCached;
    End end(options);
    for (const std::uint64_t bytes : sizes) {
      task.bytes = bytes;
      const nlohmann::json row = measure(kind, end, task);
      if (options.rank == 0) std::printf("%s\n", row.dump().c_str());
    }
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "esp-verbs: %s\n", failure.what());
    return 1;
  }
  return 0;
}
