// TeamRef and Team: collectives and point-to-point flows between a team's members.
//
// The collectives are inherited: barrier, bcast, reduce and allreduce from collectives.hpp,
// allgather(v), alltoall(v), scan and exscan from gathers.hpp, the persistent forms of these from
// persistent.hpp, gather(v) and scatter(v) from rooted.hpp, reduce_scatter(_block) and alltoallw
// from exchanges.hpp. Those of neighbors are a Graph's (graph.hpp).
//
// TeamRef borrows (copy it, pass it by value); Team owns, and frees the team when it goes, which
// needs all its operations to have completed. Every function has the contract of its namesake in
// espalier.h. Blocking forms return when this rank's part is complete. The *_start forms return at
// once; the buffers belong to the library until completion. The *_init forms make requests that are
// started again and again. A range whose length disagrees with its
// partner's gives ESP_ERR_ARGUMENT and starts nothing. path: short
#ifndef ESPALIER_CPP_TEAM_HPP
#define ESPALIER_CPP_TEAM_HPP

#include <span>
#include <utility>

#include "espalier/cpp/exchanges.hpp"
#include "espalier/cpp/graph.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

// The other end of a flow. The k-th send to a peer on a channel meets its k-th receive.
struct Peer {
  int rank = 0;
  unsigned channel = 0;  // 0..255
};

struct SplitOptions {
  int color = 0;  // Same color: same team; ESP_NO_TEAM: none.
  int key = 0;    // Order within the team; ties by rank.
};

class Team;

class TeamRef : public Exchanges {
 public:
  explicit TeamRef(esp_team* team) noexcept : Exchanges(team) {}

  // False for what split() and include() give those who are in no team: only `get` may be called.
  explicit operator bool() const noexcept { return team_ != nullptr; }
  // Rank in the job of a member, -1 when out of range.
  int job_rank(int rank) const noexcept { return esp_team_job_rank(team_, rank); }
  // The inverse; -1: not a member.
  int rank_of(int job_rank) const noexcept { return esp_team_rank_of(team_, job_rank); }
  // What broke the team; while it is whole, of the most recent failure on its job; "": none.
  const char* error() const noexcept { return esp_team_error(team_); }

  // ---- new teams; collective over this one ----
  Result<Team> dup() const;
  Result<Team> split(SplitOptions options) const;
  // `ranks` of this team, in the new order, equal on every member.
  Result<Team> include(std::span<const int> ranks) const;

  // ---- graphs of neighbors; collective over the team ----
  // This member receives block i from sources[i] and sends block i to destinations[i].
  Result<Graph> graph(std::span<const int> sources, std::span<const int> destinations) const;
  // The members in row-major order; periodic[d] != 0: dimension d is closed to a ring.
  Result<Graph> grid(std::span<const int> extents, std::span<const int> periodic) const;

  // ---- flows ----
  template <Readable R>
  Status send(const R& buffer, Peer to) const noexcept {
    return explain(esp_send(team_, data(buffer), bytes_of(buffer), to.rank, to.channel));
  }
  template <Writable R>
  Status recv(R&& buffer, Peer from) const noexcept {
    return explain(esp_recv(team_, data(buffer), bytes_of(buffer), from.rank, from.channel));
  }
  template <ReadableLater R>
  Result<Request> send_start(R&& buffer, Peer to) const {
    return request(send_call(buffer, to));
  }
  template <Writable R>
  Result<Request> recv_start(R&& buffer, Peer from) const {
    return request(recv_call(buffer, from));
  }
  template <ReadableLater R>
  Status send_start(R&& buffer, Peer to, Notify notify) const noexcept {
    return started(notify, send_call(buffer, to));
  }
  template <Writable R>
  Status recv_start(R&& buffer, Peer from, Notify notify) const noexcept {
    return started(notify, recv_call(buffer, from));
  }
  template <ReadableLater R>
  Result<PersistentRequest> send_init(R&& buffer, Peer to) const {
    return persistent(send_call(buffer, to));
  }
  template <Writable R>
  Result<PersistentRequest> recv_init(R&& buffer, Peer from) const {
    return persistent(recv_call(buffer, from));
  }
  template <ReadableLater R>
  Result<PersistentRequest> send_init(R&& buffer, Peer to, Notify notify) const {
    return persistent(notify, send_call(buffer, to));
  }
  template <Writable R>
  Result<PersistentRequest> recv_init(R&& buffer, Peer from, Notify notify) const {
    return persistent(notify, recv_call(buffer, from));
  }

