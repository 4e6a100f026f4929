// TagJob: ranks in one thread that send each other messages by tag, at random, over shared-memory
// wires and a played post; and whether all of it is as TagModel says.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/harness/shm_world.hpp"
#include "tests/swarm/job.hpp"
#include "tests/swarm/tag_mail.hpp"
#include "tests/swarm/tag_model.hpp"

namespace espalier::swarm {

struct TagReport {
  std::string failure;  // empty: all was right
  std::uint64_t sends = 0, receives = 0, announced = 0, canceled = 0, claimed = 0, accepted = 0,
                died = 0, turns = 0;
  void add(const TagReport& other);
};

class TagJob {
 public:
  explicit TagJob(std::uint64_t seed);
  ~TagJob();

  TagReport run();

 private:
  friend struct TagNode;
  class Lives;

  void make_patterns();
  void make_teams();
  bool alive(Rank rank) const noexcept { return post_.dead != rank; }
  TagNode& node(Rank rank) noexcept { return *nodes_[static_cast<std::size_t>(rank)]; }
  Team& draw_team(TagNode& node);
  std::uint64_t draw_tag();
  const Pattern* draw_memory(std::uint64_t& elements);

  // Turns (tag_job.cpp).
  void turn(TagNode& node);
  void deliver(TagNode& node);
  void deliver_one(TagNode& node, Rank from);
  void look(TagNode& node);
  bool run_until_settled(bool drains);
  bool settled();
  std::string waiting() const;
  void check_missed(TagNode& node);
  void drain(TagNode& node);
  void try_windows();
  void check_end();
  void close();

  // What a rank does (tag_actions.cpp).
  void act(TagNode& node);
  TagOp& make(TagNode& node, TagOp::Kind kind, Team& team);
  void draw_pattern_of(TagOp& receive);
  void send(TagNode& node, TagOp& op);
  void draw_send(TagNode& node);
  void receive(TagNode& node, TagOp& op);
  void draw_receive(TagNode& node);
  void cancel(TagNode& node, TagOp& op);
  void cancel_one(TagNode& node);
  void probe(TagNode& node);
  void look_for(TagNode& node);
  void receive_claimed(TagNode& node);
  void accept(TagNode& node);
  void settle_start(TagOp& op, Result<TagMessages::Started> started);

  static void on_finish(void* op, Status status) noexcept;
  void finish(TagOp& op, Status status);
  void check_receive(TagOp& op, Status status);
  void fail(std::string what);

  Prng prng_;
  const std::uint32_t ranks_;
  PlayedPost post_;
  std::unique_ptr<Lives> lives_;
  std::unique_ptr<test::ShmWorld> world_;
  std::vector<Pattern> patterns_;
  std::vector<std::vector<Rank>> members_;  // by team
  std::vector<std::unique_ptr<BoardMemory>> boards_;
  TagLimits limits_;
  bool late_ = false;  // what has arrived is seldom looked at, and receives wait for messages
  bool dies_ = false, closing_ = false;
  std::uint64_t dies_at_ = 0;
  std::vector<std::unique_ptr<TagNode>> nodes_;
  std::deque<TagOp> ops_;
  TagReport report_;
};

// One rank.
struct TagNode {
  TagNode(TagJob& job, Rank rank, const TagLimits& limits);

  TagJob& job;
  const Rank rank;
  Trace trace;
  Tuning tuning;
  Log log;
  Engine engine;
  TeamWatch watch;
  PlayedMail mail;
  TagMessages tags;
  std::vector<std::unique_ptr<Team>> teams;  // those that it is a member of
  TagModel model;
  std::deque<std::pair<TagArrival*, TagOp*>> claimed;
  std::uint64_t actions = 0;  // left
};

}  // namespace espalier::swarm
