// Addresses of multicast groups (net/multicast/group_address.hpp).
#include "net/multicast/group_address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/prng.hpp"

namespace espalier::multicast {
namespace {

using ::testing::HasSubstr;

std::string flaw_of_group(const GroupAddress& group) {
  const Outcome checked = check_group(group);
  return checked.ok() ? "" : checked.error().text;
}

TEST(GroupAddresses, AreIpv4AddressesOfMulticast) {
  const GroupAddress group = group_address({239, 1, 2, 3}, 0x12345678);
  GroupAddress expected{.gid = {}, .key = 0x12345678};
  const unsigned last[6] = {0xFF, 0xFF, 239, 1, 2, 3};
  for (std::size_t i = 0; i < 6; ++i) expected.gid[10 + i] = static_cast<std::byte>(last[i]);
  EXPECT_EQ(group, expected);
  EXPECT_EQ(ipv4_of(group), (Ipv4{239, 1, 2, 3}));
  EXPECT_EQ(group_text(group), "239.1.2.3");
  EXPECT_EQ(flaw_of_group(group), "");
  EXPECT_EQ(flaw_of_group(group_address({224, 0, 1, 0}, 0)), "");
  EXPECT_EQ(flaw_of_group(group_address({239, 255, 255, 255}, kGroupKeyMax)), "");
}

TEST(GroupAddresses, OthersAreRefused) {
  EXPECT_EQ(flaw_of_group(group_address({223, 255, 255, 255}, 1)),
            "223.255.255.255 is no multicast group: it is not in 224.0.0.0/4");
  EXPECT_THAT(flaw_of_group(group_address({240, 0, 0, 0}, 1)), HasSubstr("not in 224.0.0.0/4"));
  EXPECT_THAT(flaw_of_group(group_address({224, 0, 0, 251}, 1)), HasSubstr("224.0.0.0/24"));
  EXPECT_THAT(flaw_of_group(group_address({239, 1, 2, 3}, kGroupKeyMax + 1)),
              HasSubstr("the key 0x80000000"));
  GroupAddress ipv6{.gid = {std::byte{0xFF}, std::byte{0x0E}}, .key = 1};
  EXPECT_EQ(flaw_of_group(ipv6), "ff0e:: is no multicast group: it stands for no IPv4 address");
  EXPECT_EQ(check_group(ipv6).error().status.code(), ESP_ERR_ARGUMENT);
}

TEST(GroupAddresses, AnyBytesAreTakenOrRefused) {
  Prng random(20);
  for (int i = 0; i < 20'000; ++i) {
    GroupAddress group = group_address({}, static_cast<std::uint32_t>(random.next()));
    for (std::size_t k = i % 2 != 0 ? 0 : 12; k < 16; ++k) {
      group.gid[k] = static_cast<std::byte>(random.next());
    }
    const Ipv4 address = ipv4_of(group);
    const auto mapped = group_address(address, group.key);
    const bool taken = flaw_of_group(group).empty();
    EXPECT_EQ(taken, group == mapped && address[0] >= 224 && address[0] < 240 &&
                         (address[0] > 224 || address[1] > 0 || address[2] > 0) &&
                         group.key <= kGroupKeyMax)
        << group_text(group);
  }
}

}  // namespace
}  // namespace espalier::multicast
