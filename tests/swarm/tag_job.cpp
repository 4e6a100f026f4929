// TagJob: ranks, turns, and the end.
#include "tests/swarm/tag_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tests/swarm/drawing.hpp"

namespace espalier::swarm {
namespace {

constexpr std::uint64_t kTurnsMax = 60'000;
constexpr std::uint64_t kLookEvery = 40;  // turns of a rank, about

test::ShmWorldOptions tag_world(Liveness& lives) {
  test::ShmWorldOptions options;
  options.wire.liveness = &lives;
  options.arena_bytes = 32 << 10;
  options.heap_bytes = 4096;
  options.wire.first_ring_bytes = 8 << 10;
  return options;
}

TagLimits draw_limits(Prng& prng) {
  TagLimits limits;
  limits.eager_bytes = pick(prng, {std::uint64_t{0}, std::uint64_t{32}, std::uint64_t{300}});
  limits.window_bytes = pick(prng, {std::uint64_t{150}, std::uint64_t{600}, std::uint64_t{5000}});
  limits.unexpected_bytes = pick(prng, {std::uint64_t{0}, std::uint64_t{800}, std::uint64_t{9000}});
  return limits;
}

}  // namespace

// A death is known at once.
class TagJob::Lives final : public Liveness {
 public:
  explicit Lives(const PlayedPost& post) noexcept : post_(post) {}
  std::uint64_t changes() noexcept override { return post_.dead ? 2 : 1; }
  bool is_dead(Rank rank) noexcept override { return post_.dead == rank; }
  bool is_stopped(Rank) noexcept override { return false; }
  bool is_leaving(Rank) noexcept override { return false; }
  bool has_left(Rank) noexcept override { return false; }

 private:
  const PlayedPost& post_;
};

void TagReport::add(const TagReport& other) {
  sends += other.sends;
  receives += other.receives;
  announced += other.announced;
  canceled += other.canceled;
  claimed += other.claimed;
  accepted += other.accepted;
  died += other.died;
  turns += other.turns;
}

TagNode::TagNode(TagJob& owner, Rank rank_, const TagLimits& limits)
    : job(owner),
      rank(rank_),
      log(LogLevel::kError, rank_),
      engine(owner.world_->counters(rank_), trace, tuning),
      watch(engine, *owner.lives_, log, {0, 0}),
      mail(owner.post_, rank_),
      tags({engine,
            mail,
            *owner.lives_,
            owner.world_->counters(rank_),
            log,
            rank_,
            limits,
            {0, 0},
            watch,
            [](const Finish&) noexcept { return true; }}) {}

TagJob::TagJob(std::uint64_t seed)
    : prng_(seed),
      ranks_(2 + static_cast<std::uint32_t>(prng_.below(5))),
      post_(ranks_, seed + 1),
      lives_(std::make_unique<Lives>(post_)),
      world_(std::make_unique<test::ShmWorld>(static_cast<int>(ranks_), tag_world(*lives_))),
      limits_(draw_limits(prng_)) {
  late_ = prng_.chance(0.3);
  dies_ = prng_.chance(0.2);
  dies_at_ = prng_.below(800);
  post_.refuses_the_dead = prng_.chance(0.5);
  make_patterns();
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    nodes_.push_back(std::make_unique<TagNode>(*this, static_cast<Rank>(r), limits_));
    nodes_.back()->actions = 10 + prng_.below(50);
  }
  make_teams();
}

TagJob::~TagJob() = default;

void TagJob::make_patterns() {
  static constexpr std::size_t kLengths[] = {3, 1, 5}, kDispls[] = {9, 0, 2};
  patterns_.push_back(*Pattern::strided(ESP_BYTE, 3, 5, 8, 24));
  patterns_.push_back(*Pattern::listed(ESP_BYTE, kLengths, kDispls, 13));
}

