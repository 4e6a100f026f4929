#include "tests/unit/plan_hazards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/unit/plan_checker_state.hpp"

namespace espalier::plan_check {
namespace {

// Moments and which of them comes before which.
class Before {
 public:
  using Moment = std::uint32_t;

  Moment add() {
    after_.emplace_back();
    return static_cast<Moment>(after_.size() - 1);
  }
  void before(Moment first, Moment second) { after_[first].push_back(second); }

  // False: it has a cycle.
  bool close() {
    std::vector<std::uint32_t> missing(after_.size(), 0);
    for (const auto& later : after_) {
      for (const Moment m : later) ++missing[m];
    }
    std::vector<Moment> sorted;
    for (Moment m = 0; m < after_.size(); ++m) {
      if (missing[m] == 0) sorted.push_back(m);
    }
    for (std::size_t at = 0; at < sorted.size(); ++at) {
      for (const Moment m : after_[sorted[at]]) {
        if (--missing[m] == 0) sorted.push_back(m);
      }
    }
    words_ = (after_.size() + 63) / 64;
    reached_.assign(after_.size() * words_, 0);
    for (std::size_t at = sorted.size(); at-- > 0;) {
      const Moment from = sorted[at];
      for (const Moment m : after_[from]) {
        reached_[from * words_ + m / 64] |= std::uint64_t{1} << m % 64;
        for (std::size_t w = 0; w < words_; ++w) {
          reached_[from * words_ + w] |= reached_[m * words_ + w];
        }
      }
    }
    return sorted.size() == after_.size();
  }
  bool is_before(Moment first, Moment second) const {
    return first == second || (reached_[first * words_ + second / 64] >> second % 64 & 1) != 0;
  }

 private:
  std::vector<std::vector<Moment>> after_;
  std::vector<std::uint64_t> reached_;
  std::size_t words_ = 0;
};

using Moment = Before::Moment;

// An index of a vertex: posted, complete, and complete with all before it.
struct Times {
  Moment start, end, prefix;
};

struct Access {
  std::size_t buffer;
  std::uint64_t begin, end;  // bytes
  bool writes;
  Moment from, to;
  std::string who;
};

class Hazards {
 public:
  Hazards(const std::vector<Plan>& plans, const std::vector<std::int64_t>& input_at)
      : plans_(plans), input_at_(input_at), accesses_(plans.size()) {}

  std::string find() {
    if (!add_all()) return "the order has a cycle";
    for (const auto& of_rank : accesses_) {
      if (std::string hazard = compare(of_rank); !hazard.empty()) return hazard;
    }
    return {};
  }

  bool is_implied(std::int32_t rank, std::size_t vertex, const Dependency& need) {
    if (!add_all()) return false;
    bool all = true;
    each_ordered(plans_[static_cast<std::size_t>(rank)], vertex, need,
                 [&](std::int64_t begin, std::int64_t end, std::uint32_t i) {
                   for (std::int64_t k = begin; k < end; ++k) {
                     all = all && is_over_before(rank, need.vertex, k, vertex, i);
                   }
                 });
    return all;
  }

 private:
  // False: there is no such order.
  bool add_all() {
    for (const Plan& plan : plans_) add_plan(plan);
    for (const Plan& plan : plans_) add_accesses(plan);
    return order_.close();
  }

  // Index k of one vertex before index i of another. What is sent is over when it has been read,
  // what is received begins when it comes.
  bool is_over_before(std::int32_t rank, std::size_t vertex, std::int64_t k, std::size_t other,
                      std::uint32_t i) const {
    const Plan& plan = plans_[static_cast<std::size_t>(rank)];
    const Moment begin = begin_of(plan, other, i);
    const auto reads = reads_.find({rank, vertex, k});
    if (reads == reads_.end()) return order_.is_before(times(plan, vertex, k).end, begin);
    return std::all_of(reads->second.begin(), reads->second.end(),
                       [&](Moment read) { return order_.is_before(read, begin); });
  }

  Moment begin_of(const Plan& plan, std::size_t vertex, std::uint32_t i) const {
    const Vertex& v = plan.vertices[vertex];
    if (v.action != Action::kRecv || is_skipped(plan, v, i)) return times(plan, vertex, i).start;
    return arrivals_.at({plan.peer(v, i), plan.rank, v.channel, plan.position(v, i).ordinal}).begin;
  }

  const Times& times(const Plan& plan, std::size_t vertex, std::int64_t index) const {
    return times_[static_cast<std::size_t>(plan.rank)][vertex][static_cast<std::size_t>(index)];
  }

