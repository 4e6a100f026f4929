// Scan and exscan: rank r gets the combination of ranks 0 to r, or 0 to r - 1, in rank order.
//
//   ring      the prefix goes from rank to rank, segment by segment: size - 1 hops, each segment
//             is sent and received once
//   doubling  round k adds the sum of the 2^k ranks before those that are in it already (Hillis and
//             Steele): log2(size) rounds, in which nearly all send
//
// Safe in place: kOutput of a segment is written after what is read of kInput there.
#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

class Scan {
 public:
  explicit Scan(const PlanRequest& request)
      : builder_(request),
        me_(request.rank),
        size_(request.size),
        exclusive_(request.collective == Collective::kExscan) {}

  Result<Plan> make_ring();
  Result<Plan> make_doubling();

 private:
  Vertex vertex(Action action, std::int32_t peer = -1) const {
    Vertex v;
    v.action = action;
    v.channel = channel_;
    v.window = action == Action::kSend ? builder_.window_send() : builder_.window_recv();
    v.peer = Steps::constant(peer);
    return v;
  }
  VertexId add_combine(Place dst, std::vector<Operand> operands) {
    Vertex combine = vertex(Action::kCombine);
    combine.dst = dst;
    combine.operands = std::move(operands);
    return builder_.add(std::move(combine));
  }
  VertexId add_send(Place src, std::int32_t to) {
    Vertex send = vertex(Action::kSend, to);
    send.src = src;
    return builder_.add(std::move(send));
  }
  // A view of what `from` sends; whoever combines it last releases it.
  VertexId add_view(std::int32_t from) { return builder_.add(vertex(Action::kRecvView, from)); }
  void release(VertexId view, VertexId combine) {
    builder_.need(view, combine, builder_.vertex(view).window);
  }

  Builder builder_;
  std::int32_t me_;
  std::int32_t size_;
  bool exclusive_;
  std::uint8_t channel_ = 0;
};

//   view(left) --> output = view op input --> send(right)          scan
//   view(left) --> slot = view op input --> send(right)            exscan
//         \------------(input has been read)--> output = view
Result<Plan> Scan::make_ring() {
  const bool first = me_ == 0;
  const bool last = me_ == size_ - 1;
  const VertexId view = first ? kNoVertex : add_view(me_ - 1);
  VertexId sum = kNoVertex;
  Place sum_at = Place::kInput;
  const auto slots =
      static_cast<std::int32_t>(std::min<std::uint32_t>(builder_.window_send(), builder_.pieces()));
  if (!first && !(exclusive_ && last)) {
    sum_at = exclusive_ ? builder_.add_ring(static_cast<std::uint32_t>(slots)) : Place::kOutput;
    sum = add_combine(sum_at, {{.place = Place::kView, .vertex = view, .keeps = exclusive_},
                               {.place = Place::kInput}});
    builder_.need(sum, view);
  }
  if (first && !exclusive_) add_combine(Place::kOutput, {{.place = Place::kInput}});
  if (!last) {
    const VertexId send = add_send(sum_at, me_ + 1);
    if (sum != kNoVertex) builder_.need_source(send, sum);
    if (exclusive_ && sum != kNoVertex) builder_.need(sum, send, slots);
  }
  VertexId released = sum;
  if (exclusive_ && !first) {
    released = add_combine(Place::kOutput, {{.place = Place::kView, .vertex = view}});
    builder_.need(released, view);
    if (sum != kNoVertex) builder_.need(released, sum);
  }
  if (view != kNoVertex) release(view, released);
  return builder_.finish();
}

//   sum = input
//   round: send(sum, me + distance) --> sum = view(me - distance) op sum
// The sum may not change before it is out. It stands in the output or, where that is to have less
// than the sum, in a slot; there, the output gets the views alone, the nearest last.
Result<Plan> Scan::make_doubling() {
  const auto slots = std::min<std::uint32_t>(builder_.window_recv(), builder_.pieces());
  const Place sum_at = exclusive_ ? builder_.add_ring(slots) : Place::kOutput;
  const VertexId begun = add_combine(sum_at, {{.place = Place::kInput}});
  VertexId sum = begun;
  VertexId output = kNoVertex;
  std::vector<VertexId> last_uses;
  for (std::int32_t distance = 1; distance < size_; distance *= 2, ++channel_) {
    VertexId sent = kNoVertex;
    if (me_ + distance < size_) {
      sent = add_send(sum_at, me_ + distance);
      builder_.need_source(sent, sum);
      last_uses.push_back(sent);
    }
    if (me_ < distance) continue;
    const VertexId view = add_view(me_ - distance);
    // The sum itself is for those who come after.
    const bool sends_again = me_ + 2 * std::int64_t{distance} < size_;
    if (exclusive_) {
      std::vector<Operand> operands = {
          {.place = Place::kView, .vertex = view, .keeps = sends_again}};
      if (output != kNoVertex) operands.push_back({.place = Place::kOutput});
      const VertexId before = output;
      output = add_combine(Place::kOutput, std::move(operands));
      builder_.need(output, view);
      builder_.need(output, before != kNoVertex ? before : begun);
      last_uses.push_back(output);
      if (!sends_again) {
        release(view, output);
        continue;
      }
    }
    const VertexId made =
        add_combine(sum_at, {{.place = Place::kView, .vertex = view}, {.place = sum_at}});
    builder_.need(made, view);
    builder_.need(made, sum);
    if (sent != kNoVertex) builder_.need(made, sent);
    if (exclusive_) builder_.need(made, output);
    release(view, made);
    sum = made;
    last_uses.push_back(made);
  }
  if (exclusive_) {  // a slot is used again when nobody needs what is in it
    for (const VertexId use : last_uses) {
      builder_.need(begun, use, static_cast<std::int32_t>(slots));
    }
  }
  return builder_.finish();
}

}  // namespace

Result<Plan> make_scan(const PlanRequest& request) {
  Scan maker(request);
  return request.algorithm == ESP_ALGORITHM_DOUBLING ? maker.make_doubling() : maker.make_ring();
}

}  // namespace espalier