// All ranks; all the other way round; some of them.
void TagJob::make_teams() {
  std::vector<Rank> all(ranks_);
  std::iota(all.begin(), all.end(), 0);
  members_ = {all, {all.rbegin(), all.rend()}, {all.begin() + 1, all.end()}};
  if (ranks_ == 2) members_.pop_back();
  constexpr std::uint64_t kShortBytes = 112;
  for (std::size_t t = 0; t < members_.size(); ++t) {
    auto membership = std::make_shared<Membership>();
    membership->ranks = members_[t];
    const auto size = static_cast<int>(members_[t].size());
    const auto id = static_cast<std::uint32_t>(t + 1);
    boards_.push_back(std::make_unique<BoardMemory>(Board::bytes(size, kShortBytes)));
    const Board board(boards_.back()->data(), size, kShortBytes, std::uint64_t{id} << 40);
    for (int member = 0; member < size; ++member) {
      TagNode& owner = node(members_[t][static_cast<std::size_t>(member)]);
      auto team = std::make_unique<Team>();
      team->id = id;
      team->wire = &world_->wire(owner.rank);
      team->board = board;
      team->segment_limit = team->wire->caps(owner.rank).segment_bytes;
      team->set_membership(member, membership);
      owner.watch.add(*team);
      owner.teams.push_back(std::move(team));
    }
  }
}

void TagJob::fail(std::string what) {
  if (report_.failure.empty()) report_.failure = std::move(what);
}

// ---- turns ----

void TagJob::deliver_one(TagNode& node, Rank from) {
  const TagLetter letter = post_.take(from, node.rank);
  const ActiveMessage& message = letter.message;
  if (message.id == kTagEager || message.id == kTagAnnounced) {
    const std::string wrong = node.model.arrive(from, message);
    if (!wrong.empty()) return fail(fmt::format("rank {}: {}", node.rank, wrong));
    report_.announced += message.id == kTagAnnounced ? 1 : 0;
    if (node.model.kept(from) > limits_.window_bytes) {
      return fail(fmt::format("{} bytes of rank {} wait at rank {}", node.model.kept(from), from,
                              node.rank));
    }
  }
  if (!node.tags.take(from, message)) fail("a message is not taken");
}

void TagJob::deliver(TagNode& node) {
  const auto first = static_cast<std::uint32_t>(prng_.below(ranks_));
  for (std::uint32_t i = 0; i < ranks_; ++i) {
    const auto from = static_cast<Rank>((first + i) % ranks_);
    for (std::uint64_t left = 1 + prng_.below(8); left > 0; --left) {
      if (!report_.failure.empty() || post_.front(from, node.rank) == nullptr) break;
      deliver_one(node, from);
    }
  }
}

void TagJob::look(TagNode& node) {
  world_->wire(node.rank).idle();
  node.watch.look(0, post_.now);
  node.tags.look(0, post_.now);
}

// As a worker's, whose agents stand in any order.
void TagJob::turn(TagNode& node) {
  (void)world_->wire(node.rank).progress();
  if (!late_ || node.actions == 0 || prng_.chance(0.05)) deliver(node);
  (void)node.mail.progress();
  (void)node.engine.progress();
  (void)node.tags.progress();
  if (prng_.chance(1.0 / kLookEvery)) look(node);
}

std::string TagJob::waiting() const {
  for (const TagOp& op : ops_) {
    if (op.ended || !op.started || !alive(op.node->rank)) continue;
    if (op.kind == TagOp::Kind::kProbe && !op.due) continue;
    static constexpr const char* kNames[] = {"send", "receive", "probe"};
    return fmt::format("{} {} of rank {} on team {} (other side {}, {} bytes, {})",
                       kNames[static_cast<int>(op.kind)], op.number, op.node->rank, op.team->id,
                       op.rank, op.memory.bytes(), op.met != nullptr ? "matched" : "not matched");
  }
  return {};
}

bool TagJob::settled() {
  if (!waiting().empty()) return false;
  for (const auto& owner : nodes_) {
    if (!alive(owner->rank)) continue;
    if (owner->actions > 0 || !owner->mail.idle() || !owner->claimed.empty()) return false;
    for (std::uint32_t from = 0; from < ranks_; ++from) {
      if (!post_.empty(static_cast<Rank>(from), owner->rank)) return false;
    }
    // On teams that have failed messages stay.
    for (const TagOp* send : owner->model.waiting()) {
      if (std::any_of(owner->teams.begin(), owner->teams.end(), [&](const auto& team) {
            return team->id == send->team->id && !team->failed();
          })) {
        return false;
      }
    }
  }
  return true;
}

// A look ends what waits for who is dead, or for anybody.
void TagJob::check_missed(TagNode& node) {
  look(node);
  for (const TagOp* receive : node.model.posted()) {
    const auto& members = receive->team->members;
    if (std::find(members.begin(), members.end(), *post_.dead) == members.end()) continue;
    if (receive->rank != kNoRank && receive->rank != *post_.dead) continue;
    fail(fmt::format("receive {} does not miss rank {}", receive->number, *post_.dead));
  }
}

