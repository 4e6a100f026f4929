// What esp-threads prints and writes: tables for people, one JSON object for machines.
//
// A row is printed when it is there. Its keys are the columns; where they change a new table
// begins. Rank 0 alone says something. path: setup
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "esp-bench/host.hpp"
#include "threads/options.hpp"

namespace espalier::bench {

using Row = nlohmann::ordered_json;

// What is measured, and between whom.
struct Setting {
  std::string library;
  int rank = 0;
  int ranks = 1;
  int ranks_on_machine = 1;
  std::string path;                              // from rank 0 to the last
  std::function<double(double)> sum_over_ranks;  // collective
};

class Report {
 public:
  Report(const Options& options, const Setting& setting);

  // A row of one of the lists of the JSON object.
  void add(const std::string& list, const Row& row);
  // A fact about the whole run: a line above the tables, a field of the JSON object.
  void note(const std::string& name, const Row& value);
  // Whether so many threads of each rank, the library's included, are more than the processors.
  bool is_crowded(int threads) const { return threads * ranks_here_ > processors_; }
  // Collective. Says what others computed on this machine meanwhile, and writes the JSON. Returns
  // the exit code: 1 when a row is not `correct`. Throws when the file cannot be written.
  int finish();

 private:
  void print(const Row& row);

  void write() const;

  const Options& options_;
  const bool speaks_;
  const std::function<double(double)> sum_over_ranks_;
  const LoadMeter meter_;
  int processors_ = 0;
  int ranks_here_ = 0;
  bool correct_ = true;
  std::string columns_;  // of the table that is being printed
  nlohmann::ordered_json json_;
};

}  // namespace espalier::bench
