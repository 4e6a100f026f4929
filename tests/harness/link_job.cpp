#include "tests/harness/link_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "tests/harness/payload.hpp"

namespace espalier::test {

struct LinkJob::Frame : Completion {
  Frame() : Completion(on_sent) {}
  LinkJob* job = nullptr;
  Rank to = kNoRank;
  net::FrameHeader header;
  std::uint64_t seed = 0;
  bool registered = false, announce = false, whim = false;
  bool considered = false;      // it was announced, or would have been
  std::byte* source = nullptr;  // at the sender
  std::byte* place = nullptr;   // at the receiver
  bool posted = false, pending = false, announced = false, withdrawn = false, begun = false;

  bool is(const net::FrameHeader& other) const noexcept {
    return header.flow == other.flow && header.ordinal == other.ordinal;
  }
};

// From one rank to another.
struct LinkJob::Stream {
  std::vector<std::unique_ptr<Frame>> frames;
  // `next_end`: how many have ended; `next_begin`: the first that has not begun.
  std::size_t next_post = 0, next_begin = 0, next_end = 0, next_announce = 0;
  Frame* inside = nullptr;
  std::vector<std::byte> aside;  // where a frame without announcement goes
  std::byte* payload = nullptr;
  Status why;              // not ESP_OK: the sender is lost
  bool no_matter = false;  // after both had said goodbye: it need not wait for the last answer

  bool all_posted() const noexcept { return next_post == frames.size(); }
  bool all_ended() const noexcept { return next_end == frames.size(); }
};

struct LinkJob::Node final : net::FrameSink {
  Node(LinkJob& job_, Rank rank_, const LinkJobOptions& options)
      : job(job_),
        rank(rank_),
        clock(job_.world().clock(rank_), options.attended_ns),
        in(options.ranks) {}

  Stream& from(Rank sender) noexcept { return in[static_cast<std::size_t>(sender)]; }
  // Frames that can be read may be overtaken by others.
  Frame* find(Stream& stream, const net::FrameHeader& header) const noexcept {
    for (std::size_t i = stream.next_begin; i < stream.frames.size(); ++i) {
      Frame& frame = *stream.frames[i];
      if (!frame.begun && frame.is(header)) return &frame;
      const bool stays = frame.header.bytes < job.options_.connections.pull_from_bytes;
      if (!frame.begun && (stays || !job.ranks_.has_connections())) return nullptr;
    }
    return nullptr;
  }
  // A receive without a place is posted from the beginning; one with a place when it is announced.
  bool expects(Rank sender, const net::FrameHeader& header) const noexcept override {
    for (const auto& frame : in[static_cast<std::size_t>(sender)].frames) {
      if (frame->is(header)) return !frame->announce || frame->considered;
    }
    return true;
  }
  std::byte* begin(Rank sender, const net::FrameHeader& header) noexcept override {
    Stream& stream = from(sender);
    Frame* frame = find(stream, header);
    stream.aside.assign(header.bytes + 1, std::byte{0});
    if (!stream.why.ok()) job.fail("a frame begins after its sender was lost");
    if (stream.inside != nullptr || frame == nullptr) {
      job.fail(fmt::format("rank {}: a frame of {} too much, or out of order", rank, sender));
      return stream.aside.data();
    }
    frame->begun = true;
    stream.inside = frame;
    while (stream.next_begin < stream.frames.size() && stream.frames[stream.next_begin]->begun) {
      ++stream.next_begin;
    }
    if (!(frame->header == header)) {
      job.fail(
          fmt::format("rank {}: frame {} of {} has another header", rank, header.ordinal, sender));
    }
    stream.payload = frame->announced ? frame->place : stream.aside.data();
    return stream.payload;
  }
  void end(Rank sender, const net::FrameHeader& header, std::byte* payload) noexcept override {
    Stream& stream = from(sender);
    if (stream.inside == nullptr) return job.fail("the end of a frame that has not begun");
    Frame& frame = *std::exchange(stream.inside, nullptr);
    ++stream.next_end;
    job.last_arrival_ns_ = job.world().now_ns();
    if (payload != stream.payload) job.fail("a payload stands elsewhere");
    if (!holds(payload, frame.header.bytes, frame.seed)) {
      job.fail(fmt::format("rank {}: frame {} of {} ({} bytes{}) is damaged", rank, header.ordinal,
                           sender, header.bytes, frame.announced ? ", announced" : ""));
    }
    // The user has it back.
    if (frame.announced) std::memset(frame.place, 0x5a, frame.header.bytes);
    if (job.options_.replies > 0 && job.prng_.chance(job.options_.replies)) {
      (void)job.post_to(*this, sender);
    }
  }
  void lost(Rank peer, const Status& why) noexcept override {
    if (!from(peer).why.ok()) job.fail("a peer was lost twice");
    from(peer).why = why;
    from(peer).no_matter = parted && job.node(peer).parted && !job.ranks_.has_connections();
  }

