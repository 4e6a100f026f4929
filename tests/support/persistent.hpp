// One collective with buffers that are filled anew and checked for every round of a persistent
// request. path: setup
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/support/rank_check.hpp"

namespace test {

enum class Kind {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kScan,
  kExscan,
};
constexpr Kind kKinds[] = {Kind::kBarrier,   Kind::kBcast,      Kind::kReduce,   Kind::kAllreduce,
                           Kind::kAllgather, Kind::kAllgatherv, Kind::kAlltoall, Kind::kAlltoallv,
                           Kind::kScan,      Kind::kExscan};

class Rounds {
 public:
  Rounds(esp_team* team, Kind kind, std::size_t count, bool in_place)
      : team_(team),
        kind_(kind),
        rank_(static_cast<std::size_t>(esp_team_rank(team))),
        size_(static_cast<std::size_t>(esp_team_size(team))),
        count_(count),
        // Of a rooted one in place, others than the root bring an input.
        in_place_(in_place && !(kind == Kind::kReduce && rank_ != 0)) {
    fill(-1);
  }

  // Arrays of counts are the caller's again when it returns.
  esp_status init(const esp_notify* notify, esp_request** request) {
    const void* in = in_place_ ? ESP_IN_PLACE : input_.data();
    void* out = output_.data();
    std::vector<std::size_t> counts(size_), displs(size_);
    for (std::size_t r = 0; r < size_; ++r) counts[r] = length(r);
    std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), std::size_t{0});
    const std::size_t *c = counts.data(), *d = displs.data();
    constexpr esp_type type = ESP_INT32;
    esp_status status = ESP_ERR_INTERNAL;
    switch (kind_) {
      case Kind::kBarrier:
        status = esp_barrier_init(team_, nullptr, notify, request);
        break;
      case Kind::kBcast:
        status = esp_bcast_init(team_, out, count_, type, 0, nullptr, notify, request);
        break;
      case Kind::kReduce:
        status =
            esp_reduce_init(team_, in, out, count_, type, ESP_SUM, 0, nullptr, notify, request);
        break;
      case Kind::kAllreduce:
        status =
            esp_allreduce_init(team_, in, out, count_, type, ESP_SUM, nullptr, notify, request);
        break;
      case Kind::kAllgather:
        status = esp_allgather_init(team_, in, out, count_, type, nullptr, notify, request);
        break;
      case Kind::kAllgatherv:
        status = esp_allgatherv_init(team_, in, out, c, d, type, nullptr, notify, request);
        break;
      case Kind::kAlltoall:
        status = esp_alltoall_init(team_, in, out, count_, type, nullptr, notify, request);
        break;
      case Kind::kAlltoallv:
        status = esp_alltoallv_init(team_, in, c, d, out, c, d, type, nullptr, notify, request);
        break;
      case Kind::kScan:
        status = esp_scan_init(team_, in, out, count_, type, ESP_SUM, nullptr, notify, request);
        break;
      case Kind::kExscan:
        status = esp_exscan_init(team_, in, out, count_, type, ESP_SUM, nullptr, notify, request);
        break;
    }
    counts.assign(size_, ~std::size_t{0});
    displs = counts;
    return status;
  }

  // What this rank brings to the round, and what it is to get.
  void fill(int round) {
    std::vector<int> mine;
    expected_.clear();
    for (std::size_t r = 0; r < size_; ++r) {
      for (std::size_t i = 0; i < length(r); ++i) {
        if (brings_block(r)) mine.push_back(value(rank_, round, own_block(r), i));
        expected_.push_back(result(round, r, i));
      }
    }
    const bool left_alone = (kind_ == Kind::kReduce && rank_ != 0) || kind_ == Kind::kBarrier ||
                            (kind_ == Kind::kExscan && rank_ == 0);
    assign(output_, std::vector<int>(expected_.size(), -1));
    if (kind_ == Kind::kBcast) {
      if (rank_ == 0) assign(output_, expected_);
    } else if (in_place_) {
      const bool one_of_all = kind_ == Kind::kAllgather || kind_ == Kind::kAllgatherv;
      std::size_t at = 0;
      for (std::size_t r = 0; one_of_all && r < rank_; ++r) at += length(r);
      std::copy(mine.begin(), mine.end(), output_.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      assign(input_, mine);
    }
    if (left_alone) expected_ = output_;
  }

  void check(int round) const {
    CHECK(output_ == expected_, "kind {}, {} elements{}, round {}", static_cast<int>(kind_), count_,
          in_place_ ? " in place" : "", round);
  }

 private:
  bool has_blocks() const { return kind_ >= Kind::kAllgather && kind_ <= Kind::kAlltoallv; }
  bool exchanges() const { return kind_ == Kind::kAlltoall || kind_ == Kind::kAlltoallv; }
  // Of block r; others than gathers and exchanges have one.
  std::size_t length(std::size_t r) const {
    if (kind_ == Kind::kBarrier || (!has_blocks() && r > 0)) return 0;
    if (kind_ == Kind::kAllgatherv) return r % 3 * count_;
    // Two members see the same length of what they exchange.
    if (kind_ == Kind::kAlltoallv) return (r + rank_) % 3 * count_;
    return count_;
  }
  bool brings_block(std::size_t r) const { return exchanges() || !has_blocks() || r == rank_; }
  // Its number for those who get it.
  std::size_t own_block(std::size_t r) const { return exchanges() ? r : 0; }
  static int value(std::size_t of_rank, int round, std::size_t block, std::size_t i) {
    return static_cast<int>(of_rank * 1000 + block * 100 + i % 7) + round * 10;
  }
  int result(int round, std::size_t r, std::size_t i) const {
    if (exchanges()) return value(r, round, rank_, i);
    if (has_blocks()) return value(r, round, 0, i);
    if (kind_ == Kind::kBcast) return value(0, round, 0, i);
    const std::size_t end = kind_ == Kind::kScan     ? rank_ + 1
                            : kind_ == Kind::kExscan ? rank_
                                                     : size_;
    int sum = 0;
    for (std::size_t q = 0; q < end; ++q) sum += value(q, round, 0, i);
    return sum;
  }
  // The memory stays where it was.
  static void assign(std::vector<int>& buffer, const std::vector<int>& values) {
    buffer.reserve(1);
    buffer.assign(values.begin(), values.end());
  }

  esp_team* team_;
  Kind kind_;
  std::size_t rank_, size_, count_;
  bool in_place_;
  std::vector<int> input_, output_, expected_;
};

}  // namespace test
