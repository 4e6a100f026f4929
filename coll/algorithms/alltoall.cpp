// Alltoall: block r of every rank's input goes to rank r. Blocks may differ in length (alltoallv).
//
// Direct exchanges, two vertices for any number of ranks; with whom in which step is a function:
//   ring        to rank me + k, from rank me - k
//   one-factor  with one partner: a schedule of perfect matchings for any number of ranks
//   XOR         with one partner: me ^ k; 2^n ranks
// The variants of a direct exchange are how its steps are bound to each other (Kowalewski's sliding
// window and batch, and one step after the other):
//   event     as far as windows reach, each direction by itself
//   waitall   in batches of as many steps as the send window: a batch begins when all of the one
//             before has been sent and received
//   blocking  the same, in batches of one step
// In place, what a partner's block replaces is sent from a ring of scratch slots; the ring, which
// has no partners, saves all blocks first.
//
// Bruck: log(ranks) rounds instead, of many blocks each (see the class). Tree: by leaders of nodes
// (alltoall_leaders.cpp).
#include <algorithm>

#include "coll/algorithms/builder.hpp"
#include "core/plant.hpp"

namespace espalier {
namespace {

std::uint32_t rounds(const PlanRequest& request) {
  if (request.algorithm != ESP_ALGORITHM_ONE_FACTOR) {
    return static_cast<std::uint32_t>(request.size - 1);
  }
  return Steps::one_factor_rounds(request.size);
}

Steps partner(const PlanRequest& request) {
  if (request.algorithm == ESP_ALGORITHM_XOR) return {Steps::Kind::kXor, request.rank, 0, 0};
  return {Steps::Kind::kOneFactor, request.rank, 0, request.size};
}

Vertex copy_own(const Builder& builder) {
  Vertex copy;
  copy.action = Action::kCombine;
  copy.window = builder.window_recv();
  copy.dst = Place::kOutput;
  copy.block = Steps::constant(builder.request().rank);
  copy.operands = {{.place = Place::kInput}};
  copy.skips_empty = true;  // It may be displaced to nowhere.
  return copy;
}

Vertex exchange(const Builder& builder, Action action) {
  const PlanRequest& request = builder.request();
  Vertex v;
  v.action = action;
  v.window = action == Action::kSend ? builder.window_send() : builder.window_recv();
  v.steps = rounds(request);
  v.skips_empty = true;
  v.peer = v.block = partner(request);
  if (action == Action::kSend) v.src = v.shape = Place::kInput;
  if (action == Action::kRecv) v.dst = Place::kOutput;
  return v;
}

void add_batches(Builder& builder, VertexId received, VertexId sent) {
  if (!builder.controlled()) return;
  const std::uint32_t steps = builder.blocking() ? 1 : builder.window_send();
  for (const VertexId vertex : {received, sent}) {
    builder.need_batches(vertex, received, steps);
    builder.need_batches(vertex, sent, steps);
  }
}

Result<Plan> make_direct(const PlanRequest& request) {
  Builder builder(request);
  const std::int32_t me = request.rank;
  const std::int32_t size = request.size;
  Vertex recv = exchange(builder, Action::kRecv);
  Vertex send = exchange(builder, Action::kSend);
  if (request.algorithm == ESP_ALGORITHM_RING) {
    recv.peer = recv.block = Steps::affine((me + size - 1) % size, -1, size);
    send.peer = send.block = Steps::affine((me + 1) % size, 1, size);
  }
  if (!request.in_place) {
    const VertexId received = builder.add(std::move(recv));
    add_batches(builder, received, builder.add(std::move(send)));
    builder.add(copy_own(builder));
    return builder.finish();
  }
  Vertex save;
  save.action = Action::kCombine;
  save.window = builder.window_recv();
  save.dst = save.shape = builder.add_scratch(builder.plan().layout(Place::kOutput));
  save.steps = static_cast<std::uint32_t>(size);
  save.block = Steps::affine(0, 1, size);
  save.operands = {{.place = Place::kOutput}};
  send.src = send.shape = save.dst;
  const VertexId saved = builder.add(std::move(save));
  const VertexId sent = builder.add(std::move(send));
  const VertexId received = builder.add(std::move(recv));
  builder.need_all(sent, saved);
  builder.need_all(received, saved);
  add_batches(builder, received, sent);
  return builder.finish();
}

//   block of the partner --> slot --> send
//              \--(it may be replaced now)--> recv
Result<Plan> make_pairs_in_place(const PlanRequest& request) {
  Builder builder(request);
  const std::uint16_t slots = builder.window_send();
  const Place ring = builder.add_ring(slots);
  Vertex stage = exchange(builder, Action::kCombine);
  stage.window = slots;
  stage.dst = ring;
  stage.shape = Place::kOutput;
  stage.operands = {{.place = Place::kOutput}};
  const VertexId staged = builder.add(std::move(stage));
  Vertex send = exchange(builder, Action::kSend);
  send.src = ring;
  send.shape = Place::kOutput;
  const VertexId sent = builder.add(std::move(send));
  builder.need_source(sent, staged);
  builder.need(staged, sent, slots);
  // No more receives at once than are staged: wires gather grants over half a window.
  Vertex recv = exchange(builder, Action::kRecv);
  recv.window = ESP_PLANT(38, std::min(recv.window, slots), recv.window);
  const VertexId received = builder.add(std::move(recv));
  if (ESP_PLANT(35, true, false)) builder.need(received, staged);
  add_batches(builder, received, sent);
  return builder.finish();
}

// Slot s holds the own block for rank me + s, and in the end the block of rank me - s. What is
// packed and what has arrived have a region of blocks for each message, so that no round waits for
// another's buffer.
//
//   input --rotate--> slots
//   for each digit, from the lowest, and each value d of it, 0 excepted:
//     slots with that digit --pack--> send to rank me + d * weight
//     from rank me - d * weight --> those slots; the lowest of them are final and go to the output
//
// A round's receives do not wait for the one before. What it unpacks does: the slots that a round
// packs must have what the round before has brought.
//
// Where the output need not be in order, slot s is its block s: nothing is put in order, and the
// last round, whose blocks are all final, is received in place.
class Bruck {
 public:
  explicit Bruck(const PlanRequest& request)
      : builder_(request, 1, static_cast<std::uint32_t>(request.size)),
        me_(request.rank),
        size_(request.size),
        radix_(request.radix),
        by_slots_(request.places && !request.in_place) {
    if (by_slots_) builder_.plan().order = Steps::affine(me_, -1, size_);
  }

