// What is said of multicast, and where there is none, without a device.
#include <gtest/gtest.h>

#include "net/verbs/choice.hpp"
#include "net/verbs/verbs.hpp"

namespace espalier::verbs {
namespace {

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
