// Allreduce in rounds of pairs, and around a ring.
//
//   doubling  round k exchanges all sums with the partner 2^k away, and both combine
//   halving   round k gives half of what a rank still combines to the partner 2^k away; the same
//             rounds backwards gather the result (Rabenseifner)
//   ring      block b starts behind rank b and gathers a contribution at each; then the results go
//             round once more
//
// Partners at growing distances keep sums runs of neighbours, so contributions are combined in the
// order of ranks. What exceeds a power of two is folded: of the first pairs of ranks the odd one
// gives its contribution to the even one and gets the result.
#include <bit>
#include <utility>

#include "coll/algorithms/builder.hpp"

namespace espalier {
namespace {

class Rounds {
 public:
  explicit Rounds(const PlanRequest& request)
      : builder_(request, blocks_of(request), blocks_of(request)),
        me_(request.rank),
        blocks_(static_cast<std::int32_t>(blocks_of(request))),
        pairs_(static_cast<std::int32_t>(std::bit_floor(static_cast<std::uint32_t>(request.size)))),
        folded_(request.size - pairs_),
        alternates_(request.algorithm == ESP_ALGORITHM_DOUBLING && stays_on_device(request)) {}

  Result<Plan> make() {
    if (me_ < 2 * folded_ && me_ % 2 != 0) {
      add_send(Place::kInput, me_ - 1, 0, blocks_);
      channel_ = kLastChannel;
      add_recv(me_ - 1, 0, blocks_);
      return builder_.finish();
    }
    number_ = me_ < 2 * folded_ ? me_ / 2 : me_ - folded_;
    if (alternates_) add_other_sums();
    if (me_ < 2 * folded_) take(me_ + 1, 0, blocks_, false);
    channel_ = 1;  // on all alike, folded or not
    if (builder_.request().algorithm == ESP_ALGORITHM_DOUBLING) {
      double_distances();
    } else {
      halve();
    }
    if (me_ < 2 * folded_) {
      channel_ = kLastChannel;
      const VertexId sent = add_send(Place::kOutput, me_ + 1, 0, blocks_);
      for (const VertexId before : filled_) builder_.need_all(sent, before);
    }
    return builder_.finish();
  }

 private:
  static constexpr std::uint8_t kLastChannel = 255;

  static std::uint32_t blocks_of(const PlanRequest& request) {
    return request.algorithm == ESP_ALGORITHM_DOUBLING
               ? 1
               : std::bit_floor(static_cast<std::uint32_t>(request.size));
  }
  std::int32_t rank_of(std::int32_t number) const {
    return number < folded_ ? 2 * number : number + folded_;
  }

  // About `run` blocks from `first` on.
  Vertex vertex(Action action, std::int32_t first, std::int32_t run, std::int32_t peer = -1) const {
    Vertex v;
    v.action = action;
    v.channel = channel_;
    v.window = action == Action::kSend ? builder_.window_send() : builder_.window_recv();
    v.block = Steps::constant(first);
    v.run = static_cast<std::uint32_t>(run);
    v.peer = Steps::constant(peer);
    return v;
  }
  VertexId add_send(Place src, std::int32_t to, std::int32_t first, std::int32_t run) {
    Vertex send = vertex(Action::kSend, first, run, to);
    send.src = src;
    return builder_.add(std::move(send));
  }
  VertexId add_recv(std::int32_t from, std::int32_t first, std::int32_t run) {
    Vertex recv = vertex(Action::kRecv, first, run, from);
    recv.dst = Place::kOutput;
    return builder_.add(std::move(recv));
  }
  // The sum of what is there and what comes from `from`, whose ranks are lower or higher ones.
  VertexId take(std::int32_t from, std::int32_t first, std::int32_t run, bool lower) {
    const VertexId view = builder_.add(vertex(Action::kRecvView, first, run, from));
    Vertex combine = vertex(Action::kCombine, first, run);
    combine.dst = next_sums();
    const Operand theirs{.place = Place::kView, .vertex = view}, mine{.place = sums_};
    combine.operands = lower ? std::vector{theirs, mine} : std::vector{mine, theirs};
    const VertexId sum = builder_.add(std::move(combine));
    builder_.need(sum, view);
    builder_.need(view, sum, builder_.window_recv());
    ++channel_;
    before_ = last_;
    last_ = sum;
    filled_ = {sum};
    sums_ = builder_.vertex(sum).dst;
    return sum;
  }
  // So many sums alternate between the output, where the last one stands, and another place.
  void add_other_sums() {
    sums_left_ = std::bit_width(static_cast<std::uint32_t>(pairs_)) - (me_ < 2 * folded_ ? 0 : 1);
    if (sums_left_ > 1) other_ = builder_.add_scratch(builder_.plan().layout(Place::kOutput));
  }
  Place next_sums() {
    if (!alternates_) return Place::kOutput;
    return --sums_left_ % 2 == 0 ? Place::kOutput : other_;
  }