  void add_plan(const Plan& plan) {
    times_.resize(plans_.size());
    auto& of_rank = times_[static_cast<std::size_t>(plan.rank)];
    for (const Vertex& v : plan.vertices) {
      auto& of_vertex = of_rank.emplace_back();
      for (std::uint32_t i = 0; i < v.indices.count; ++i) {
        const Times t{order_.add(), order_.add(), order_.add()};
        order_.before(t.start, t.end);
        order_.before(t.end, t.prefix);
        if (i > 0) order_.before(of_vertex[i - 1].prefix, t.prefix);
        if (i >= v.window) order_.before(of_vertex[i - v.window].prefix, t.start);
        of_vertex.push_back(t);
      }
    }
    for (std::size_t at = 0; at < plan.vertices.size(); ++at) add_edges(plan, at);
  }

  void add_edges(const Plan& plan, std::size_t at) {
    for (const Dependency& need : plan.vertices[at].needs) {
      each_ordered(plan, at, need, [&](std::int64_t begin, std::int64_t end, std::uint32_t i) {
        const Times& last = times(plan, need.vertex, end - 1);
        order_.before(begin + 1 == end ? last.end : last.prefix, times(plan, at, i).start);
      });
    }
  }

  // Each index that needs some of the needed vertex, and which: [begin, end).
  template <typename Use>
  void each_ordered(const Plan& plan, std::size_t at, const Dependency& need, Use&& use) {
    const Vertex& v = plan.vertices[at];
    const Indices other = plan.vertices[need.vertex].indices;
    for (std::uint32_t i = 0; i < v.indices.count; ++i) {
      const std::int64_t needed = i - need.distance(v.indices.inner);
      if (need.whole) {
        const std::int64_t end =
            need.batch > 0 ? v.indices.before_batch(other, i, need.batch) : other.count;
        if (end > 0) use(std::int64_t{0}, end, i);
      } else if (0 <= needed && needed < other.count) {
        use(needed, needed + 1, i);
      }
    }
  }

  // Flow and ordinal between two ranks.
  using Segment = std::tuple<std::int32_t, std::int32_t, std::uint8_t, std::uint32_t>;

  void add_accesses(const Plan& plan) {
    if (arrivals_.empty()) find_arrivals();
    for (std::size_t at = 0; at < plan.vertices.size(); ++at) {
      for (std::uint32_t i = 0; i < plan.vertices[at].indices.count; ++i) {
        if (!is_skipped(plan, plan.vertices[at], i)) add_access(plan, at, i);
      }
    }
  }

  // When data begin to be written at their receiver: after both sides have posted.
  struct Arrival {
    Moment begin, end;
  };
  void find_arrivals() {
    for (const Plan& plan : plans_) {
      for (std::size_t at = 0; at < plan.vertices.size(); ++at) {
        const Vertex& v = plan.vertices[at];
        if (v.action != Action::kRecv && v.action != Action::kRecvView) continue;
        for (std::uint32_t i = 0; i < v.indices.count; ++i) {
          if (is_skipped(plan, v, i)) continue;
          const Times& t = times(plan, at, i);
          const Arrival arrival{order_.add(), t.end};
          order_.before(t.start, arrival.begin);
          order_.before(arrival.begin, t.end);
          arrivals_[{plan.peer(v, i), plan.rank, v.channel, plan.position(v, i).ordinal}] = arrival;
        }
      }
    }
  }

  void add_access(const Plan& plan, std::size_t at, std::uint32_t i) {
    const Vertex& v = plan.vertices[at];
    const Times& t = times(plan, at, i);
    const std::uint32_t ordinal = is_local(v.action) ? 0 : plan.position(v, i).ordinal;
    switch (v.action) {
      case Action::kRecv: {
        const Segment segment{plan.peer(v, i), plan.rank, v.channel, ordinal};
        note(plan, at, i, v.dst, true, arrivals_.at(segment).begin, t.end);
        if (v.lands)
          note(plan, at, i, Place::kUserOutput, true, arrivals_.at(segment).begin, t.end);
        return;
      }
      case Action::kRecvView:
        note_view(plan, at, i, t, at, true);
        return;
      case Action::kAwait:
        return;
      case Action::kDeliver:
        note(plan, at, i, v.src, false, t.start, t.end);
        return;
      case Action::kCombine:
        if (copies_to_itself(plan, v, i)) return;
        for (const Operand& operand : v.operands) {
          if (operand.place == Place::kView) {
            note_view(plan, operand.vertex, i, t, at, false);
          } else {
            note(plan, at, i, operand.place, false, t.start, t.end);
          }
        }
        note(plan, at, i, v.dst, true, t.start, t.end);
        return;
      case Action::kSend:
        add_read(plan, at, i, plan.peer(v, i), ordinal);
        return;
      case Action::kPublish:
        for (const std::int32_t reader : v.peers) add_read(plan, at, i, reader, ordinal);
    }
  }

