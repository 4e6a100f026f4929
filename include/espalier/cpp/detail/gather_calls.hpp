// What the forms of each function of Gathers share: do its ranges fit together, and its C call.
// path: data
#ifndef ESPALIER_CPP_DETAIL_GATHER_CALLS_HPP
#define ESPALIER_CPP_DETAIL_GATHER_CALLS_HPP

#include <algorithm>
#include <cstddef>

#include "espalier/cpp/blocks.hpp"
#include "espalier/cpp/collectives.hpp"
#include "espalier/cpp/op.hpp"
#include "espalier/cpp/options.hpp"

namespace esp::detail {

class GatherCalls : public Collectives {
 protected:
  using Collectives::Collectives;

  std::size_t members() const noexcept { return static_cast<std::size_t>(std::max(size(), 1)); }
  // Of a buffer with a block for each member: the length of one.
  std::size_t share_of(const auto& buffer) const noexcept { return size_of(buffer) / members(); }

  // What is wrong, or nullptr.
  const char* not_shared(const auto& buffer) const noexcept {
    if (const char* wrong = unfit(buffer)) return wrong;
    if (size_of(buffer) % members() == 0) return nullptr;
    return "the buffer's length is no multiple of the members";
  }
  const char* not_for_all(const auto& input, const auto& output) const noexcept {
    if (const char* wrong = unfit(input, output)) return wrong;
    if (const char* wrong = not_shared(output)) return wrong;
    if (share_of(output) == size_of(input)) return nullptr;
    return "the output's length is not that of all members' inputs";
  }
  const char* not_exchanged(const auto& input, const auto& output) const noexcept {
    const char* wrong = differ(input, output);
    return wrong != nullptr ? wrong : not_shared(input);
  }
  const char* misfit(const Blocks& blocks, const auto& buffer) const noexcept {
    if (const char* wrong = unfit(buffer)) return wrong;
    return blocks.misfit(members(), size_of(buffer));
  }
  const char* misfit(const Blocks& sent, const auto& input, const Blocks& received,
                     const auto& output) const noexcept {
    if (const char* wrong = unfit(input, output)) return wrong;
    const char* wrong = misfit(sent, input);
    return wrong != nullptr ? wrong : misfit(received, output);
  }
  const char* not_own(const auto& input, const auto& output, const Blocks& blocks) const noexcept {
    if (const char* wrong = unfit(input, output)) return wrong;
    if (const char* wrong = misfit(blocks, output)) return wrong;
    if (size_of(input) == blocks.counts()[rank()]) return nullptr;
    return "the input's length is not this rank's count";
  }

  auto allgather_call(const char* wrong, const void* input, auto& output, std::size_t count,
                      const CollOptions& options) const noexcept {
    return Call{wrong, [this, input, &output, count, c = options.to_c()](
                           bool stays, const esp_notify* notify, esp_request** out) {
                  return (stays ? esp_allgather_init : esp_allgather_start)(
                      team_, input, data(output), count, type_in(output), &c, notify, out);
                }};
  }
  auto allgatherv_call(const char* wrong, const void* input, auto& output, const Blocks& blocks,
                       const CollOptions& options) const noexcept {
    return Call{wrong, [this, input, &output, &blocks, c = options.to_c()](
                           bool stays, const esp_notify* notify, esp_request** out) {
                  return (stays ? esp_allgatherv_init : esp_allgatherv_start)(
                      team_, input, data(output), blocks.counts(), blocks.displs(), type_in(output),
                      &c, notify, out);
                }};
  }
  auto alltoall_call(const char* wrong, const void* input, auto& output,
                     const CollOptions& options) const noexcept {
    return Call{wrong, [this, input, &output, c = options.to_c()](
                           bool stays, const esp_notify* notify, esp_request** out) {
                  return (stays ? esp_alltoall_init : esp_alltoall_start)(
                      team_, input, data(output), share_of(output), type_in(output), &c, notify,
                      out);
                }};
  }
  auto alltoallv_call(const char* wrong, const void* input, const Blocks& sent, auto& output,
                      const Blocks& received, const CollOptions& options) const noexcept {
    return Call{wrong, [this, input, &sent, &output, &received, c = options.to_c()](
                           bool stays, const esp_notify* notify, esp_request** out) {
                  return (stays ? esp_alltoallv_init : esp_alltoallv_start)(
                      team_, input, sent.counts(), sent.displs(), data(output), received.counts(),
                      received.displs(), type_in(output), &c, notify, out);
                }};
  }
  // `exclusive`: exscan.
  auto prefix_call(bool exclusive, const char* wrong, const void* input, auto& output, Op op,
                   const CollOptions& options) const noexcept {
    return Call{wrong, [this, exclusive, input, &output, op, c = options.to_c()](
                           bool stays, const esp_notify* notify, esp_request** out) {
                  auto* begin = exclusive ? (stays ? esp_exscan_init : esp_exscan_start)
                                          : (stays ? esp_scan_init : esp_scan_start);
                  return begin(team_, input, data(output), size_of(output), type_in(output),
                               op.value, &c, notify, out);
                }};
  }
};

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_GATHER_CALLS_HPP
