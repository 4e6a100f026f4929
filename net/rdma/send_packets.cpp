#include "net/rdma/send_packets.hpp"

namespace espalier::rdma {

SendPackets::SendPackets(ConnectionPort& port, std::uint32_t count)
    : port_(port),
      memory_(std::make_unique<std::byte[]>(std::size_t{count} * port.packet_bytes())),
      packets_(count) {
  for (std::size_t i = count; i-- > 0;) {
    packets_[i].data = memory_.get() + i * port.packet_bytes();
    packets_[i].capacity = port.packet_bytes();
    give(packets_[i]);
  }
}

Result<std::unique_ptr<SendPackets>> SendPackets::create(ConnectionPort& port,
                                                         std::uint32_t count) {
  ++count;
  std::unique_ptr<SendPackets> made(new SendPackets(port, count));
  auto region = port.enroll(made->memory_.get(), std::uint64_t{count} * port.packet_bytes());
  if (!region) return region.error();
  made->region_ = *region;
  return made;
}

}  // namespace espalier::rdma