  // What stands in its place already is not written.
  bool copies_to_itself(const Plan& plan, const Vertex& v, std::uint32_t i) const {
    if (v.operands.size() != 1 || v.operands[0].place == Place::kView) return false;
    return memory_of(plan, v, i, v.operands[0].place, false) == memory_of(plan, v, i, v.dst, true);
  }

  // Buffer and byte.
  std::pair<std::size_t, std::uint64_t> memory_of(const Plan& plan, const Vertex& v,
                                                  std::uint32_t i, Place place, bool writes) const {
    if (place == Place::kAccumulator) {
      place = i < v.indices.inner ? Place::kInput : Place::kOutput;
    }
    const std::uint64_t at =
        writes ? plan.offset_bytes(v, i, place) : plan.source_bytes(v, i, place);
    const std::int64_t input_at = input_at_[static_cast<std::size_t>(plan.rank)];
    const Place input = plan.packs_input ? Place::kUserInput : Place::kInput;
    if (place != input || input_at < 0) return {buffer_of(place), at};
    return {buffer_of(plan.packs_output ? Place::kUserOutput : Place::kOutput),
            at + static_cast<std::uint64_t>(input_at) * plan.element_bytes};
  }

  void add_read(const Plan& plan, std::size_t at, std::uint32_t i, std::int32_t reader,
                std::uint32_t ordinal) {
    const Vertex& v = plan.vertices[at];
    const Times& t = times(plan, at, i);
    const Arrival& arrival = arrivals_.at({plan.rank, reader, v.channel, ordinal});
    const Moment read = order_.add();
    order_.before(t.start, arrival.begin);
    order_.before(t.start, read);
    order_.before(read, arrival.end);
    order_.before(read, t.end);
    reads_[{plan.rank, at, i}].push_back(read);
    note(plan, at, i, v.src, false, t.start, read);
  }

  void note(const Plan& plan, std::size_t at, std::uint32_t i, Place place, bool writes,
            Moment from, Moment to) {
    const Vertex& v = plan.vertices[at];
    const std::uint64_t bytes = plan.length_elements(v, i) * plan.element_bytes;
    if (bytes == 0) return;
    const auto [buffer, begin] = memory_of(plan, v, i, place, writes);
    accesses_[static_cast<std::size_t>(plan.rank)].push_back(
        {buffer, begin, begin + bytes, writes, from, to,
         fmt::format("rank {} v{}[{}]", plan.rank, at, i)});
  }

  // Views are the wire's memory, in as many places as the vertex has in flight or held at most.
  // Index i, of the view that is received or by a combine that reads it.
  void note_view(const Plan& plan, std::size_t view, std::uint32_t i, const Times& t,
                 std::size_t by, bool writes) {
    const Vertex& v = plan.vertices[view];
    if (is_skipped(plan, v, i)) return;
    const std::uint64_t place = i % v.window;
    accesses_[static_cast<std::size_t>(plan.rank)].push_back(
        {kMaxBuffers + view, place, place + 1, writes, t.start, t.end,
         fmt::format("rank {} v{}[{}]", plan.rank, by, i)});
  }

  std::string compare(const std::vector<Access>& accesses) const {
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      for (std::size_t j = 0; j < k; ++j) {
        const Access &a = accesses[j], &b = accesses[k];
        const bool meet = a.buffer == b.buffer && a.begin < b.end && b.begin < a.end;
        if (!meet || (!a.writes && !b.writes) || a.who == b.who) continue;
        if (order_.is_before(a.to, b.from) || order_.is_before(b.to, a.from)) continue;
        return fmt::format("{} and {} meet in buffer {}, in no order", a.who, b.who, a.buffer);
      }
    }
    return {};
  }

  const std::vector<Plan>& plans_;
  const std::vector<std::int64_t>& input_at_;
  Before order_;
  std::vector<std::vector<std::vector<Times>>> times_;  // by rank, vertex, index
  std::map<Segment, Arrival> arrivals_;
  // When the readers of a send or publication have read: by rank, vertex, index.
  std::map<std::tuple<std::int32_t, std::size_t, std::int64_t>, std::vector<Moment>> reads_;
  std::vector<std::vector<Access>> accesses_;  // by rank
};

}  // namespace

std::string find_hazard(const std::vector<Plan>& plans, const std::vector<std::int64_t>& input_at) {
  return Hazards(plans, input_at).find();
}

bool is_implied(const std::vector<Plan>& plans, std::int32_t rank, std::size_t vertex,
                const Dependency& need) {
  const std::vector<std::int64_t> nowhere(plans.size(), -1);
  return Hazards(plans, nowhere).is_implied(rank, vertex, need);
}

}  // namespace espalier::plan_check
