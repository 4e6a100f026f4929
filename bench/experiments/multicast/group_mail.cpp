#include "bench/experiments/multicast/group_mail.hpp"

#include <algorithm>
#include <deque>

namespace espalier::experiments {

struct GroupMail::Box final : multicast::MemberMail {
  Box(GroupMail& in, Rank rank) noexcept : mail(in), me(rank) {}
  bool post(Rank to, std::span<const std::byte> message) noexcept override {
    mail.post(*this, to, message);
    return true;
  }

  GroupMail& mail;
  const Rank me;
  std::vector<Path> paths;  // to those it has posted to
  std::deque<Letter*> come;
  std::uint64_t posted = 0;
};

GroupMail::GroupMail(sim::World& world) : world_(world) {
  for (std::uint32_t i = 0; i < world.ranks(); ++i)
    boxes_.push_back(std::make_unique<Box>(*this, static_cast<Rank>(i)));
}

GroupMail::~GroupMail() = default;

multicast::MemberMail& GroupMail::of(Rank rank) noexcept {
  return *boxes_[static_cast<std::size_t>(rank)];
}

std::uint64_t GroupMail::posted(Rank rank) const noexcept {
  return boxes_[static_cast<std::size_t>(rank)]->posted;
}

void GroupMail::post(Box& from, Rank to, std::span<const std::byte> message) {
  if (idle_.empty()) {
    letters_.push_back(std::make_unique<Letter>(*this));
    idle_.push_back(letters_.back().get());
  }
  Letter& letter = *idle_.back();
  idle_.pop_back();
  letter.bytes.assign(message.begin(), message.end());
  letter.number = ++number_;
  letter.from = from.me;
  letter.to = to;
  ++from.posted;
  (void)world_.charge(from.me, world_.price(from.me, to).overhead_send_ns);
  const sim::World::Departure departure = world_.depart(from.me, to, message.size());
  letter.in_lane = departure.in_lane;
  world_.schedule(letter, to, departure.there_ns);
}

void GroupMail::move(Letter& letter) {
  if (!letter.in_lane) {
    boxes_[static_cast<std::size_t>(letter.to)]->come.push_back(&letter);
    return world_.wake(letter.to);
  }
  letter.in_lane = false;
  const std::uint64_t there = world_.pass_lane(letter.from, letter.to, letter.bytes.size());
  // A short message finds a gap in the lane that a long one before it did not fit into.
  std::vector<Path>& paths = boxes_[static_cast<std::size_t>(letter.from)]->paths;
  auto path = std::ranges::find(paths, letter.to, &Path::to);
  if (path == paths.end()) path = paths.insert(paths.end(), Path{letter.to});
  path->last_ns = std::max(path->last_ns, there);
  world_.schedule(letter, letter.to, path->last_ns);
}

GroupMail::Letter* GroupMail::next_for(Rank rank) {
  std::deque<Letter*>& come = boxes_[static_cast<std::size_t>(rank)]->come;
  if (come.empty()) return nullptr;
  Letter* letter = come.front();
  come.pop_front();
  (void)world_.charge(rank, world_.price(letter->from, rank).overhead_recv_ns);
  return letter;
}

}  // namespace espalier::experiments
