#include "net/verbs/packet_memory.hpp"

#include <sys/mman.h>

#include <cerrno>

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
  made->mapped_bytes_ = stride(shape) * shape.count;
  void* memory = ::mmap(nullptr, made->mapped_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return adapter.failed("mmap of packets", errno);
  made->memory_ = static_cast<std::byte*>(memory);
  // After a fork the adapter would go on with pages that one of the two processes has left.
  if (::madvise(memory, made->mapped_bytes_, MADV_DONTFORK) != 0) {
    return adapter.failed("madvise of packets", errno);
  }
  constexpr int kRights = IBV_ACCESS_LOCAL_WRITE;
  made->registration_.reset(ibv_reg_mr(adapter.domain(), memory, made->mapped_bytes_, kRights));
  if (made->registration_ == nullptr) return adapter.failed("ibv_reg_mr of packets", errno);
  made->packets_.resize(shape.count);
  for (std::size_t i = 0; i < shape.count; ++i) {
    rdma::Packet& packet = made->packets_[i];
    packet.data = made->memory_ + i * stride(shape) + (shape.headroom > 0 ? kLine : 0);
    packet.capacity = shape.bytes;
    packet.port_data = i;
  }
  return made;
}

PacketMemory::~PacketMemory() {
  registration_.reset();
  if (memory_ != nullptr) ::munmap(memory_, mapped_bytes_);
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
