// What moves between the nodes of a job. Every rank that finds what it expects prints a line "OK
// ...".
//
//   flows_probe expected|broadcasts [FOLDER [VARIANT SENDS RECEIVES ROUNDS]]
//                                   nothing comes unexpected where receivers are there first, with
//                                   windows that let it; writes the trace of it, FOLDER/RANK.json.
//                                   Broadcasts alone, or reductions and allreduces, too
//   flows_probe roots               4 MiB from and to every root, every byte
//   flows_probe degree CHILDREN     who is connected with whom: nobody beyond the tree
#include <algorithm>
#include <functional>

#include "tests/nodes/probe.hpp"

namespace {

// Enters an operation: rank after rank, each when the one before it has. So the last one's data
// find all others there, and every rank's data find those of lower ranks there. The messages that
// say so are received by what was posted before the first round.
class InTurn {
 public:
  InTurn(const Rank& r, std::size_t turns) : r_(r), turns_(turns), bytes_(turns) {
    for (std::size_t k = 0; r.rank > 0 && k < turns_.size(); ++k) {
      expect(r,
             esp_recv_start(r.world, &bytes_[k], 1, r.rank - 1, 0, nullptr, &turns_[k]) == ESP_OK,
             "posting a turn");
    }
    expect(r, esp_barrier(r.world) == ESP_OK, "barrier");
  }

  void operator()(const std::function<esp_status(esp_request**)>& start) {
    if (r_.rank > 0) expect(r_, esp_request_wait(&turns_[round_]) == ESP_OK, "turn");
    ++round_;
    esp_request* request = nullptr;
    expect(r_, start(&request) == ESP_OK, "start");
    if (r_.rank + 1 < r_.size) {
      expect(r_, esp_send(r_.world, "", 1, r_.rank + 1, 0) == ESP_OK, "telling the next");
    }
    expect(r_, esp_request_wait(&request) == ESP_OK, "wait");
  }

 private:
  const Rank& r_;
  std::vector<esp_request*> turns_;
  std::vector<char> bytes_;
  std::size_t round_ = 0;
};

// Steady state: plans are there, peers connected. The flows of 64 segments need more than the
// windows, and more than what may travel without permission.
void expected(const Rank& r, const std::string& folder, const esp_coll_options& options, int rounds,
              bool broadcasts_alone) {
  const std::size_t count = (std::size_t{1} << 20) / sizeof(std::int32_t);
  std::vector<std::int32_t> mine(count), result(count);
  InTurn in_turn(r, (broadcasts_alone ? 1 : 3) * static_cast<std::size_t>(rounds));
  std::uint64_t before = 0, built = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round == 1) {
      before = counter(r, "unexpected");
      built = counter(r, "plans_built");
    }
    std::fill(mine.begin(), mine.end(), r.rank + round);
    in_turn([&](esp_request** request) {
      return esp_bcast_start(r.world, mine.data(), count, ESP_INT32, r.size - 1, &options, nullptr,
                             request);
    });
    expect(r, mine.front() == r.size - 1 + round && mine.back() == mine.front(), "broadcast");
    if (broadcasts_alone) continue;
    const auto sum = r.size * mine.front();
    in_turn([&](esp_request** request) {
      return esp_reduce_start(r.world, mine.data(), result.data(), count, ESP_INT32, ESP_SUM, 0,
                              &options, nullptr, request);
    });
    expect(r, r.rank != 0 || (result.front() == sum && result.back() == sum), "reduction");
    in_turn([&](esp_request** request) {
      return esp_allreduce_start(r.world, mine.data(), result.data(), count, ESP_INT32, ESP_SUM,
                                 &options, nullptr, request);
    });
    expect(r, result.front() == sum && result.back() == sum, "allreduce");
  }
  const std::uint64_t early = counter(r, "unexpected") - before;
  // Receivers that have posted less than what may travel without permission meet more.
  const bool all_posted =
      rounds > 1 && options.variant == ESP_VARIANT_EVENT && options.window_recv > 16;
  expect(r, early == 0 || !all_posted, "segments came unexpected: " + std::to_string(early));
  expect(r, rounds < 2 || counter(r, "plans_built") == built, "plans were made again");
  if (folder.empty()) return;
  const std::string path = folder + "/" + std::to_string(r.rank) + ".json";
  expect(r, esp_trace_write(r.job, path.c_str()) == ESP_OK, "trace");
}

