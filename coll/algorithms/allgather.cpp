// Allgather: every rank gets the blocks of all. Blocks may differ in length (allgatherv).
//
//   publish    each rank makes its block readable by all others, who read in order of owners
//   ring       step k passes the block of k places before this one on to the right neighbour; the
//              members of a node are one arc of the ring (ring_order.hpp)
//   doubling   round k exchanges all that a rank has with a partner 2^k away; 2^n ranks
//   Bruck      round k brings the blocks of as many ranks as are there, (radix - 1) times
//   tree       by leaders of nodes: allgather_leaders.cpp
//
// In place, the own block stands where it belongs: copying it is nothing.
#include "coll/algorithms/allgather.hpp"

#include "coll/algorithms/ring_order.hpp"

namespace espalier {

Vertex AllgatherParts::vertex(Action action, std::int32_t first_block, std::uint32_t run) const {
  Vertex v;
  v.action = action;
  const bool sends = action == Action::kSend || action == Action::kPublish;
  v.window = sends ? builder_.window_send() : builder_.window_recv();
  v.block = Steps::constant(first_block);
  v.run = run;
  v.skips_empty = true;
  return v;
}

VertexId AllgatherParts::copy_own(Place place, std::int32_t to) {
  Vertex copy = vertex(Action::kCombine, to);
  copy.dst = copy.shape = place;
  copy.operands = {{.place = Place::kInput}};
  copy.elsewhere = true;
  copy.from = Steps::constant(0);
  return builder_.add(std::move(copy));
}

void AllgatherParts::unpack(Place from, const Steps& to, const std::vector<VertexId>& needed) {
  Vertex copy = vertex(Action::kCombine, 0);
  copy.dst = Place::kOutput;
  copy.operands = {{.place = from}};
  copy.elsewhere = true;
  copy.steps = static_cast<std::uint32_t>(size_);
  copy.block = to;
  copy.from = Steps::affine(0, 1, size_);
  const VertexId id = builder_.add(std::move(copy));
  for (const VertexId other : needed) builder_.need_all(id, other);
}

Steps AllgatherParts::members_in_order(const TeamNodes* nodes) {
  if (nodes == nullptr || nodes->in_order()) return Steps::affine(0, 1, size_);
  std::vector<std::int32_t> members;
  members.reserve(static_cast<std::size_t>(size_));
  for (std::int32_t at = 0; at < size_; ++at) members.push_back(nodes->member_at(at));
  return builder_.plan().add_table(std::move(members));
}

namespace {

class Allgather : AllgatherParts {
 public:
  explicit Allgather(const PlanRequest& request)
      : AllgatherParts(request, blocks_of_a_run(request)) {}

  Result<Plan> make_publish();
  Result<Plan> make_ring();
  Result<Plan> make_doubling();
  Result<Plan> make_bruck();

