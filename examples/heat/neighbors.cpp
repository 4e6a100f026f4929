// The variants with one exchange of neighbors for all threads, made once and started again in each
// step by the thread that is ready first. Each thread makes its parts of the edges ready, and takes
// parts of the halo that have landed, whoever they are for.
#include <atomic>
#include <thread>
#include <vector>

#include "exchange.hpp"
#include "session.hpp"

namespace heat {
namespace {

using examples::require;

constexpr std::array kAllEdges = {kNorth, kSouth, kWest, kEast};

class Neighbors : public Exchange {
 public:
  Neighbors(const Rank& rank, bool separate) : rank_(rank) {
    const auto threads = static_cast<int>(rank.layout.threads());
    std::array<int, kEdges> partitions{};
    std::size_t cells = 0;
    int numbers = 0;
    for (const Edge edge : kAllEdges) {
      partitions[edge] = edge < kWest && rank.layout.has_neighbor(edge) ? threads : 1;
      first_partition_[edge] = numbers;
      numbers += partitions[edge];
      counts_[edge] = rank.layout.has_neighbor(edge) ? rank.layout.length(edge) : 0;
      begins_[edge] = cells;
      cells += counts_[edge];
    }
    sent_.resize(cells);
    received_.resize(cells);
    to_come_ = cells;
    esp_partial partial = ESP_PARTIAL_INIT;
    partial.flags = ESP_PARTIAL_AWAIT | ESP_PARTIAL_DELIVER | ESP_PARTIAL_SEGMENTS;
    if (separate) partial.flags |= ESP_PARTIAL_SEPARATE;
    partial.block_partitions = partitions.data();
    partial.source_partitions = partitions.data();
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.partial = &partial;
    require(rank.team,
            esp_neighbor_alltoallv_init(rank.grid, sent_.data(), counts_.data(), begins_.data(),
                                        received_.data(), counts_.data(), begins_.data(),
                                        ESP_DOUBLE, &options, nullptr, &request_),
            "exchange of neighbors");
  }
  ~Neighbors() override { (void)esp_request_free(&request_); }

  void begin(std::size_t thread) override {
    // The round ends when all partitions were ready, those of nobody at the border of the plate
    // among them: they come first, from a thread without which it cannot have ended.
    const bool thread_0_sends = counts_[kNorth] + counts_[kSouth] + counts_[kWest] > 0;
    const std::size_t first = thread_0_sends ? 0 : rank_.layout.threads() - 1;
    for (const Edge edge : kAllEdges) {
      const bool empty = counts_[edge] == 0;
      if (empty && !sent_.empty() && thread == first) make_ready(first_partition_[edge]);
    }
    for (const Edge edge : kAllEdges) {
      const Share part = rank_.layout.part(edge, thread);
      if (part.size() == 0 || counts_[edge] == 0) continue;
      rank_.tile.pack(edge, part.begin, part.size(), &sent_[begins_[edge] + part.begin]);
      const auto number = edge < kWest ? static_cast<int>(thread) : 0;
      make_ready(first_partition_[edge] + number);
    }
  }
  void finish(std::size_t thread) override {
    while (to_come_.load(std::memory_order_acquire) > 0) {
      esp_segment segment;
      int taken = 0;
      require(rank_.team, esp_segment_wait(request_, &segment, &taken), "exchange of neighbors");
      if (taken == 0) {  // Others have the last ones in their hands.
        std::this_thread::yield();
        continue;
      }
      const auto edge = static_cast<Edge>(segment.block);
      const std::size_t first = segment.offset / sizeof(double);
      const std::size_t count = segment.bytes / sizeof(double);
      rank_.tile.unpack(edge, first, count, &received_[begins_[edge] + first]);
      opened(edge, first, count);
      to_come_.fetch_sub(count, std::memory_order_acq_rel);
    }
    all_opened(thread);
  }
  void end_step() override {
    require(rank_.team, esp_request_wait(&request_), "exchange of neighbors");
    to_come_ = received_.size();
  }

