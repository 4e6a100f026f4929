#include "net/rdma/receive_window.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "core/plant.hpp"

namespace espalier::rdma {
namespace {

constexpr std::uint32_t kAnswerEvery = 8;  // packets; senders ask when they need it sooner

Sequence sequence_of(const Packet& packet) noexcept {
  return rdma::sequence_of(std::span<const std::byte>(packet.data, packet.bytes));
}

}  // namespace

ReceiveWindow::Verdict ReceiveWindow::arrived(Sequence sequence, Packet& packet,
                                              std::uint64_t now_ns,
                                              std::uint64_t delay_ns) noexcept {
  const std::int32_t ahead = sequence - expected_;
  const bool early = ahead > 0 && early_.test(static_cast<std::uint32_t>(ahead) - 1);
  const bool again = ahead < 0 || ESP_PLANT(46, early, false);
  if (again || ahead >= limit_ - expected_) {
    answer_at_once();
    return Verdict::kRefuse;
  }
  if (newest_.before(sequence)) {
    newest_ = sequence;
    newest_ns_ = now_ns;
  }
  ++unanswered_;
  if (ahead > 0) {
    hold(sequence, packet);
    answer_at_once();
    return Verdict::kHeld;
  }
  const bool gap = early_.any();
  expected_ = expected_ + 1;
  for (; early_.shift(); ++run_) expected_ = expected_ + 1;
  if (gap || unanswered_ >= kAnswerEvery) {
    answer_at_once();
  } else {
    answer_ns_ = std::min(answer_ns_, now_ns + delay_ns);
  }
  return Verdict::kNext;
}

// Held packets are in the order of their numbers.
void ReceiveWindow::hold(Sequence sequence, Packet& packet) noexcept {
  early_.set(static_cast<std::uint32_t>(sequence - expected_) - 1);
  Packet** link = &held_;
  while (*link != nullptr && sequence_of(**link).before(sequence)) link = &(*link)->next;
  packet.next = *link;
  *link = &packet;
}

Packet* ReceiveWindow::pop_held() noexcept {
  if (run_ == 0) return nullptr;
  --run_;
  return drop_held();
}

Packet* ReceiveWindow::drop_held() noexcept {
  Packet* packet = held_;
  if (packet != nullptr) held_ = std::exchange(packet->next, nullptr);
  return packet;
}

Acknowledgement ReceiveWindow::acknowledgement(std::uint64_t now_ns) const noexcept {
  Acknowledgement ack;
  ack.expected = expected_ + ESP_PLANT(47, 0U, early_.any() ? 1U : 0U);
  ack.limit = limit_;
  const std::uint64_t held = now_ns > newest_ns_ ? now_ns - newest_ns_ : 0;
  ack.held_ns = static_cast<std::uint32_t>(std::min<std::uint64_t>(held, ~std::uint32_t{0}));
  ack.arrived = early_;
  return ack;
}

}  // namespace espalier::rdma
