// Gathers to a root and scatters from one, as members of every team, in all forms. Contracts, forms
// and lifetimes: team.hpp. path: data
#ifndef ESPALIER_CPP_ROOTED_HPP
#define ESPALIER_CPP_ROOTED_HPP

#include "espalier/cpp/blocks.hpp"
#include "espalier/cpp/detail/rooted_calls.hpp"
#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/options.hpp"
#include "espalier/cpp/persistent_request.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"
#include "espalier/cpp/type.hpp"

namespace esp {

class Rooted : public detail::RootedCalls {
 public:
  using RootedCalls::RootedCalls;

  // ---- blocking ----
  // The root's `output` has size() times as many elements as `input`; elsewhere it does not matter
  // and may be empty.
  template <Readable In, WritableLike<In> Out>
  Status gather(const In& input, Out&& output, int root) const noexcept {
    return now(gather_call(input, output, root));
  }
  // The root's buffer has a block for each member, its own in its place; the others' are one block.
  template <Writable R>
  Status gather_in_place(R&& buffer, int root) const noexcept {
    return now(gather_in_place_call(buffer, root));
  }
  // `blocks` says at the root how many elements each member has; elsewhere it may be {}.
  template <Readable In, WritableLike<In> Out>
  Status gatherv(const In& input, Out&& output, const Blocks& blocks, int root) const noexcept {
    return now(gatherv_call(input, output, blocks, root));
  }
  template <Writable R>
  Status gatherv_in_place(R&& buffer, const Blocks& blocks, int root) const noexcept {
    return now(gatherv_in_place_call(buffer, blocks, root));
  }
  // The root's `input` has size() times as many elements as `output`; elsewhere it does not matter.
  template <Readable In, WritableLike<In> Out>
  Status scatter(const In& input, Out&& output, int root) const noexcept {
    return now(scatter_call(input, output, root));
  }
  // The root's buffer has a block for each member, and its own stays; the others' get theirs.
  template <Writable R>
  Status scatter_in_place(R&& buffer, int root) const noexcept {
    return now(scatter_in_place_call(buffer, root));
  }
  // `blocks` says at the root how many elements go to each member; elsewhere it may be {}.
  template <Readable In, WritableLike<In> Out>
  Status scatterv(const In& input, const Blocks& blocks, Out&& output, int root) const noexcept {
    return now(scatterv_call(input, blocks, output, root));
  }
  template <Writable R>
  Status scatterv_in_place(R&& buffer, const Blocks& blocks, int root) const noexcept {
    return now(scatterv_in_place_call(buffer, blocks, root));
  }

