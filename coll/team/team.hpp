// Team: an ordered set of ranks, the numbering of what they do together, and what went wrong.
//
// Plain data of the engine and its neighbours in coll/ (short path, watchdog, splitting); the
// public handle lives in bootstrap/. Threads: owner.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coll/engine/combiner.hpp"
#include "coll/engine/gate.hpp"
#include "coll/engine/plan_cache.hpp"
#include "coll/plan/plan.hpp"
#include "coll/team/board.hpp"
#include "coll/team/news_format.hpp"
#include "coll/team/team_nodes.hpp"
#include "core/doorbell.hpp"
#include "core/element_form.hpp"
#include "core/intrusive_list.hpp"
#include "core/pattern.hpp"
#include "core/wire.hpp"

namespace espalier {

class Mover;
class StreamOrder;
struct Reduction;
struct Instance;
struct ShortOperation;

// What a user asked for, checked.
struct Call {
  Collective collective = Collective::kBarrier;
  const void* input = nullptr;
  void* output = nullptr;
  std::uint64_t count = 0;  // irregular: of all blocks, where all members know it, else 0
  // Irregular: lengths and displacements of blocks, in elements; displacements may be nullptr.
  const std::size_t *in_counts = nullptr, *in_displs = nullptr;
  const std::size_t *out_counts = nullptr, *out_displs = nullptr;
  // Of the one block of a buffer that has no others, where blocks differ in length and not all
  // members know them.
  std::uint64_t own_count = 0;
  // Where all members know the lengths of blocks: elements of the longest, and a hash of all.
  std::uint64_t longest = 0;
  std::uint32_t lengths_hash = 0;
  // Whose elements lie apart: `type`, the counts and element_bytes are those of what is packed.
  const Pattern* pattern = nullptr;
  // The form in which elements travel: what is packed is in it, and element_bytes are its own.
  const ElementForm* form = nullptr;
  // Each block has a type of its own: elements are bytes, counts and displacements the caller's.
  const TypeTable* types = nullptr;
  const esp_type *in_types = nullptr, *out_types = nullptr;
  bool packs_input = false, packs_output = false;  // on this rank
  // Who reaches its buffers where the processor may not: these are packed. nullptr: the processor.
  Mover* mover = nullptr;
  bool shares = false;           // and it, and those of the others of the node, reach each other's
  bool direct = false;           // and its adapter, for members of other nodes
  StreamOrder* order = nullptr;  // in the stream of the caller's options
  // The mover combines, too, and reads and writes all buffers where they lie. nullptr: the
  // processor combines what is packed.
  const Reduction* reduction = nullptr;
  const Neighbors* neighbors = nullptr;  // of this rank
  bool in_place = false;                 // the input stands in the output
  Gate gate;                             // the input becomes ready by and by
  Consumer consumer;                     // of what has landed
  bool places = false;                   // blocks of the output in order of arrival
  esp_type type = ESP_BYTE;
  std::uint32_t element_bytes = 1;
  esp_op op = ESP_SUM;
  std::int32_t root = 0;
  Combiner combiner;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  bool blocking = false;
  Purpose purpose = Purpose::kUser;
  bool choice_is_free = true;  // no algorithm, shape or variant was asked for

  std::uint64_t bytes() const noexcept { return count * element_bytes; }
  CallSignature signature() const noexcept;
};

// What members must have alike of the options, and of how they call.
constexpr std::uint8_t hash_options(const esp_coll_options& options, bool commutative,
                                    bool blocking) noexcept {
  std::uint64_t o = static_cast<std::uint64_t>(options.algorithm) |
                    static_cast<std::uint64_t>(options.shape) << 4 |
                    static_cast<std::uint64_t>(options.variant) << 8 |
                    static_cast<std::uint64_t>(options.radix) << 12 |
                    static_cast<std::uint64_t>(commutative) << 44 |
                    static_cast<std::uint64_t>(blocking) << 45;
  o ^= options.segment_bytes * 0x9e3779b97f4a7c15ULL;
  o *= 0xff51afd7ed558ccdULL;
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(o >> 56) | kHashBit);
}

// Of flows between two members: 256 of the user's, and that of messages matched by tag.
inline constexpr unsigned kTagChannel = 256, kFlowChannels = 257;

struct PointToPointCounter {
  std::uint64_t sent = 0, received = 0;
};

// Who belongs to a team. Teams of the same members share one: a simulator has as many teams as
// ranks in one process.
struct Membership {
  std::vector<Rank> ranks;   // job ranks
  std::vector<Bell*> bells;  // of the members on this rank's node
  TeamNodes nodes;           // of a team on several nodes; else empty
  TeamNodes heads;           // the same nodes with one member each: who talks to other nodes
  TeamNodes localities;      // what plans follow, where that is more than `nodes`; else empty
  TeamNodes memories;        // the same without levels in one memory, where some remain; else empty

