#include "net/rdma/send_packets.hpp"

#include <utility>

namespace espalier::rdma {

namespace {

// A line more than a packet has: the heads of all would share a few sets of a cache.
std::size_t stride(const ConnectionPort& port) noexcept {
  constexpr std::size_t kLine = 64;
  return port.packet_bytes() + kLine;
}

}  // namespace

SendPackets::SendPackets(ConnectionPort& port, std::uint32_t count,
                         std::unique_ptr<AdapterMemory> memory)
    : port_(port), memory_(std::move(memory)), packets_(count) {
  for (std::size_t i = count; i-- > 0;) {
    packets_[i].data = memory_->begin() + i * stride(port);
    packets_[i].capacity = port.packet_bytes();
    give(packets_[i]);
  }
}

Result<std::unique_ptr<SendPackets>> SendPackets::create(ConnectionPort& port,
                                                         std::uint32_t count) {
  ++count;
  auto memory = AdapterMemory::create(count * stride(port));
  if (!memory) return memory.error();
  std::unique_ptr<SendPackets> made(new SendPackets(port, count, std::move(*memory)));
  auto region = port.enroll(made->memory_->begin(), made->memory_->bytes());
  if (!region) return region.error();
  made->region_ = *region;
  return made;
}

}  // namespace espalier::rdma
