// Addresses, contacts and the choice of interfaces.
#include <gtest/gtest.h>

#include "core/prng.hpp"
#include "net/tcp/address.hpp"
#include "net/tcp/interfaces.hpp"

namespace espalier::net {
namespace {

TcpAddress address(const char* host, std::uint16_t port = 0) {
  TcpAddress made;
  EXPECT_TRUE(parse_host(host, made)) << host;
  made.port = port;
  return made;
}

TcpContact sample() {
  TcpContact contact;
  for (std::size_t i = 0; i < contact.secret.size(); ++i) {
    contact.secret[i] = static_cast<std::byte>(i * 7);
  }
  contact.addresses = {address("10.1.2.3", 4711), address("fd00::2", 65535),
                       address("127.0.0.1", 1)};
  return contact;
}

TEST(TcpAddress, Texts) {
  EXPECT_EQ(text(address("10.1.2.3", 4711)), "10.1.2.3:4711");
  EXPECT_EQ(text(address("fd00::2", 80)), "[fd00::2]:80");
  TcpAddress none;
  for (const char* bad : {"", "10.1.2", "eth0", "10.1.2.3.4", "::g", "10.1.2.3:80"}) {
    EXPECT_FALSE(parse_host(bad, none)) << bad;
  }
}

TEST(TcpAddress, SurvivesTheKernelsForm) {
  for (const TcpAddress& a : sample().addresses) {
    TcpAddress back;
    ASSERT_TRUE(from_socket_address(socket_address(a).get(), back));
    EXPECT_EQ(back, a);
  }
}

TEST(TcpContact, ReadsBackWhatWasWritten) {
  const auto bytes = contact_bytes(sample());
  EXPECT_LE(bytes.size(), TcpContact::kBytesMax);
  auto parsed = parse_contact(bytes, 3);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text;
  EXPECT_EQ(*parsed, sample());
}

void expect_no_address(std::vector<std::byte> bytes, const char* why) {
  auto parsed = parse_contact(bytes, 3);
  ASSERT_FALSE(parsed.ok()) << why;
  EXPECT_EQ(parsed.error().status.code(), ESP_ERR_NETWORK);
  EXPECT_EQ(parsed.error().status.rank(), 3);
  EXPECT_NE(parsed.error().text.find(why), std::string::npos) << parsed.error().text;
}

TEST(TcpContact, RefusesWhatNobodyWrites) {
  const auto good = contact_bytes(sample());
  const auto with = [&](std::size_t at, unsigned value) {
    auto bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return bytes;
  };
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_FALSE(parse_contact({good.data(), n}, 3).ok()) << n << " bytes";
  }
  expect_no_address({}, "0 bytes");
  expect_no_address(with(0, 0), "mark");
  expect_no_address(with(2, 2), "version");
  expect_no_address(with(3, 0), "0 addresses");
  expect_no_address(with(3, 9), "9 addresses");
  expect_no_address(with(3, 2), "bytes for 2 addresses");
  expect_no_address(with(20, 5), "family");
  expect_no_address(with(21, 1), "unused");
  expect_no_address(with(39, 1), "more than 4 bytes");
  auto no_port = with(22, 0);
  no_port[23] = std::byte{0};
  expect_no_address(no_port, "port 0");
  TcpContact any = sample();
  any.addresses[1] = {TcpAddress::Family::kV6, 5, {}};
  expect_no_address(contact_bytes(any), "all addresses");
}

TEST(TcpContact, MutatedBytesAreRefusedOrMeanWhatTheySay) {
  const auto good = contact_bytes(sample());
  for (std::uint64_t seed = 1; seed <= 50'000; ++seed) {
    Prng prng(seed);
    auto bytes = good;
    for (std::uint64_t n = 1 + prng.below(3); n > 0; --n) {
      bytes[prng.below(bytes.size())] = static_cast<std::byte>(prng.next());
    }
    if (prng.chance(0.2)) bytes.resize(prng.below(2 * bytes.size()));
    auto parsed = parse_contact(bytes, 3);
    if (parsed) {
      ASSERT_EQ(contact_bytes(*parsed), bytes) << "seed " << seed;
    }
  }
}

std::vector<Interface> machine() {
  return {{"lo", address("127.0.0.1"), 8, true},
          {"eth0", address("10.1.2.3"), 16, false},
          {"ib0", address("192.168.9.1"), 24, false},
          {"lo", address("::1"), 128, true},
          {"ib0", address("fd00:9::1"), 64, false}};
}

std::string chosen(std::string_view wish) {
  auto found = choose_interfaces(machine(), wish);
  if (!found) return found.error().text;
  std::string hosts;
  for (const Interface& i : *found) hosts += (hosts.empty() ? "" : " ") + host_text(i.address);
  return hosts;
}

TEST(Interfaces, AreChosenByNameAddressOrNetwork) {
  EXPECT_EQ(chosen(""), "10.1.2.3 192.168.9.1 fd00:9::1");
  EXPECT_EQ(chosen("ib0"), "192.168.9.1 fd00:9::1");
  EXPECT_EQ(chosen("ib0,eth0,ib0"), "192.168.9.1 fd00:9::1 10.1.2.3");
  EXPECT_EQ(chosen("10.0.0.0/8"), "10.1.2.3");
  EXPECT_EQ(chosen("192.168.8.0/23"), "192.168.9.1");
  EXPECT_EQ(chosen("fd00::/16"), "fd00:9::1");
  EXPECT_EQ(chosen("0.0.0.0/0"), "127.0.0.1 10.1.2.3 192.168.9.1");
  EXPECT_EQ(chosen("::1"), "::1");
  EXPECT_EQ(chosen("10.1.2.3"), "10.1.2.3");
  EXPECT_EQ(chosen("lo"), "127.0.0.1 ::1");
}

TEST(Interfaces, AWishThatCannotBeMetIsExplained) {
  EXPECT_EQ(chosen("ib1"),
            "no network interface matches \"ib1\"; there are: lo 127.0.0.1/8, eth0 10.1.2.3/16, "
            "ib0 192.168.9.1/24, lo ::1/128, ib0 fd00:9::1/64");
  EXPECT_NE(chosen("192.168.8.0/24").find("no network interface"), std::string::npos);
  for (const char* bad : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "eth0/8", "fd00::/129"}) {
    EXPECT_NE(chosen(bad).find("not a name, an address or a network"), std::string::npos) << bad;
  }
}

TEST(Interfaces, ElementsThatMatchNothingAreTold) {
  std::vector<std::string> unmatched;
  ASSERT_TRUE(choose_interfaces(machine(), "ib0,ib1,ib0,10.2.0.0/16", &unmatched).ok());
  EXPECT_EQ(unmatched, (std::vector<std::string>{"ib1", "10.2.0.0/16"}));
}

TEST(Interfaces, LoopbackIsForMachinesWithNothingElse) {
  std::vector<Interface> only = {machine()[0], machine()[3]};
  auto found = choose_interfaces(only, "");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), 2U);
  EXPECT_FALSE(choose_interfaces({}, "").ok());
}

TEST(Interfaces, ThisMachineHasLoopback) {
  auto all = list_interfaces();
  ASSERT_TRUE(all.ok()) << all.error().text;
  auto found = choose_interfaces(*all, "127.0.0.1");
  ASSERT_TRUE(found.ok()) << found.error().text;
  EXPECT_TRUE(found->front().loopback);
  EXPECT_EQ(found->front().prefix_bits, 8U);
}

}  // namespace
}  // namespace espalier::net
