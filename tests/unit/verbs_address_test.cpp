// Addresses of queue pairs (net/verbs/address.hpp): what is made is read again, and what is not
// right is refused, whatever the bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/prng.hpp"
#include "net/verbs/address.hpp"

namespace espalier::verbs {
namespace {

Endpoint roce_endpoint() {
  return {.link = LinkLayer::kEthernet,
          .mtu_bytes = 4096,
          .queue_pair = 0x123456,
          .key = 0x00ABCDEF,
          .lid = 0,
          .reads = 0,
          .gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 77, 0, 1}};
}

Endpoint infiniband_endpoint() {
  Endpoint endpoint = roce_endpoint();
  endpoint.link = LinkLayer::kInfiniband;
  endpoint.lid = 0xBFFF;
  endpoint.gid = {0xFE, 0x80};
  return endpoint;
}

TEST(VerbsAddress, TheLayoutIsFixed) {
  Endpoint endpoint = infiniband_endpoint();
  endpoint.reads = 16;
  endpoint.lid = 0x0102;
  const rdma::ConnectionAddress address = connection_address(endpoint);
  const std::uint8_t expected[40] = {2,    'C',  1,    12, 0x56, 0x34, 0x12, 0,   0xEF,
                                     0xCD, 0xAB, 0x00, 2,  1,    16,   0,    0,   0,
                                     0,    0,    0,    0,  0,    0,    0xFE, 0x80};
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(static_cast<std::uint8_t>(address.bytes[i]), expected[i]) << "byte " << i;
  }
}

TEST(VerbsAddress, WhatIsMadeIsReadAgain) {
  for (Endpoint endpoint : {roce_endpoint(), infiniband_endpoint()}) {
    for (const std::uint32_t mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
      endpoint.mtu_bytes = mtu;
      endpoint.reads = 0;
      const auto datagrams = parse_address(datagram_address(endpoint));
      ASSERT_TRUE(datagrams.ok()) << datagrams.error().text;
      EXPECT_EQ(datagrams.value(), endpoint);
      endpoint.reads = 16;
      const auto connection = parse_address(connection_address(endpoint));
      ASSERT_TRUE(connection.ok()) << connection.error().text;
      EXPECT_EQ(connection.value(), endpoint);
    }
  }
}

TEST(VerbsAddress, EveryFieldIsChecked) {
  struct Damage {
    std::size_t at;
    std::uint8_t value;
    const char* complaint;
  };
  for (const Damage& damage : {
           Damage{0, 1, "version"},
           Damage{1, 'C', "kind"},
           Damage{2, 0, "link layer"},
           Damage{2, 3, "link layer"},
           Damage{3, 7, "MTU"},
           Damage{3, 13, "MTU"},
           Damage{7, 1, "queue pair"},
           Damage{11, 0x80, "key"},
           Damage{12, 1, "LID"},
           Damage{14, 1, "reads"},
           Damage{15, 1, "bytes"},
           Damage{23, 9, "bytes"},
           Damage{24, 0xFF, "multicast"},
       }) {
    rdma::PortAddress address = datagram_address(roce_endpoint());
    address.bytes[damage.at] = std::byte{damage.value};
    const auto parsed = parse_address(address);
    ASSERT_FALSE(parsed.ok()) << damage.complaint;
    EXPECT_THAT(parsed.error().text, ::testing::HasSubstr(damage.complaint));
    EXPECT_EQ(parsed.error().status.code(), ESP_ERR_NETWORK);
  }
  Endpoint endpoint = roce_endpoint();
  endpoint.gid = {};
  EXPECT_FALSE(parse_address(datagram_address(endpoint)).ok());
  endpoint = roce_endpoint();
  endpoint.queue_pair = 1;  // For management.
  EXPECT_FALSE(parse_address(datagram_address(endpoint)).ok());
  endpoint = infiniband_endpoint();
  endpoint.lid = 0;
  EXPECT_FALSE(parse_address(datagram_address(endpoint)).ok());
  endpoint.lid = 0xC000;  // Multicast.
  EXPECT_FALSE(parse_address(datagram_address(endpoint)).ok());
  endpoint = infiniband_endpoint();
  endpoint.key = kPsnMask + 1;  // Right for datagrams only.
  EXPECT_TRUE(parse_address(datagram_address(endpoint)).ok());
  EXPECT_FALSE(parse_address(connection_address(endpoint)).ok());
}

// Whatever is accepted is within its limits, and means what its bytes say.
template <typename Address>
void check_accepted(const Address& address, Address (*make)(const Endpoint&) noexcept) {
  const auto parsed = parse_address(address);
  if (!parsed) return;
  EXPECT_EQ(make(parsed.value()).bytes, address.bytes);
  EXPECT_LE(parsed.value().mtu_bytes, 4096u);
  EXPECT_GE(parsed.value().mtu_bytes, 256u);
  EXPECT_LE(parsed.value().queue_pair, kQueuePairMax);
  EXPECT_NE(parsed.value().gid[0], 0xFF);
}

TEST(VerbsAddress, AnyBytesAreReadSafely) {
  Prng prng(1);
  for (int round = 0; round < 200'000; ++round) {
    rdma::PortAddress port = datagram_address(round % 2 ? roce_endpoint() : infiniband_endpoint());
    rdma::ConnectionAddress connection =
        connection_address(round % 2 ? roce_endpoint() : infiniband_endpoint());
    const bool noise = round % 8 == 0;  // Nothing but; else some bytes of a good one are changed.
    for (std::uint64_t i = noise ? 40 : prng.below(4); i > 0; --i) {
      const std::size_t at = noise ? i - 1 : prng.below(40);
      port.bytes[at] = static_cast<std::byte>(prng.next());
      connection.bytes[at] = static_cast<std::byte>(prng.next());
    }
    check_accepted(port, &datagram_address);
    check_accepted(connection, &connection_address);
  }
}

}  // namespace
}  // namespace espalier::verbs
