// Gathers: allgather(v), alltoall(v), scan and exscan, as members of every team. Contracts, forms
// and lifetimes: team.hpp. path: data
#ifndef ESPALIER_CPP_GATHERS_HPP
#define ESPALIER_CPP_GATHERS_HPP

#include "espalier/cpp/blocks.hpp"
#include "espalier/cpp/detail/gather_calls.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/op.hpp"
#include "espalier/cpp/options.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

class Gathers : public detail::GatherCalls {
 public:
  using GatherCalls::GatherCalls;

  // ---- blocking ----
  // `output` has size() times as many elements as `input`.
  template <Readable In, Writable Out>
    requires SameElement<In, Out>
  Status allgather(const In& input, Out&& output) const noexcept {
    if (const char* wrong = not_for_all(input, output)) return refuse(wrong);
    return explain(esp_allgather(team_, data(input), data(output), size_of(input), type_in(input)));
  }
  // The own block stands in its place in the buffer.
  template <Writable R>
  Status allgather_in_place(R&& buffer) const noexcept {
    if (const char* wrong = not_shared(buffer)) return refuse(wrong);
    return explain(
        esp_allgather(team_, ESP_IN_PLACE, data(buffer), share_of(buffer), type_in(buffer)));
  }
  // `input` has as many elements as `blocks` says of this rank.
  template <Readable In, Writable Out>
    requires SameElement<In, Out>
  Status allgatherv(const In& input, Out&& output, const Blocks& blocks) const noexcept {
    if (const char* wrong = not_own(input, output, blocks)) return refuse(wrong);
    return explain(esp_allgatherv(team_, data(input), data(output), blocks.counts(),
                                  blocks.displs(), type_in(input)));
  }
  template <Writable R>
  Status allgatherv_in_place(R&& buffer, const Blocks& blocks) const noexcept {
    if (const char* wrong = misfit(blocks, buffer)) return refuse(wrong);
    return explain(esp_allgatherv(team_, ESP_IN_PLACE, data(buffer), blocks.counts(),
                                  blocks.displs(), type_in(buffer)));
  }
  // Both ranges have a block for each member, all of one length.
  template <Readable In, Writable Out>
    requires SameElement<In, Out>
  Status alltoall(const In& input, Out&& output) const noexcept {
    if (const char* wrong = not_exchanged(input, output)) return refuse(wrong);
    return explain(esp_alltoall(team_, data(input), data(output), share_of(input), type_in(input)));
  }
  // The blocks in the buffer are sent and replaced.
  template <Writable R>
  Status alltoall_in_place(R&& buffer) const noexcept {
    if (const char* wrong = not_shared(buffer)) return refuse(wrong);
    return explain(
        esp_alltoall(team_, ESP_IN_PLACE, data(buffer), share_of(buffer), type_in(buffer)));
  }
  // `sent` lies in `input`, `received` in `output`.
  template <Readable In, Writable Out>
    requires SameElement<In, Out>
  Status alltoallv(const In& input, const Blocks& sent, Out&& output,
                   const Blocks& received) const noexcept {
    if (const char* wrong = misfit(sent, input, received, output)) return refuse(wrong);
    return explain(esp_alltoallv(team_, data(input), sent.counts(), sent.displs(), data(output),
                                 received.counts(), received.displs(), type_in(input)));
  }
  template <Writable R>
  Status alltoallv_in_place(R&& buffer, const Blocks& blocks) const noexcept {
    if (const char* wrong = misfit(blocks, buffer)) return refuse(wrong);
    return explain(esp_alltoallv(team_, ESP_IN_PLACE, nullptr, nullptr, data(buffer),
                                 blocks.counts(), blocks.displs(), type_in(buffer)));
  }
  template <Readable In, Writable Out>
    requires SameElement<In, Out>
  Status scan(const In& input, Out&& output, Op op) const noexcept {
    if (const char* wrong = differ(input, output)) return refuse(wrong);
    return explain(
        esp_scan(team_, data(input), data(output), size_of(input), type_in(input), op.value));
  }
  template <Writable R>
  Status scan_in_place(R&& buffer, Op op) const noexcept {
    if (const char* wrong = unfit(buffer)) return refuse(wrong);
    return explain(
        esp_scan(team_, ESP_IN_PLACE, data(buffer), size_of(buffer), type_in(buffer), op.value));
  }
  // The output of member 0 is left alone.
  template <Readable In, Writable Out>
    requires SameElement<In, Out>
  Status exscan(const In& input, Out&& output, Op op) const noexcept {
    if (const char* wrong = differ(input, output)) return refuse(wrong);
    return explain(
        esp_exscan(team_, data(input), data(output), size_of(input), type_in(input), op.value));
  }
  template <Writable R>
  Status exscan_in_place(R&& buffer, Op op) const noexcept {
    if (const char* wrong = unfit(buffer)) return refuse(wrong);
    return explain(
        esp_exscan(team_, ESP_IN_PLACE, data(buffer), size_of(buffer), type_in(buffer), op.value));
  }

