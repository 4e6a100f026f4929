#include "coll/device/staged_copies.hpp"

namespace espalier {

Engine::Started StagedCopies::start(const Repack& what, const Finish& finish) noexcept {
  if (closed_) return {true, Status(ESP_ERR_CANCELED)};
  Copy* copy = pool_.allocate(*this, what, finish);
  if (copy == nullptr) return {true, Status(ESP_ERR_NO_MEMORY)};
  const Posted posted = mover_.repack(copy->what, *copy);
  if (posted == Posted::kDone) {
    pool_.release(copy);
    return {true, {}};
  }
  (posted == Posted::kPending ? under_way_ : waiting_).push_back(*copy);
  return {};
}

void StagedCopies::on_copied(Completion& op, Status status) noexcept {
  auto& copy = static_cast<Copy&>(op);
  copy.owner.end(copy, status);
}

void StagedCopies::end(Copy& copy, Status status) noexcept {
  const Finish finish = copy.finish;
  copy.unlink();
  pool_.release(&copy);
  finish.function(finish.context, status);
}

int StagedCopies::progress() noexcept {
  int events = 0;
  while (Copy* copy = waiting_.front()) {
    const Posted posted = mover_.repack(copy->what, *copy);
    if (posted == Posted::kRetry) break;
    ++events;
    if (posted == Posted::kDone) {
      end(*copy, {});
    } else {
      copy->unlink();
      under_way_.push_back(*copy);
    }
  }
  return events;
}

void StagedCopies::close() noexcept {
  closed_ = true;
  while (Copy* copy = under_way_.front()) {
    mover_.cancel(*copy);
    end(*copy, ESP_ERR_CANCELED);
  }
  while (Copy* copy = waiting_.front()) end(*copy, ESP_ERR_CANCELED);
}

}  // namespace espalier