 protected:
  // Cells of the halo have come, along an edge from `first` on; by the thread that took them.
  virtual void opened(Edge edge, std::size_t first, std::size_t count) = 0;
  // All have; by each thread.
  virtual void all_opened(std::size_t thread) = 0;

  const Rank rank_;

 private:
  void make_ready(int partition) { require(rank_.team, esp_ready(request_, partition), "ready"); }

  std::array<int, kEdges> first_partition_{};
  std::array<std::size_t, kEdges> counts_, begins_;
  std::vector<double> sent_, received_;  // Edge after edge.
  std::atomic<std::size_t> to_come_;     // Cells of the halo that are not there yet.
  esp_request* request_ = nullptr;
};

class Sync : public Neighbors {
 public:
  using Neighbors::Neighbors;

 private:
  void opened(Edge /*edge*/, std::size_t /*first*/, std::size_t /*count*/) override {}
  void all_opened(std::size_t thread) override { update_boundary(rank_, thread); }
};

class Partial : public Neighbors {
 public:
  Partial(const Rank& rank, bool separate)
      : Neighbors(rank, separate), missing_(2 * (rank.tile.rows() + rank.tile.columns())) {
    for (const Edge edge : kAllEdges) {
      for (std::size_t i = 0; i < rank.layout.length(edge); ++i) {
        const Cell cell = cell_at(edge, i);
        missing_[number_of(cell)] = rank.layout.needs(cell);
      }
    }
  }

 private:
  // Updates the boundary cells of which this was all that was missing: stretches of those that
  // touch no other neighbor, and of the others those to which nobody else will come.
  void opened(Edge edge, std::size_t first, std::size_t count) override {
    const auto alone = [&](std::size_t i) { return rank_.layout.needs(cell_at(edge, i)) == 1; };
    const std::size_t end = first + count;
    for (std::size_t i = first; i < end;) {
      if (alone(i)) {
        const std::size_t begin = i;
        while (i < end && alone(i)) ++i;
        update(cell_at(edge, begin), cell_at(edge, i - 1));
      } else {
        open_shared(cell_at(edge, i++));
      }
    }
  }
  void all_opened(std::size_t /*thread*/) override {}

  // One of several halos of a cell is there. Who brings the last one sees the others.
  void open_shared(Cell cell) {
    std::atomic<int>& missing = missing_[number_of(cell)];
    if (missing.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    missing.store(rank_.layout.needs(cell), std::memory_order_relaxed);  // for the next step
    update(cell, cell);
  }
  void update(Cell first, Cell last) {
    rank_.tile.update({first.row, last.row + 1, first.column, last.column + 1});
  }

  // Beside the halo of an edge, counted from 0.
  Cell cell_at(Edge edge, std::size_t i) const {
    const Tile& tile = rank_.tile;
    if (edge == kNorth || edge == kSouth) return {edge == kNorth ? 1 : tile.rows(), 1 + i};
    return {1 + i, edge == kWest ? 1 : tile.columns()};
  }
  // Of a cell at an edge: one number, whatever edges it is at.
  std::size_t number_of(Cell cell) const {
    const std::size_t rows = rank_.tile.rows(), columns = rank_.tile.columns();
    if (cell.row == 1) return cell.column - 1;
    if (cell.row == rows) return columns + cell.column - 1;
    return 2 * columns + (cell.column == 1 ? 0 : rows) + cell.row - 1;
  }

  std::vector<std::atomic<int>> missing_;  // Halos, of each cell at an edge.
};

}  // namespace

std::unique_ptr<Exchange> make_sync(const Rank& rank, bool separate) {
  return std::make_unique<Sync>(rank, separate);
}

std::unique_ptr<Exchange> make_partial(const Rank& rank, bool separate) {
  return std::make_unique<Partial>(rank, separate);
}

}  // namespace heat
