// ShmWire, segments that receivers copy straight out of the sender's private memory.
//
// At most a quantum is copied by one progress(): what is larger waits in pulls_ and goes on with
// the next ones, in turn. path: data
#include <algorithm>
#include <cstdlib>

#include "shm/shm_wire.hpp"

namespace espalier::shm {

Posted ShmWire::start_pull(Peer& p, const Cell& cell, RecvOp& op) noexcept {
  void* to = op.dst;
  if (to == nullptr) to = op.evacuated = std::malloc(cell.bytes);
  Pulling pulling{&op, p.rank, cell.ticket, cell.lap, {}};
  if (to == nullptr) {
    op.status = Status(ESP_ERR_NO_MEMORY);
    acknowledge(p, cell.ticket, cell.lap);
    return Posted::kDone;
  }
  pulling.copy = CmaCopy::pull(p.pid, cell.where, to, cell.bytes);
  // A post does not copy more than a quantum either.
  if (cell.bytes <= options_.quantum_bytes && step_pull(pulling)) return Posted::kDone;
  pulls_.push_back(pulling);
  return Posted::kPending;
}

// True when it is over: op.status says how it went.
bool ShmWire::step_pull(Pulling& pulling) noexcept {
  RecvOp& op = *pulling.op;
  std::uint64_t calls = 0;
  const std::uint64_t before = pulling.copy.copied();
  const Status status = pulling.copy.advance(options_.quantum_bytes, calls);
  counters_.cma_calls += calls;
  counters_.cma_bytes += pulling.copy.copied() - before;
  if (status.ok() && !pulling.copy.done()) return false;
  acknowledge(peer(pulling.from), pulling.ticket, pulling.lap);
  if (status.ok()) {
    op.view = op.evacuated;
  } else {
    op.status = Status(status.code(), pulling.from, status.error_number());
    std::free(op.evacuated);
    op.evacuated = nullptr;
  }
  return true;
}

int ShmWire::step_pulls() noexcept {
  pull_turn_ = (pull_turn_ + 1) % pulls_.size();
  const std::size_t turn = pull_turn_;
  if (step_pull(pulls_[turn])) {
    RecvOp* op = pulls_[turn].op;
    pulls_.erase(pulls_.begin() + static_cast<std::ptrdiff_t>(turn));
    op->complete(op->status);
  }
  return 1;
}

bool ShmWire::cancel_pull(RecvOp& op) noexcept {
  const auto found =
      std::find_if(pulls_.begin(), pulls_.end(), [&](const Pulling& p) { return p.op == &op; });
  if (found == pulls_.end()) return false;
  acknowledge(peer(found->from), found->ticket, found->lap);
  pulls_.erase(found);
  std::free(op.evacuated);
  op.evacuated = nullptr;
  return true;
}

}  // namespace espalier::shm
