// Exchanges with neighbours: each edge by itself, so that no two wait for each other whatever the
// graph is. A block that goes to all is published once for those that it reaches by their first
// edge.
#include <algorithm>

#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

class Exchange {
 public:
  explicit Exchange(const PlanRequest& request)
      : builder_(request), near_(*request.neighbors), me_(request.rank) {
    const CollectiveTraits& traits = traits_of(request.collective);
    gathers_ = traits.input == Extent::kOne;
    publishes_ = request.algorithm == ESP_ALGORITHM_PUBLISH;
    const std::size_t edges = std::max(near_.sources.size(), near_.destinations.size());
    // The windows of all edges share what one of a single exchange would have.
    constexpr std::size_t kSlots = 1024;
    narrow_ = static_cast<std::uint16_t>(
        std::clamp<std::size_t>(kSlots / std::max<std::size_t>(edges, 1), 2, kMaxWindow));
  }

  Result<Plan> make() {
    for (std::size_t i = 0; i < near_.sources.size(); ++i) {
      if (near_.sources[i] == me_) {
        add_own(i);
      } else if (near_.sources[i] != Neighbors::kNone) {
        add_recv(i);
      }
    }
    if (publishes_) add_publications();
    for (std::size_t i = 0; i < near_.destinations.size(); ++i) {
      const bool sends = near_.destinations[i] != me_ && near_.destinations[i] != Neighbors::kNone;
      if (sends && !is_published(i)) add_send(i);
    }
    return builder_.finish();
  }

 private:
  static Steps at(std::size_t number) { return Steps::constant(static_cast<std::int32_t>(number)); }
  bool is_published(std::size_t destination) const {
    return publishes_ && near_.destination_edges[destination] == 0;
  }
  Vertex vertex(Action action, std::uint16_t window) const {
    Vertex v;
    v.action = action;
    v.window = std::min(window, narrow_);
    v.skips_empty = true;
    return v;
  }

  void add_recv(std::size_t i) {
    Vertex recv = vertex(Action::kRecv, builder_.window_recv());
    recv.dst = Place::kOutput;
    recv.block = at(i);
    recv.channel = near_.source_edges[i];
    recv.peer = Steps::constant(near_.sources[i]);
    builder_.add(std::move(recv));
  }

  Vertex send_of(Action action) const {
    Vertex send = vertex(action, builder_.window_send());
    send.src = send.shape = Place::kInput;
    return send;
  }
  void add_send(std::size_t i) {
    Vertex send = send_of(Action::kSend);
    if (!gathers_) send.block = at(i);
    send.channel = near_.destination_edges[i];
    send.peer = Steps::constant(near_.destinations[i]);
    builder_.add(std::move(send));
  }
  void add_publications() {
    std::vector<std::int32_t> readers;
    for (std::size_t i = 0; i < near_.destinations.size(); ++i) {
      const std::int32_t to = near_.destinations[i];
      if (to != me_ && to != Neighbors::kNone && is_published(i)) readers.push_back(to);
    }
    if (!readers.empty()) {
      add_publish(builder_, send_of(Action::kPublish), std::move(readers), kNoVertex);
    }
  }

  // From this rank to itself.
  void add_own(std::size_t i) {
    for (std::size_t j = 0; j < near_.destinations.size(); ++j) {
      if (near_.destinations[j] != me_) continue;
      if (near_.destination_edges[j] != near_.source_edges[i]) continue;
      Vertex copy = vertex(Action::kCombine, builder_.window_recv());
      copy.dst = Place::kOutput;
      copy.block = at(i);
      copy.operands = {{.place = Place::kInput}};
      copy.elsewhere = true;
      copy.from = at(gathers_ ? 0 : j);
      builder_.add(std::move(copy));
    }
  }

  Builder builder_;
  const Neighbors& near_;
  std::int32_t me_;
  bool gathers_ = false, publishes_ = false;
  std::uint16_t narrow_ = 1;
};

}  // namespace

Result<Plan> make_neighbors(const PlanRequest& request) {
  return Exchange(request).make();
}

}  // namespace espalier