  // Job ranks of the network's group (NodePlan::multicast): one of each node, or of each part of a
  // node, sorted. Made when it is first asked for. Threads: the owner of the teams.
  const std::shared_ptr<const std::vector<Rank>>& group() const;

  // After `nodes`. Those without inner levels are dropped. `network_of`: as `made` was made with.
  void follow(TeamNodes made, std::span<const NetworkPlace> network_of = {});
  // After that: parts of nodes (TeamNodes::parts_of(); empty: none) have leaders of their own.
  // `locality_of`, `network_of`: as the layouts were made with.
  void lead(std::span<const std::int32_t> parts, std::span<const MemberLocality> locality_of = {},
            std::span<const NetworkPlace> network_of = {});

 private:
  // By parts of nodes: without levels inside, and with them (else empty).
  struct Leaders {
    TeamNodes plain, levels;
  };
  std::shared_ptr<const Leaders> leaders_;  // nullptr: each node has one leader
  mutable std::shared_ptr<const std::vector<Rank>> group_;
};

// What is known of a member on another node, by its answers (coll/team/team_news.hpp).
struct RemoteMember {
  CallRing ring;
  Blame blame;
  bool leaving = false, freed = false;            // the job; the team
  std::uint64_t asked_about = ~std::uint64_t{0};  // operation
  std::uint64_t first_asked_ns = 0, asked_ns = 0, interval_ns = 0, answered_ns = 0;
  std::uint64_t inquired_ns = 0;  // it has called something else: asked what
};

struct Team {
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();  // Asserts that nothing is under way.

  std::uint32_t id = 0;
  int rank = 0;
  std::span<const Rank> members;  // job ranks, of the membership
  std::span<Bell* const> bells;
  Wire* wire = nullptr;           // to every member of this node
  WireRoutes* network = nullptr;  // to those of others; nullptr: there are none
  Board board;                 // of the members on this node; false when there is no common memory
  bool board_is_own = false;   // of several nodes, without common memory: others' rows stay empty
  std::uint64_t history = 0;   // hash of all calls so far: equal on all members
  std::uint64_t sequence = 0;  // of the last operation
  std::uint64_t safe = 0;      // all members are known to have entered this operation
  // Of the oldest short operation that waits, or 0: the operation that members have to enter, and
  // its own number.
  std::uint64_t short_wait = 0, short_call = 0;
  ShortOperation *short_operations = nullptr, *short_last = nullptr;  // under way, oldest first
  std::uint64_t shown_unread = 0;  // what the board says of this member
  Instance* active = nullptr;      // list of instances under way
  // Blocking calls that take longer than the short path (api::Caller). Writers: their threads;
  // reader: the owner, which does not free the team under them. Down: publishes that this call
  // reads nothing of the team any more.
  std::atomic<std::uint32_t> callers{0};
  std::uint64_t segment_limit = 0;  // bytes, of all wires in use
  std::uint64_t inline_limit = 0;   // bytes that any wire in use sends without a completion
  bool short_path = false;          // small operations take it; off for good after a failure
  // From so many bytes on those of a collective do not (ShortOperations::set_limits).
  std::array<std::uint64_t, kCollectives> short_end = {};
  bool near_opens = false;  // the others of the node reach what lies on devices, as far as was seen
  bool quick_allowed = false;  // blocking ones on the quick way in: all members are on this node
  bool quick = false;          // now: no short one is under way
  bool in_group = false;       // this rank has joined the network's group of the team

  // Its blame stands on the board under this operation, for what it waits for (an instance, or
  // short_wait). nullptr: it has none.
  const void* blames_for = nullptr;
  std::uint64_t blamed_at = 0;

  // The first failure is final: the members no longer agree on what they do.
  Status fault;
  std::string fault_text;
  // Writer: the owner (release: publishes both, which stay). Readers: threads that call.
  std::atomic<bool> faulty{false};

  PlanCache plans;
  // Per member, lazily.
  std::vector<std::unique_ptr<std::array<PointToPointCounter, kFlowChannels>>> flows;
  // Of messages matched by tag (tags/): what is under way, and the members of senders that were met
  // whose ranks in the job are others than in the team.
  std::uint64_t tagged = 0;
  std::map<Rank, int> tag_sources;
  std::vector<std::byte> user_scratch;
  std::map<int, RemoteMember> remote;  // members of other nodes that were asked or have told

