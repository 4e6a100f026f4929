// Reduce-scatter: rank r gets the combination of all block r. Everybody sends each block straight
// to its owner, and each owner combines its own: the first half of a spread allreduce
// (allreduce.cpp), with the same order of sends.
//
// Up to kOnePass ranks an owner combines all contributions of a piece in one pass, in rank order.
// Beyond, one after the other as they come in turn: r, r + 1, ... or, where the operator does not
// commute, 0, 1, ...; then all owners take the senders in one order, and nobody waits in a circle.
//
// In place the result comes to the beginning of the blocks: it is put there when all blocks have
// been read.
#include <utility>

#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

constexpr std::int32_t kOnePass = 16;

class ReduceScatter {
 public:
  explicit ReduceScatter(const PlanRequest& request)
      : builder_(request), me_(request.rank), size_(request.size) {
    if (!request.in_place) return;
    Layout own = builder_.plan().layout(Place::kOutput);
    result_ = builder_.add_scratch(own);
  }

  Result<Plan> make() {
    if (size_ <= kOnePass) {
      combine_at_once();
    } else if (builder_.request().commutative) {
      sum_ = add_first({{.place = Place::kInput}}, true);
      add_rest(me_ + 1, size_ - 1);
    } else {
      combine_in_rank_order();
    }
    if (size_ <= kOnePass) {
      // An owner needs a piece of everybody before it takes the next: no send waits for another.
      for (std::int32_t k = 1; k < size_; ++k) add_send(size_ - k, 1);
    } else {
      add_send(size_ - 1, size_ - 1);
    }
    if (result_ != Place::kOutput) {
      const VertexId copy = add_combine(Place::kOutput, {{.place = result_}}, false);
      builder_.need_all(copy, sum_);
      for (const VertexId other : readers_) builder_.need_all(copy, other);
    }
    return builder_.finish();
  }

 private:
  // A pass over all pieces of the own block, `peers` times.
  Vertex vertex(Action action, std::int32_t peers = 1) const {
    Vertex v;
    v.action = action;
    v.window = builder_.window_recv();
    v.steps = static_cast<std::uint32_t>(peers);
    v.skips_empty = true;
    return v;
  }
  VertexId add_view(std::int32_t first, std::int32_t peers) {
    Vertex view = vertex(Action::kRecvView, peers);
    view.peer = Steps::affine(first % size_, 1, size_);
    return builder_.add(std::move(view));
  }
  // `own`: reads this rank's block of the input.
  VertexId add_combine(Place to, std::vector<Operand> operands, bool own, std::int32_t peers = 1) {
    Vertex combine = vertex(Action::kCombine, peers);
    combine.dst = to;
    combine.operands = std::move(operands);
    combine.elsewhere = own;
    if (own) combine.from = Steps::constant(me_);
    combine.skips_empty = false;  // it gives its views back
    const VertexId id = builder_.add(std::move(combine));
    if (own) readers_.push_back(id);
    return id;
  }
  void release(VertexId view, VertexId combine) {
    builder_.need(combine, view);
    builder_.need(view, combine, builder_.window_recv());
  }
  VertexId add_first(std::vector<Operand> operands, bool own) {
    return add_combine(result_, std::move(operands), own);
  }

  void combine_at_once() {
    std::vector<VertexId> views;
    std::vector<Operand> operands;
    for (std::int32_t rank = 0; rank < size_; ++rank) {
      if (rank == me_) {
        operands.push_back({.place = Place::kInput});
        continue;
      }
      views.push_back(add_view(rank, 1));
      operands.push_back({.place = Place::kView, .vertex = views.back()});
    }
    sum_ = add_first(std::move(operands), true);
    for (const VertexId view : views) release(view, sum_);
  }

  // The contributions of `peers` ranks from `first` on, behind the sum.
  void add_rest(std::int32_t first, std::int32_t peers) {
    if (peers == 0) return;
    const VertexId view = add_view(first, peers);
    const VertexId before = sum_;
    sum_ = add_combine(result_, {{.place = result_}, {.place = Place::kView, .vertex = view}},
                       false, peers);
    release(view, sum_);
    need_end(sum_, before);
    if (peers > 1) builder_.need_step(sum_, sum_, 1);
  }
  // The first step's pieces need those of the last step of `before`.
  void need_end(VertexId vertex, VertexId before) {
    const auto steps = static_cast<std::int32_t>(builder_.vertex(before).steps);
    builder_.need_step(vertex, before, 1 - steps);
  }

  void combine_in_rank_order() {
    if (me_ == 0) {
      sum_ = add_first({{.place = Place::kInput}}, true);
    } else {
      // Beside the sum nothing of another block may be read: the own one is brought to the sum.
      const Place own = builder_.add_scratch(builder_.plan().layout(Place::kOutput));
      const VertexId brought = add_combine(own, {{.place = Place::kInput}}, true);
      const VertexId view = add_view(0, 1);
      sum_ = add_first({{.place = Place::kView, .vertex = view}}, false);
      release(view, sum_);
      add_rest(1, me_ - 1);
      const VertexId before = sum_;
      sum_ = add_combine(result_, {{.place = result_}, {.place = own}}, false);
      need_end(sum_, before);
      builder_.need(sum_, brought);
    }
    add_rest(me_ + 1, size_ - 1 - me_);
  }

  // To the ranks `distance` after this one, distance - 1, ...: the left neighbour first.
  void add_send(std::int32_t distance, std::int32_t peers) {
    Vertex send = vertex(Action::kSend, peers);
    send.window = builder_.window_send();
    send.src = send.shape = Place::kInput;
    send.peer = send.block = Steps::affine((me_ + distance) % size_, -1, size_);
    readers_.push_back(builder_.add(std::move(send)));
  }

  Builder builder_;
  std::int32_t me_;
  std::int32_t size_;
  Place result_ = Place::kOutput;  // where the sum grows
  VertexId sum_ = kNoVertex;       // the last combine
  std::vector<VertexId> readers_;  // of the input
};

}  // namespace

Result<Plan> make_reduce_scatter(const PlanRequest& request) {
  if (request.algorithm == ESP_ALGORITHM_TREE) return make_reduce_scatter_by_leaders(request);
  return ReduceScatter(request).make();
}

}  // namespace espalier
