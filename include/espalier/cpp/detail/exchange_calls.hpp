// What the forms of each function of Exchanges share: do its ranges fit together, and its C calls.
// path: data
#ifndef ESPALIER_CPP_DETAIL_EXCHANGE_CALLS_HPP
#define ESPALIER_CPP_DETAIL_EXCHANGE_CALLS_HPP

#include <cstddef>

#include "espalier/cpp/blocks.hpp"
#include "espalier/cpp/op.hpp"
#include "espalier/cpp/rooted.hpp"

namespace esp::detail {

class ExchangeCalls : public Rooted {
 protected:
  using Rooted::Rooted;

 private:
  const char* packed(const Blocks& counts, const auto& buffer) const noexcept {
    if (counts.displs() != nullptr) return "blocks of a reduce-scatter have no displacements";
    return misfit(counts, buffer);
  }
  auto block_of(const char* wrong, const void* input, void* output, std::size_t count,
                esp_type type, Op op) const noexcept {
    return Forms{wrong,
                 [=, team = team_](auto* combine, auto... how) {
                   return combine(team, input, output, count, type, op.value, how...);
                 },
                 esp_reduce_scatter_block, esp_reduce_scatter_block_start,
                 esp_reduce_scatter_block_init};
  }
  auto blocks_of(const char* wrong, const void* input, void* output, const Blocks& blocks,
                 esp_type type, Op op) const noexcept {
    return Forms{wrong,
                 [=, team = team_, counts = blocks.counts()](auto* combine, auto... how) {
                   return combine(team, input, output, counts, type, op.value, how...);
                 },
                 esp_reduce_scatter, esp_reduce_scatter_start, esp_reduce_scatter_init};
  }
  auto typed_of(const char* wrong, const void* input, const TypedBlocks& sent, void* output,
                const TypedBlocks& received) const noexcept {
    return Forms{wrong,
                 [=, team = team_](auto* exchange, auto... how) {
                   return exchange(team, input, sent.counts(), sent.displs(), sent.types(), output,
                                   received.counts(), received.displs(), received.types(), how...);
                 },
                 esp_alltoallw, esp_alltoallw_start, esp_alltoallw_init};
  }

 protected:
  auto reduce_scatter_block_call(const auto& input, auto& output, Op op) const noexcept {
    // As many elements as in an allgather, with input and output exchanged.
    return block_of(not_for_all(output, input), data(input), data(output), size_of(output),
                    type_in(output), op);
  }
  auto reduce_scatter_block_in_place_call(auto& buffer, Op op) const noexcept {
    return block_of(not_shared(buffer), ESP_IN_PLACE, data(buffer), share_of(buffer),
                    type_in(buffer), op);
  }
  auto reduce_scatter_call(const auto& input, auto& output, const Blocks& counts,
                           Op op) const noexcept {
    const char* wrong = packed(counts, input);
    if (wrong == nullptr) wrong = not_own(output, input, counts);
    return blocks_of(wrong, data(input), data(output), counts, type_in(output), op);
  }
  auto reduce_scatter_in_place_call(auto& buffer, const Blocks& counts, Op op) const noexcept {
    return blocks_of(packed(counts, buffer), ESP_IN_PLACE, data(buffer), counts, type_in(buffer),
                     op);
  }
  auto alltoallw_call(const auto& input, const TypedBlocks& sent, auto& output,
                      const TypedBlocks& received) const noexcept {
    const char* wrong = sent.misfit(members());
    if (wrong == nullptr) wrong = received.misfit(members());
    return typed_of(wrong, data(input), sent, data(output), received);
  }
  auto alltoallw_in_place_call(auto& buffer, const TypedBlocks& blocks) const noexcept {
    return typed_of(blocks.misfit(members()), ESP_IN_PLACE, {}, data(buffer), blocks);
  }
};

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_EXCHANGE_CALLS_HPP
