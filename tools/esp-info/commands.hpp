// What esp-info can do; each command writes to the standard output and answers the exit code, 1
// after a message on the standard error.
#pragma once

#include <string>
#include <vector>

#include "core/config.hpp"

namespace esp_info {

int fail(const std::string& text);
// The configuration from the environment; its warnings go to the standard error.
espalier::Result<espalier::Config> load_config();

int show_config(bool markdown);
int show_counters();
int show_topology();
// RDMA devices: all ports, and which this process would take. Then drivers of devices (GPUs).
int show_devices();
int show_drivers(const espalier::Config& config);
// What the library would choose for a collective, without a job.
struct ExplainRequest {
  std::string operation;
  std::string bytes;  // "16KiB"
  int ranks = 2;
  int nodes = 1;
  int cores = 0;                // of each node; 0: as this machine
  std::string network = "tcp";  // between nodes
  bool groups = false;          // of which each rank may be a member
};
int explain(const ExplainRequest& asked);
// Joins trace files of several ranks into one.
int merge_traces(const std::string& output, const std::vector<std::string>& inputs);
// The report of a job made for the occasion: of rank 0, or of every rank in turn. Collective over
// the processes that the launcher started.
int show_job(bool every_rank);

}  // namespace esp_info