  // Piece by piece: a sum may change when it is out.
  void double_distances() {
    VertexId sent_before = kNoVertex;
    for (std::int32_t distance = 1; distance < pairs_; distance *= 2) {
      const std::int32_t partner = rank_of(number_ ^ distance);
      const VertexId sent = add_send(sums_, partner, 0, 1);
      // Both partners' sums wait for it.
      builder_.plan().vertices[sent].leaves = !alternates_;
      if (last_ != kNoVertex) builder_.need_source(sent, last_);
      const VertexId sum = take(partner, 0, 1, (number_ & distance) != 0);
      const VertexId replaced = alternates_ ? sent_before : sent;
      if (replaced != kNoVertex) builder_.need(sum, replaced);
      if (before_ != kNoVertex) builder_.need(sum, before_);
      sent_before = sent;
    }
  }

  void halve() {
    std::int32_t first = 0, run = pairs_;
    for (std::int32_t distance = 1; distance < pairs_; distance *= 2) {
      const std::int32_t partner = rank_of(number_ ^ distance);
      const bool upper = (number_ & distance) != 0;
      run /= 2;
      const VertexId sent = add_send(sums_, partner, upper ? first : first + run, run);
      if (last_ != kNoVertex) builder_.need_all(sent, last_);
      if (upper) first += run;
      const VertexId sum = take(partner, first, run, upper);
      if (before_ != kNoVertex) builder_.need_all(sum, before_);
    }
    for (std::int32_t distance = pairs_ / 2; distance > 0; distance /= 2, ++channel_) {
      const std::int32_t partner = rank_of(number_ ^ distance);
      const VertexId received = add_recv(partner, first ^ run, run);
      const VertexId sent = add_send(Place::kOutput, partner, first, run);
      for (const VertexId before : filled_) builder_.need_all(sent, before);
      filled_.push_back(received);
      first &= ~run;
      run *= 2;
    }
  }

  Builder builder_;
  std::int32_t me_;
  std::int32_t blocks_;  // of the message
  std::int32_t pairs_;   // numbers that take part in rounds: a power of two
  std::int32_t folded_;
  std::int32_t number_ = 0;  // of this rank among them
  // A sum is not written where the one before it is: the partner still reads that one there.
  bool alternates_;
  Place other_ = Place::kNone;
  int sums_left_ = 0;
  Place sums_ = Place::kInput;
  VertexId last_ = kNoVertex, before_ = kNoVertex;  // combines of this round and the one before
  std::vector<VertexId> filled_;                    // what wrote the parts of the result
  std::uint8_t channel_ = 0;
};

//   view(left) --> sum of block me - 2 - k --one step later--> send(right)
//                                 \--last step--> send(right) ... recv(left) --one step later-->
Result<Plan> make_ring(const PlanRequest& request) {
  Builder builder(request, static_cast<std::uint32_t>(request.size));
  const std::int32_t me = request.rank, size = request.size;
  const std::int32_t left = (me + size - 1) % size, right = (me + 1) % size;
  const auto vertex = [&](Action action, std::uint8_t channel, std::int32_t peer,
                          std::int32_t block) {
    Vertex v;
    v.action = action;
    v.channel = channel;
    v.window = action == Action::kSend ? builder.window_send() : builder.window_recv();
    v.steps = static_cast<std::uint32_t>(size - 1);
    v.peer = Steps::constant(peer);
    v.block = Steps::affine(block, -1, size);
    return v;
  };
  const VertexId view = builder.add(vertex(Action::kRecvView, 0, left, (me + 2 * size - 2) % size));
  Vertex recv = vertex(Action::kRecv, 1, left, left);
  recv.dst = Place::kOutput;
  const VertexId received = builder.add(std::move(recv));
  Vertex combine = vertex(Action::kCombine, 0, -1, (me + 2 * size - 2) % size);
  combine.dst = Place::kOutput;
  combine.operands = {{.place = Place::kView, .vertex = view}, {.place = Place::kInput}};
  const VertexId sum = builder.add(std::move(combine));
  builder.need(sum, view);
  builder.need(view, sum, builder.window_recv());
  Vertex partial = vertex(Action::kSend, 0, right, left);
  partial.src = Place::kAccumulator;
  builder.need_source(builder.add(std::move(partial)), sum, 1);
  Vertex result = vertex(Action::kSend, 1, right, me);
  result.src = Place::kOutput;
  const VertexId sent = builder.add(std::move(result));
  builder.need_step(sent, sum, 2 - size);
  builder.need_source(sent, received, 1);
  return builder.finish();
}

}  // namespace

Result<Plan> make_allreduce_in_rounds(const PlanRequest& request) {
  if (request.algorithm == ESP_ALGORITHM_RING) return make_ring(request);
  return Rounds(request).make();
}

}  // namespace espalier
