// What queue pairs are asked for, and what the device made of it: the settings arrive there.
#include "tests/vm/queue_pairs.hpp"

#include <gmock/gmock.h>

#include <cerrno>

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

// Some drivers refuse without a word: what stood in errno before is not their reason.
TEST_F(Connections, ADeviceThatTakesLittleInlineAndGivesNoReason) {
  QueuePairWatch watch;
  watch.inline_max = 64;
  watch.inline_errno = 0;
  errno = ENOMEM;
  open();
  for (ConnectionNode& node : nodes_) {
    ASSERT_NE(node.port, nullptr);
    EXPECT_EQ(node.port->inline_bytes(), 64u);
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

// No more connections than have their packets in a short shared queue, spare ones aside: each may
// be sent what it was promised.
TEST_F(TwoNodes, AShortSharedQueueIsForFewerConnections) {
  QueuePairWatch watch;
  watch.shared_receives_max = 256;
  auto adapter = open_adapter(adapters_[0]->info(), {});
  ASSERT_TRUE(adapter.ok()) << adapter.error().text;
  auto port = (*adapter)->open_connections({.packets_each = 4, .connections = 128});
  ASSERT_TRUE(port.ok()) << port.error().text;
  std::vector<rdma::ConnectionId> all;
  while (all.size() < 128) {
    auto made = (*port)->create();
    if (!made) break;
    all.push_back(*made);
  }
  EXPECT_GE(all.size(), 40u);
  EXPECT_LE(all.size(), 60u);
  EXPECT_LE((*port)->receive_depth() + 4 * all.size(), 256u);
  for (const rdma::ConnectionId one : all) (*port)->destroy(one);
}

// Elastic Fabric Adapters and the like speak a language of their own; iWARP has no datagrams.
TEST_F(TwoNodes, DevicesOfOtherKindsAreNotUsed) {
  if (!in_guest()) GTEST_SKIP() << "needs devices that are played";
  QueuePairWatch watch;
  for (const Transport transport : {Transport::kInfiniband, Transport::kIwarp, Transport::kOther}) {
    for (const LinkLayer link :
         {LinkLayer::kUnknown, LinkLayer::kInfiniband, LinkLayer::kEthernet}) {
      watch.transport = transport;
      watch.link = link;
      const auto ports = list_ports({});
      EXPECT_FALSE(ports.empty());
      for (const PortInfo& info : ports) {
        EXPECT_EQ(info.why_not, why_not_kind(transport, link)) << describe(info);
      }
    }
  }
  watch.transport = Transport::kInfiniband;  // libibverbs keeps what it says of devices.
  (void)list_ports({});
}

// Before any device is opened.
TEST_F(TwoNodes, ChildrenAreKeptFromMemoryWhereTheKernelDoesNotCareForThem) {
  QueuePairWatch watch;
  watch.forks_matter = true;
  (void)list_ports({});
  EXPECT_THAT(watch.calls, ::testing::StartsWith("fo"));
  watch.forks_matter = false;
  watch.calls.clear();
  (void)list_ports({});
  EXPECT_THAT(watch.calls, ::testing::StartsWith("o"));
  EXPECT_THAT(watch.calls, ::testing::Not(::testing::HasSubstr("f")));
}

// The first key may be a limited one, whose members do not hear each other.
TEST_F(TwoNodes, QueuePairsJoinThePartitionOfTheFirstFullKey) {
  if (!in_guest()) GTEST_SKIP() << "needs devices that are played";
  QueuePairWatch watch;
  watch.partitions = {0x7fff, 0x8001};
  const auto ports = list_ports({});
  ASSERT_FALSE(ports.empty());
  auto adapter = open_adapter(ports[0], {});
  ASSERT_TRUE(adapter.ok()) << adapter.error().text;
  auto datagrams = (*adapter)->open_datagrams({});
  ASSERT_TRUE(datagrams.ok()) << datagrams.error().text;
  auto connections = (*adapter)->open_connections({});
  ASSERT_TRUE(connections.ok()) << connections.error().text;
  auto one = (*connections)->create(), other = (*connections)->create();
  ASSERT_TRUE(one.ok() && other.ok());
  const Outcome connected = (*connections)->connect(*one, (*connections)->address(*other));
  ASSERT_TRUE(connected.ok()) << connected.error().text;
  EXPECT_THAT(watch.partitions_used, ElementsAre(1, 1));
  for (const rdma::ConnectionId id : {*one, *other}) {
    (*connections)->stop(id);
    (*connections)->destroy(id);
  }
}

// InfiniBand where addresses of one subnet need the long header, too. Soft-RoCE needs it always, so
// it is a judge of that.
TEST_F(TwoNodes, InfinibandThatNeedsTheLongHeader) {
  if (!in_guest()) GTEST_SKIP() << "needs devices that are played";
  QueuePairWatch watch;
  watch.link = LinkLayer::kInfiniband;
  watch.lid = 7;
  Options options;
  options.gid_index = adapters_[0]->info().gid.index;
  for (const bool wanted : {false, true}) {
    watch.wants_grh = wanted;
    auto adapter = open_adapter(list_ports(options)[0], options);
    ASSERT_TRUE(adapter.ok()) << adapter.error().text;
    auto port = (*adapter)->open_datagrams({});
    ASSERT_TRUE(port.ok()) << port.error().text;
    EXPECT_EQ((*port)->open_path((*port)->address()).ok(), wanted);
  }
}

// A host that does not answer costs a second for each question. It is asked once for all its ranks,
// and again when several times as long has gone by.
TEST_F(TwoNodes, AHostThatDoesNotAnswerIsNotAskedForEachOfItsRanks) {
  const auto own = std::move(*adapters_[0]->open_datagrams({}));
  const auto theirs = std::move(*adapters_[1]->open_datagrams({}));
  const auto second = std::move(*adapters_[1]->open_datagrams({}));
  QueuePairWatch watch;
  watch.path_errno = ETIMEDOUT;
  watch.path_ms = 50;
  for (const auto* to : {&theirs, &second, &theirs}) {
    const auto path = own->open_path((*to)->address());
    ASSERT_FALSE(path.ok());
    EXPECT_EQ(path.error().status.error_number(), ETIMEDOUT);
    EXPECT_THAT(path.error().text, ::testing::HasSubstr("ibv_create_ah"));
  }
  EXPECT_EQ(watch.paths_asked, 1);
  EXPECT_FALSE(own->open_path(own->address()).ok());
  EXPECT_EQ(watch.paths_asked, 2) << "another host";
  watch.path_errno = 0;
  EXPECT_TRUE(eventually([&] { return own->open_path(theirs->address()).ok(); }));
  EXPECT_TRUE(own->open_path(second->address()).ok());
}

}  // namespace
}  // namespace espalier::verbs
