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
  kAlltoallw,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kScan,
  kExscan,
  kReduceScatterBlock,
  kReduceScatter,
};
constexpr Kind kKinds[] = {
    Kind::kBarrier,      Kind::kBcast,      Kind::kReduce,   Kind::kAllreduce,
    Kind::kAllgather,    Kind::kAllgatherv, Kind::kAlltoall, Kind::kAlltoallv,
    Kind::kAlltoallw,    Kind::kGather,     Kind::kGatherv,  Kind::kScatter,
    Kind::kScatterv,     Kind::kScan,       Kind::kExscan,   Kind::kReduceScatterBlock,
    Kind::kReduceScatter};

class Rounds {
 public:
  Rounds(esp_team* team, Kind kind, std::size_t count, bool in_place)
      : team_(team),
        kind_(kind),
        rank_(static_cast<std::size_t>(esp_team_rank(team))),
        size_(static_cast<std::size_t>(esp_team_size(team))),
        count_(count),
        // Of a rooted one in place, others than the root bring an input.
        in_place_(in_place && !(is_rooted() && rank_ != 0)) {
    fill(-1);
  }

  // Arrays of counts are the caller's again when it returns.
  esp_status init(const esp_notify* notify, esp_request** request) {
    const void* in = in_place_ && !scatters() ? ESP_IN_PLACE : input_.data();
    void* out = in_place_ && scatters() ? const_cast<void*>(ESP_IN_PLACE) : output_.data();
    std::vector<std::size_t> counts(size_), displs(size_), bytes(size_);
    std::vector<esp_type> types(size_, ESP_INT32);
    for (std::size_t r = 0; r < size_; ++r) counts[r] = length(r);
    std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), std::size_t{0});
    for (std::size_t r = 0; r < size_; ++r) bytes[r] = displs[r] * sizeof(int);
    const std::size_t *c = counts.data(), *d = displs.data(), *b = bytes.data();
    const esp_type* t = types.data();
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
      case Kind::kAlltoallw:
        status = esp_alltoallw_init(team_, in, c, b, t, out, c, b, t, nullptr, notify, request);
        break;
      case Kind::kGather:
      case Kind::kGatherv:
      case Kind::kScatter:
      case Kind::kScatterv:
        status = init_rooted(in, out, c, d, notify, request);
        break;
      case Kind::kReduceScatterBlock:
        status = esp_reduce_scatter_block_init(team_, in, out, count_, type, ESP_SUM, nullptr,
                                               notify, request);
        break;
      case Kind::kReduceScatter:
        status =
            esp_reduce_scatter_init(team_, in, out, c, type, ESP_SUM, nullptr, notify, request);
        break;
      case Kind::kScan:
        status = esp_scan_init(team_, in, out, count_, type, ESP_SUM, nullptr, notify, request);
        break;
      case Kind::kExscan:
        status = esp_exscan_init(team_, in, out, count_, type, ESP_SUM, nullptr, notify, request);
        break;
    }
    counts.assign(size_, ~std::size_t{0});
    displs = bytes = counts;
    types.assign(size_, ESP_TYPE_HIGHEST);
    return status;
  }

  // What this rank brings to the round, and what it is to get.
  void fill(int round) {
    std::vector<int> mine;
    expected_.clear();
    for (std::size_t r = 0; r < size_; ++r) {
      const std::size_t n = length(r), block = own_block(r);
      if (brings_block(r)) {
        append(n, mine, [&](std::size_t i) { return value(rank_, round, block, i); });
      }
      if (gets_block(r)) {
        append(n, expected_, [&](std::size_t i) { return result(round, r, i); });
      }
    }
    const bool left_alone = (kind_ == Kind::kReduce && rank_ != 0) || kind_ == Kind::kBarrier ||
                            (kind_ == Kind::kExscan && rank_ == 0);
    if (scatters() && in_place_) expected_.clear();
    assign(output_, std::vector<int>(expected_.size(), -1));
    if (reduces_blocks() && in_place_) {
      assign(output_, mine);
    } else if (kind_ == Kind::kBcast) {
      if (rank_ == 0) assign(output_, expected_);
    } else if (in_place_ && !scatters()) {
      std::size_t at = 0;
      for (std::size_t r = 0; has_blocks() && !exchanges() && r < rank_; ++r) at += length(r);
      std::copy(mine.begin(), mine.end(), output_.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      assign(input_, mine);
    }
    if (left_alone) expected_ = output_;
  }

  void check(int round) const {
    // Of a reduce-scatter in place, all that follows is lost.
    const bool all = output_.size() == expected_.size() || (reduces_blocks() && in_place_);
    CHECK(all && std::equal(expected_.begin(), expected_.end(), output_.begin()),
          "kind {}, {} elements{}, round {}", static_cast<int>(kind_), count_,
          in_place_ ? " in place" : "", round);
  }

 private:
  esp_status init_rooted(const void* in, void* out, const std::size_t* c, const std::size_t* d,
                         const esp_notify* notify, esp_request** request) {
    constexpr esp_type type = ESP_INT32;
    const std::size_t mine = length(rank_);
    switch (kind_) {
      case Kind::kGather:
        return esp_gather_init(team_, in, out, count_, type, 0, nullptr, notify, request);
      case Kind::kGatherv:
        return esp_gatherv_init(team_, in, mine, out, c, d, type, 0, nullptr, notify, request);
      case Kind::kScatter:
        return esp_scatter_init(team_, in, out, count_, type, 0, nullptr, notify, request);
      default:
        return esp_scatterv_init(team_, in, c, d, out, mine, type, 0, nullptr, notify, request);
    }
  }
  bool is_one_of(std::initializer_list<Kind> kinds) const {
    return std::find(kinds.begin(), kinds.end(), kind_) != kinds.end();
  }
  bool has_blocks() const {
    return (kind_ >= Kind::kAllgather && kind_ <= Kind::kScatterv) || reduces_blocks();
  }
  bool exchanges() const {
    return is_one_of({Kind::kAlltoall, Kind::kAlltoallv, Kind::kAlltoallw});
  }
  bool gathers() const { return is_one_of({Kind::kGather, Kind::kGatherv}); }
  bool scatters() const { return is_one_of({Kind::kScatter, Kind::kScatterv}); }
  bool reduces_blocks() const {
    return is_one_of({Kind::kReduceScatterBlock, Kind::kReduceScatter});
  }
  bool is_rooted() const { return kind_ == Kind::kReduce || gathers() || scatters(); }
  // Of block r; others than those with blocks have one.
  std::size_t length(std::size_t r) const {
    if (kind_ == Kind::kBarrier || (!has_blocks() && r > 0)) return 0;
    // Two members see the same length of what they exchange.
    if (is_one_of({Kind::kAlltoallv, Kind::kAlltoallw})) return (r + rank_) % 3 * count_;
    const bool same =
        !is_one_of({Kind::kAllgatherv, Kind::kGatherv, Kind::kScatterv, Kind::kReduceScatter});
    return same ? count_ : r % 3 * count_;
  }
  bool brings_block(std::size_t r) const {
    if (scatters()) return rank_ == 0;
    return exchanges() || reduces_blocks() || !has_blocks() || r == rank_;
  }
  bool gets_block(std::size_t r) const {
    if (gathers()) return rank_ == 0;
    return r == rank_ || !(scatters() || reduces_blocks());
  }
  // Its number for those who get it.
  std::size_t own_block(std::size_t r) const {
    return exchanges() || scatters() || reduces_blocks() ? r : 0;
  }
  static constexpr std::size_t kPeriod = 7;  // of all values within a block
  static int value(std::size_t of_rank, int round, std::size_t block, std::size_t i) {
    return static_cast<int>(of_rank * 1000 + block * 100 + i % kPeriod) + round * 10;
  }
  static void append(std::size_t n, std::vector<int>& to, auto&& value_of) {
    for (std::size_t i = 0; i < n; ++i) {
      to.push_back(i < kPeriod ? value_of(i) : to[to.size() - kPeriod]);
    }
  }
  int result(int round, std::size_t r, std::size_t i) const {
    if (exchanges()) return value(r, round, rank_, i);
    if (scatters()) return value(0, round, rank_, i);
    if (kind_ == Kind::kBcast) return value(0, round, 0, i);
    if (has_blocks() && !reduces_blocks()) return value(r, round, 0, i);
    const std::size_t end = kind_ == Kind::kScan     ? rank_ + 1
                            : kind_ == Kind::kExscan ? rank_
                                                     : size_;
    int sum = 0;
    for (std::size_t q = 0; q < end; ++q) sum += value(q, round, own_block(r), i);
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
