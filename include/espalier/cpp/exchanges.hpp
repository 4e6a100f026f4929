// Reduce-scatters, and alltoalls of blocks with types of their own, as members of every team, in
// all forms. Contracts, forms and lifetimes: team.hpp. path: data
#ifndef ESPALIER_CPP_EXCHANGES_HPP
#define ESPALIER_CPP_EXCHANGES_HPP

#include "espalier/cpp/blocks.hpp"
#include "espalier/cpp/detail/exchange_calls.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/op.hpp"
#include "espalier/cpp/options.hpp"
#include "espalier/cpp/persistent_request.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

class Exchanges : public detail::ExchangeCalls {
 public:
  using ExchangeCalls::ExchangeCalls;

  // ---- blocking ----
  // `input` has size() times as many elements as `output`.
  template <Readable In, WritableLike<In> Out>
  Status reduce_scatter_block(const In& input, Out&& output, Op op) const noexcept {
    return now(reduce_scatter_block_call(input, output, op));
  }
  // All blocks stand in the buffer, and are lost; the result comes to its beginning.
  template <Writable R>
  Status reduce_scatter_block_in_place(R&& buffer, Op op) const noexcept {
    return now(reduce_scatter_block_in_place_call(buffer, op));
  }
  // counts[r]: elements of member r's block, one block after the other in `input`; `output` has
  // those of this rank.
  template <Readable In, WritableLike<In> Out>
  Status reduce_scatter(const In& input, Out&& output, const Blocks& counts, Op op) const noexcept {
    return now(reduce_scatter_call(input, output, counts, op));
  }
  template <Writable R>
  Status reduce_scatter_in_place(R&& buffer, const Blocks& counts, Op op) const noexcept {
    return now(reduce_scatter_in_place_call(buffer, counts, op));
  }
  // An alltoallv with a type of its own for each block, and displacements in bytes. Where blocks
  // end is not looked at.
  template <Readable In, Writable Out>
  Status alltoallw(const In& input, const TypedBlocks& sent, Out&& output,
                   const TypedBlocks& received) const noexcept {
    return now(alltoallw_call(input, sent, output, received));
  }
  template <Writable R>
  Status alltoallw_in_place(R&& buffer, const TypedBlocks& blocks) const noexcept {
    return now(alltoallw_in_place_call(buffer, blocks));
  }