  // ---- non-blocking, reporting through a Request ----
  template <ReadableLater In, WritableLike<In> Out>
  Result<Request> gather_start(In&& input, Out&& output, int root,
                               const CollOptions& options = {}) const {
    return request(gather_call(input, output, root).later(options));
  }
  template <Writable R>
  Result<Request> gather_in_place_start(R&& buffer, int root,
                                        const CollOptions& options = {}) const {
    return request(gather_in_place_call(buffer, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<Request> gatherv_start(In&& input, Out&& output, const Blocks& blocks, int root,
                                const CollOptions& options = {}) const {
    return request(gatherv_call(input, output, blocks, root).later(options));
  }
  template <Writable R>
  Result<Request> gatherv_in_place_start(R&& buffer, const Blocks& blocks, int root,
                                         const CollOptions& options = {}) const {
    return request(gatherv_in_place_call(buffer, blocks, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<Request> scatter_start(In&& input, Out&& output, int root,
                                const CollOptions& options = {}) const {
    return request(scatter_call(input, output, root).later(options));
  }
  template <Writable R>
  Result<Request> scatter_in_place_start(R&& buffer, int root,
                                         const CollOptions& options = {}) const {
    return request(scatter_in_place_call(buffer, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<Request> scatterv_start(In&& input, const Blocks& blocks, Out&& output, int root,
                                 const CollOptions& options = {}) const {
    return request(scatterv_call(input, blocks, output, root).later(options));
  }
  template <Writable R>
  Result<Request> scatterv_in_place_start(R&& buffer, const Blocks& blocks, int root,
                                          const CollOptions& options = {}) const {
    return request(scatterv_in_place_call(buffer, blocks, root).later(options));
  }

  // ---- non-blocking, reporting through a callback or counter ----
  template <ReadableLater In, WritableLike<In> Out>
  Status gather_start(In&& input, Out&& output, int root, Notify notify,
                      const CollOptions& options = {}) const noexcept {
    return started(notify, gather_call(input, output, root).later(options));
  }
  template <Writable R>
  Status gather_in_place_start(R&& buffer, int root, Notify notify,
                               const CollOptions& options = {}) const noexcept {
    return started(notify, gather_in_place_call(buffer, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Status gatherv_start(In&& input, Out&& output, const Blocks& blocks, int root, Notify notify,
                       const CollOptions& options = {}) const noexcept {
    return started(notify, gatherv_call(input, output, blocks, root).later(options));
  }
  template <Writable R>
  Status gatherv_in_place_start(R&& buffer, const Blocks& blocks, int root, Notify notify,
                                const CollOptions& options = {}) const noexcept {
    return started(notify, gatherv_in_place_call(buffer, blocks, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Status scatter_start(In&& input, Out&& output, int root, Notify notify,
                       const CollOptions& options = {}) const noexcept {
    return started(notify, scatter_call(input, output, root).later(options));
  }
  template <Writable R>
  Status scatter_in_place_start(R&& buffer, int root, Notify notify,
                                const CollOptions& options = {}) const noexcept {
    return started(notify, scatter_in_place_call(buffer, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Status scatterv_start(In&& input, const Blocks& blocks, Out&& output, int root, Notify notify,
                        const CollOptions& options = {}) const noexcept {
    return started(notify, scatterv_call(input, blocks, output, root).later(options));
  }
  template <Writable R>
  Status scatterv_in_place_start(R&& buffer, const Blocks& blocks, int root, Notify notify,
                                 const CollOptions& options = {}) const noexcept {
    return started(notify, scatterv_in_place_call(buffer, blocks, root).later(options));
  }

  // ---- persistent: whose rounds are waited for; or report, too ----
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> gather_init(In&& input, Out&& output, int root,
                                        const CollOptions& options = {}) const {
    return persistent(gather_call(input, output, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> gather_init(In&& input, Out&& output, int root, Notify notify,
                                        const CollOptions& options = {}) const {
    return persistent(notify, gather_call(input, output, root).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> gather_in_place_init(R&& buffer, int root,
                                                 const CollOptions& options = {}) const {
    return persistent(gather_in_place_call(buffer, root).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> gather_in_place_init(R&& buffer, int root, Notify notify,
                                                 const CollOptions& options = {}) const {
    return persistent(notify, gather_in_place_call(buffer, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> gatherv_init(In&& input, Out&& output, const Blocks& blocks, int root,
                                         const CollOptions& options = {}) const {
    return persistent(gatherv_call(input, output, blocks, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> gatherv_init(In&& input, Out&& output, const Blocks& blocks, int root,
                                         Notify notify, const CollOptions& options = {}) const {
    return persistent(notify, gatherv_call(input, output, blocks, root).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> gatherv_in_place_init(R&& buffer, const Blocks& blocks, int root,
                                                  const CollOptions& options = {}) const {
    return persistent(gatherv_in_place_call(buffer, blocks, root).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> gatherv_in_place_init(R&& buffer, const Blocks& blocks, int root,
                                                  Notify notify,
                                                  const CollOptions& options = {}) const {
    return persistent(notify, gatherv_in_place_call(buffer, blocks, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> scatter_init(In&& input, Out&& output, int root,
                                         const CollOptions& options = {}) const {
    return persistent(scatter_call(input, output, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> scatter_init(In&& input, Out&& output, int root, Notify notify,
                                         const CollOptions& options = {}) const {
    return persistent(notify, scatter_call(input, output, root).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> scatter_in_place_init(R&& buffer, int root,
                                                  const CollOptions& options = {}) const {
    return persistent(scatter_in_place_call(buffer, root).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> scatter_in_place_init(R&& buffer, int root, Notify notify,
                                                  const CollOptions& options = {}) const {
    return persistent(notify, scatter_in_place_call(buffer, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> scatterv_init(In&& input, const Blocks& blocks, Out&& output, int root,
                                          const CollOptions& options = {}) const {
    return persistent(scatterv_call(input, blocks, output, root).later(options));
  }
  template <ReadableLater In, WritableLike<In> Out>
  Result<PersistentRequest> scatterv_init(In&& input, const Blocks& blocks, Out&& output, int root,
                                          Notify notify, const CollOptions& options = {}) const {
    return persistent(notify, scatterv_call(input, blocks, output, root).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> scatterv_in_place_init(R&& buffer, const Blocks& blocks, int root,
                                                   const CollOptions& options = {}) const {
    return persistent(scatterv_in_place_call(buffer, blocks, root).later(options));
  }
  template <Writable R>
  Result<PersistentRequest> scatterv_in_place_init(R&& buffer, const Blocks& blocks, int root,
                                                   Notify notify,
                                                   const CollOptions& options = {}) const {
    return persistent(notify, scatterv_in_place_call(buffer, blocks, root).later(options));
  }
};

}  // namespace esp

#endif  // ESPALIER_CPP_ROOTED_HPP
