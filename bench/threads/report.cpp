#include "threads/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace espalier::bench {
namespace {

constexpr std::size_t kNarrowest = 9;

std::string text_of(const Row& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) {
    const double number = value.get<double>();
    return fmt::format("{:.{}f}", number, number >= 1000.0 ? 1 : 3);
  }
  return value.dump();
}

std::string columns_of(const Row& row) {
  std::string columns;
  for (const auto& [name, value] : row.items()) {
    columns += fmt::format("{:>{}} ", name, std::max(kNarrowest, name.size()));
  }
  return columns;
}

}  // namespace

Report::Report(const Options& options, const Setting& setting)
    : options_(options),
      speaks_(setting.rank == 0),
      sum_over_ranks_(setting.sum_over_ranks),
      ranks_here_(setting.ranks_on_machine) {
  const HostInfo host = read_host_info();
  processors_ = host.cpus_online;
  if (!speaks_) return;
  const bool copies = setting.path.starts_with("shm");
  json_ = {{"tool", "esp-threads"},
           {"library", setting.library},
           {"measure", options.measure},
           {"ranks", setting.ranks},
           {"ranks_on_machine", ranks_here_},
           {"processors", processors_},
           {"cpu", host.cpu_model},
           {"kernel", host.kernel},
           {"path", setting.path},
           {"moved_by", copies ? "cores, which copy through shared memory" : "the network"}};
  if (!options.table) return;
  fmt::print("# esp-threads {}, {}: {} ranks, {} of them on this machine of {} processors\n",
             options.measure, setting.library, setting.ranks, ranks_here_, processors_);
  fmt::print("# {}, {}\n", host.cpu_model, host.kernel);
  if (setting.ranks > 1) {
    fmt::print("# data is moved by {}: to rank {} by {}\n", json_["moved_by"].get<std::string>(),
               setting.ranks - 1, setting.path);
  }
  fmt::print(
      "# crowded: these ranks have more threads than there are processors, counting the "
      "callers and,\n#   with the library's thread, one more for each rank\n");
}

void Report::note(const std::string& name, const Row& value) {
  if (!speaks_) return;
  json_[name] = value;
  if (options_.table) fmt::print("# {}: {}\n", name, text_of(value));
}

void Report::add(const std::string& list, const Row& row) {
  if (!speaks_) return;
  correct_ = correct_ && row.value("correct", true);
  json_[list].push_back(row);
  if (options_.table) print(row);
}

void Report::print(const Row& row) {
  if (const std::string columns = columns_of(row); columns != columns_) {
    fmt::print("\n{}\n", columns);
    columns_ = columns;
  }
  for (const auto& [name, value] : row.items()) {
    fmt::print("{:>{}} ", text_of(value), std::max(kNarrowest, name.size()));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void Report::write() const {
  if (options_.json_path.empty()) return;
  if (options_.json_path == "-") {
    fmt::print("{}\n", json_.dump(1));
    return;
  }
  std::ofstream file(options_.json_path);
  file << json_.dump(1) << '\n';
  file.close();
  if (!file) {
    throw std::runtime_error("cannot write " + options_.json_path + ": " + std::strerror(errno));
  }
}

int Report::finish() {
  const Load load = meter_.read();
  const double own_s = sum_over_ranks_(load.own_s);
  if (!speaks_) return 0;  // Rank 0 fails for all: a launcher would end it before it has printed.
  const double others_s = std::max(0.0, load.busy_s + load.stolen_s - own_s);
  if (options_.table) fmt::print("\n");
  note("others", load.wall_s > 0.0 ? others_s / load.wall_s : 0.0);
  if (options_.table) {
    fmt::print("#   processors that others used meanwhile, in the mean, and what was stolen\n");
  }
  json_["complete"] = true;
  write();
  if (!correct_) std::fprintf(stderr, "esp-threads: a result was wrong; see the table\n");
  return correct_ ? 0 : 1;
}

}  // namespace espalier::bench
