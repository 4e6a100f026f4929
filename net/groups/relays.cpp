#include "net/groups/relays.hpp"

#include <utility>

namespace espalier::net {

Relays::~Relays() {
  while (Relay* relay = under_way_.front()) {
    for (Part& part : relay->parts) {
      if (std::exchange(part.pending, false)) host_.withdraw_relayed(part.to, part.frame);
    }
    finish(*relay);
  }
}

void Relays::send(std::span<const Rank> readers, const FrameHeader& header,
                  std::byte* buffer) noexcept {
  ESP_ASSERT(readers.size() <= kReadersMax);
  Relay* relay = readers.empty() ? nullptr : pool_.allocate();
  if (relay == nullptr) {
    host_.pool().give(buffer);
    for (const Rank reader : readers) {
      host_.lose_peer(reader, error(ESP_ERR_NO_MEMORY, "no memory for a frame to it", reader));
    }
    return;
  }
  relay->owner = this;
  relay->buffer = buffer;
  relay->waiting = 1;  // this call
  under_way_.push_back(*relay);
  for (std::size_t i = 0; i < readers.size(); ++i) {
    Part& part = relay->parts[i];
    part.relay = relay;
    part.to = readers[i];
    part.frame.header = header;
    part.frame.payload = buffer;
    part.pending = host_.post_relayed(part.to, part.frame) == Posted::kPending;
    if (part.pending) ++relay->waiting;
    ++counters_.group_relays;
  }
  if (--relay->waiting == 0) finish(*relay);
}

void Relays::on_sent(Completion& completion, Status) noexcept {
  auto& part = static_cast<Part&>(completion);
  part.pending = false;
  if (--part.relay->waiting == 0) part.relay->owner->finish(*part.relay);
}

void Relays::finish(Relay& relay) noexcept {
  host_.pool().give(relay.buffer);
  relay.unlink();
  pool_.release(&relay);
}

}  // namespace espalier::net
