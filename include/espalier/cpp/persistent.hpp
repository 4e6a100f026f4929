// Persistent forms of the collectives, as members of every team: each takes what its *_start forms
// take, and gives a request that is started as often as one likes. Contracts:
// espalier/persistent.h; forms and lifetimes: team.hpp. path: short
#ifndef ESPALIER_CPP_PERSISTENT_HPP
#define ESPALIER_CPP_PERSISTENT_HPP

#include "espalier/cpp/gathers.hpp"
#include "espalier/cpp/persistent_request.hpp"

namespace esp {

class PersistentForms : public Gathers {
 public:
  using Gathers::Gathers;

  // ---- whose rounds are waited for ----
  Result<PersistentRequest> barrier_init(const CollOptions& options = {}) const {
    return persistent(barrier_call(options));
  }
  template <Writable R>
  Result<PersistentRequest> bcast_init(R&& buffer, int root,
                                       const CollOptions& options = {}) const {
    return persistent(bcast_call(buffer, root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> reduce_init(In&& input, Out&& output, Op op, int root,
                                        const CollOptions& options = {}) const {
    return persistent(
        reduce_call(differ_at(root, input, output), data(input), output, input, op, root, options));
  }
  template <Writable R>
  Result<PersistentRequest> reduce_in_place_init(R&& buffer, Op op, int root,
                                                 const CollOptions& options = {}) const {
    return persistent(
        reduce_call(unfit(buffer), own_input(buffer, root), buffer, buffer, op, root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> allreduce_init(In&& input, Out&& output, Op op,
                                           const CollOptions& options = {}) const {
    return persistent(allreduce_call(differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Result<PersistentRequest> allreduce_in_place_init(R&& buffer, Op op,
                                                    const CollOptions& options = {}) const {
    return persistent(allreduce_call(unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> allgather_init(In&& input, Out&& output,
                                           const CollOptions& options = {}) const {
    return persistent(
        allgather_call(not_for_all(input, output), data(input), output, size_of(input), options));
  }
  template <Writable R>
  Result<PersistentRequest> allgather_in_place_init(R&& buffer,
                                                    const CollOptions& options = {}) const {
    return persistent(
        allgather_call(not_shared(buffer), ESP_IN_PLACE, buffer, share_of(buffer), options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> allgatherv_init(In&& input, Out&& output, const Blocks& blocks,
                                            const CollOptions& options = {}) const {
    return persistent(
        allgatherv_call(not_own(input, output, blocks), data(input), output, blocks, options));
  }
  template <Writable R>
  Result<PersistentRequest> allgatherv_in_place_init(R&& buffer, const Blocks& blocks,
                                                     const CollOptions& options = {}) const {
    return persistent(
        allgatherv_call(misfit(blocks, buffer), ESP_IN_PLACE, buffer, blocks, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> alltoall_init(In&& input, Out&& output,
                                          const CollOptions& options = {}) const {
    return persistent(alltoall_call(not_exchanged(input, output), data(input), output, options));
  }
  template <Writable R>
  Result<PersistentRequest> alltoall_in_place_init(R&& buffer,
                                                   const CollOptions& options = {}) const {
    return persistent(alltoall_call(not_shared(buffer), ESP_IN_PLACE, buffer, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> alltoallv_init(In&& input, const Blocks& sent, Out&& output,
                                           const Blocks& received,
                                           const CollOptions& options = {}) const {
    return persistent(alltoallv_call(misfit(sent, input, received, output), data(input), sent,
                                     output, received, options));
  }
  template <Writable R>
  Result<PersistentRequest> alltoallv_in_place_init(R&& buffer, const Blocks& blocks,
                                                    const CollOptions& options = {}) const {
    return persistent(
        alltoallv_call(misfit(blocks, buffer), ESP_IN_PLACE, blocks, buffer, blocks, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> scan_init(In&& input, Out&& output, Op op,
                                      const CollOptions& options = {}) const {
    return persistent(prefix_call(false, differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Result<PersistentRequest> scan_in_place_init(R&& buffer, Op op,
                                               const CollOptions& options = {}) const {
    return persistent(prefix_call(false, unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> exscan_init(In&& input, Out&& output, Op op,
                                        const CollOptions& options = {}) const {
    return persistent(prefix_call(true, differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Result<PersistentRequest> exscan_in_place_init(R&& buffer, Op op,
                                                 const CollOptions& options = {}) const {
    return persistent(prefix_call(true, unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }

  // ---- whose rounds report through a callback or counter, and may be waited for ----
  Result<PersistentRequest> barrier_init(Notify notify, const CollOptions& options = {}) const {
    return persistent(notify, barrier_call(options));
  }
  template <Writable R>
  Result<PersistentRequest> bcast_init(R&& buffer, int root, Notify notify,
                                       const CollOptions& options = {}) const {
    return persistent(notify, bcast_call(buffer, root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> reduce_init(In&& input, Out&& output, Op op, int root, Notify notify,
                                        const CollOptions& options = {}) const {
    return persistent(notify, reduce_call(differ_at(root, input, output), data(input), output,
                                          input, op, root, options));
  }
  template <Writable R>
  Result<PersistentRequest> reduce_in_place_init(R&& buffer, Op op, int root, Notify notify,
                                                 const CollOptions& options = {}) const {
    return persistent(notify, reduce_call(unfit(buffer), own_input(buffer, root), buffer, buffer,
                                          op, root, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> allreduce_init(In&& input, Out&& output, Op op, Notify notify,
                                           const CollOptions& options = {}) const {
    return persistent(notify,
                      allreduce_call(differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Result<PersistentRequest> allreduce_in_place_init(R&& buffer, Op op, Notify notify,
                                                    const CollOptions& options = {}) const {
    return persistent(notify, allreduce_call(unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> allgather_init(In&& input, Out&& output, Notify notify,
                                           const CollOptions& options = {}) const {
    return persistent(notify, allgather_call(not_for_all(input, output), data(input), output,
                                             size_of(input), options));
  }
  template <Writable R>
  Result<PersistentRequest> allgather_in_place_init(R&& buffer, Notify notify,
                                                    const CollOptions& options = {}) const {
    return persistent(notify, allgather_call(not_shared(buffer), ESP_IN_PLACE, buffer,
                                             share_of(buffer), options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> allgatherv_init(In&& input, Out&& output, const Blocks& blocks,
                                            Notify notify, const CollOptions& options = {}) const {
    return persistent(notify, allgatherv_call(not_own(input, output, blocks), data(input), output,
                                              blocks, options));
  }
  template <Writable R>
  Result<PersistentRequest> allgatherv_in_place_init(R&& buffer, const Blocks& blocks,
                                                     Notify notify,
                                                     const CollOptions& options = {}) const {
    return persistent(
        notify, allgatherv_call(misfit(blocks, buffer), ESP_IN_PLACE, buffer, blocks, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> alltoall_init(In&& input, Out&& output, Notify notify,
                                          const CollOptions& options = {}) const {
    return persistent(notify,
                      alltoall_call(not_exchanged(input, output), data(input), output, options));
  }
  template <Writable R>
  Result<PersistentRequest> alltoall_in_place_init(R&& buffer, Notify notify,
                                                   const CollOptions& options = {}) const {
    return persistent(notify, alltoall_call(not_shared(buffer), ESP_IN_PLACE, buffer, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> alltoallv_init(In&& input, const Blocks& sent, Out&& output,
                                           const Blocks& received, Notify notify,
                                           const CollOptions& options = {}) const {
    return persistent(notify, alltoallv_call(misfit(sent, input, received, output), data(input),
                                             sent, output, received, options));
  }
  template <Writable R>
  Result<PersistentRequest> alltoallv_in_place_init(R&& buffer, const Blocks& blocks, Notify notify,
                                                    const CollOptions& options = {}) const {
    return persistent(notify, alltoallv_call(misfit(blocks, buffer), ESP_IN_PLACE, blocks, buffer,
                                             blocks, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> scan_init(In&& input, Out&& output, Op op, Notify notify,
                                      const CollOptions& options = {}) const {
    return persistent(notify,
                      prefix_call(false, differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Result<PersistentRequest> scan_in_place_init(R&& buffer, Op op, Notify notify,
                                               const CollOptions& options = {}) const {
    return persistent(notify, prefix_call(false, unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }
  template <ReadableLater In, Writable Out>
    requires SameElement<In, Out>
  Result<PersistentRequest> exscan_init(In&& input, Out&& output, Op op, Notify notify,
                                        const CollOptions& options = {}) const {
    return persistent(notify,
                      prefix_call(true, differ(input, output), data(input), output, op, options));
  }
  template <Writable R>
  Result<PersistentRequest> exscan_in_place_init(R&& buffer, Op op, Notify notify,
                                                 const CollOptions& options = {}) const {
    return persistent(notify, prefix_call(true, unfit(buffer), ESP_IN_PLACE, buffer, op, options));
  }
};

}  // namespace esp

#endif  // ESPALIER_CPP_PERSISTENT_HPP
