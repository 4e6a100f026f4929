#include "connection_job.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "sim_world.hpp"

namespace espalier::test {
namespace {

std::byte byte_of(std::uint64_t seed, std::uint64_t position) noexcept {
  return static_cast<std::byte>((seed * 0x9e3779b97f4a7c15ULL + position * 0x85ebca6bULL) >> 13);
}

}  // namespace

struct ConnectionJob::Frame : Completion {
  Frame() : Completion(on_sent) {}
  ConnectionJob* job = nullptr;
  net::FrameHeader header;
  std::uint64_t seed = 0;
  bool registered = false, announce = false, whim = false;
  bool considered = false;      // it was announced, or would have been
  std::byte* source = nullptr;  // at the sender
  std::byte* place = nullptr;   // at the receiver
  bool posted = false, pending = false, announced = false, withdrawn = false, begun = false;

  void write() const noexcept {
    for (std::uint64_t i = 0; i < header.bytes; ++i) source[i] = byte_of(seed, i);
  }
  bool reads(const std::byte* bytes) const noexcept {
    for (std::uint64_t i = 0; i < header.bytes; ++i) {
      if (bytes[i] != byte_of(seed, i)) return false;
    }
    return true;
  }
};

// From one rank to another.
struct ConnectionJob::Stream {
  std::vector<std::unique_ptr<Frame>> frames;
  // `next_end`: how many have ended; `next_begin`: the first that has not begun.
  std::size_t next_post = 0, next_begin = 0, next_end = 0, next_announce = 0;
  Frame* inside = nullptr;
  std::vector<std::byte> aside;  // where a frame without announcement goes
  std::byte* payload = nullptr;
  std::uint32_t losses = 0;
  Status why;
};

struct ConnectionJob::Node final : net::FrameSink {
  // Frames that can be read may be overtaken by others.
  Frame* find(Stream& stream, const net::FrameHeader& header) noexcept {
    for (std::size_t i = stream.next_begin; i < stream.frames.size(); ++i) {
      Frame& frame = *stream.frames[i];
      const bool this_one =
          frame.header.flow == header.flow && frame.header.ordinal == header.ordinal;
      if (this_one && !frame.begun) return &frame;
      if (!frame.begun && frame.header.bytes < job->options_.link.pull_from_bytes) return nullptr;
    }
    return nullptr;
  }
  // A receive without a place is posted from the beginning; one with a place when it is announced.
  bool expects(Rank from, const net::FrameHeader& header) const noexcept override {
    for (const auto& frame : in[static_cast<std::size_t>(from)].frames) {
      const bool this_one =
          frame->header.flow == header.flow && frame->header.ordinal == header.ordinal;
      if (this_one) return !frame->announce || frame->considered;
    }
    return true;
  }
  std::byte* begin(Rank from, const net::FrameHeader& header) noexcept override {
    Stream& stream = in[static_cast<std::size_t>(from)];
    Frame* frame = find(stream, header);
    if (stream.inside != nullptr || frame == nullptr) {
      job->fail(fmt::format("rank {}: a frame of {} too much, or out of order", rank, from));
      stream.aside.resize(header.bytes + 1);
      return stream.aside.data();
    }
    frame->begun = true;
    stream.inside = frame;
    while (stream.next_begin < stream.frames.size() && stream.frames[stream.next_begin]->begun) {
      ++stream.next_begin;
    }
    if (!(frame->header == header)) {
      job->fail(
          fmt::format("rank {}: frame {} of {} has another header", rank, header.ordinal, from));
    }
    stream.aside.assign(header.bytes + 1, std::byte{0});
    stream.payload = frame->announced ? frame->place : stream.aside.data();
    return stream.payload;
  }
  void end(Rank from, const net::FrameHeader& header, std::byte* payload) noexcept override {
    Stream& stream = in[static_cast<std::size_t>(from)];
    if (stream.inside == nullptr) return job->fail("the end of a frame that has not begun");
    Frame& frame = *std::exchange(stream.inside, nullptr);
    ++stream.next_end;
    if (payload != stream.payload) job->fail("a payload stands elsewhere");
    if (!frame.reads(payload)) {
      job->fail(fmt::format("rank {}: frame {} of {} ({} bytes{}) is damaged", rank, header.ordinal,
                            from, header.bytes, frame.announced ? ", announced" : ""));
    }
    // The user has it back.
    if (frame.announced) std::memset(frame.place, 0x5a, frame.header.bytes);
  }
  void lost(Rank peer, const Status& why) noexcept override {
    ++in[static_cast<std::size_t>(peer)].losses;
    in[static_cast<std::size_t>(peer)].why = why;
  }

