#include "net/rdma/send_packets.hpp"

namespace espalier::rdma {

namespace {

// A line more than a packet has: the heads of all would share a few sets of a cache.
std::size_t stride(const ConnectionPort& port) noexcept {
  constexpr std::size_t kLine = 64;
  return port.packet_bytes() + kLine;
}

}  // namespace

SendPackets::SendPackets(ConnectionPort& port, std::uint32_t count)
    : port_(port), memory_(std::make_unique<std::byte[]>(count * stride(port))), packets_(count) {
  for (std::size_t i = count; i-- > 0;) {
    packets_[i].data = memory_.get() + i * stride(port);
    packets_[i].capacity = port.packet_bytes();
    give(packets_[i]);
  }
}

Result<std::unique_ptr<SendPackets>> SendPackets::create(ConnectionPort& port,
                                                         std::uint32_t count) {
  ++count;
  std::unique_ptr<SendPackets> made(new SendPackets(port, count));
  auto region = port.enroll(made->memory_.get(), count * stride(port));
  if (!region) return region.error();
  made->region_ = *region;
  return made;
}

}  // namespace espalier::rdma
