// esp_job and esp_team: what the public handles point to, and the one place where transports are
// put under an engine.
//
// Members are declared in the order of dependence; destruction goes backwards. Ownership: a job
// owns everything made from it. Threads: see espalier.h.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/devices.hpp"
#include "api/one_sided.hpp"
#include "api/partial.hpp"
#include "api/state_report.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/card.hpp"
#include "bootstrap/job_nodes.hpp"
#include "bootstrap/leaving.hpp"
#include "bootstrap/level_shapes.hpp"
#include "bootstrap/network.hpp"
#include "bootstrap/node_liveness.hpp"
#include "bootstrap/node_processes.hpp"
#include "bootstrap/pull_probes.hpp"
#include "bootstrap/team_ids.hpp"
#include "bootstrap/wire_choice.hpp"
#include "coll/engine/engine.hpp"
#include "coll/engine/short_operations.hpp"
#include "coll/team/watch.hpp"
#include "core/attended_clock.hpp"
#include "core/config.hpp"
#include "core/event_count.hpp"
#include "core/pool.hpp"
#include "core/shared_pool.hpp"
#include "core/thread_place.hpp"
#include "core/trace.hpp"
#include "core/trace_export.hpp"
#include "core/worker.hpp"
#include "shm/handover.hpp"
#include "shm/heap.hpp"
#include "shm/shm_wire.hpp"
#include "tags/tag_messages.hpp"

struct esp_team {
  esp_job* job = nullptr;
  espalier::Team team;
  void* board_memory = nullptr;  // from this rank's heap: only at the first member of a node
  std::vector<std::byte> private_board;  // of a team on several nodes for which there was no memory
  bool is_world = false;
  std::uint32_t graph_count = 0;  // ever made on it: equal on all members
  // With EXPLAIN: collectives and bytes that were explained.
  std::set<std::pair<espalier::Collective, std::uint64_t>> explained;
};

namespace espalier {

// Explanations of failures. In threaded mode calls fail on any thread: setting is locked, and what
// last() returned stays until sixteen further failures.
class ErrorTexts {
 public:
  void set(std::string text) {
    const std::lock_guard lock(mutex_);
    texts_[++count_ % texts_.size()] = std::move(text);
  }
  const char* last() const {
    const std::lock_guard lock(mutex_);
    return texts_[count_ % texts_.size()].c_str();
  }

 private:
  mutable std::mutex mutex_;
  std::array<std::string, 16> texts_;
  std::size_t count_ = 0;
};

// The board of a freed team, kept until every member has freed it.
struct OldBoard {
  Board board;
  int rows = 0;  // of those that share it
  void* memory = nullptr;
};

}  // namespace espalier

// Ends an operation for whoever started it. Pooled.
struct esp_request {
  // From its end until that is collected an operation has ended; between two rounds a persistent
  // request is inactive. One that reports through `notify` need not be collected. kSleptOn: under
  // way, and the thread that waits for it sleeps.
  enum State : std::uint32_t { kUnderWay, kSleptOn, kEnded, kInactive };
  static bool is_under_way(std::uint32_t state) noexcept { return state <= kSleptOn; }

  bool reports() const noexcept { return notify.callback != nullptr || notify.counter != nullptr; }
  bool is_open() const noexcept {
    const std::uint32_t now = state.load(std::memory_order_relaxed);
    return is_under_way(now) || (now == kEnded && !reports());
  }

  esp_job* job = nullptr;
  bool persistent = false;
  bool shared = false;  // of the pool of all threads: handed over, neither persistent nor partial
  // Of a persistent one, until its team is freed. Writer: the owner; readers: it, and threads that
  // start a round. Publishes nothing: who frees a team sees to it that others do not use it.
  std::atomic<espalier::Instance*> bound{nullptr};
  esp_team* team = nullptr;  // that of `bound`
  esp_notify notify = {nullptr, nullptr, nullptr};
  espalier::api::Partial* partial = nullptr;  // what was asked for besides
  espalier::Status status;
  // Of a receive by tag that was posted, until its end; the owner's.
  espalier::TagMessages::Receive* receive = nullptr;
  esp_request* deferred_next = nullptr;
  // Writers: threads inside esp_request_wait; reader: the owner of the worker, in its watchdog.
  // Publishes nothing.
  std::atomic<bool> awaited{false};
  // Position in esp_job::open_requests while a handle is out.
  esp_request* open_next = nullptr;
  esp_request** open_link = nullptr;
  // Writers: the owner of the worker (release: publishes status); who collects a round, or claims
  // the next one (esp_ready, esp_request_start); who sleeps until the end. Readers: the thread that
  // waits.
  std::atomic<std::uint32_t> state{kUnderWay};
};

