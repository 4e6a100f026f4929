#include "net/verbs/packet_memory.hpp"

#include <cerrno>
#include <utility>

namespace espalier::verbs {
namespace {

constexpr std::uint32_t kLine = 64;

// A line more than the packet: for the headroom, or because the heads of packets of whole pages
// would share a few sets of a cache.
constexpr std::size_t stride(const PacketMemory::Shape& shape) noexcept {
  return kLine + (shape.bytes + kLine - 1) / kLine * kLine;
}

}  // namespace

Result<std::unique_ptr<PacketMemory>> PacketMemory::create(const VerbsAdapter& adapter,
                                                           const Shape& shape) {
  ESP_ASSERT(shape.count > 0 && shape.headroom <= kLine);
  std::unique_ptr<PacketMemory> made(new PacketMemory(shape));
  auto memory = rdma::AdapterMemory::create(stride(shape) * shape.count);
  if (!memory) return memory.error();
  made->memory_ = std::move(*memory);
  constexpr int kRights = IBV_ACCESS_LOCAL_WRITE;
  made->registration_.reset(
      ibv_reg_mr(adapter.domain(), made->memory_->begin(), made->memory_->bytes(), kRights));
  if (made->registration_ == nullptr) return adapter.failed("ibv_reg_mr of packets", errno);
  made->packets_.resize(shape.count);
  for (std::size_t i = 0; i < shape.count; ++i) {
    rdma::Packet& packet = made->packets_[i];
    packet.data = made->memory_->begin() + i * stride(shape) + (shape.headroom > 0 ? kLine : 0);
    packet.capacity = shape.bytes;
    packet.port_data = i;
  }
  return made;
}

ibv_sge PacketMemory::payload(const rdma::Packet& packet) const noexcept {
  return {.addr = reinterpret_cast<std::uint64_t>(packet.data),
          .length = packet.bytes,
          .lkey = registration_->lkey};
}

ibv_sge PacketMemory::whole(const rdma::Packet& packet) const noexcept {
  return {.addr = reinterpret_cast<std::uint64_t>(packet.data) - shape_.headroom,
          .length = shape_.headroom + packet.capacity,
          .lkey = registration_->lkey};
}

void ReceivePoster::post(const rdma::Packet& packet, std::uint64_t id) noexcept {
  places_[count_] = packets_.whole(packet);
  requests_[count_] = {.wr_id = id, .next = nullptr, .sg_list = &places_[count_], .num_sge = 1};
  if (count_ > 0) requests_[count_ - 1].next = &requests_[count_];
  if (++count_ == kBatch) flush();
}

void ReceivePoster::flush() noexcept {
  if (count_ == 0) return;
  ibv_recv_wr* refused = nullptr;
  ++refills_;
  const int failure = queue_pair_ != nullptr
                          ? ibv_post_recv(queue_pair_, requests_.data(), &refused)
                          : ibv_post_srq_recv(shared_, requests_.data(), &refused);
  if (failure != 0) failure_ = failure;
  count_ = 0;
}

}  // namespace espalier::verbs