// What has been posted in vain is taken back, what waits is received.
void TagJob::drain(TagNode& node) {
  if (post_.dead) check_missed(node);
  const std::list<TagOp*> posted = node.model.posted();
  for (TagOp* receive : posted) cancel(node, *receive);
  while (!node.claimed.empty()) receive_claimed(node);
  for (const auto& team : node.teams) {
    if (team->failed()) continue;
    TagOp any;
    any.team = team.get();
    any.mask = 0;
    while (const TagOp* send = node.model.first_for(any)) {
      TagOp& op = make(node, TagOp::Kind::kReceive, *team);
      op.mask = 0;
      op.memory.create(nullptr, send->memory.bytes());
      receive(node, op);
      if (!report_.failure.empty()) return;
    }
  }
}

bool TagJob::run_until_settled(bool drains) {
  const std::uint64_t end = post_.now + kTurnsMax;
  while (report_.failure.empty() && post_.now < end) {
    ++post_.now;
    if (dies_ && !post_.dead && post_.now >= dies_at_) {
      post_.dead = static_cast<Rank>(prng_.below(ranks_));
      node(*post_.dead).actions = 0;
    }
    TagNode& next = node(static_cast<Rank>(prng_.below(ranks_)));
    if (!alive(next.rank)) continue;
    turn(next);
    if (report_.failure.empty() && next.actions > 0) act(next);
    const auto acts = [](const auto& owner) { return owner->actions > 0; };
    if (std::any_of(nodes_.begin(), nodes_.end(), acts)) continue;
    if (!drains) return true;
    drain(next);
    if (post_.now % 16 == 0 && settled()) return true;
  }
  fail("what waits for ever: " + waiting());
  return false;
}

// All has been received, and said so: there is room for small messages at once.
void TagJob::try_windows() {
  for (const auto& from : nodes_) {
    for (const auto& to : nodes_) {
      if (from == to || TagModel::kOverhead > limits_.window_bytes / 2) continue;
      const std::uint64_t eager = world_->counters(from->rank).tags_eager.value();
      TagOp& op = make(*from, TagOp::Kind::kSend, *from->teams.front());
      op.rank = to->rank;
      op.memory.create(nullptr, 0);
      send(*from, op);
      if (world_->counters(from->rank).tags_eager.value() == eager) {
        fail(fmt::format("rank {} finds no window at rank {}, where nothing waits", from->rank,
                         to->rank));
      }
    }
  }
}

void TagJob::check_end() {
  for (const TagOp& op : ops_) {
    const bool received = op.met != nullptr && op.met->ended;
    if (post_.dead || op.kind != TagOp::Kind::kSend || received) continue;
    fail(fmt::format("message {} was never received", op.number));
  }
  for (const auto& owner : nodes_) {
    for (const auto& team : owner->teams) {
      if (post_.dead || (team->tagged == 0 && team->active == nullptr)) continue;
      const bool probes = std::any_of(ops_.begin(), ops_.end(), [&](const TagOp& op) {
        return op.kind == TagOp::Kind::kProbe && !op.ended && op.team == team.get();
      });
      if (!probes) fail(fmt::format("something is left on team {} at {}", team->id, owner->rank));
    }
    if (!post_.dead && !world_->wire(owner->rank).quiet()) {
      fail(fmt::format("the wire of rank {} keeps something", owner->rank));
    }
  }
}

void TagJob::close() {
  closing_ = true;
  for (const auto& owner : nodes_) {
    for (const auto& team : owner->teams) owner->engine.cancel(*team);
    owner->mail.close(ESP_ERR_CANCELED);
    while (owner->engine.progress() + owner->tags.progress() > 0) {
    }
    owner->tags.close();
    for (const auto& team : owner->teams) {
      if (team->tagged > 0) fail(fmt::format("rank {} has lost an operation", owner->rank));
    }
  }
  for (const TagOp& op : ops_) {
    if (!op.ended && op.started) fail(fmt::format("operation {} never ends", op.number));
  }
}

TagReport TagJob::run() {
  (void)run_until_settled(false);
  (void)run_until_settled(true);
  if (report_.failure.empty() && !post_.dead) {
    try_windows();
    (void)run_until_settled(true);
  }
  if (report_.failure.empty()) check_end();
  report_.turns = post_.now;
  if (report_.failure.empty()) close();
  return report_;
}

}  // namespace espalier::swarm
