// Collectives: barrier, bcast, reduce and allreduce, as members of every team. Contracts, forms and
// lifetimes: team.hpp. path: short
#ifndef ESPALIER_CPP_COLLECTIVES_HPP
#define ESPALIER_CPP_COLLECTIVES_HPP

#include "espalier/cpp/detail/collective_calls.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/op.hpp"
#include "espalier/cpp/options.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

class Collectives : public detail::CollectiveCalls {
 public:
  using CollectiveCalls::CollectiveCalls;

  // ---- blocking ----
  Status barrier() const noexcept { return explain(esp_barrier(team_)); }

  template <Writable R>
  Status bcast(R&& buffer, int root) const noexcept {
    if (const char* wrong = unfit(buffer)) return refuse(wrong);
    return explain(esp_bcast(team_, data(buffer), size_of(buffer), type_in(buffer), root));
  }
  // `output` matters at the root alone and may be empty elsewhere.
  template <Readable In, Writable Out>
    requires SameElement<In, Out>
  Status reduce(const In& input, Out&& output, Op op, int root) const noexcept {
    if (const char* wrong = differ_at(root, input, output)) return refuse(wrong);
    return explain(esp_reduce(team_, data(input), data(output), size_of(input), type_in(input),
                              op.value, root));
  }
  // The root's buffer receives the result; the others' are only read.
  template <Writable R>
  Status reduce_in_place(R&& buffer, Op op, int root) const noexcept {
    if (const char* wrong = unfit(buffer)) return refuse(wrong);
    return explain(esp_reduce(team_, own_input(buffer, root), data(buffer), size_of(buffer),
                              type_in(buffer), op.value, root));
  }
  template <Readable In, Writable Out>
    requires SameElement<In, Out>
  Status allreduce(const In& input, Out&& output, Op op) const noexcept {
    if (const char* wrong = differ(input, output)) return refuse(wrong);
    return explain(
        esp_allreduce(team_, data(input), data(output), size_of(input), type_in(input), op.value));
  }
  template <Writable R>
  Status allreduce_in_place(R&& buffer, Op op) const noexcept {
    if (const char* wrong = unfit(buffer)) return refuse(wrong);
    return explain(esp_allreduce(team_, ESP_IN_PLACE, data(buffer), size_of(buffer),
                                 type_in(buffer), op.value));
  }

  // ---- non-blocking, reporting through a Request ----
  Result<Request> barrier_start(const CollOptions& options = {}) const {
    return request(barrier_call(options));
  }
  template <Writable R>
  Result<Request> bcast_start(R&& buffer, int root, const CollOptions& options = {}) const {
    return request(bcast_call(buffer, root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<Request> reduce_start(In&& input, Out&& output, Op op, int root,
                               const CollOptions& options = {}) const {
    return request(
        reduce_call(differ_at(root, input, output), data(input), output, input, op, root, options));
  }
  // The root's buffer receives the result; the others' are only read.
  template <Writable R>
  Result<Request> reduce_in_place_start(R&& buffer, Op op, int root,
                                        const CollOptions& options = {}) const {
    return request(
        reduce_call(unfit(buffer), own_input(buffer, root), buffer, buffer, op, root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<Request> allreduce_start(In&& input, Out&& output, Op op,
                                  const CollOptions& options = {}) const {
    return request(allreduce_call(differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Result<Request> allreduce_in_place_start(R&& buffer, Op op,
                                           const CollOptions& options = {}) const {
    return request(allreduce_call(unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }

  // ---- non-blocking, reporting through a callback or counter ----
  Status barrier_start(Notify notify, const CollOptions& options = {}) const noexcept {
    return started(notify, barrier_call(options));
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
    return started(notify, reduce_call(differ_at(root, input, output), data(input), output, input,
                                       op, root, options));
  }
  template <Writable R>
  Status reduce_in_place_start(R&& buffer, Op op, int root, Notify notify,
                               const CollOptions& options = {}) const noexcept {
    return started(notify, reduce_call(unfit(buffer), own_input(buffer, root), buffer, buffer, op,
                                       root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Status allreduce_start(In&& input, Out&& output, Op op, Notify notify,
                         const CollOptions& options = {}) const noexcept {
    return started(notify, allreduce_call(differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Status allreduce_in_place_start(R&& buffer, Op op, Notify notify,
                                  const CollOptions& options = {}) const noexcept {
    return started(notify, allreduce_call(unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }
};

}  // namespace esp

#endif  // ESPALIER_CPP_COLLECTIVES_HPP
