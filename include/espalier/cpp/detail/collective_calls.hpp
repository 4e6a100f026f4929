// What the forms of each function of Collectives share: do its ranges fit together, and its C call.
// path: short
#ifndef ESPALIER_CPP_DETAIL_COLLECTIVE_CALLS_HPP
#define ESPALIER_CPP_DETAIL_COLLECTIVE_CALLS_HPP

#include <cstddef>

#include "espalier/cpp/detail/team_handle.hpp"
#include "espalier/cpp/op.hpp"
#include "espalier/cpp/options.hpp"

namespace esp::detail {

class CollectiveCalls : public TeamHandle {
 protected:
  using TeamHandle::TeamHandle;

  // Of a reduction in place: only the root's buffer is its output, too.
  const void* own_input(const auto& buffer, int root) const noexcept {
    return rank() == root ? ESP_IN_PLACE : data(buffer);
  }
  const char* differ_at(int root, const auto& input, const auto& output) const noexcept {
    return rank() == root ? differ(input, output) : unfit(input);
  }

  auto barrier_call(const CollOptions& options) const noexcept {
    return Call{nullptr, [this, c = options.to_c()](bool stays, const esp_notify* notify,
                                                    esp_request** out) {
                  return (stays ? esp_barrier_init : esp_barrier_start)(team_, &c, notify, out);
                }};
  }
  auto bcast_call(auto& buffer, int root, const CollOptions& options) const noexcept {
    return Call{unfit(buffer), [this, &buffer, root, c = options.to_c()](
                                   bool stays, const esp_notify* notify, esp_request** out) {
                  return (stays ? esp_bcast_init : esp_bcast_start)(
                      team_, data(buffer), size_of(buffer), type_in(buffer), root, &c, notify, out);
                }};
  }
  auto reduce_call(const char* wrong, const void* input, auto& output, const auto& operand, Op op,
                   int root, const CollOptions& options) const noexcept {
    return Call{wrong, [this, input, &output, &operand, op, root, c = options.to_c()](
                           bool stays, const esp_notify* notify, esp_request** out) {
                  return (stays ? esp_reduce_init : esp_reduce_start)(
                      team_, input, data(output), size_of(operand), type_in(operand), op.value,
                      root, &c, notify, out);
                }};
  }
  auto allreduce_call(const char* wrong, const void* input, auto& output, Op op,
                      const CollOptions& options) const noexcept {
    return Call{wrong, [this, input, &output, op, c = options.to_c()](
                           bool stays, const esp_notify* notify, esp_request** out) {
                  return (stays ? esp_allreduce_init : esp_allreduce_start)(
                      team_, input, data(output), size_of(output), type_in(output), op.value, &c,
                      notify, out);
                }};
  }
};

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_COLLECTIVE_CALLS_HPP