  Result<Plan> make() {
    for (std::int64_t weight = 1; weight < size_; weight *= radix_) {
      for (std::int64_t d = 1; d < radix_ && d * weight < size_; ++d) {
        blocks_ += static_cast<std::int32_t>(slots_with(weight, d));
      }
    }
    slots_ = add_buffer(size_);
    packed_ = add_buffer(blocks_);
    arrived_ = add_buffer(blocks_);
    add_rotation();
    for (std::int64_t weight = 1; weight < size_; weight *= radix_) add_round(weight);
    return builder_.finish();
  }

 private:
  Place add_buffer(std::int32_t blocks) {
    return builder_.add_scratch({.kind = Layout::Kind::kUniform,
                                 .blocks = static_cast<std::uint32_t>(blocks),
                                 .elements = builder_.request().elements});
  }
  // Of `count` blocks, from `src` to `dst`.
  VertexId add_copy(std::int64_t count, Place dst, const Steps& to, Place src, const Steps& from) {
    Vertex copy;
    copy.action = Action::kCombine;
    copy.window = builder_.window_recv();
    copy.steps = static_cast<std::uint32_t>(count);
    copy.dst = copy.shape = dst;
    copy.block = to;
    copy.operands = {{.place = src}};
    copy.elsewhere = true;
    copy.from = from;
    return builder_.add(std::move(copy));
  }
  // Blocks of a message's region, and slots.
  Steps counting(std::int64_t first) const {
    return Steps::affine(static_cast<std::int32_t>(first), 1, blocks_ + size_);
  }

  // All but slot 0, which is the own block and goes to the output.
  void add_rotation() {
    add_copy(1, Place::kOutput, Steps::constant(by_slots_ ? 0 : me_), Place::kInput,
             Steps::constant(me_));
    rotated_ = add_copy(size_ - 1, slots_, counting(1), Place::kInput,
                        Steps::affine((me_ + 1) % size_, 1, size_));
    filled_ = {rotated_};
  }

