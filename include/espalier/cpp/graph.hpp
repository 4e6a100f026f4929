// Graph: who receives from whom among the members of a team, and the collectives in which each
// exchanges blocks with its neighbors alone. Contracts: espalier/neighbors.h; forms: team.hpp.
//
//   auto grid = team.grid(std::array{rows, columns}, std::array{1, 1}).value();
//   grid.alltoall(faces, halo);
//
// Move-only; owns the graph, and goes before its team. Calls are operations of the team: all its
// members make them, in the same order as others. path: data
#ifndef ESPALIER_CPP_GRAPH_HPP
#define ESPALIER_CPP_GRAPH_HPP

#include <span>
#include <utility>

#include "espalier/cpp/blocks.hpp"
#include "espalier/cpp/detail/graph_calls.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/options.hpp"
#include "espalier/cpp/persistent_request.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

// Stands for a neighbor that is not there, behind the border of a grid.
inline constexpr int kNoNeighbor = ESP_NO_NEIGHBOR;

class Graph : private detail::GraphCalls {
 public:
  // Takes over the graph.
  explicit Graph(esp_graph* graph) noexcept : GraphCalls(graph) {}
  Graph(Graph&& other) noexcept : GraphCalls(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(team_, other.team_);
    return *this;
  }
  ~Graph() {
    if (graph_ != nullptr) (void)esp_graph_free(&graph_);
  }
  // Frees now and says how it went (ESP_ERR_STATE while operations are under way).
  Status free() noexcept { return explain(esp_graph_free(&graph_)); }

  esp_graph* get() const noexcept { return graph_; }
  // Ranks in the team, or kNoNeighbor; until the graph goes.
  std::span<const int> sources() const noexcept {
    return {esp_graph_sources(graph_), source_count()};
  }
  std::span<const int> destinations() const noexcept {
    return {esp_graph_destinations(graph_), destination_count()};
  }

  // ---- blocking ----
  // `input` goes to all destinations; `output` has a block of its length for each source.
  template <Readable In, WritableLike<In> Out>
  Status allgather(const In& input, Out&& output) const noexcept {
    return now(allgather_call(input, output));
  }
  // `blocks` has an entry for each source.
  template <Readable In, WritableLike<In> Out>
  Status allgatherv(const In& input, Out&& output, const Blocks& blocks) const noexcept {
    return now(allgatherv_call(input, output, blocks));
  }
  // `input` has a block for each destination, `output` one for each source, all of one length.
  template <Readable In, WritableLike<In> Out>
  Status alltoall(const In& input, Out&& output) const noexcept {
    return now(alltoall_call(input, output));
  }
  // `sent` has an entry for each destination, `received` for each source.
  template <Readable In, WritableLike<In> Out>
  Status alltoallv(const In& input, const Blocks& sent, Out&& output,
                   const Blocks& received) const noexcept {
    return now(alltoallv_call(input, sent, output, received));
  }
  // With a type of its own for each block, and displacements in bytes. Where blocks end is not
  // looked at.
  template <Readable In, Writable Out>
  Status alltoallw(const In& input, const TypedBlocks& sent, Out&& output,
                   const TypedBlocks& received) const noexcept {
    return now(alltoallw_call(input, sent, output, received));
  }