namespace espalier::api {

// A request of another thread than the owner, with what that is to start, where it does not fit
// into a submission.
struct SharedRequest : esp_request {
  SharedRequest() noexcept { shared = true; }
  // Uninitialized until a call is put there.
  alignas(Call) std::byte call[sizeof(Call)];
};

}  // namespace espalier::api

// Immutable while it lives.
struct esp_region {
  struct Member {
    espalier::Rank rank = espalier::kNoRank;  // in the job
    std::uint64_t bytes = 0;
    std::uint32_t number = 0;            // by which it is known there
    std::byte* pointer = nullptr;        // of a member on this node
    espalier::net::RemoteMemory direct;  // for the adapter, if it may
  };
  esp_team* team = nullptr;
  std::vector<Member> members;
};

// Immutable, but that its team may go.
struct esp_graph {
  esp_job* job = nullptr;
  esp_team* team = nullptr;  // nullptr: it has been freed
  espalier::Neighbors near;
};

namespace espalier {

// Since there is something to wait for, for the watchdog.
struct Polls {
  std::uint32_t turns = 0;           // since the last look at the clock
  std::uint32_t turns_per_look = 8;  // how far apart they are is not known yet
  std::uint64_t looked_ns = 0;
  std::uint64_t idle_since_ns = 0;  // the last that found something; 0: just now
  std::uint64_t moved = 0;          // segments and operations so far, as the last one saw them
  std::uint64_t watched_ns = 0;
};

// Calls the callbacks of operations that were complete before the starting call had returned.
class DeferredCallbacks final : public Agent {
 public:
  void add(esp_request& request) noexcept;
  int progress() noexcept override;

 private:
  esp_request* first_ = nullptr;
  esp_request** last_ = &first_;
};

// Tells threads that wait for several things at once that something has come. With a progress
// thread.
class Announcer final : public Agent {
 public:
  explicit Announcer(esp_job& job) noexcept : job_(job) {}
  int progress() noexcept override;

 private:
  esp_job& job_;
  std::uint64_t seen_ = 0;
};

}  // namespace espalier

