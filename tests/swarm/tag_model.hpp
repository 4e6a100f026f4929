// TagModel: which receive gets which message, found by lists that are searched from their begin.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tags/tag_messages.hpp"

namespace espalier::swarm {

// Memory of a message: what it was before, what it shall be.
class TagMemory {
 public:
  // Of so many elements, each one byte if there is no pattern.
  void create(const Pattern* pattern, std::uint64_t elements);
  TagBlock block() noexcept;
  std::uint64_t bytes() const noexcept { return bytes_; }  // packed
  void fill(std::uint64_t message);
  void spoil();
  // Holds so many bytes of a message, and is what it was elsewhere.
  bool holds(std::uint64_t message, std::uint64_t bytes) const;

 private:
  const Pattern* pattern_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::vector<std::byte> memory_;
};

struct TagNode;

// A send, a receive or a probe of one rank.
struct TagOp {
  enum class Kind : std::uint8_t { kSend, kReceive, kProbe };
  Kind kind = Kind::kSend;
  TagNode* node = nullptr;
  std::uint64_t number = 0;
  Team* team = nullptr;
  Rank rank = kNoRank;  // the other side; kNoRank: any
  std::uint64_t tag = 0, mask = ~std::uint64_t{0};
  TagMemory memory;
  bool started = false, ended = false;
  // A send.
  bool synchronous = false, at_once = false, announced = false, over = false;
  Rank source() const noexcept { return team->members[static_cast<std::size_t>(team->rank)]; }
  // A receive.
  TagOp* met = nullptr;  // a send: its receive
  TagMessages::Receive* posted = nullptr;
  bool canceled = false;
  esp_tag_info info = {-7, 0, 0};
  bool due = false;  // a probe: there was a message

  bool fits(std::uint32_t team_id, Rank source, std::uint64_t its_tag) const noexcept {
    return team->id == team_id && (rank == kNoRank || rank == source) &&
           (tag & mask) == (its_tag & mask);
  }
};

// What one rank has posted, and what has come to it.
class TagModel {
 public:
  // The next message of `from` that it sees; empty: as it should be.
  std::string arrive(Rank from, const ActiveMessage& message);
  // What waits for this receive, or nullptr: then it is posted.
  TagOp* post(TagOp& receive);
  // As post(), of one that is never posted.
  TagOp* first_for(const TagOp& asked) const;
  void meet(TagOp& receive, TagOp& send);
  // It has been received, after it had waited.
  void forget_bytes(const TagOp& send);
  void claim(TagOp& send) { waiting_.remove(&send); }
  void withdraw(TagOp& receive) { posted_.remove(&receive); }
  void add_probe(TagOp& probe) { probes_.push_back(&probe); }
  void remove_probe(TagOp& probe) { probes_.remove(&probe); }
  // Bytes of one sender that wait here, with their overhead; at once or claimed.
  std::uint64_t kept(Rank from) const;

  std::map<Rank, std::deque<TagOp*>> under_way;  // to this rank, in the order of sending
  std::list<TagOp*>& waiting() noexcept { return waiting_; }
  std::list<TagOp*>& posted() noexcept { return posted_; }
  bool settled() const;

  static constexpr std::uint64_t kOverhead = sizeof(TagArrival) + 16;

 private:
  std::list<TagOp*> posted_, waiting_, probes_;
  std::map<Rank, std::uint64_t> kept_;
};

}  // namespace espalier::swarm
