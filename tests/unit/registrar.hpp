// A connection port that registers memory and does nothing else.
#pragma once

#include <cerrno>

#include "net/rdma/connection_port.hpp"

namespace espalier::rdma {

struct Registrar : ConnectionPort {
  std::uint32_t inline_bytes() const noexcept override { return 0; }
  std::uint32_t packet_bytes() const noexcept override { return 0; }
  std::uint32_t send_depth() const noexcept override { return 0; }
  std::uint32_t receive_depth() const noexcept override { return 0; }
  void provide(std::uint32_t) noexcept override {}
  Result<ConnectionId> create() override { return ConnectionId{}; }
  ConnectionAddress address(ConnectionId) const noexcept override { return {}; }
  Outcome connect(ConnectionId, const ConnectionAddress&) override { return Unit{}; }
  void stop(ConnectionId) noexcept override {}
  void destroy(ConnectionId) noexcept override {}
  Result<Region> enroll(const void* begin, std::uint64_t bytes) override {
    if (live_bytes + bytes > bytes_max) {
      return error(ESP_ERR_SYSTEM, "more than this process may", kNoRank, ENOMEM);
    }
    Region region;
    region.begin = static_cast<const std::byte*>(begin);
    region.bytes = bytes;
    region.handle = ++enrolled;
    region.writable = writable;
    ++live;
    live_bytes += bytes;
    return region;
  }
  void withdraw(const Region& region) noexcept override {
    --live;
    live_bytes -= region.bytes;
  }
  bool send(ConnectionId, const Transfer&) noexcept override { return false; }
  bool send_immediate(ConnectionId, const Transfer&, std::uint32_t) noexcept override {
    return false;
  }
  bool write(ConnectionId, const Transfer&, RemoteMemory, bool, std::uint32_t) noexcept override {
    return false;
  }
  bool read(ConnectionId, const Transfer&, RemoteMemory) noexcept override { return false; }
  bool atomic(ConnectionId, const Transfer&, RemoteMemory, Atomic, std::uint64_t,
              std::uint64_t) noexcept override {
    return false;
  }
  void repost(Packet&) noexcept override {}
  int poll(ConnectionSink&, int) noexcept override { return 0; }
  const Status& fault() const noexcept override { return status; }
  int descriptor() const noexcept override { return -1; }
  bool arm() noexcept override { return true; }
  Status status;
  std::uint64_t enrolled = 0;
  int live = 0;
  std::uint64_t live_bytes = 0, bytes_max = ~std::uint64_t{0};
  bool writable = true;
};

}  // namespace espalier::rdma