  ConnectionJob* job = nullptr;
  Rank rank = kNoRank;
  std::unique_ptr<sim::SimConnectionPort> port;
  std::unique_ptr<rdma::ConnectionLink> link;
  std::vector<Stream> in;                  // by sender; the frames of one that sends to this
  std::vector<std::byte> sources, places;  // registered
  std::vector<std::byte> plain;            // not registered
  std::size_t next_peer = 0;
  bool parted = false, excused = false;
};

ConnectionJob::ConnectionJob(const ConnectionJobOptions& options)
    : options_(options),
      prng_(options.seed),
      machine_(device_machine()),
      accesses_(options.ranks, options.accesses, options.whims, ~options.seed) {
  auto map = sim::Map::create(machine_, options.ranks, 1, sim::Placement::kByCore, 1);
  map_ = std::make_unique<sim::Map>(std::move(*map));
  sim::WorldOptions world;
  world.seed = options.seed;
  world.faults = *sim::parse_faults(options.faults);
  world_ = std::make_unique<sim::World>(machine_, *map_, world);
  net_ = std::make_unique<sim::ConnectionNet>(*world_, options.limits);
  letters_ = std::make_unique<Letters>(*world_);
  world_->set_turn([](void* job, Rank rank) { on_turn(job, rank); }, this);
  for (Rank r = 0; r < static_cast<Rank>(options.ranks); ++r) make_node(r);
  for (auto& receiver : nodes_) {
    for (Rank from = 0; from < static_cast<Rank>(options.ranks); ++from) {
      if (from != receiver->rank) draw_frames(*receiver, from);
    }
  }
  place_frames();
  std::vector<rdma::ConnectionLink*> links;
  for (const auto& node : nodes_) links.push_back(node->link.get());
  accesses_.expose(links);
}

void ConnectionJob::make_node(Rank rank) {
  auto node = std::make_unique<Node>();
  node->job = this;
  node->rank = rank;
  node->port = std::make_unique<sim::SimConnectionPort>(*net_, rank);
  node->in.resize(options_.ranks);
  for (int tries = 0; node->link == nullptr && tries < 100; ++tries) {
    auto made =
        rdma::ConnectionLink::create(*node->port, letters_->postman(rank), world_->clock(rank),
                                     rank, options_.ranks, options_.link);
    if (made.ok()) node->link = std::move(*made);
  }
  ESP_ASSERT(node->link != nullptr);
  nodes_.push_back(std::move(node));
}

// Where they stand is an offset first; place_frames() makes memory of it.
void ConnectionJob::draw_frames(Node& receiver, Rank from) {
  Node& sender = *nodes_[static_cast<std::size_t>(from)];
  // Flows of several channels, that go on and are followed by others.
  struct Channel {
    std::uint64_t sequence = 0;
    std::uint32_t ordinal = 0;
  };
  std::array<Channel, 12> channels;
  for (std::uint32_t i = 0; i < options_.frames; ++i) {
    auto frame = std::make_unique<Frame>();
    frame->job = this;
    frame->seed = prng_.next();
    net::FrameHeader& h = frame->header;
    h.bytes = prng_.below((prng_.chance(0.5) ? 200 : options_.bytes_max) + 1);
    const auto number = static_cast<std::uint32_t>(prng_.below(prng_.chance(0.8) ? 2 : 12));
    Channel& channel = channels[number];
    h.flow = FlowId(static_cast<std::uint32_t>(from), number, channel.sequence).key;
    h.ordinal = channel.ordinal++;
    h.total = options_.frames;
    h.signature = prng_.chance(0.9) ? 5 : 6;
    if (prng_.chance(0.3)) {
      channel.sequence += 1 + prng_.below(prng_.chance(0.9) ? 3 : 1 << 14);
      channel.ordinal = 0;
    }
    h.synchronous = prng_.chance(0.2);
    frame->registered = prng_.chance(options_.registered);
    frame->announce = prng_.chance(options_.announced);
    frame->whim = prng_.chance(options_.whims);
    auto& sources = frame->registered ? sender.sources : sender.plain;
    frame->source = reinterpret_cast<std::byte*>(sources.size());
    sources.resize(sources.size() + h.bytes + 1);
    frame->place = reinterpret_cast<std::byte*>(receiver.places.size());
    receiver.places.resize(receiver.places.size() + h.bytes + 1);
    receiver.in[static_cast<std::size_t>(from)].frames.push_back(std::move(frame));
  }
}

void ConnectionJob::place_frames() {
  for (auto& node : nodes_) {
    for (auto* memory : {&node->sources, &node->places}) {
      memory->resize(memory->size() + 1);
      bool added = false;
      for (int tries = 0; !added && tries < 100; ++tries) {
        added = node->link->memory().add(memory->data(), memory->size()).ok();
      }
      ESP_ASSERT(added);
    }
  }
  for (auto& receiver : nodes_) {
    for (std::size_t from = 0; from < nodes_.size(); ++from) {
      for (auto& frame : receiver->in[from].frames) {
        Node& sender = *nodes_[from];
        auto& memory = frame->registered ? sender.sources : sender.plain;
        frame->source = memory.data() + reinterpret_cast<std::uint64_t>(frame->source);
        frame->place = receiver->places.data() + reinterpret_cast<std::uint64_t>(frame->place);
        frame->write();
      }
    }
  }
}

ConnectionJob::~ConnectionJob() {
  for (auto& node : nodes_) {
    node->link.reset();
    node->port.reset();
  }
}

void ConnectionJob::fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what);
}