  int size() const noexcept { return static_cast<int>(members.size()); }
  bool failed() const noexcept { return !fault.ok(); }
  // The same, for a thread that is not the owner: then it may read the fault and its text, too.
  bool failed_for_all() const noexcept { return faulty.load(std::memory_order_acquire); }
  // A blocking call is under way, whether its operation has ended or not.
  bool is_in_use() const noexcept {
    return short_wait != 0 || callers.load(std::memory_order_acquire) != 0;
  }
  [[gnu::always_inline]] std::uint64_t history_after(
      const CallSignature::Words& words) const noexcept {
    const std::uint64_t mixed = (history ^ CallSignature::hash(words)) * 0x9e3779b97f4a7c15ULL;
    return mixed ^ mixed >> 29;
  }
  // Numbers the operation and shows it to the other members. While a short one waits, they are told
  // that not everything of that has been read.
  [[gnu::always_inline]] void enter(const CallSignature& signature) noexcept {
    ++sequence;
    const CallSignature::Words words = signature.words();
    history = history_after(words);
    if (short_call != 0) [[unlikely]]
      show_unread(short_call);
    if (board) board.enter(row_, sequence, words);
  }
  // The oldest operation of which this member still reads lines; 0: none.
  [[gnu::cold, gnu::noinline]] void show_unread(std::uint64_t oldest) noexcept;
  Wire& wire_to(std::size_t member) const noexcept {
    if (network == nullptr || !is_remote(static_cast<int>(member))) return *wire;
    return network->wire_to(members[member]);
  }
  // By that path. Members of the network's group may be of one node.
  Wire& wire_to(std::size_t member, Path path) const noexcept {
    if (path == Path::kMulticast && network != nullptr) [[unlikely]] {
      if (Wire* const groups = network->wire_of_groups()) return *groups;
    }
    return wire_to(member);
  }
  // nullptr: all members are on one node.
  const TeamNodes* nodes() const noexcept {
    const bool several = membership_ != nullptr && !membership_->nodes.empty();
    return several ? &membership_->nodes : nullptr;
  }
  // For plans: with the levels inside nodes, where there are any.
  const TeamNodes* layout() const noexcept {
    const bool levels = membership_ != nullptr && !membership_->localities.empty();
    return levels ? &membership_->localities : nodes();
  }
  // Is the member on another node?
  bool is_remote(int member) const noexcept {
    return nodes() != nullptr && nodes()->node_of(member) != node_;
  }
  // On the board: members of this node have rows, in their order.
  int row(int member) const noexcept {
    return nodes() != nullptr ? nodes()->place(member) : member;
  }
  int member_of(Rank job_rank) const noexcept;  // -1: it is none; looks at all members
  int own_row() const noexcept { return row_; }
  int rows() const noexcept { return nodes() != nullptr ? nodes()->members(node_) : size(); }
  int member_in(int row) const noexcept {
    return nodes() != nullptr ? nodes()->member(node_, row) : row;
  }
  std::int32_t node() const noexcept { return node_; }
  // Who talks to other nodes for one of them, in an operation with that root.
  int head_of(std::int32_t node, int root) const noexcept {
    return nodes()->node_of(root) == node ? root : nodes()->head(node);
  }
  const TeamNodes* heads() const noexcept {
    return membership_ != nullptr && !membership_->heads.empty() ? &membership_->heads : nullptr;
  }
  // Of the network's group. Of a team on several nodes.
  const std::shared_ptr<const std::vector<Rank>>& group() const { return membership_->group(); }
  // visit(member), of those about whom anything is known: this node's, and those of others that
  // were asked or have told.
  template <typename Visit>
  void for_each_known(Visit&& visit) const {
    const TeamNodes* several = nodes();
    const int here = several != nullptr ? several->members(node_) : size();
    for (int place = 0; place < here; ++place) {
      visit(several != nullptr ? several->member(node_, place) : place);
    }
    for (const auto& [member, known] : remote) visit(member);
  }
  // What a member has called, as far as that is known. False: not, too long ago, or not heard of.
  bool read_call(int member, std::uint64_t at, CallSignature& signature) const noexcept;
  bool has_entered(int member, std::uint64_t at) const noexcept;  // or it cannot be known
  bool is_known(int member) const noexcept {
    return !board_is_own || member == rank || is_remote(member);
  }
  // Whom this rank waits for has come.
  void withdraw_blame() noexcept;
  // Has the member answered a question since this rank has first asked about its last operation?
  bool has_answered(int member) const noexcept;
  PointToPointCounter& flow(int member, unsigned channel);  // of kFlowChannels

  void set_membership(int own, std::shared_ptr<const Membership> shared) noexcept {
    rank = own;
    membership_ = std::move(shared);
    members = membership_->ranks;
    bells = membership_->bells;
    row_ = row(rank);
    node_ = nodes() != nullptr ? nodes()->node_of(rank) : 0;
  }

 private:
  std::shared_ptr<const Membership> membership_;
  int row_ = 0;            // the own one
  std::int32_t node_ = 0;  // likewise
};

// An operation, as it was entered: while it waits, a callback may enter the team's next ones. Two
// words, which travel in registers.
struct Entered {
  explicit Entered(const Team& team) noexcept : sequence(team.sequence), history(team.history) {}
  std::uint64_t sequence, history;
};

}  // namespace espalier
