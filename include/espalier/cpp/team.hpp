// TeamRef and Team: collectives and point-to-point flows between a team's members.
//
// TeamRef borrows (copy it, pass it by value); Team owns, and frees the team when it goes, which
// needs all its operations to have completed. Every function has the contract of its namesake in
// espalier.h. Blocking forms return when this rank's part is complete. The *_start forms return at
// once; the buffers belong to the library until completion. A range whose length disagrees with its
// partner's gives ESP_ERR_ARGUMENT and starts nothing. path: short
#ifndef ESPALIER_CPP_TEAM_HPP
#define ESPALIER_CPP_TEAM_HPP

#include <cstddef>
#include <ranges>
#include <span>
#include <utility>

#include "espalier/cpp/detail/start.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/op.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

// How a collective is carried out; must be equal on all members. Zero: choose for me.
struct CollOptions {
  esp_algorithm algorithm = ESP_ALGORITHM_AUTO;
  esp_shape shape = ESP_SHAPE_AUTO;
  int radix = 0;                  // Of the k-ary (>= 1) and k-nomial (>= 2) shapes.
  std::size_t segment_bytes = 0;  // Rounded down to a whole number of elements, at least one.
  int window_send = 0;            // Segments in flight per child, 1..64.
  int window_recv = 0;            // Segments granted to the parent, 1..64.
  esp_variant variant = ESP_VARIANT_EVENT;

  constexpr esp_coll_options to_c() const noexcept {
    return {sizeof(esp_coll_options),
            algorithm,
            shape,
            radix,
            segment_bytes,
            window_send,
            window_recv,
            variant};
  }
};

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

class TeamRef {
 public:
  explicit TeamRef(esp_team* team) noexcept : team_(team) {}

  esp_team* get() const noexcept { return team_; }
  // False for what split() and include() give those who are in no team: only `get` may be called.
  explicit operator bool() const noexcept { return team_ != nullptr; }
  int rank() const noexcept { return esp_team_rank(team_); }
  int size() const noexcept { return esp_team_size(team_); }
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

  // ---- blocking ----
  Status barrier() const noexcept { return explain(esp_barrier(team_)); }

  template <Writable R>
  Status bcast(R&& buffer, int root) const noexcept {
    return explain(esp_bcast(team_, data(buffer), size_of(buffer), type_in<R>, root));
  }
  // `output` matters at the root alone and may be empty elsewhere.
  template <Readable In, Writable Out>
    requires SameElement<In, Out>
  Status reduce(const In& input, Out&& output, Op op, int root) const noexcept {
    if (rank() == root && size_of(input) != size_of(output)) return length_mismatch();
    return explain(
        esp_reduce(team_, data(input), data(output), size_of(input), type_in<In>, op.value, root));
  }
  // The root's buffer receives the result; the others' are only read.
  template <Writable R>
  Status reduce_in_place(R&& buffer, Op op, int root) const noexcept {
    return explain(esp_reduce(team_, own_input(buffer, root), data(buffer), size_of(buffer),
                              type_in<R>, op.value, root));
  }
  template <Readable In, Writable Out>
    requires SameElement<In, Out>
  Status allreduce(const In& input, Out&& output, Op op) const noexcept {
    if (size_of(input) != size_of(output)) return length_mismatch();
    return explain(
        esp_allreduce(team_, data(input), data(output), size_of(input), type_in<In>, op.value));
  }
  template <Writable R>
  Status allreduce_in_place(R&& buffer, Op op) const noexcept {
    return explain(
        esp_allreduce(team_, ESP_IN_PLACE, data(buffer), size_of(buffer), type_in<R>, op.value));
  }
  template <Readable R>
  Status send(const R& buffer, Peer to) const noexcept {
    return explain(esp_send(team_, data(buffer), bytes_of(buffer), to.rank, to.channel));
  }
  template <Writable R>
  Status recv(R&& buffer, Peer from) const noexcept {
    return explain(esp_recv(team_, data(buffer), bytes_of(buffer), from.rank, from.channel));
  }

