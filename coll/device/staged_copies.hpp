// StagedCopies: copies by a mover that belong to no plan: of messages by tag, and of callers that
// wait for one.
//
// What a mover has no room for is tried again from progress(). Ownership: borrows the mover; what a
// copy names is its caller's, and is used until its end. Threads: the owner of the worker.
// path: data
#pragma once

#include "coll/engine/engine.hpp"
#include "coll/engine/mover.hpp"
#include "core/intrusive_list.hpp"
#include "core/pool.hpp"
#include "core/worker.hpp"

namespace espalier {

class StagedCopies final : public Agent {
 public:
  explicit StagedCopies(Mover& mover) noexcept : mover_(mover) {}
  ~StagedCopies() override { close(); }

  Mover& mover() const noexcept { return mover_; }
  // `finish` is told from progress(), unless it is done.
  Engine::Started start(const Repack& what, const Finish& finish) noexcept;
  // Ends all with ESP_ERR_CANCELED, and what is started from then on.
  void close() noexcept;
  int progress() noexcept override;

 private:
  struct Copy : ListNode, Completion {
    Copy(StagedCopies& copies, const Repack& repack, const Finish& end) noexcept
        : Completion(&on_copied), owner(copies), what(repack), finish(end) {}
    StagedCopies& owner;
    const Repack what;
    const Finish finish;
  };

  static void on_copied(Completion& op, Status status) noexcept;
  void end(Copy& copy, Status status) noexcept;

  Mover& mover_;
  Pool<Copy> pool_;
  IntrusiveList<Copy> waiting_, under_way_;
  bool closed_ = false;
};

}  // namespace espalier
