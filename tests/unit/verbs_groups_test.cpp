// Addresses of multicast groups (net/verbs/group_address.hpp), and what is said where there is no
// multicast, all without a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/prng.hpp"
#include "net/verbs/choice.hpp"
#include "net/verbs/group_address.hpp"
#include "net/verbs/verbs.hpp"

namespace espalier::verbs {
namespace {

using ::testing::HasSubstr;

std::string flaw_of_group(const multicast::GroupAddress& group) {
  const Outcome checked = check_group(group);
  return checked.ok() ? "" : checked.error().text;
}

TEST(VerbsGroups, AreIpv4AddressesOfMulticast) {
  const auto group = group_address({239, 1, 2, 3}, 0x12345678);
  const GidBytes expected = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 239, 1, 2, 3};
  EXPECT_EQ(gid_of(group), expected);
  EXPECT_EQ(group_text(group), "239.1.2.3");
  EXPECT_EQ(flaw_of_group(group), "");
  EXPECT_EQ(flaw_of_group(group_address({224, 0, 1, 0}, 0)), "");
  EXPECT_EQ(flaw_of_group(group_address({239, 255, 255, 255}, kQKeyMask)), "");
}

TEST(VerbsGroups, OthersAreRefused) {
  EXPECT_EQ(flaw_of_group(group_address({223, 255, 255, 255}, 1)),
            "223.255.255.255 is no multicast group: it is not in 224.0.0.0/4");
  EXPECT_THAT(flaw_of_group(group_address({240, 0, 0, 0}, 1)), HasSubstr("not in 224.0.0.0/4"));
  EXPECT_THAT(flaw_of_group(group_address({224, 0, 0, 251}, 1)), HasSubstr("224.0.0.0/24"));
  EXPECT_THAT(flaw_of_group(group_address({239, 1, 2, 3}, kQKeyMask + 1)),
              HasSubstr("the key 0x80000000"));
  multicast::GroupAddress ipv6{.gid = {std::byte{0xFF}, std::byte{0x0E}}, .key = 1};
  EXPECT_EQ(flaw_of_group(ipv6), "ff0e:: is no multicast group: it stands for no IPv4 address");
  EXPECT_EQ(check_group(ipv6).error().status.code(), ESP_ERR_ARGUMENT);
}

TEST(VerbsGroups, AnyBytesAreTakenOrRefused) {
  Prng random(20);
  for (int i = 0; i < 20'000; ++i) {
    auto group = group_address({}, static_cast<std::uint32_t>(random.next()));
    for (std::size_t k = i % 2 != 0 ? 0 : 12; k < 16; ++k) {
      group.gid[k] = static_cast<std::byte>(random.next());
    }
    const GidBytes gid = gid_of(group);
    const bool taken = flaw_of_group(group).empty();
    EXPECT_EQ(taken, stands_for_ipv4(gid) && gid[12] >= 224 && gid[12] < 240 &&
                         (gid[12] > 224 || gid[13] > 0 || gid[14] > 0) && group.key <= kQKeyMask)
        << group_text(group);
  }
}

TEST(VerbsGroups, PortsSayWhatTheyTake) {
  PortInfo port;
  port.device = "rxe0";
  port.gid = {1, GidType::kRoceV2, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 77, 0, 1}};
  port.group_limits = {.groups = 8192, .of_one = 56, .memberships = 458752};
  const std::string built = why_no_groups();
  const auto expect = [&](const PortInfo& info, const std::string& why) {
    const std::string all = built.empty() || !info.why_not.empty() ? why : built;
    EXPECT_EQ(why_no_groups(info), all);
    EXPECT_EQ(describe_groups(info),
              all.empty() ? "multicast: 8192 groups, 56 queue pairs in one, 458752 in all"
                          : "no multicast: " + all);
  };
  expect(port, "");
  PortInfo other = port;
  other.link = LinkLayer::kInfiniband;
  expect(other, "multicast is made for RoCE version 2 over IPv4 alone");
  other = port;
  other.gid.type = GidType::kRoceV1;
  expect(other, "multicast is made for RoCE version 2 over IPv4 alone");
  other = port;
  other.gid.bytes[0] = 0x20;
  expect(other, "multicast is made for RoCE version 2 over IPv4 alone");
  other = port;
  other.group_limits.groups = 0;
  expect(other, "the device has no multicast");
  other.why_not = "its link is down";
  expect(other, "its link is down");
}

}  // namespace
}  // namespace espalier::verbs
