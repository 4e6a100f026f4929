// The variants that send messages: one sender, or many.
#include <barrier>
#include <vector>

#include "exchange.hpp"
#include "session.hpp"

namespace heat {
namespace {

using examples::require;

// A part of an edge that is sent to a neighbor and received from there, step by step. Rows are sent
// as they lie, columns are packed.
class EdgeFlow {
 public:
  // Channels tell the parts of an edge apart.
  EdgeFlow(const Rank& rank, Edge edge, Share part, unsigned channel)
      : rank_(rank), edge_(edge), part_(part), channel_(channel), packed_(edge >= kWest) {
    if (!packed_) return;
    sent_.resize(part.size());
    received_.resize(part.size());
  }

  void start(std::vector<esp_request*>& requests) {
    Tile& tile = rank_.tile;
    const std::size_t column = 1 + part_.begin, bytes = part_.size() * sizeof(double);
    const double* from = sent_.data();
    double* to = received_.data();
    if (packed_) {
      tile.pack(edge_, part_.begin, part_.size(), sent_.data());
    } else {
      from = tile.at({edge_ == kNorth ? 1 : tile.rows(), column});
      to = tile.at({edge_ == kNorth ? 0 : tile.rows() + 1, column});
    }
    const int peer = rank_.neighbors[edge_];
    esp_request* request = nullptr;
    require(rank_.team, esp_recv_start(rank_.team, to, bytes, peer, channel_, nullptr, &request),
            "receive");
    requests.push_back(request);
    require(rank_.team, esp_send_start(rank_.team, from, bytes, peer, channel_, nullptr, &request),
            "send");
    requests.push_back(request);
  }
  // What has come is where updates read it.
  void finish() {
    if (packed_) rank_.tile.unpack(edge_, part_.begin, part_.size(), received_.data());
  }

 private:
  const Rank& rank_;
  Edge edge_;
  Share part_;
  unsigned channel_;
  bool packed_;
  std::vector<double> sent_, received_;
};

// Several of them, of one thread.
class Flows {
 public:
  explicit Flows(const Rank& rank) : rank_(rank) {}

  void add(Edge edge, Share part, unsigned channel) {
    if (!rank_.layout.has_neighbor(edge) || part.size() == 0) return;
    flows_.emplace_back(rank_, edge, part, channel);
  }
  void start() {
    requests_.clear();
    for (EdgeFlow& flow : flows_) flow.start(requests_);
  }
  void finish() {
    require(rank_.team, esp_request_wait_all(requests_.data(), requests_.size()), "exchange");
    for (EdgeFlow& flow : flows_) flow.finish();
  }

 private:
  const Rank& rank_;
  std::vector<EdgeFlow> flows_;
  std::vector<esp_request*> requests_;
};

class Funnel : public Exchange {
 public:
  explicit Funnel(const Rank& rank)
      : rank_(rank), flows_(rank_), arrived_(static_cast<std::ptrdiff_t>(rank.layout.threads())) {
    for (const Edge edge : {kNorth, kSouth, kWest, kEast}) {
      flows_.add(edge, {0, rank.layout.length(edge)}, 0);
    }
  }
  void begin(std::size_t thread) override {
    if (thread == 0) flows_.start();
  }
  void finish(std::size_t thread) override {
    if (thread == 0) flows_.finish();
    arrived_.arrive_and_wait();
    update_boundary(rank_, thread);
  }

 private:
  const Rank rank_;
  Flows flows_;
  std::barrier<> arrived_;
};

class Multiple : public Exchange {
 public:
  explicit Multiple(const Rank& rank) : rank_(rank) {
    flows_.reserve(rank.layout.threads());
    for (std::size_t thread = 0; thread < rank.layout.threads(); ++thread) {
      Flows& flows = flows_.emplace_back(rank_);
      for (const Edge edge : {kNorth, kSouth, kWest, kEast}) {
        // A column is one part, whose two ends are threads of different numbers.
        const unsigned channel = edge < kWest ? static_cast<unsigned>(thread) : 0;
        flows.add(edge, rank.layout.part(edge, thread), channel);
      }
    }
  }
  void begin(std::size_t thread) override { flows_[thread].start(); }
  void finish(std::size_t thread) override {
    flows_[thread].finish();
    update_boundary(rank_, thread);
  }

 private:
  const Rank rank_;
  std::vector<Flows> flows_;
};

}  // namespace

std::unique_ptr<Exchange> make_funnel(const Rank& rank) {
  return std::make_unique<Funnel>(rank);
}

std::unique_ptr<Exchange> make_multiple(const Rank& rank) {
  return std::make_unique<Multiple>(rank);
}

void update_boundary(const Rank& rank, std::size_t thread) {
  for (const Rect& cells : rank.layout.boundary(thread)) {
    if (!cells.empty()) rank.tile.update(cells);
  }
}

}  // namespace heat