  LinkJob& job;
  const Rank rank;
  AttendedClock clock;
  std::vector<Stream> in;                  // by sender; the frames of one that sends to this
  std::vector<std::byte> sources, places;  // registered
  std::vector<std::byte> plain;            // not registered
  Rank next_peer = 0;
  bool parted = false;
};

LinkJobOptions connection_job(std::uint64_t seed) {
  LinkJobOptions options;
  options.paths = Paths::kConnections;
  options.seed = seed;
  return options;
}

LinkJobOptions datagram_job(std::uint64_t seed) {
  LinkJobOptions options;
  options.paths = Paths::kDatagrams;
  options.seed = seed;
  options.datagrams.me.epoch = 0xabcdef;
  options.datagrams.round_trip = {200'000, 20'000, 1'000'000};
  options.datagrams.answer_delay_ns = 5'000;
  options.datagrams.give_up_ns = 20'000'000;
  options.datagrams.keepalive_ns = 5'000'000;
  options.datagrams.posts_max = 64;
  options.bytes_max = 3000;
  options.calm = 0.8;
  return options;
}

LinkJob::LinkJob(const LinkJobOptions& options)
    : options_(options),
      size_(static_cast<Rank>(options.ranks)),
      prng_(options.seed),
      bed_(options.ranks, options.faults, options.seed),
      ranks_(bed_.world, options),
      accesses_(options.ranks, options.accesses, options.whims, ~options.seed) {
  world().set_turn(
      [](void* self, Rank rank) {
        auto& job = *static_cast<LinkJob*>(self);
        job.turn(job.node(rank));
      },
      this);
  std::vector<rdma::ConnectionLink*> links;
  for (Rank r = 0; r < size_; ++r) {
    nodes_.push_back(std::make_unique<Node>(*this, r, options));
    ranks_.open(r, node(r).clock, options.datagrams, options.connections);
    links.push_back(ranks_[r].connections.get());
    world().schedule_turn(r, 0);
  }
  for (Rank to = 0; to < size_; ++to) {
    for (Rank from = 0; from < size_; ++from) {
      if (from != to) draw_frames(node(to), from);
    }
  }
  place_frames();
  accesses_.expose(links);
}

// Where they stand is an offset first; place_frames() makes memory of it.
void LinkJob::draw_frames(Node& receiver, Rank from) {
  Node& sender = node(from);
  // Flows of several channels, that go on and are followed by others.
  struct Channel {
    std::uint64_t sequence = 0;
    std::uint32_t ordinal = 0;
  };
  std::array<Channel, 12> channels;
  for (std::uint32_t i = 0; i < options_.frames; ++i) {
    auto frame = std::make_unique<Frame>();
    frame->job = this;
    frame->to = receiver.rank;
    frame->seed = prng_.next();
    net::FrameHeader& h = frame->header;
    const std::uint64_t small = std::min<std::uint64_t>(options_.bytes_max, 200);
    h.bytes = prng_.below((prng_.chance(0.5) ? small : options_.bytes_max) + 1);
    if (prng_.chance(0.1)) h.bytes = 0;
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
    receiver.from(from).frames.push_back(std::move(frame));
  }
}

void LinkJob::place_frames() {
  for (auto& node : nodes_) {
    for (auto* memory : {&node->sources, &node->places}) {
      memory->resize(memory->size() + 1);
      if (!ranks_.has_connections()) continue;
      rdma::DirectMemory& direct = ranks_[node->rank].connections->memory();
      while (!direct.add(memory->data(), memory->size()).ok()) {  // it may be short
      }
    }
  }
  for (auto& receiver : nodes_) {
    for (Rank from = 0; from < size_; ++from) {
      for (auto& frame : receiver->from(from).frames) {
        auto& memory = frame->registered ? node(from).sources : node(from).plain;
        frame->source = memory.data() + reinterpret_cast<std::uint64_t>(frame->source);
        frame->place = receiver->places.data() + reinterpret_cast<std::uint64_t>(frame->place);
        fill(frame->source, frame->header.bytes, frame->seed);
      }
    }
  }
}

LinkJob::~LinkJob() {
  for (Rank r = 0; r < size_; ++r) ranks_.close(r);
}

void LinkJob::at(std::uint64_t time_ns, std::function<void()> what) {
  events_.push_back(std::make_unique<Event>(std::move(what)));
  world().schedule(*events_.back(), 0, time_ns);
}

void LinkJob::fail(std::string what) noexcept {
  if (failure_.empty()) failure_ = std::move(what);
}

LinkJob::Stream& LinkJob::stream(Rank from, Rank to) const noexcept {
  return node(to).from(from);
}
bool LinkJob::lives(const Node& node) const noexcept {
  return !bed_.world.crashed(node.rank);
}
const Status& LinkJob::why(Rank at, Rank peer) const {
  return stream(peer, at).why;
}
std::size_t LinkJob::losses(Rank at) const {
  std::size_t count = 0;
  for (const Stream& stream : node(at).in) count += stream.why.ok() ? 0 : 1;
  return count;
}
std::uint32_t LinkJob::arrived(Rank at, Rank from) const {
  return static_cast<std::uint32_t>(stream(from, at).next_end);
}

void LinkJob::on_sent(Completion& completion, Status status) noexcept {
  auto& frame = static_cast<Frame&>(completion);
  if (!frame.pending || frame.withdrawn) frame.job->fail("a completion fires that must not");
  if (!status.ok() && status.rank() != frame.to) frame.job->fail("a post failed for another peer");
  frame.pending = false;
  // The user has the buffer back; what failed was not taken over.
  if (status.ok()) std::memset(frame.source, 0xee, frame.header.bytes);
}

void LinkJob::turn(Node& node) {
  if (!lives(node) || is_stopped(node)) return;
  net::Link& link = ranks_[node.rank].link();
  for (int events = 1; events > 0;) {
    events = link.progress(node);
    while (announce(node) || post(node) || reach_over(node)) ++events;
    if (parts_) part(node);
  }
  const std::uint64_t deadline = link.deadline_ns();
  if (deadline == 0) return;
  const std::uint64_t left = elapsed_ns(node.clock.now_ns(), deadline);
  world().wake_at(node.rank, world().local_ns(node.rank) + left);
}

bool LinkJob::is_stopped(const Node& node) {
  const std::uint64_t now = world().local_ns(node.rank);
  const std::uint64_t end = options_.stop_ns + options_.stopped_ns +
                            options_.apart_ns * static_cast<std::uint64_t>(node.rank);
  if (now < options_.stop_ns || now >= end) return false;
  world().wake_at(node.rank, end);
  return true;
}

// The next frames of a peer, a few at a time.
bool LinkJob::announce(Node& node) {
  net::Link& link = ranks_[node.rank].link();
  for (Rank from = 0; from < size_; ++from) {
    Stream& stream = node.from(from);
    stream.next_announce = std::max(stream.next_announce, stream.next_begin);
    if (stream.next_announce == stream.frames.size()) continue;
    if (stream.next_announce >= stream.next_end + 8) continue;
    Frame& frame = *stream.frames[stream.next_announce++];
    if (!frame.announce || frame.begun) return true;
    frame.considered = true;
    frame.announced = link.announce(from, frame.header, frame.place);
    if (frame.announced && frame.whim && prng_.chance(0.5)) {
      frame.whim = false;
      link.retract(from, frame.header);
      frame.announced = false;
      std::memset(frame.place, 0x11, frame.header.bytes);
      // The receive is posted anew, without a place: nobody else would ask for its frame.
      (void)link.announce(from, frame.header, nullptr);
    }
    return true;
  }
  return false;
}

bool LinkJob::post(Node& node) {
  for (Rank i = 0; i < size_; ++i) {
    const Rank to = (node.next_peer + i) % size_;
    if (to == node.rank || node.parted) continue;
    Stream& out = stream(node.rank, to);
    if (out.all_posted()) continue;
    if (!out.frames[out.next_post]->posted && prng_.chance(options_.calm)) {
      // Not yet: at some later turn.
      world().wake_at(node.rank, world().now_ns() + 1 + prng_.below(3000));
      continue;
    }
    if (post_to(node, to)) return true;
  }
  return false;
}

bool LinkJob::post_to(Node& node, Rank to) {
  Stream& out = stream(node.rank, to);
  if (out.all_posted() || node.parted) return false;
  Frame& frame = *out.frames[out.next_post];
  net::Link& link = ranks_[node.rank].link();
  frame.posted = true;
  const Posted answer = link.post(to, frame.header, frame.source, frame);
  if (answer == Posted::kRetry) return false;
  ++out.next_post;
  node.next_peer = to + 1;
  frame.pending = answer == Posted::kPending;
  if (answer == Posted::kDone) std::memset(frame.source, 0xdd, frame.header.bytes);
  if (frame.pending && frame.whim && prng_.chance(0.7)) {
    link.withdraw(to, frame);
    frame.withdrawn = true;
    frame.pending = false;
    std::memset(frame.source, 0xcc, frame.header.bytes);
  }
  return true;
}

// Puts and gets, while there are frames that make the connection.
bool LinkJob::reach_over(Node& node) {
  bool any = false;
  for (Rank to = 0; to < size_ && options_.accesses > 0; ++to) {
    if (to == node.rank || accesses_.done(node.rank, to)) continue;
    using Turn = Accesses::Turn;
    const bool calm = prng_.chance(options_.calm);
    const Turn turn = calm ? Turn::kNothing : accesses_.turn(node.rank, to);
    any = any || turn == Turn::kDone;
    // Refused: there is no connection yet, or the target has left.
    const bool over = turn == Turn::kRefused && stream(node.rank, to).all_posted();
    if (node.parted || lost(node.rank, to) || over) accesses_.end(node.rank, to);
    if (turn == Turn::kDone) continue;
    world().wake_at(node.rank, world().now_ns() + 1 + prng_.below(3000));
  }
  if (!accesses_.failure().empty()) fail(accesses_.failure());
  return any;
}

// Says goodbye when this rank has sent and got all.
void LinkJob::part(Node& node) {
  if (node.parted) return;
  for (Rank peer = 0; peer < size_; ++peer) {
    if (peer == node.rank) continue;
    if (!accesses_.done(node.rank, peer)) return;
    if (lost(node.rank, peer)) continue;
    if (!stream(node.rank, peer).all_posted() || !node.from(peer).all_ended()) return;
  }
  node.parted = true;
  for (Rank peer = 0; peer < size_; ++peer) {
    if (peer != node.rank) ranks_[node.rank].link().say_goodbye(peer);
  }
}

bool LinkJob::all_parted() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [this](const auto& node) {
    return !lives(*node) || (node->parted && ranks_[node->rank].link().drained());
  });
}