  // ---- non-blocking, reporting through a Request ----
  Result<Request> barrier_start(const CollOptions& options = {}) const {
    return request([&](const esp_notify* notify, esp_request** request) {
      const esp_coll_options c = options.to_c();
      return esp_barrier_start(team_, &c, notify, request);
    });
  }
  template <Writable R>
  Result<Request> bcast_start(R&& buffer, int root, const CollOptions& options = {}) const {
    return request(bcast_call(buffer, root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<Request> reduce_start(In&& input, Out&& output, Op op, int root,
                               const CollOptions& options = {}) const {
    if (rank() == root && size_of(input) != size_of(output)) {
      return Result<Request>(length_mismatch());
    }
    return request(reduce_call(data(input), output, size_of(input), op, root, options));
  }
  // The root's buffer receives the result; the others' are only read.
  template <Writable R>
  Result<Request> reduce_in_place_start(R&& buffer, Op op, int root,
                                        const CollOptions& options = {}) const {
    return request(
        reduce_call(own_input(buffer, root), buffer, size_of(buffer), op, root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<Request> allreduce_start(In&& input, Out&& output, Op op,
                                  const CollOptions& options = {}) const {
    if (size_of(input) != size_of(output)) return Result<Request>(length_mismatch());
    return request(allreduce_call(data(input), output, op, options));
  }
  template <Writable R>
  Result<Request> allreduce_in_place_start(R&& buffer, Op op,
                                           const CollOptions& options = {}) const {
    return request(allreduce_call(ESP_IN_PLACE, buffer, op, options));
  }
  template <ReadableLater R>
  Result<Request> send_start(R&& buffer, Peer to) const {
    return request(send_call(buffer, to));
  }
  template <Writable R>
  Result<Request> recv_start(R&& buffer, Peer from) const {
    return request(recv_call(buffer, from));
  }

  // ---- non-blocking, reporting through a callback or counter ----
  Status barrier_start(Notify notify, const CollOptions& options = {}) const noexcept {
    return started(notify, [&](const esp_notify* how, esp_request** request) {
      const esp_coll_options c = options.to_c();
      return esp_barrier_start(team_, &c, how, request);
    });
  }
  template <Writable R>
  Status bcast_start(R&& buffer, int root, Notify notify,
                     const CollOptions& options = {}) const noexcept {
    return started(notify, bcast_call(buffer, root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Status reduce_start(In&& input, Out&& output, Op op, int root, Notify notify,
                      const CollOptions& options = {}) const noexcept {
    if (rank() == root && size_of(input) != size_of(output)) return length_mismatch();
    return started(notify, reduce_call(data(input), output, size_of(input), op, root, options));
  }
  template <Writable R>
  Status reduce_in_place_start(R&& buffer, Op op, int root, Notify notify,
                               const CollOptions& options = {}) const noexcept {
    return started(
        notify, reduce_call(own_input(buffer, root), buffer, size_of(buffer), op, root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Status allreduce_start(In&& input, Out&& output, Op op, Notify notify,
                         const CollOptions& options = {}) const noexcept {
    if (size_of(input) != size_of(output)) return length_mismatch();
    return started(notify, allreduce_call(data(input), output, op, options));
  }
  template <Writable R>
  Status allreduce_in_place_start(R&& buffer, Op op, Notify notify,
                                  const CollOptions& options = {}) const noexcept {
    return started(notify, allreduce_call(ESP_IN_PLACE, buffer, op, options));
  }
  template <ReadableLater R>
  Status send_start(R&& buffer, Peer to, Notify notify) const noexcept {
    return started(notify, send_call(buffer, to));
  }
  template <Writable R>
  Status recv_start(R&& buffer, Peer from, Notify notify) const noexcept {
    return started(notify, recv_call(buffer, from));
  }

 private:
  template <typename R>
  static constexpr esp_type type_in = type_of<std::ranges::range_value_t<R>>;

  static auto* data(auto&& range) noexcept { return std::ranges::data(range); }
  static std::size_t size_of(const auto& range) noexcept { return std::ranges::size(range); }
  // Of a reduction in place: only the root's buffer is its output, too.
  const void* own_input(const auto& buffer, int root) const noexcept {
    return rank() == root ? ESP_IN_PLACE : data(buffer);
  }
  template <typename R>
  static std::size_t bytes_of(const R& range) noexcept {
    return std::ranges::size(range) * sizeof(std::ranges::range_value_t<R>);
  }
  static Status length_mismatch() noexcept {
    return Status(ESP_ERR_ARGUMENT, "input and output differ in length");
  }

  // The C calls, short of how they report.
  auto bcast_call(auto& buffer, int root, const CollOptions& options) const noexcept {
    return [this, &buffer, root, c = options.to_c()](const esp_notify* notify, esp_request** out) {
      return esp_bcast_start(team_, data(buffer), size_of(buffer), type_in<decltype(buffer)>, root,
                             &c, notify, out);
    };
  }
  auto reduce_call(const void* input, auto& output, std::size_t count, Op op, int root,
                   const CollOptions& options) const noexcept {
    return [this, input, &output, count, op, root, c = options.to_c()](const esp_notify* notify,
                                                                       esp_request** out) {
      return esp_reduce_start(team_, input, data(output), count, type_in<decltype(output)>,
                              op.value, root, &c, notify, out);
    };
  }
  auto allreduce_call(const void* input, auto& output, Op op,
                      const CollOptions& options) const noexcept {
    return [this, input, &output, op, c = options.to_c()](const esp_notify* notify,
                                                          esp_request** out) {
      return esp_allreduce_start(team_, input, data(output), size_of(output),
                                 type_in<decltype(output)>, op.value, &c, notify, out);
    };
  }
  auto send_call(const auto& buffer, Peer to) const noexcept {
    return [this, &buffer, to](const esp_notify* notify, esp_request** out) {
      return esp_send_start(team_, data(buffer), bytes_of(buffer), to.rank, to.channel, notify,
                            out);
    };
  }
  auto recv_call(auto& buffer, Peer from) const noexcept {
    return [this, &buffer, from](const esp_notify* notify, esp_request** out) {
      return esp_recv_start(team_, data(buffer), bytes_of(buffer), from.rank, from.channel, notify,
                            out);
    };
  }

  // And the two ways.
  Result<Request> request(auto&& call) const { return detail::request(team_, call); }
  Status started(Notify& notify, auto&& call) const noexcept {
    return detail::started(team_, notify, call);
  }

 protected:
  Status explain(esp_status status) const noexcept { return detail::explain(team_, status); }

  esp_team* team_;
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

}  // namespace esp

#endif  // ESPALIER_CPP_TEAM_HPP