void roots(const Rank& r) {
  const std::size_t count = (std::size_t{4} << 20) / sizeof(std::int32_t);
  std::vector<std::int32_t> mine(count), result(count);
  const auto value = [](std::size_t i, int rank) {
    return static_cast<int>(i % 10007) + 31 * rank;
  };
  const auto fill = [&](int rank) {
    for (std::size_t i = 0; i < count; ++i) mine[i] = value(i, rank);
  };
  const int ranks = 31 * r.size * (r.size - 1) / 2;
  const auto check_sum = [&](const char* what, int root) {
    for (std::size_t i = 0; i < count; ++i) {
      expect(r, result[i] == r.size * value(i, 0) + ranks,
             what + (" " + std::to_string(root)) + " at " + std::to_string(i));
    }
  };
  for (int root = 0; root < r.size; ++root) {
    fill(r.rank == root ? root : -1);
    expect(r, esp_bcast(r.world, mine.data(), count, ESP_INT32, root) == ESP_OK, "broadcast");
    for (std::size_t i = 0; i < count; ++i) {
      expect(r, mine[i] == value(i, root), "broadcast from " + std::to_string(root));
    }
    fill(r.rank);
    result.assign(count, -1);
    expect(
        r,
        esp_reduce(r.world, mine.data(), result.data(), count, ESP_INT32, ESP_SUM, root) == ESP_OK,
        "reduction");
    if (r.rank == root) check_sum("reduction to", root);
    result.assign(count, -1);
    expect(r,
           esp_allreduce(r.world, mine.data(), result.data(), count, ESP_INT32, ESP_SUM) == ESP_OK,
           "allreduce");
    check_sum("allreduce", root);
    expect(r, esp_barrier(r.world) == ESP_OK, "barrier");
  }
}

// Broadcasts and reductions of one segment take the same binomial tree over the nodes.
void degree(const Rank& r, std::uint64_t children) {
  std::vector<std::int64_t> data(4096, r.rank), sums(4096);
  for (int i = 0; i < 20; ++i) {
    expect(r, esp_bcast(r.world, data.data(), data.size(), ESP_INT64, 0) == ESP_OK, "broadcast");
    expect(
        r,
        esp_reduce(r.world, data.data(), sums.data(), data.size(), ESP_INT64, ESP_SUM, 0) == ESP_OK,
        "reduction");
  }
  const std::uint64_t made = counter(r, "connections");
  std::printf("rank %d: %llu connections\n", r.rank, static_cast<unsigned long long>(made));
  const std::uint64_t parent = r.rank == 0 ? 0 : 1;
  expect(r, made <= children + parent, "connections: " + std::to_string(made));
  // Every edge of the tree has two ends, and there are no others. The sum and the meeting after it
  // take the same tree: anything else, the job's end included, would make connections that a slower
  // rank counts.
  const std::int64_t mine[2] = {static_cast<std::int64_t>(made), made > 0 ? 1 : 0};
  std::int64_t all[2] = {0, 0};
  expect(r, esp_reduce(r.world, mine, all, 2, ESP_INT64, ESP_SUM, 0) == ESP_OK, "sum");
  expect(r, esp_bcast(r.world, all, 2, ESP_INT64, 0) == ESP_OK, "meeting");
  expect(r, all[1] > 1 && all[0] == 2 * (all[1] - 1),
         std::to_string(all[0]) + " ends between " + std::to_string(all[1]) + " heads");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const Rank r = join();
  if (mode == "expected" || mode == "broadcasts") {
    const auto number = [&](int at, int otherwise) {
      return argc > at ? std::atoi(argv[at]) : otherwise;
    };
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.segment_bytes = 16384;
    options.variant = static_cast<esp_variant>(number(3, ESP_VARIANT_EVENT));
    options.window_send = number(4, 4);
    options.window_recv = number(5, 32);
    expected(r, argc > 2 ? argv[2] : "", options, number(6, 6), mode == "broadcasts");
  } else if (mode == "roots") {
    roots(r);
  } else if (mode == "degree" && argc > 2) {
    degree(r, std::strtoull(argv[2], nullptr, 10));
  } else {
    bad(r, "usage: see flows_probe.cpp");
  }
  std::printf("OK rank %d\n", r.rank);
  std::fflush(stdout);
  return esp_job_finalize(r.job) == ESP_OK ? 0 : 1;
}
