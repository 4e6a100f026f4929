// What queue pairs are asked for, and what the device made of it: the settings arrive there.
#include "tests/vm/queue_pairs.hpp"

#include <gmock/gmock.h>

#include "core/config.hpp"
#include "net/rdma/connection_link.hpp"
#include "tests/vm/connection_nodes.hpp"

namespace espalier::verbs {
namespace {

using test::QueuePairWatch;
using ::testing::ElementsAre;

// As a user sets them; none is the default, no two are equal.
class OddSettings : public Connections {
 protected:
  Options options() const override {
    Config config;
    config.service_level = 3;
    config.traffic_class = 104;
    config.rdma_mtu_bytes = 1024;
    config.rdma_retries = 5;
    config.rdma_not_ready_retries = 2;
    config.rdma_ack_timeout = 17;
    return options_from(config);
  }
};

TEST_F(OddSettings, ArriveAtTheDevice) {
  const QueuePairWatch watch;
  open();
  const auto asked = watch.asked();
  ASSERT_EQ(asked.size(), 2u);
  for (const test::QueuePairFacts& facts : asked) {
    EXPECT_EQ(facts.mtu_bytes, 1024u);
    EXPECT_EQ(facts.service_level, 3);
    EXPECT_EQ(facts.traffic_class, 104);
    EXPECT_EQ(facts.retries, 5);
    EXPECT_EQ(facts.not_ready_retries, 2);
    EXPECT_EQ(facts.ack_timeout, 17);
  }
  const auto told = watch.told();
  ASSERT_EQ(told.size(), 2u);
  for (const test::QueuePairFacts& facts : told) {
    EXPECT_EQ(facts.mtu_bytes, 1024u);
    // Soft-RoCE has no service levels and forgets them.
    if (!in_guest()) {
      EXPECT_EQ(facts.service_level, 3);
    }
    EXPECT_EQ(facts.traffic_class, 104);
    EXPECT_EQ(facts.retries, 5);
    EXPECT_EQ(facts.not_ready_retries, 2);
    EXPECT_EQ(facts.ack_timeout, 17);
  }
  expect_usable();
}

// A device that takes less inline than is wanted is asked for less, not for nothing: the messages
// of the connections need some.
TEST_F(Connections, ADeviceThatTakesLittleInline) {
  QueuePairWatch watch;
  watch.inline_max = 64;
  open();
  EXPECT_THAT(watch.inline_asked, ElementsAre(128, 64, 128, 64, 64, 64));
  for (ConnectionNode& node : nodes_) {
    EXPECT_EQ(node.port->inline_bytes(), 64u);
    const auto prepared = rdma::ConnectionLink::prepare(*node.port);
    EXPECT_TRUE(prepared.ok()) << prepared.error().text;
  }
  expect_usable();
}

TEST_F(Connections, ADeviceThatTakesNothingInlineIsTooSmall) {
  QueuePairWatch watch;
  watch.inline_max = 0;
  open();
  const auto prepared = rdma::ConnectionLink::prepare(*nodes_[0].port);
  ASSERT_FALSE(prepared.ok());
  EXPECT_THAT(prepared.error().text, ::testing::HasSubstr("too small for connections: 0 bytes"));
}

// A device that goes while something has come that nobody looks at any more: the descriptor of its
// port, which stays in the worker's set, must not wake it for ever.
TEST_F(Connections, APortWhoseDeviceHasGoneWakesNobody) {
  open();
  ConnectionNode& a = nodes_[0];
  ConnectionNode& b = nodes_[1];
  while (!b.port->arm()) b.poll();
  ASSERT_TRUE(a.port->send(a.connection, a.local(0, 8, 1)));
  ASSERT_TRUE(readable(b.port->descriptor(), 10'000));
  {
    QueuePairWatch watch;
    watch.device_gone = true;
    EXPECT_FALSE(b.port->arm());
  }
  EXPECT_LT(b.poll(), 0);
  EXPECT_EQ(b.port->fault().code(), ESP_ERR_NETWORK);
  EXPECT_FALSE(readable(b.port->descriptor(), 50));
  const auto made = b.port->create();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().status.code(), ESP_ERR_NETWORK);
}

}  // namespace
}  // namespace espalier::verbs
