// What the forms of each function of Rooted share: do its ranges fit together, and its C calls.
// path: data
#ifndef ESPALIER_CPP_DETAIL_ROOTED_CALLS_HPP
#define ESPALIER_CPP_DETAIL_ROOTED_CALLS_HPP

#include <cstddef>

#include "espalier/cpp/blocks.hpp"
#include "espalier/cpp/persistent.hpp"

namespace esp::detail {

class RootedCalls : public PersistentForms {
 protected:
  using PersistentForms::PersistentForms;

 private:
  bool at(int root) const noexcept { return rank() == root; }
  // Elements of a member, in the root's buffer for all or in that of another.
  std::size_t share(const auto& buffer, int root) const noexcept {
    return at(root) ? share_of(buffer) : size_of(buffer);
  }
  void* own_output(auto& buffer, int root) const noexcept {
    return at(root) ? const_cast<void*>(ESP_IN_PLACE) : data(buffer);
  }
  const char* not_from_all(const auto& input, const auto& output) const noexcept {
    if (const char* wrong = unfit(input, output)) return wrong;
    if (const char* wrong = not_shared(input)) return wrong;
    if (share_of(input) == size_of(output)) return nullptr;
    return "the input's length is not that of all members' outputs";
  }
  const char* not_from(const auto& input, const auto& output, const Blocks& blocks) const noexcept {
    if (const char* wrong = unfit(input, output)) return wrong;
    if (const char* wrong = misfit(blocks, input)) return wrong;
    if (size_of(output) == blocks.counts()[rank()]) return nullptr;
    return "the output's length is not this rank's count";
  }

  auto gather_of(const char* wrong, const void* input, void* output, std::size_t count,
                 esp_type type, int root) const noexcept {
    return Forms{wrong,
                 [=, team = team_](auto* gather, auto... how) {
                   return gather(team, input, output, count, type, root, how...);
                 },
                 esp_gather, esp_gather_start, esp_gather_init};
  }
  auto gatherv_of(const char* wrong, const void* input, std::size_t count, void* output,
                  const Blocks& blocks, esp_type type, int root) const noexcept {
    return Forms{wrong,
                 [=, team = team_, counts = blocks.counts(), displs = blocks.displs()](
                     auto* gather, auto... how) {
                   return gather(team, input, count, output, counts, displs, type, root, how...);
                 },
                 esp_gatherv, esp_gatherv_start, esp_gatherv_init};
  }
  auto scatter_of(const char* wrong, const void* input, void* output, std::size_t count,
                  esp_type type, int root) const noexcept {
    return Forms{wrong,
                 [=, team = team_](auto* scatter, auto... how) {
                   return scatter(team, input, output, count, type, root, how...);
                 },
                 esp_scatter, esp_scatter_start, esp_scatter_init};
  }
  auto scatterv_of(const char* wrong, const void* input, const Blocks& blocks, void* output,
                   std::size_t count, esp_type type, int root) const noexcept {
    return Forms{wrong,
                 [=, team = team_, counts = blocks.counts(), displs = blocks.displs()](
                     auto* scatter, auto... how) {
                   return scatter(team, input, counts, displs, output, count, type, root, how...);
                 },
                 esp_scatterv, esp_scatterv_start, esp_scatterv_init};
  }

 protected:
  auto gather_call(const auto& input, auto& output, int root) const noexcept {
    return gather_of(at(root) ? not_for_all(input, output) : unfit(input), data(input),
                     data(output), size_of(input), type_in(input), root);
  }
  auto gather_in_place_call(auto& buffer, int root) const noexcept {
    return gather_of(at(root) ? not_shared(buffer) : unfit(buffer), own_input(buffer, root),
                     data(buffer), share(buffer, root), type_in(buffer), root);
  }
  auto gatherv_call(const auto& input, auto& output, const Blocks& blocks,
                    int root) const noexcept {
    return gatherv_of(at(root) ? not_own(input, output, blocks) : unfit(input), data(input),
                      size_of(input), data(output), blocks, type_in(input), root);
  }
  auto gatherv_in_place_call(auto& buffer, const Blocks& blocks, int root) const noexcept {
    return gatherv_of(at(root) ? misfit(blocks, buffer) : unfit(buffer), own_input(buffer, root),
                      at(root) ? 0 : size_of(buffer), data(buffer), blocks, type_in(buffer), root);
  }
  auto scatter_call(const auto& input, auto& output, int root) const noexcept {
    return scatter_of(at(root) ? not_from_all(input, output) : unfit(output), data(input),
                      data(output), size_of(output), type_in(output), root);
  }
  auto scatter_in_place_call(auto& buffer, int root) const noexcept {
    return scatter_of(at(root) ? not_shared(buffer) : unfit(buffer), data(buffer),
                      own_output(buffer, root), share(buffer, root), type_in(buffer), root);
  }
  auto scatterv_call(const auto& input, const Blocks& blocks, auto& output,
                     int root) const noexcept {
    return scatterv_of(at(root) ? not_from(input, output, blocks) : unfit(output), data(input),
                       blocks, data(output), size_of(output), type_in(output), root);
  }
  auto scatterv_in_place_call(auto& buffer, const Blocks& blocks, int root) const noexcept {
    return scatterv_of(at(root) ? misfit(blocks, buffer) : unfit(buffer), data(buffer), blocks,
                       own_output(buffer, root), at(root) ? 0 : size_of(buffer), type_in(buffer),
                       root);
  }
};

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_ROOTED_CALLS_HPP
