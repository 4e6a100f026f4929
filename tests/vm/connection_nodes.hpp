// Two nodes with a VerbsConnectionPort each (net/verbs/connection_port.hpp), and what they tell.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/vm/nodes.hpp"

namespace espalier::verbs {

using rdma::ConnectionId;
using rdma::Fault;
using rdma::Packet;
using rdma::RemoteMemory;
using rdma::Transfer;

// Notes what a port tells.
struct ConnectionLog final : rdma::ConnectionSink {
  struct Placed {
    ConnectionId from;
    std::uint32_t immediate, bytes;
  };
  struct Failed {
    std::uint64_t cookie;
    Fault why;
    friend bool operator==(const Failed&, const Failed&) = default;
  };
  void received(ConnectionId, Packet& packet) noexcept override { packets.push_back(&packet); }
  void received_immediate(ConnectionId, Packet& packet, std::uint32_t immediate) noexcept override {
    packets.push_back(&packet);
    immediates.push_back(immediate);
  }
  void placed(ConnectionId from, std::uint32_t immediate, std::uint32_t bytes) noexcept override {
    writes.push_back({from, immediate, bytes});
  }
  void completed(ConnectionId, std::uint64_t cookie) noexcept override {
    EXPECT_THAT(faults, ::testing::IsEmpty());
    done.push_back(cookie);
  }
  void broken(ConnectionId which, Fault why) noexcept override {
    broken_ones.push_back(which);
    faults.push_back(why);
  }
  void failed(ConnectionId, std::uint64_t cookie, Fault why) noexcept override {
    lost.push_back({cookie, why});
  }

  std::vector<Packet*> packets;
  std::vector<std::uint32_t> immediates;  // of those packets that had one
  std::vector<Placed> writes;
  std::vector<std::uint64_t> done;
  std::vector<ConnectionId> broken_ones;
  std::vector<Fault> faults;
  std::vector<Failed> lost;
};

struct ConnectionNode {
  std::unique_ptr<rdma::ConnectionPort> port;
  ConnectionLog log;
  ConnectionId connection = {};
  std::vector<std::byte> memory;
  rdma::Region region;

  int poll() { return port->poll(log, 64); }
  RemoteMemory remote(std::size_t offset = 0) const {
    return {reinterpret_cast<std::uint64_t>(memory.data() + offset), region.remote_key};
  }
  Transfer local(std::size_t offset, std::uint64_t bytes, std::uint64_t cookie) const {
    return {.local = memory.data() + offset, .region = &region, .bytes = bytes, .cookie = cookie};
  }
  void give_all() {
    for (Packet* packet : log.packets) port->repost(*packet);
    log.packets.clear();
  }
};

class Connections : public TwoNodes {
 protected:
  static constexpr std::size_t kMemory = 1 << 20;
  // Time-outs that end in a fraction of a second.
  Options options() const override {
    Options options;
    options.ack_timeout = 10;
    options.retries = 3;
    options.not_ready_retries = 2;
    return options;
  }

  // `provided`: packets for arrivals.
  void open(const ConnectionOptions& options = {}, std::uint32_t provided = UINT32_MAX) {
    for (int i = 0; i < 2; ++i) {
      ConnectionNode& node = nodes_[i];
      auto made = adapters_[i]->open_connections(options);
      ASSERT_TRUE(made.ok()) << made.error().text;
      node.port = std::move(*made);
      node.port->provide(std::min(provided, node.port->receive_depth()));
      node.memory.resize(kMemory);
      for (std::size_t k = 0; k < kMemory; ++k) node.memory[k] = pattern(k, i);
      auto region = node.port->enroll(node.memory.data(), node.memory.size());
      ASSERT_TRUE(region.ok()) << region.error().text;
      node.region = *region;
    }
    connect();
  }
  void connect() {
    for (ConnectionNode& node : nodes_) {
      auto made = node.port->create();
      ASSERT_TRUE(made.ok()) << made.error().text;
      node.connection = *made;
    }
    for (int i = 0; i < 2; ++i) {
      const auto address = nodes_[1 - i].port->address(nodes_[1 - i].connection);
      const Outcome connected = nodes_[i].port->connect(nodes_[i].connection, address);
      ASSERT_TRUE(connected.ok()) << connected.error().text;
    }
  }
  void TearDown() override {
    for (ConnectionNode& node : nodes_) {
      if (node.port == nullptr) continue;
      node.port->withdraw(node.region);
      node.port.reset();
    }
  }
  static std::byte pattern(std::size_t k, int node) {
    return static_cast<std::byte>(k * 13 + (k >> 8) + static_cast<std::size_t>(node) * 101);
  }
  void poll_both() {
    nodes_[0].poll();
    nodes_[1].poll();
  }
  // A fresh connection carries a message: the ports are usable.
  void expect_usable() {
    for (ConnectionNode& node : nodes_) node.log = {};
    connect();
    ConnectionNode& a = nodes_[0];
    ASSERT_TRUE(a.port->send(a.connection, a.local(0, 100, 7)));
    EXPECT_TRUE(eventually([&] {
      poll_both();
      return !a.log.done.empty() && !nodes_[1].log.packets.empty();
    }));
    EXPECT_THAT(a.log.done, ::testing::ElementsAre(7));
    nodes_[1].give_all();
  }

  ConnectionNode nodes_[2];
};

}  // namespace espalier::verbs