bool LinkJob::complete() const {
  for (const auto& node : nodes_) {
    if (!lives(*node)) continue;
    if (!ranks_[node->rank].link().drained()) return false;
    for (const auto& peer : nodes_) {
      if (peer == node || lost(node->rank, peer->rank) || lost(peer->rank, node->rank)) continue;
      if (!lives(*peer)) return false;  // has not been noticed
      const Stream& out = stream(node->rank, peer->rank);
      if (!out.all_posted() || !out.all_ended()) return false;
    }
  }
  return true;
}

bool LinkJob::run_until(std::uint64_t time_ns) {
  while (failure_.empty() && !complete() && world().now_ns() < time_ns && world().step()) {
  }
  return failure_.empty() && complete();
}

std::string LinkJob::run() {
  parts_ = true;
  for (const auto& node : nodes_) world().wake(node->rank);
  while (failure_.empty() && !all_parted()) {
    if (world().now_ns() > options_.limit_ns) {
      fail(fmt::format("no end within {} ns", options_.limit_ns));
    }
    if (!world().step()) fail("nothing moves any more");
  }
  return failure_.empty() ? check_end() : story();
}

std::string LinkJob::story() const {
  std::string story = failure_;
  for (const auto& node : nodes_) {
    for (Rank from = 0; from < size_; ++from) {
      const Stream& stream = node->from(from);
      if (stream.frames.empty()) continue;
      story += fmt::format("; {}->{}: {}/{}/{} of {} ({})", from, node->rank, stream.next_post,
                           stream.next_begin, stream.next_end, stream.frames.size(),
                           ranks_[node->rank].link().describe(from));
    }
  }
  return story;
}

std::string LinkJob::check_end() const {
  for (const auto& node : nodes_) {
    for (Rank from = 0; from < size_; ++from) {
      if (!lives(*node) || bed_.world.crashed(from) || !lost(node->rank, from)) continue;
      if (node->from(from).no_matter) continue;
      return fmt::format("rank {} lost rank {}: {}", node->rank, from,
                         ranks_[node->rank].link().describe(from));
    }
  }
  return leftovers();
}

std::string LinkJob::leftovers() const {
  for (const auto& node : nodes_) {
    if (!lives(*node)) continue;
    for (Rank to = 0; to < size_; ++to) {
      for (const auto& frame : stream(node->rank, to).frames) {
        if (frame->pending) return fmt::format("a completion of rank {} has not fired", node->rank);
      }
    }
    if (ranks_.has_connections()) continue;  // The adapter may have what nobody has polled.
    if (const char* what = ranks_.held(node->rank)) {
      return fmt::format("rank {} {}", node->rank, what);
    }
  }
  return {};
}

}  // namespace espalier::test