  // ---- non-blocking, reporting through a Request ----
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<Request> allgather_start(In&& input, Out&& output, const CollOptions& options = {}) const {
    return request(
        allgather_call(not_for_all(input, output), data(input), output, size_of(input), options));
  }
  template <Writable R>
  Result<Request> allgather_in_place_start(R&& buffer, const CollOptions& options = {}) const {
    return request(
        allgather_call(not_shared(buffer), ESP_IN_PLACE, buffer, share_of(buffer), options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<Request> allgatherv_start(In&& input, Out&& output, const Blocks& blocks,
                                   const CollOptions& options = {}) const {
    return request(
        allgatherv_call(not_own(input, output, blocks), data(input), output, blocks, options));
  }
  template <Writable R>
  Result<Request> allgatherv_in_place_start(R&& buffer, const Blocks& blocks,
                                            const CollOptions& options = {}) const {
    return request(allgatherv_call(misfit(blocks, buffer), ESP_IN_PLACE, buffer, blocks, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<Request> alltoall_start(In&& input, Out&& output, const CollOptions& options = {}) const {
    return request(alltoall_call(not_exchanged(input, output), data(input), output, options));
  }
  template <Writable R>
  Result<Request> alltoall_in_place_start(R&& buffer, const CollOptions& options = {}) const {
    return request(alltoall_call(not_shared(buffer), ESP_IN_PLACE, buffer, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<Request> alltoallv_start(In&& input, const Blocks& sent, Out&& output,
                                  const Blocks& received, const CollOptions& options = {}) const {
    return request(alltoallv_call(misfit(sent, input, received, output), data(input), sent, output,
                                  received, options));
  }
  template <Writable R>
  Result<Request> alltoallv_in_place_start(R&& buffer, const Blocks& blocks,
                                           const CollOptions& options = {}) const {
    return request(
        alltoallv_call(misfit(blocks, buffer), ESP_IN_PLACE, blocks, buffer, blocks, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<Request> scan_start(In&& input, Out&& output, Op op,
                             const CollOptions& options = {}) const {
    return request(prefix_call(false, differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Result<Request> scan_in_place_start(R&& buffer, Op op, const CollOptions& options = {}) const {
    return request(prefix_call(false, unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<Request> exscan_start(In&& input, Out&& output, Op op,
                               const CollOptions& options = {}) const {
    return request(prefix_call(true, differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Result<Request> exscan_in_place_start(R&& buffer, Op op, const CollOptions& options = {}) const {
    return request(prefix_call(true, unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }

  // ---- non-blocking, reporting through a callback or counter ----
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Status allgather_start(In&& input, Out&& output, Notify notify,
                         const CollOptions& options = {}) const noexcept {
    return started(notify, allgather_call(not_for_all(input, output), data(input), output,
                                          size_of(input), options));
  }
  template <Writable R>
  Status allgather_in_place_start(R&& buffer, Notify notify,
                                  const CollOptions& options = {}) const noexcept {
    return started(notify, allgather_call(not_shared(buffer), ESP_IN_PLACE, buffer,
                                          share_of(buffer), options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Status allgatherv_start(In&& input, Out&& output, const Blocks& blocks, Notify notify,
                          const CollOptions& options = {}) const noexcept {
    return started(notify, allgatherv_call(not_own(input, output, blocks), data(input), output,
                                           blocks, options));
  }
  template <Writable R>
  Status allgatherv_in_place_start(R&& buffer, const Blocks& blocks, Notify notify,
                                   const CollOptions& options = {}) const noexcept {
    return started(notify,
                   allgatherv_call(misfit(blocks, buffer), ESP_IN_PLACE, buffer, blocks, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Status alltoall_start(In&& input, Out&& output, Notify notify,
                        const CollOptions& options = {}) const noexcept {
    return started(notify,
                   alltoall_call(not_exchanged(input, output), data(input), output, options));
  }
  template <Writable R>
  Status alltoall_in_place_start(R&& buffer, Notify notify,
                                 const CollOptions& options = {}) const noexcept {
    return started(notify, alltoall_call(not_shared(buffer), ESP_IN_PLACE, buffer, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Status alltoallv_start(In&& input, const Blocks& sent, Out&& output, const Blocks& received,
                         Notify notify, const CollOptions& options = {}) const noexcept {
    return started(notify, alltoallv_call(misfit(sent, input, received, output), data(input), sent,
                                          output, received, options));
  }
  template <Writable R>
  Status alltoallv_in_place_start(R&& buffer, const Blocks& blocks, Notify notify,
                                  const CollOptions& options = {}) const noexcept {
    return started(notify, alltoallv_call(misfit(blocks, buffer), ESP_IN_PLACE, blocks, buffer,
                                          blocks, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Status scan_start(In&& input, Out&& output, Op op, Notify notify,
                    const CollOptions& options = {}) const noexcept {
    return started(notify,
                   prefix_call(false, differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Status scan_in_place_start(R&& buffer, Op op, Notify notify,
                             const CollOptions& options = {}) const noexcept {
    return started(notify, prefix_call(false, unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Status exscan_start(In&& input, Out&& output, Op op, Notify notify,
                      const CollOptions& options = {}) const noexcept {
    return started(notify,
                   prefix_call(true, differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Status exscan_in_place_start(R&& buffer, Op op, Notify notify,
                               const CollOptions& options = {}) const noexcept {
    return started(notify, prefix_call(true, unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }
};

}  // namespace esp

#endif  // ESPALIER_CPP_GATHERS_HPP