rdma::ConnectionLink& ConnectionJob::link(Rank rank) {
  return *nodes_[static_cast<std::size_t>(rank)]->link;
}
sim::SimConnectionPort& ConnectionJob::port(Rank rank) {
  return *nodes_[static_cast<std::size_t>(rank)]->port;
}
std::uint32_t ConnectionJob::lost(Rank at, Rank peer) const {
  return nodes_[static_cast<std::size_t>(at)]->in[static_cast<std::size_t>(peer)].losses;
}
esp_status ConnectionJob::why(Rank at, Rank peer) const {
  return nodes_[static_cast<std::size_t>(at)]->in[static_cast<std::size_t>(peer)].why.code();
}
std::uint32_t ConnectionJob::arrived(Rank at, Rank from) const {
  return static_cast<std::uint32_t>(
      nodes_[static_cast<std::size_t>(at)]->in[static_cast<std::size_t>(from)].next_end);
}
void ConnectionJob::excuse(Rank rank) {
  nodes_[static_cast<std::size_t>(rank)]->excused = true;
}

void ConnectionJob::on_sent(Completion& completion, Status status) noexcept {
  auto& frame = static_cast<Frame&>(completion);
  if (!frame.pending || frame.withdrawn) frame.job->fail("a completion fires that must not");
  frame.pending = false;
  // The user has the buffer back; what failed was not taken over.
  if (status.ok()) std::memset(frame.source, 0xee, frame.header.bytes);
}

void ConnectionJob::on_turn(void* self, Rank rank) noexcept {
  auto& job = *static_cast<ConnectionJob*>(self);
  job.turn(*job.nodes_[static_cast<std::size_t>(rank)]);
}

void ConnectionJob::turn(Node& node) {
  if (node.link == nullptr) return;
  while (true) {
    int events = node.link->progress(node);
    while (announce(node) || post(node) || reach_over(node)) ++events;
    part(node);
    if (events == 0) break;
  }
  const std::uint64_t deadline = node.link->deadline_ns();
  if (deadline != 0) world_->wake_at(node.rank, deadline);
}

// The next frames of a peer, a few at a time.
bool ConnectionJob::announce(Node& node) {
  for (std::size_t from = 0; from < node.in.size(); ++from) {
    Stream& stream = node.in[from];
    stream.next_announce = std::max(stream.next_announce, stream.next_begin);
    if (stream.next_announce == stream.frames.size()) continue;
    if (stream.next_announce >= stream.next_end + 8) continue;
    Frame& frame = *stream.frames[stream.next_announce++];
    if (!frame.announce || frame.begun) return true;
    frame.considered = true;
    frame.announced = node.link->announce(static_cast<Rank>(from), frame.header, frame.place);
    if (frame.announced && frame.whim && prng_.chance(0.5)) {
      frame.whim = false;
      node.link->retract(static_cast<Rank>(from), frame.header);
      frame.announced = false;
      std::memset(frame.place, 0x11, frame.header.bytes);
      // The receive is posted anew, without a place: nobody else would ask for its frame.
      (void)node.link->announce(static_cast<Rank>(from), frame.header, nullptr);
    }
    return true;
  }
  return false;
}

