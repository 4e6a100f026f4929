// Both ends of a flow: who meets whom, and do they speak of the same segments?
#include <algorithm>

#include "tests/unit/plan_checker_run.hpp"

namespace espalier::plan_check {
namespace {

class Flows {
 public:
  explicit Flows(Run& run) : run_(run) {}

  void pair() {
    const std::size_t p = run_.plans.size();
    std::size_t channels = 1;
    for (const State& s : run_.states) {
      channels = std::max<std::size_t>(channels, std::size_t{s.vertex->channel} + 1);
    }
    std::vector<Flow> flows(p * p * channels);
    const auto flow = [&](std::int32_t from, std::int32_t to, std::uint8_t channel) -> Flow& {
      return flows[(static_cast<std::size_t>(from) * p + static_cast<std::size_t>(to)) * channels +
                   channel];
    };
    const auto each_end = [&](auto&& use) {
      for (std::size_t id = 0; id < run_.states.size(); ++id) {
        State& s = run_.states[id];
        for (std::size_t k = 0; k < s.ends.size(); ++k) {
          const Vertex& v = *s.vertex;
          const bool many = v.action == Action::kPublish;
          const auto base = many ? 0u : static_cast<std::uint32_t>(k) * v.indices.inner;
          const std::int32_t peer = many ? v.peers[k] : s.plan->peer(v, base);
          if (peer == s.plan->rank) continue;  // idle
          Flow& f =
              sends(v) ? flow(s.plan->rank, peer, v.channel) : flow(peer, s.plan->rank, v.channel);
          use(s, s.ends[k], sends(v) ? f.from : f.to, sends(v) ? f.to : f.from,
              End{static_cast<std::int32_t>(id), base});
        }
      }
    };
    each_end([&](State& s, End&, End& mine, End&, End self) {
      if (mine.state >= 0)
        run_.fail("{} shares its flow with another vertex", run_.name(s, self.base));
      mine = self;
    });
    each_end([&](State& s, End& other_end, End&, End& theirs, End self) {
      other_end = theirs;
      if (theirs.state < 0) {
        if (!is_empty(s, self)) run_.fail("{} has no counterpart", run_.name(s, self.base));
      } else {
        compare_ends(s, self, run_.states[static_cast<std::size_t>(theirs.state)], theirs);
      }
    });
  }

 private:
  struct Flow {
    End from;
    End to;
  };

  // Indices of one flow, from its end's base on.
  static std::uint32_t indices_of_flow(const State& s) {
    const Vertex& v = *s.vertex;
    const bool one = v.peer.is_constant();
    return one ? v.indices.count : v.indices.inner;
  }
  bool is_empty(const State& s, End at) const {
    for (std::uint32_t k = 0; k < indices_of_flow(s); ++k) {
      if (!is_skipped(*s.plan, *s.vertex, at.base + k)) return false;
    }
    return true;
  }

  // The last segment says that it is: receives are granted in lots, and the last lot may be short.
  void check_total(const State& s, End at) {
    std::uint32_t moved = 0;
    for (std::uint32_t k = 0; k < indices_of_flow(s); ++k) {
      if (!is_skipped(*s.plan, *s.vertex, at.base + k)) ++moved;
    }
    for (std::uint32_t k = 0; k < indices_of_flow(s) && moved > 0; ++k) {
      const std::uint32_t i = at.base + k;
      if (is_skipped(*s.plan, *s.vertex, i)) continue;
      const FlowPosition at_wire = s.plan->position(*s.vertex, i);
      const std::uint32_t total = at_wire.total;
      if (at_wire.ordinal >= total)
        run_.fail("{} is segment {} of {}", run_.name(s, i), at_wire.ordinal, total);
      if (s.plan->irregular && total != moved)
        run_.fail("{} is of {} segments, not of {}", run_.name(s, i), moved, total);
    }
  }

  // Both sides move the same segments, under the same ordinals. Where the message has one layout on
  // all ranks they are of the same elements, too.
  void compare_ends(const State& a, End at_a, const State& b, End at_b) {
    const bool skips = a.vertex->skips_empty && b.vertex->skips_empty;
    if (!skips && indices_of_flow(a) != indices_of_flow(b)) {
      run_.fail("{} and {} differ in segments per peer", run_.name(a, at_a.base),
                run_.name(b, at_b.base));
      return;
    }
    if (is_by_group(a) != is_by_group(b)) {
      run_.fail("{} and {} go different ways", run_.name(a, at_a.base), run_.name(b, at_b.base));
      return;
    }
    check_total(a, at_a);
    for (std::uint32_t k = 0; k < std::max(indices_of_flow(a), indices_of_flow(b)); ++k) {
      const std::uint32_t i = at_a.base + k, j = at_b.base + k;
      const bool none_a = k >= indices_of_flow(a) || is_skipped(*a.plan, *a.vertex, i);
      const bool none_b = k >= indices_of_flow(b) || is_skipped(*b.plan, *b.vertex, j);
      if (none_a && none_b) continue;
      const bool equal =
          none_a == none_b && run_.bytes(a, i) == run_.bytes(b, j) &&
          a.plan->position(*a.vertex, i).ordinal == b.plan->position(*b.vertex, j).ordinal &&
          a.plan->position(*a.vertex, i).total == b.plan->position(*b.vertex, j).total &&
          (!is_one_message(a, b) || element_of(a, i) == element_of(b, j));
      if (equal) continue;
      run_.fail("{} and {} speak of different segments", run_.name(a, i), run_.name(b, j));
      return;
    }
  }
  // Both sides have a segment come through the network's group, or neither.
  static bool is_by_group(const State& s) { return s.vertex->transfer.path == Path::kMulticast; }
  static bool is_one_message(const State& a, const State& b) {
    const auto is_even = [](const State& s) {
      return s.plan->layout(s.vertex->shape).kind == Layout::Kind::kEven;
    };
    return is_even(a) && is_even(b);
  }
  // First element of the message.
  static std::uint64_t element_of(const State& s, std::uint32_t i) {
    const Place shape = s.vertex->shape;
    return s.plan->offset_bytes(*s.vertex, i, shape) / s.plan->element_bytes;
  }

  Run& run_;
};

}  // namespace

void Run::pair_flows() {
  Flows(*this).pair();
}

}  // namespace espalier::plan_check