 private:
  auto send_call(const auto& buffer, Peer to) const noexcept {
    return detail::Call{
        nullptr, [this, &buffer, to](bool stays, const esp_notify* notify, esp_request** out) {
          return (stays ? esp_send_init : esp_send_start)(team_, data(buffer), bytes_of(buffer),
                                                          to.rank, to.channel, notify, out);
        }};
  }
  auto recv_call(auto& buffer, Peer from) const noexcept {
    return detail::Call{
        nullptr, [this, &buffer, from](bool stays, const esp_notify* notify, esp_request** out) {
          return (stays ? esp_recv_init : esp_recv_start)(team_, data(buffer), bytes_of(buffer),
                                                          from.rank, from.channel, notify, out);
        }};
  }
};

class Team : public TeamRef {
 public:
  Team() noexcept : TeamRef(nullptr) {}
  // Takes over the team.
  explicit Team(esp_team* team) noexcept : TeamRef(team) {}
  Team(Team&& other) noexcept : TeamRef(std::exchange(other.team_, nullptr)) {}
  Team& operator=(Team&& other) noexcept {
    std::swap(team_, other.team_);
    return *this;
  }
  ~Team() {
    if (team_ != nullptr) esp_team_free(team_);
  }
  // Frees now and says how it went (ESP_ERR_STATE while operations are under way).
  Status free() noexcept {
    const esp_status status = esp_team_free(team_);
    if (status != ESP_OK) return explain(status);
    team_ = nullptr;
    return Status();
  }
};

inline Result<Team> TeamRef::dup() const {
  esp_team* made = nullptr;
  const esp_status status = esp_team_dup(team_, &made);
  return status == ESP_OK ? Result<Team>(Team(made)) : Result<Team>(explain(status));
}

inline Result<Team> TeamRef::split(SplitOptions options) const {
  esp_team* made = nullptr;
  const esp_status status = esp_team_split(team_, options.color, options.key, &made);
  return status == ESP_OK ? Result<Team>(Team(made)) : Result<Team>(explain(status));
}

inline Result<Team> TeamRef::include(std::span<const int> ranks) const {
  esp_team* made = nullptr;
  const esp_status status =
      esp_team_include(team_, ranks.data(), static_cast<int>(ranks.size()), &made);
  return status == ESP_OK ? Result<Team>(Team(made)) : Result<Team>(explain(status));
}

inline Result<Graph> TeamRef::graph(std::span<const int> sources,
                                    std::span<const int> destinations) const {
  esp_graph* made = nullptr;
  const esp_status status = esp_graph_create(team_, sources.size(), sources.data(),
                                             destinations.size(), destinations.data(), &made);
  return status == ESP_OK ? Result<Graph>(Graph(made)) : Result<Graph>(explain(status));
}

inline Result<Graph> TeamRef::grid(std::span<const int> extents,
                                   std::span<const int> periodic) const {
  if (extents.size() != periodic.size()) {
    return Result<Graph>(refuse("extents and periodic differ in length"));
  }
  esp_graph* made = nullptr;
  const esp_status status = esp_grid_create(team_, static_cast<int>(extents.size()), extents.data(),
                                            periodic.data(), &made);
  return status == ESP_OK ? Result<Graph>(Graph(made)) : Result<Graph>(explain(status));
}

}  // namespace esp

#endif  // ESPALIER_CPP_TEAM_HPP