 private:
  // Rounds carry many blocks at once.
  static std::uint32_t blocks_of_a_run(const PlanRequest& request) {
    const bool rounds =
        request.algorithm == ESP_ALGORITHM_DOUBLING || request.algorithm == ESP_ALGORITHM_BRUCK;
    return rounds ? static_cast<std::uint32_t>(request.size) : 1;
  }
  Place packed(std::int32_t first);
};

// All readers take the owners in the same order, 0 to size - 1: see Spread (allreduce.cpp).
Result<Plan> Allgather::make_publish() {
  copy_own(Place::kOutput, me_);
  Vertex publish = vertex(Action::kPublish, me_);
  publish.src = Place::kInput;
  publish.elsewhere = true;
  std::vector<std::int32_t> readers;
  for (std::int32_t k = 1; k < size_; ++k) readers.push_back((me_ + k) % size_);
  publish.from = Steps::constant(0);
  add_publish(builder_, std::move(publish), std::move(readers), kNoVertex);
  for (const auto& [begin, end] : {std::pair{0, me_}, std::pair{me_ + 1, size_}}) {
    if (begin == end) continue;
    Vertex recv = vertex(Action::kRecv, begin);
    recv.dst = Place::kOutput;
    recv.steps = static_cast<std::uint32_t>(end - begin);
    recv.peer = recv.block = Steps::affine(begin, 1, size_);
    builder_.add(std::move(recv));
  }
  return builder_.finish();
}

//   own block --step 0--> send to the right ... recv from the left --one step later--> send
Result<Plan> Allgather::make_ring() {
  const RingPlace place = ring_place(builder_.request().nodes.nodes, size_, me_);
  const VertexId own = copy_own(Place::kOutput, me_);
  Steps backwards = members_in_order(builder_.request().nodes.nodes);
  backwards.stride = -1;
  Vertex recv = vertex(Action::kRecv, 0);
  recv.dst = Place::kOutput;
  recv.peer = Steps::constant(place.left);
  recv.steps = static_cast<std::uint32_t>(size_ - 1);
  recv.block = backwards;
  recv.block.first = (place.position + size_ - 1) % size_;
  const VertexId received = builder_.add(std::move(recv));
  Vertex send = vertex(Action::kSend, 0);
  send.src = Place::kOutput;
  send.peer = Steps::constant(place.right);
  send.steps = static_cast<std::uint32_t>(size_ - 1);
  send.block = backwards;
  send.block.first = place.position;
  const VertexId sent = builder_.add(std::move(send));
  builder_.need_all(sent, own);
  builder_.need_source(sent, received, 1);
  return builder_.finish();
}

// Irregular blocks may lie apart in the output, so they travel in a scratch buffer where they are
// one run, from the block of rank `first` on.
Place Allgather::packed(std::int32_t first) {
  Layout layout = builder_.plan().layout(Place::kOutput);
  layout.first = static_cast<std::uint32_t>(first);
  return builder_.add_scratch(layout);
}

Result<Plan> Allgather::make_doubling() {
  const bool irregular = builder_.plan().irregular;
  const Place work = irregular ? packed(0) : Place::kOutput;
  std::vector<VertexId> have = {copy_own(work, me_)};
  std::uint8_t channel = 0;
  for (std::int32_t run = 1; run < size_; run *= 2, ++channel) {
    const std::int32_t mine = me_ & ~(run - 1);
    const auto blocks = static_cast<std::uint32_t>(run);
    Vertex send = vertex(Action::kSend, mine, blocks);
    send.src = send.shape = work;
    send.channel = channel;
    send.peer = Steps::constant(me_ ^ run);
    Vertex recv = vertex(Action::kRecv, mine ^ run, blocks);
    recv.dst = recv.shape = work;
    recv.channel = channel;
    recv.peer = send.peer;
    const VertexId received = builder_.add(std::move(recv));
    const VertexId sent = builder_.add(std::move(send));
    for (const VertexId other : have) builder_.need_all(sent, other);
    have.push_back(received);
  }
  if (irregular) unpack(work, Steps::affine(0, 1, size_), have);
  return builder_.finish();
}

// Slot k holds the block of rank me + k. With n slots filled, digit d brings slots d * n and
// following from rank me + d * n, which has them as its slots 0 to n - 1.
// Where the output need not be in order it is the slots.
Result<Plan> Allgather::make_bruck() {
  const bool by_slots =
      builder_.request().places && !builder_.request().in_place && !builder_.plan().irregular;
  const Place work = by_slots ? Place::kOutput : packed(me_);
  if (by_slots) builder_.plan().order = Steps::affine(me_, 1, size_);
  std::vector<VertexId> have = {copy_own(work, 0)};
  const std::int32_t radix = builder_.request().radix;
  std::uint8_t channel = 0;
  for (std::int64_t filled = 1; filled < size_; filled *= radix, ++channel) {
    const std::vector<VertexId> before = have;
    for (std::int64_t digit = 1; digit < radix && digit * filled < size_; ++digit) {
      const auto slot = static_cast<std::int32_t>(digit * filled);
      const auto run = static_cast<std::uint32_t>(std::min(filled, std::int64_t{size_} - slot));
      Vertex recv = vertex(Action::kRecv, slot, run);
      recv.dst = recv.shape = work;
      recv.channel = channel;
      recv.peer = Steps::constant((me_ + slot) % size_);
      have.push_back(builder_.add(std::move(recv)));
      Vertex send = vertex(Action::kSend, 0, run);
      send.src = send.shape = work;
      send.channel = channel;
      send.peer = Steps::constant((me_ + size_ - slot) % size_);
      const VertexId sent = builder_.add(std::move(send));
      for (const VertexId other : before) builder_.need_all(sent, other);
    }
  }
  if (!by_slots) unpack(work, Steps::affine(me_, 1, size_), have);
  return builder_.finish();
}

}  // namespace

Result<Plan> make_allgather(const PlanRequest& request) {
  if (request.algorithm == ESP_ALGORITHM_TREE) return make_allgather_by_leaders(request);
  Allgather maker(request);
  switch (request.algorithm) {
    case ESP_ALGORITHM_RING:
      return maker.make_ring();
    case ESP_ALGORITHM_DOUBLING:
      return maker.make_doubling();
    case ESP_ALGORITHM_BRUCK:
      return maker.make_bruck();
    default:
      return maker.make_publish();
  }
}

}  // namespace espalier