  // ---- non-blocking, reporting through a Request ----
  template <ReadableLater In, WritableLike<In> Out>
  Result<Request> allgather_start(In&& input, Out&& output, const CollOptions& options = {}) const {
    return request(allgather_call(input, output).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<Request> allgatherv_start(In&& input, Out&& output, const Blocks& blocks,
                                   const CollOptions& options = {}) const {
    return request(allgatherv_call(input, output, blocks).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<Request> alltoall_start(In&& input, Out&& output, const CollOptions& options = {}) const {
    return request(alltoall_call(input, output).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<Request> alltoallv_start(In&& input, const Blocks& sent, Out&& output,
                                  const Blocks& received, const CollOptions& options = {}) const {
    return request(alltoallv_call(input, sent, output, received).later(options));
  }
  template <ReadableLater In, Writable Out>
  Result<Request> alltoallw_start(In&& input, const TypedBlocks& sent, Out&& output,
                                  const TypedBlocks& received,
                                  const CollOptions& options = {}) const {
    return request(alltoallw_call(input, sent, output, received).later(options));
  }

  // ---- non-blocking, reporting through a callback or counter ----
  template <ReadableLater In, WritableLike<In> Out>
  Status allgather_start(In&& input, Out&& output, Notify notify,
                         const CollOptions& options = {}) const noexcept {
    return started(notify, allgather_call(input, output).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Status allgatherv_start(In&& input, Out&& output, const Blocks& blocks, Notify notify,
                          const CollOptions& options = {}) const noexcept {
    return started(notify, allgatherv_call(input, output, blocks).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Status alltoall_start(In&& input, Out&& output, Notify notify,
                        const CollOptions& options = {}) const noexcept {
    return started(notify, alltoall_call(input, output).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Status alltoallv_start(In&& input, const Blocks& sent, Out&& output, const Blocks& received,
                         Notify notify, const CollOptions& options = {}) const noexcept {
    return started(notify, alltoallv_call(input, sent, output, received).later(options));
  }
  template <ReadableLater In, Writable Out>
  Status alltoallw_start(In&& input, const TypedBlocks& sent, Out&& output,
                         const TypedBlocks& received, Notify notify,
                         const CollOptions& options = {}) const noexcept {
    return started(notify, alltoallw_call(input, sent, output, received).later(options));
  }

  // ---- persistent: whose rounds are waited for; or report, too ----
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> allgather_init(In&& input, Out&& output,
                                           const CollOptions& options = {}) const {
    return persistent(allgather_call(input, output).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> allgather_init(In&& input, Out&& output, Notify notify,
                                           const CollOptions& options = {}) const {
    return persistent(notify, allgather_call(input, output).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> allgatherv_init(In&& input, Out&& output, const Blocks& blocks,
                                            const CollOptions& options = {}) const {
    return persistent(allgatherv_call(input, output, blocks).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> allgatherv_init(In&& input, Out&& output, const Blocks& blocks,
                                            Notify notify, const CollOptions& options = {}) const {
    return persistent(notify, allgatherv_call(input, output, blocks).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> alltoall_init(In&& input, Out&& output,
                                          const CollOptions& options = {}) const {
    return persistent(alltoall_call(input, output).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> alltoall_init(In&& input, Out&& output, Notify notify,
                                          const CollOptions& options = {}) const {
    return persistent(notify, alltoall_call(input, output).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> alltoallv_init(In&& input, const Blocks& sent, Out&& output,
                                           const Blocks& received,
                                           const CollOptions& options = {}) const {
    return persistent(alltoallv_call(input, sent, output, received).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> alltoallv_init(In&& input, const Blocks& sent, Out&& output,
                                           const Blocks& received, Notify notify,
                                           const CollOptions& options = {}) const {
    return persistent(notify, alltoallv_call(input, sent, output, received).later(options));
  }
  template <ReadableLater In, Writable Out>
  Result<PersistentRequest> alltoallw_init(In&& input, const TypedBlocks& sent, Out&& output,
                                           const TypedBlocks& received,
                                           const CollOptions& options = {}) const {
    return persistent(alltoallw_call(input, sent, output, received).later(options));
  }
  template <ReadableLater In, Writable Out>
  Result<PersistentRequest> alltoallw_init(In&& input, const TypedBlocks& sent, Out&& output,
                                           const TypedBlocks& received, Notify notify,
                                           const CollOptions& options = {}) const {
    return persistent(notify, alltoallw_call(input, sent, output, received).later(options));
  }
};

}  // namespace esp

#endif  // ESPALIER_CPP_GRAPH_HPP