struct esp_job {
  // What small blocking calls look up.
  struct ShortTables {
    std::array<std::uint64_t, ESP_TYPE_COUNT> type_bytes;
    using Kernels =
        std::array<std::array<espalier::CombineKernel, ESP_TYPE_COUNT>, ESP_OP_BUILTIN_COUNT>;
    Kernels kernels, past_kernels;  // stored in caches, and past them
    std::array<espalier::Pattern, ESP_TYPE_COUNT> plain_patterns;
  } short_tables = {};
  espalier::Config config;
  espalier::Log log;
  espalier::SteadyClock steady_clock;  // the same for all processes of the machine
  espalier::AttendedClock clock{steady_clock};
  espalier::Counters counters;
  espalier::Trace trace;
  std::optional<espalier::TraceFile> trace_file;  // for it, at the end
  std::unique_ptr<espalier::RankState> state;     // nullptr: no launcher reads it
  std::unique_ptr<espalier::Bootstrap> bootstrap;
  espalier::Rank rank = 0;
  int size = 1;
  espalier::Directory directory;
  std::optional<espalier::shm::FileView> directory_view;  // where the node's ranks share one
  espalier::JobNodes nodes;
  espalier::LevelShapes level_shapes;
  std::shared_ptr<const espalier::Profile> profile;  // the same on all ranks, or none
  std::optional<espalier::WireChooser> wire_chooser;
  std::vector<espalier::WireKind> peer_wires;  // by rank
  bool all_have_rdma = false;                  // and it comes before TCP: the same on all ranks
  bool threaded = false;                       // this rank has a progress thread
  bool any_threaded = false;                   // some rank has: then nobody takes the short path
  bool plain_config = true;  // no algorithm, shape, radix or variant is configured
  std::unique_ptr<std::uint64_t> nonce;
  // As long as others may want to know who is there.
  std::optional<espalier::shm::MeetingPoint> meeting_point;
  std::optional<espalier::NodeProcesses> processes;
  std::unique_ptr<espalier::shm::Segment> segment;
  std::optional<espalier::Doorbell> doorbell;
  std::optional<espalier::shm::Heap> heap;
  std::unique_ptr<espalier::shm::ShmWire> shm_wire;
  std::unique_ptr<espalier::PullProbes> pull_probes;
  std::unique_ptr<espalier::Network> network;  // nullptr: nobody needs it
  std::unique_ptr<espalier::NodeLiveness> liveness;
  std::unique_ptr<espalier::Worker> worker;
  std::unique_ptr<espalier::Engine> engine;
  std::unique_ptr<espalier::ShortPath> short_path;
  std::unique_ptr<espalier::ShortOperations> short_operations;
  std::unique_ptr<espalier::TeamNews> news;    // with a network
  std::unique_ptr<espalier::Leaving> leaving;  // with a network
  std::unique_ptr<espalier::TeamWatch> watch;
  std::unique_ptr<espalier::StateReport> report;  // with `watch`
  std::unique_ptr<espalier::OneSided> one_sided;
  std::unique_ptr<espalier::TagMessages> tags;
  std::optional<espalier::Devices> devices;  // from the beginning
  espalier::DeferredCallbacks deferred;
  espalier::Announcer announcer{*this};
  espalier::api::Partials partials{*this};
  espalier::Polls polls;
  espalier::IdleWork idle;  // in threaded mode of those who wait, else the worker's
  // Threads in esp_counter_wait, which write it; reader: the owner of the worker. Publishes
  // nothing.
  std::atomic<std::uint32_t> counter_waits{0};
  // In threaded mode: some operation has ended, or a handler has run.
  espalier::EventCount events;
  espalier::ThreadPlace progress_place;  // of its thread
  std::uint32_t waiting_yields = 0;      // of a waiting thread before it sleeps
  std::uint64_t ends = 0;                // operations that have ended; the owner's
  bool leaving_job = false;
  esp_request* open_requests =
      nullptr;  // handles that nobody has completed yet, and persistent ones
  espalier::Pool<esp_request> requests;
  espalier::SharedPool<espalier::api::SharedRequest> shared_requests;
  std::size_t shared_under_way = 0;  // of those, which the owner has started; the owner's
  espalier::Pool<espalier::api::Partial> partial_pool;
  std::size_t resting_requests = 0;  // persistent ones of which no round is under way; the owner's
  bool has_open_operations() const noexcept {
    return requests.in_use() + shared_under_way > resting_requests;
  }
  esp_request completed;  // the handle of every operation that was complete when it was started
  std::vector<std::optional<espalier::UserOperator>> user_operators;
  espalier::TypeTable types;
  std::vector<std::unique_ptr<esp_team>> teams;  // world first; the owner's
  esp_team* world = nullptr;                     // set before there are other threads, for all
  std::vector<std::unique_ptr<esp_region>> regions;
  std::vector<std::unique_ptr<esp_graph>> graphs;
  std::uint32_t graph_count = 0;  // ever made
  std::vector<espalier::OldBoard> old_boards;
  espalier::TeamIds team_ids;
  espalier::ErrorTexts errors;
  std::string description;
};

namespace espalier {

// Collective: makes a job of the processes that the bootstrap connects.
Result<std::unique_ptr<esp_job>> bring_up(const esp_job_options& options);
// Collective: the reverse. The job may be deleted afterwards.
Outcome take_down(esp_job& job);

// In threaded mode, last: from then on the job is that thread's.
Outcome start_progress_thread(esp_job& job);

// Of the setting TRACE; the rank must be known.
Outcome begin_trace(esp_job& job);
// Writes the trace to its file, if it has one.
void write_trace_file(esp_job& job);

// For people: configuration, topology, peers and why each path is used or not.
std::string describe(const esp_job& job);

// Gives the memory of boards back that no member uses any more.
void bury_boards(esp_job& job);

// The board that members on one node share, a row each. Without slots nobody takes the short path.
struct BoardShape {
  int rows = 0;
  bool several_nodes = false;  // the team
  bool slots = true;
};
std::uint64_t board_bytes(const esp_job& job, const BoardShape& shape) noexcept;
Board board_in(const esp_job& job, std::byte* memory, const BoardShape& shape,
               std::uint64_t turn_base) noexcept;
// Where the members of a team on this node have their board, or nullptr; whether it has slots, and
// whether those of all nodes have.
struct TeamBoard {
  std::byte* memory = nullptr;
  bool slots = false, everywhere = false;
};
// Adds a team of these job ranks to the job.
esp_team& add_team(esp_job& job, std::uint32_t id, std::vector<Rank> members,
                   const TeamBoard& board);

}  // namespace espalier
