// The command line of esp-threads. path: setup
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace espalier::bench {

struct Options {
  std::string measure;  // latency, initiation, wake, bandwidth, overlap
  std::vector<std::string> ways, forms, operations;
  std::vector<std::size_t> bytes;
  std::vector<int> threads, windows;
  int iterations = 0;     // of messages up to kFewBytes; a tenth for larger ones
  double limit_s = 10.0;  // of a latency
  int sleep_ms = 20;
  int idle_ms = 1000;
  int poll_us = 10;
  int computing = 0;      // so many of the first ranks; 0: all
  std::string json_path;  // "": none, "-": standard output
  bool table = true;

  static constexpr std::size_t kFewBytes = 4096;
  int iterations_of(std::size_t size) const {
    return size <= kFewBytes || iterations < 30 ? iterations : iterations / 10;
  }
};

enum class Library { kEspalier, kMpi };  // of MPI there is the latency alone

// Ends the process with 0 after --help, with 2 and an explanation when an option is wrong.
Options parse_options(Library library, int argc, char** argv);

}  // namespace espalier::bench