  // ---- non-blocking, reporting through a Request ----
  template <ReadableLater In, WritableLike<In> Out>
  Result<Request> reduce_scatter_block_start(In&& input, Out&& output, Op op,
                                             const CollOptions& options = {}) const {
    return request(reduce_scatter_block_call(input, output, op).later(options));
  }
  template <Writable R>
  Result<Request> reduce_scatter_block_in_place_start(R&& buffer, Op op,
                                                      const CollOptions& options = {}) const {
    return request(reduce_scatter_block_in_place_call(buffer, op).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<Request> reduce_scatter_start(In&& input, Out&& output, const Blocks& counts, Op op,
                                       const CollOptions& options = {}) const {
    return request(reduce_scatter_call(input, output, counts, op).later(options));
  }
  template <Writable R>
  Result<Request> reduce_scatter_in_place_start(R&& buffer, const Blocks& counts, Op op,
                                                const CollOptions& options = {}) const {
    return request(reduce_scatter_in_place_call(buffer, counts, op).later(options));
  }
  template <ReadableLater In, Writable Out>
  Result<Request> alltoallw_start(In&& input, const TypedBlocks& sent, Out&& output,
                                  const TypedBlocks& received,
                                  const CollOptions& options = {}) const {
    return request(alltoallw_call(input, sent, output, received).later(options));
  }
  template <Writable R>
  Result<Request> alltoallw_in_place_start(R&& buffer, const TypedBlocks& blocks,
                                           const CollOptions& options = {}) const {
    return request(alltoallw_in_place_call(buffer, blocks).later(options));
  }

  // ---- non-blocking, reporting through a callback or counter ----
  template <ReadableLater In, WritableLike<In> Out>
  Status reduce_scatter_block_start(In&& input, Out&& output, Op op, Notify notify,
                                    const CollOptions& options = {}) const noexcept {
    return started(notify, reduce_scatter_block_call(input, output, op).later(options));
  }
  template <Writable R>
  Status reduce_scatter_block_in_place_start(R&& buffer, Op op, Notify notify,
                                             const CollOptions& options = {}) const noexcept {
    return started(notify, reduce_scatter_block_in_place_call(buffer, op).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Status reduce_scatter_start(In&& input, Out&& output, const Blocks& counts, Op op, Notify notify,
                              const CollOptions& options = {}) const noexcept {
    return started(notify, reduce_scatter_call(input, output, counts, op).later(options));
  }
  template <Writable R>
  Status reduce_scatter_in_place_start(R&& buffer, const Blocks& counts, Op op, Notify notify,
                                       const CollOptions& options = {}) const noexcept {
    return started(notify, reduce_scatter_in_place_call(buffer, counts, op).later(options));
  }
  template <ReadableLater In, Writable Out>
  Status alltoallw_start(In&& input, const TypedBlocks& sent, Out&& output,
                         const TypedBlocks& received, Notify notify,
                         const CollOptions& options = {}) const noexcept {
    return started(notify, alltoallw_call(input, sent, output, received).later(options));
  }
  template <Writable R>
  Status alltoallw_in_place_start(R&& buffer, const TypedBlocks& blocks, Notify notify,
                                  const CollOptions& options = {}) const noexcept {
    return started(notify, alltoallw_in_place_call(buffer, blocks).later(options));
  }

  // ---- persistent: whose rounds are waited for; or report, too ----
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> reduce_scatter_block_init(In&& input, Out&& output, Op op,
                                                      const CollOptions& options = {}) const {
    return persistent(reduce_scatter_block_call(input, output, op).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> reduce_scatter_block_init(In&& input, Out&& output, Op op,
                                                      Notify notify,
                                                      const CollOptions& options = {}) const {
    return persistent(notify, reduce_scatter_block_call(input, output, op).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> reduce_scatter_block_in_place_init(
      R&& buffer, Op op, const CollOptions& options = {}) const {
    return persistent(reduce_scatter_block_in_place_call(buffer, op).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> reduce_scatter_block_in_place_init(
      R&& buffer, Op op, Notify notify, const CollOptions& options = {}) const {
    return persistent(notify, reduce_scatter_block_in_place_call(buffer, op).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> reduce_scatter_init(In&& input, Out&& output, const Blocks& counts,
                                                Op op, const CollOptions& options = {}) const {
    return persistent(reduce_scatter_call(input, output, counts, op).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> reduce_scatter_init(In&& input, Out&& output, const Blocks& counts,
                                                Op op, Notify notify,
                                                const CollOptions& options = {}) const {
    return persistent(notify, reduce_scatter_call(input, output, counts, op).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> reduce_scatter_in_place_init(R&& buffer, const Blocks& counts, Op op,
                                                         const CollOptions& options = {}) const {
    return persistent(reduce_scatter_in_place_call(buffer, counts, op).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> reduce_scatter_in_place_init(R&& buffer, const Blocks& counts, Op op,
                                                         Notify notify,
                                                         const CollOptions& options = {}) const {
    return persistent(notify, reduce_scatter_in_place_call(buffer, counts, op).later(options));
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
  template <Writable R>
  Result<PersistentRequest> alltoallw_in_place_init(R&& buffer, const TypedBlocks& blocks,
                                                    const CollOptions& options = {}) const {
    return persistent(alltoallw_in_place_call(buffer, blocks).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> alltoallw_in_place_init(R&& buffer, const TypedBlocks& blocks,
                                                    Notify notify,
                                                    const CollOptions& options = {}) const {
    return persistent(notify, alltoallw_in_place_call(buffer, blocks).later(options));
  }
};

}  // namespace esp

#endif  // ESPALIER_CPP_EXCHANGES_HPP
