// What the user asked esp-bench to do: the command line as one value.
//
// Every rank parses the same command line before anything is initialised, so a wrong option ends
// all ranks the same way, with one explanation and exit code 2.
// path: setup
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "esp-bench/choice.hpp"
#include "esp-bench/op_kind.hpp"

namespace espalier::bench {

enum class Mode { kOps, kFloors, kMemory, kIdle, kInit, kCalls, kSockets, kPeers };

// Where buffers come from: malloc, esp_alloc, or the memory of a device (GPU).
enum class Alloc { kMalloc, kLibrary, kDevice };

struct Options {
  Mode mode = Mode::kOps;
  std::vector<OpKind> ops;
  // Bytes of a message, of each block where there are several; multiples of sizeof(float).
  std::vector<std::size_t> sizes;
  double budget_ms = 200.0;  // sampling time per row
  double limit_s = 0.0;      // no row begins after that many seconds; 0: no limit
  std::size_t samples_min = 5;
  std::size_t samples_max = 1000;
  std::size_t batch_max = 256;
  std::size_t offset = 0;  // of buffers of whole pages, from the begin of a page
  std::size_t ring_bytes = std::size_t{1} << 20;  // of rotating buffers, where several fit
  int root = 0;
  bool rotate_root = false;
  Alloc alloc = Alloc::kMalloc;
  bool reuses_buffers = false;      // one per direction, written once
  std::size_t calls = 100;          // mode calls
  int late_rank = 0;                // mode calls: arrives after the others
  double idle_seconds = 2.0;        // mode idle
  std::vector<Choice> choices;      // one empty choice: the library chooses
  bool leaves_out_refused = false;  // the user has not named the algorithms
  std::string json_path;            // "-": standard output, empty: none
  bool table = true;
  bool smoke = false;
};

// Parses, or prints help or an explanation and ends the process (0 or 2).
Options parse_options(int argc, char** argv);

}  // namespace espalier::bench