  // How many slots have digit d of this weight.
  std::int64_t slots_with(std::int64_t weight, std::int64_t d) const {
    const std::int64_t cycle = weight * radix_;
    const std::int64_t rest = size_ % cycle - d * weight;
    return size_ / cycle * weight + std::min(std::max<std::int64_t>(rest, 0), weight);
  }

  void add_round(std::int64_t weight) {
    std::vector<VertexId> filled;
    for (std::int64_t d = 1; d < radix_ && d * weight < size_; ++d) {
      const VertexId unpacked = add_digit(weight, d);
      if (unpacked != kNoVertex) filled.push_back(unpacked);
    }
    filled_.insert(filled_.end(), filled.begin(), filled.end());
    ++channel_;
  }

  VertexId add_digit(std::int64_t weight, std::int64_t d) {
    const std::int64_t count = slots_with(weight, d);
    const auto distance = static_cast<std::int32_t>(d * weight % size_);
    const Steps slots{Steps::Kind::kDigit, static_cast<std::int32_t>(d),
                      static_cast<std::int32_t>(weight), radix_};
    const VertexId pack = add_copy(count, packed_, counting(region_), slots_, slots);
    for (const VertexId before : filled_) builder_.need_all(pack, before);
    const std::int64_t final = std::min(count, weight);  // no higher digit is set
    const std::int32_t from = (me_ + size_ - distance) % size_;
    const bool in_place = by_slots_ && final == count;
    const VertexId received = in_place ? add_transfer(Action::kRecv, Place::kOutput, count, from)
                                       : add_transfer(Action::kRecv, arrived_, count, from);
    if (in_place) builder_.plan().vertices[received].block = Steps::constant(distance);
    const VertexId sent = add_transfer(Action::kSend, packed_, count, (me_ + distance) % size_);
    builder_.need_all(sent, pack);
    if (in_place) {
      region_ += static_cast<std::int32_t>(count);
      return kNoVertex;
    }
    const Steps placed =
        by_slots_ ? Steps::affine(distance, 1, size_) : Steps::affine(from, -1, size_);
    const VertexId done = add_copy(final, Place::kOutput, placed, arrived_, counting(region_));
    builder_.need_all(done, received);
    builder_.need_all(done, rotated_);  // in place
    region_ += static_cast<std::int32_t>(count);
    if (final == count) return kNoVertex;
    Steps rest = slots;
    rest.first += radix_;  // a cycle on
    const VertexId unpack =
        add_copy(count - final, slots_, rest, arrived_, counting(region_ - count + final));
    builder_.need_all(unpack, received);
    builder_.need_all(unpack, pack);
    for (const VertexId before : filled_) builder_.need_all(unpack, before);
    return unpack;
  }

  VertexId add_transfer(Action action, Place place, std::int64_t count, std::int32_t peer) {
    Vertex v;
    v.action = action;
    v.window = action == Action::kSend ? builder_.window_send() : builder_.window_recv();
    v.channel = channel_;
    v.shape = place;
    (action == Action::kSend ? v.src : v.dst) = place;
    v.block = Steps::constant(region_);
    v.run = static_cast<std::uint32_t>(count);
    v.peer = Steps::constant(peer);
    v.skips_empty = true;
    return builder_.add(std::move(v));
  }

  Builder builder_;
  std::int32_t me_;
  std::int32_t size_;
  std::int32_t radix_;
  bool by_slots_;
  std::int32_t blocks_ = 0;  // of all messages
  std::int32_t region_ = 0;  // where the next message's begin
  Place slots_ = Place::kNone, packed_ = Place::kNone, arrived_ = Place::kNone;
  VertexId rotated_ = kNoVertex;
  std::vector<VertexId> filled_;  // what wrote slots before this round
  std::uint8_t channel_ = 0;
};

}  // namespace

Result<Plan> make_alltoall(const PlanRequest& request) {
  if (request.algorithm == ESP_ALGORITHM_BRUCK) return Bruck(request).make();
  if (request.algorithm == ESP_ALGORITHM_TREE) return make_alltoall_by_leaders(request);
  const bool pairs = request.algorithm != ESP_ALGORITHM_RING;
  return request.in_place && pairs ? make_pairs_in_place(request) : make_direct(request);
}

}  // namespace espalier
