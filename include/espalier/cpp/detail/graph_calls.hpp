// What the forms of each function of Graph share: do its ranges fit together, and its C calls.
// path: data
#ifndef ESPALIER_CPP_DETAIL_GRAPH_CALLS_HPP
#define ESPALIER_CPP_DETAIL_GRAPH_CALLS_HPP

#include <cstddef>

#include "espalier/cpp/blocks.hpp"
#include "espalier/cpp/detail/team_handle.hpp"

namespace esp::detail {

class GraphCalls : public TeamHandle {
 protected:
  explicit GraphCalls(esp_graph* graph) noexcept
      : TeamHandle(graph != nullptr ? esp_graph_team(graph) : nullptr), graph_(graph) {}

  std::size_t source_count() const noexcept { return esp_graph_source_count(graph_); }
  std::size_t destination_count() const noexcept { return esp_graph_destination_count(graph_); }

  auto allgather_call(const auto& input, auto& output) const noexcept {
    return Forms{not_for_all(input, output),
                 [input = data(input), output = data(output), count = size_of(input),
                  type = type_in(input), graph = graph_](auto* gather, auto... how) {
                   return gather(graph, input, output, count, type, how...);
                 },
                 esp_neighbor_allgather, esp_neighbor_allgather_start, esp_neighbor_allgather_init};
  }
  auto allgatherv_call(const auto& input, auto& output, const Blocks& blocks) const noexcept {
    const char* wrong = unfit(input, output);
    if (wrong == nullptr) wrong = blocks.misfit(source_count(), size_of(output));
    return Forms{wrong,
                 [input = data(input), output = data(output), count = size_of(input),
                  type = type_in(input), counts = blocks.counts(), displs = blocks.displs(),
                  graph = graph_](auto* gather, auto... how) {
                   return gather(graph, input, count, output, counts, displs, type, how...);
                 },
                 esp_neighbor_allgatherv, esp_neighbor_allgatherv_start,
                 esp_neighbor_allgatherv_init};
  }
  auto alltoall_call(const auto& input, auto& output) const noexcept {
    return Forms{not_exchanged(input, output),
                 [input = data(input), output = data(output), count = share(input, output),
                  type = type_in(input), graph = graph_](auto* exchange, auto... how) {
                   return exchange(graph, input, output, count, type, how...);
                 },
                 esp_neighbor_alltoall, esp_neighbor_alltoall_start, esp_neighbor_alltoall_init};
  }
  auto alltoallv_call(const auto& input, const Blocks& sent, auto& output,
                      const Blocks& received) const noexcept {
    const char* wrong = unfit(input, output);
    if (wrong == nullptr) wrong = sent.misfit(destination_count(), size_of(input));
    if (wrong == nullptr) wrong = received.misfit(source_count(), size_of(output));
    return Forms{wrong,
                 [input = data(input), output = data(output), type = type_in(input), sent, received,
                  graph = graph_](auto* exchange, auto... how) {
                   return exchange(graph, input, sent.counts(), sent.displs(), output,
                                   received.counts(), received.displs(), type, how...);
                 },
                 esp_neighbor_alltoallv, esp_neighbor_alltoallv_start, esp_neighbor_alltoallv_init};
  }
  auto alltoallw_call(const auto& input, const TypedBlocks& sent, auto& output,
                      const TypedBlocks& received) const noexcept {
    const char* wrong = sent.misfit(destination_count());
    if (wrong == nullptr) wrong = received.misfit(source_count());
    return Forms{wrong,
                 [input = data(input), output = data(output), sent, received, graph = graph_](
                     auto* exchange, auto... how) {
                   return exchange(graph, input, sent.counts(), sent.displs(), sent.types(), output,
                                   received.counts(), received.displs(), received.types(), how...);
                 },
                 esp_neighbor_alltoallw, esp_neighbor_alltoallw_start, esp_neighbor_alltoallw_init};
  }

  esp_graph* graph_;

 private:
  const char* not_for_all(const auto& input, const auto& output) const noexcept {
    if (const char* wrong = unfit(input, output)) return wrong;
    if (size_of(output) == source_count() * size_of(input)) return nullptr;
    return "the output's length is not that of a block for each source";
  }
  // Elements of a block; who has no destinations is told by the output.
  std::size_t share(const auto& input, const auto& output) const noexcept {
    if (destination_count() > 0) return size_of(input) / destination_count();
    return source_count() > 0 ? size_of(output) / source_count() : 0;
  }
  const char* not_exchanged(const auto& input, const auto& output) const noexcept {
    if (const char* wrong = unfit(input, output)) return wrong;
    const std::size_t count = share(input, output);
    if (size_of(input) == count * destination_count() &&
        size_of(output) == count * source_count()) {
      return nullptr;
    }
    return "input and output are not blocks of one length for each neighbor";
  }
};

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_GRAPH_CALLS_HPP
