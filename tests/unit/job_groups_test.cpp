// Addresses of the groups of a job's teams, which all members compute alike.
#include "bootstrap/job_groups.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "net/multicast/group_address.hpp"

namespace espalier {
namespace {

TEST(JobGroups, AddressesAreSoundAndHardlyEverMeet) {
  std::set<std::string> seen;
  int number = 0;
  for (const std::uint64_t epoch : {1ULL, 2ULL, 0x123456789ULL}) {
    for (std::uint32_t team = 0; team < 20; ++team) {
      for (const Rank first : {0, 1, 4, 4096}) {
        const multicast::GroupAddress address = group_address_of(epoch, team, first);
        EXPECT_TRUE(multicast::check_group(address).ok()) << multicast::group_text(address);
        EXPECT_GT(address.key, 0U);
        EXPECT_EQ(address, group_address_of(epoch, team, first));
        seen.insert(multicast::group_text(address));
        ++number;
        for (const Rank source : {first, 7}) {
          const multicast::GroupAddress lane = lane_address_of(epoch, team, first, source);
          EXPECT_TRUE(multicast::check_group(lane).ok()) << multicast::group_text(lane);
          EXPECT_GT(lane.key, 0U);
          seen.insert(multicast::group_text(lane));
          ++number;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(number)) << "of 2^24";
}

TEST(JobGroups, UdpTermsAreThoseOfTheInterface) {
  net::Interface loopback;
  loopback.name = "lo";
  loopback.address.bytes[0] = std::byte{127};
  loopback.address.bytes[3] = std::byte{1};
  loopback.prefix_bits = 8;
  loopback.loopback = true;
  const auto groups = JobGroups::by_udp({loopback}, Log());
  EXPECT_EQ(groups->why_none(), "");
  EXPECT_EQ(groups->terms().carrier, GroupCarrier::kUdp);
  EXPECT_GT(groups->terms().packet_bytes, 1000U);
  EXPECT_GT(groups->terms().receive_depth, 1U);
  net::Interface other = loopback;
  other.address.bytes[2] = std::byte{9};
  EXPECT_EQ(JobGroups::by_udp({other}, Log())->terms().network, groups->terms().network);
  other.prefix_bits = 24;
  EXPECT_NE(JobGroups::by_udp({other}, Log())->terms().network, groups->terms().network);
  const auto none = JobGroups::by_udp({}, Log());
  EXPECT_EQ(none->terms().carrier, GroupCarrier::kNone);
  EXPECT_NE(none->why_none(), "");
}

TEST(JobGroups, APortIsOpenedAndJoins) {
  net::Interface loopback;
  loopback.address.bytes[0] = std::byte{127};
  loopback.address.bytes[3] = std::byte{1};
  loopback.prefix_bits = 8;
  loopback.loopback = true;
  const auto groups = JobGroups::by_udp({loopback}, Log());
  GroupTerms agreed = groups->terms();
  agreed.packet_bytes = 1000;
  groups->use(77, agreed);
  auto port = groups->open(3, 1);
  ASSERT_TRUE(port.ok()) << port.error().text;
  EXPECT_EQ((*port)->joined(), multicast::Joined::kYes);
  EXPECT_EQ((*port)->packet_bytes(), 1000U);
}

}  // namespace
}  // namespace espalier