bool ConnectionJob::post(Node& node) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t to = (node.next_peer + i) % nodes_.size();
    if (nodes_[to].get() == &node || node.parted) continue;
    Stream& stream = nodes_[to]->in[static_cast<std::size_t>(node.rank)];
    if (stream.next_post == stream.frames.size()) continue;
    Frame& frame = *stream.frames[stream.next_post];
    if (!frame.posted && prng_.chance(options_.calm)) {
      // Not yet: at some later turn.
      world_->wake_at(node.rank, world_->now_ns() + 1 + prng_.below(3000));
      continue;
    }
    frame.posted = true;
    const Posted answer = node.link->post(static_cast<Rank>(to), frame.header, frame.source, frame);
    if (answer == Posted::kRetry) continue;
    ++stream.next_post;
    node.next_peer = to + 1;
    frame.pending = answer == Posted::kPending;
    if (answer == Posted::kDone) std::memset(frame.source, 0xdd, frame.header.bytes);
    if (frame.pending && frame.whim && prng_.chance(0.7)) {
      node.link->withdraw(static_cast<Rank>(to), frame);
      frame.withdrawn = true;
      frame.pending = false;
      std::memset(frame.source, 0xcc, frame.header.bytes);
    }
    return true;
  }
  return false;
}

// Puts and gets, while there are frames that make the connection.
bool ConnectionJob::reach_over(Node& node) {
  bool any = false;
  for (std::size_t to = 0; to < nodes_.size() && options_.accesses > 0; ++to) {
    const auto target = static_cast<Rank>(to);
    if (target == node.rank || accesses_.done(node.rank, target)) continue;
    using Turn = ConnectionAccesses::Turn;
    const bool calm = prng_.chance(options_.calm);
    const Turn turn = calm ? Turn::kNothing : accesses_.turn(node.rank, target);
    any = any || turn == Turn::kDone;
    // Refused: there is no connection yet, or the target has left.
    const Stream& out = nodes_[to]->in[static_cast<std::size_t>(node.rank)];
    const bool over = turn == Turn::kRefused && out.next_post == out.frames.size();
    if (node.parted || node.in[to].losses > 0 || over) accesses_.end(node.rank, target);
    if (turn == Turn::kDone) continue;
    world_->wake_at(node.rank, world_->now_ns() + 1 + prng_.below(3000));
  }
  if (!accesses_.failure().empty()) fail(accesses_.failure());
  return any;
}

// Says goodbye when this rank has sent and got all.
void ConnectionJob::part(Node& node) {
  if (node.parted) return;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].get() == &node || nodes_[i]->excused) continue;
    const Stream& out = nodes_[i]->in[static_cast<std::size_t>(node.rank)];
    const Stream& in = node.in[i];
    const bool gone = in.losses > 0;
    if (!accesses_.done(node.rank, static_cast<Rank>(i))) return;
    if (!gone && out.next_post < out.frames.size()) return;
    if (!gone && in.next_end < in.frames.size()) return;
  }
  node.parted = true;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].get() != &node) node.link->say_goodbye(static_cast<Rank>(i));
  }
}

bool ConnectionJob::all_parted() const {
  for (const auto& node : nodes_) {
    if (node->excused || world_->crashed(node->rank)) continue;
    if (!node->parted || !node->link->drained()) return false;
  }
  return true;
}

std::string ConnectionJob::run() {
  for (auto& node : nodes_) world_->schedule_turn(node->rank, 0);
  while (failure_.empty() && !all_parted()) {
    if (world_->now_ns() > options_.limit_ns) {
      fail(fmt::format("no end within {} ns", options_.limit_ns));
    }
    if (!world_->step()) fail("nothing moves any more");
  }
  if (failure_.empty()) return check_end();
  std::string story = failure_;
  for (auto& node : nodes_) {
    for (std::size_t from = 0; from < nodes_.size(); ++from) {
      const Stream& stream = node->in[from];
      if (stream.frames.empty()) continue;
      story += fmt::format("; {}->{}: {}/{}/{} of {}", from, node->rank, stream.next_post,
                           stream.next_begin, stream.next_end, stream.frames.size());
      story += " (" + node->link->describe(static_cast<Rank>(from)) + ")";
    }
  }
  return story;
}

std::string ConnectionJob::check_end() {
  for (auto& receiver : nodes_) {
    for (std::size_t from = 0; from < nodes_.size(); ++from) {
      const Stream& stream = receiver->in[from];
      const bool excused = receiver->excused || nodes_[from]->excused ||
                           world_->crashed(receiver->rank) ||
                           world_->crashed(static_cast<Rank>(from));
      if (excused) continue;
      if (stream.losses > 0) {
        return fmt::format("rank {} lost rank {}: {}", receiver->rank, from,
                           receiver->link->describe(static_cast<Rank>(from)));
      }
      for (const auto& frame : stream.frames) {
        if (frame->pending) return "a completion has not fired";
      }
    }
  }
  return {};
}

}  // namespace espalier::test
