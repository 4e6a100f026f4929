#include "net/sim/sim_placing_port.hpp"

#include <cstring>
#include <span>

#include "core/crc32c.hpp"
#include "net/rdma/bytes.hpp"

namespace espalier::sim {

using multicast::kLaneHeaderBytes;

SimPlacingPort::~SimPlacingPort() {
  for (rdma::Packet* packet : sending_) port_.give(*packet);
}

Result<rdma::Region> SimPlacingPort::enroll(const void* begin, std::uint64_t bytes) {
  if (!options_.enrolls) return error(ESP_ERR_NO_MEMORY, "this simulated port registers nothing");
  rdma::Region region;
  region.begin = static_cast<const std::byte*>(begin);
  region.bytes = bytes;
  return region;
}

bool SimPlacingPort::post_place(std::byte* memory, std::uint32_t bytes, std::uint32_t,
                                std::uint64_t token) noexcept {
  if (places_.size() == options_.places) return false;
  places_.push_back({memory, bytes, token});
  return true;
}

void SimPlacingPort::flush_places(multicast::PlacingSink& sink) noexcept {
  while (poll(sink, 64) > 0) {
  }
  while (!places_.empty()) {
    const std::uint64_t token = places_.front().token;
    places_.pop_front();
    sink.returned(token);
  }
}

bool SimPlacingPort::send(multicast::LaneHeader header, const std::byte* payload,
                          std::uint32_t bytes, std::uint32_t, bool more) noexcept {
  ESP_ASSERT(bytes <= payload_bytes());
  rdma::Packet* packet = port_.take();
  if (packet == nullptr) return false;
  const std::uint32_t full = kLaneHeaderBytes + bytes;
  std::memcpy(packet->data, header.data(), kLaneHeaderBytes);
  if (bytes > 0) std::memcpy(packet->data + kLaneHeaderBytes, payload, bytes);
  rdma::store(packet->data + full, crc32c({packet->data, full}));
  packet->bytes = full + kSumBytes;
  if (!port_.send(*packet, more)) {
    port_.give(*packet);
    return false;
  }
  sending_.push_back(packet);
  return true;
}

void SimPlacingPort::arrived(rdma::Packet& packet) noexcept {
  (void)place(packet);
  port_.give(packet);
}

// False: it is damaged, or finds no place.
bool SimPlacingPort::place(const rdma::Packet& packet) {
  if (packet.bytes < kLaneHeaderBytes + kSumBytes) return false;
  const std::uint32_t full = packet.bytes - kSumBytes;
  if (rdma::load<std::uint32_t>(packet.data + full) != crc32c({packet.data, full})) return false;
  const std::uint32_t bytes = full - kLaneHeaderBytes;
  if (places_.empty() || places_.front().bytes < bytes) return false;
  const Place place = places_.front();
  places_.pop_front();
  std::memcpy(place.memory, packet.data + kLaneHeaderBytes, bytes);
  sink_->placed(place.token, multicast::LaneHeader(packet.data, kLaneHeaderBytes), bytes);
  return true;
}

int SimPlacingPort::poll(multicast::PlacingSink& sink, int budget) noexcept {
  sink_ = &sink;
  const int events = port_.poll(*this, budget);
  sink_ = nullptr;
  while (!sending_.empty() && sending_.front()->in_flight == 0) {
    port_.give(*sending_.front());
    sending_.pop_front();
  }
  return events;
}

}  // namespace espalier::sim
