#include "net/verbs/address.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace espalier::verbs {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kDatagrams = 'D';
constexpr std::uint8_t kConnection = 'C';
constexpr std::uint8_t kNeedsGrh = 1, kLimited = 2;
constexpr std::size_t kSubnetBytes = 8;

// The layout in the header comment; no padding, so it is copied as a whole.
struct Layout {
  std::uint8_t version, kind, link, mtu_log2;
  std::uint32_t queue_pair, key;
  std::uint16_t lid;
  std::uint8_t reads;
  std::uint8_t zero;
  std::uint16_t partition;
  std::uint8_t flags;
  std::uint8_t zeros[5];
  GidBytes gid;
};
static_assert(sizeof(Layout) == sizeof(rdma::PortAddress));
static_assert(sizeof(Layout) == sizeof(rdma::ConnectionAddress));
static_assert(offsetof(Layout, key) == 8 && offsetof(Layout, partition) == 16);
static_assert(offsetof(Layout, gid) == 24);
static_assert(std::endian::native == std::endian::little, "numbers would need swapping");

std::uint8_t flags_of(const Endpoint& endpoint) noexcept {
  return static_cast<std::uint8_t>((endpoint.needs_grh ? kNeedsGrh : 0) |
                                   (endpoint.limited ? kLimited : 0));
}

template <typename Address>
Address make(const Endpoint& endpoint, std::uint8_t kind) noexcept {
  ESP_ASSERT(std::has_single_bit(endpoint.mtu_bytes));
  const Layout layout{.version = kVersion,
                      .kind = kind,
                      .link = static_cast<std::uint8_t>(endpoint.link),
                      .mtu_log2 = static_cast<std::uint8_t>(std::countr_zero(endpoint.mtu_bytes)),
                      .queue_pair = endpoint.queue_pair,
                      .key = endpoint.key,
                      .lid = endpoint.lid,
                      .reads = endpoint.reads,
                      .zero = 0,
                      .partition = endpoint.partition,
                      .flags = flags_of(endpoint),
                      .zeros = {},
                      .gid = endpoint.gid};
  Address address;
  std::memcpy(address.bytes.data(), &layout, sizeof layout);
  return address;
}

bool zero_only(const auto& bytes) noexcept {
  return std::all_of(std::begin(bytes), std::end(bytes), [](std::uint8_t b) { return b == 0; });
}

// The first thing that is wrong with it; nullptr: nothing.
const char* flaw(const Layout& layout, std::uint8_t kind) noexcept {
  constexpr std::uint16_t kUnicastLidMax = 0xBFFF;
  constexpr std::uint8_t kMulticastGid = 0xFF;
  if (layout.version != kVersion) return "of another version";
  if (layout.kind != kind) return "of another kind";
  const bool ethernet = layout.link == static_cast<std::uint8_t>(LinkLayer::kEthernet);
  if (!ethernet && layout.link != static_cast<std::uint8_t>(LinkLayer::kInfiniband)) {
    return "of an unknown link layer";
  }
  if (layout.mtu_log2 < 8 || layout.mtu_log2 > 12) return "with an impossible MTU";
  // 0 and 1 are for management.
  if (layout.queue_pair < 2 || layout.queue_pair > kQueuePairMax) return "with a bad queue pair";
  if (layout.key > (kind == kDatagrams ? kQKeyMask : kPsnMask)) return "with a bad key";
  if (ethernet ? layout.lid != 0 : layout.lid == 0 || layout.lid > kUnicastLidMax) {
    return "with a bad LID";
  }
  if (kind == kDatagrams && layout.reads != 0) return "with reads on datagrams";
  if (layout.partition > kPartitionMask) return "with a bad partition";
  if (layout.flags > (kNeedsGrh | kLimited)) return "with flags that mean nothing";
  if (layout.zero != 0 || !zero_only(layout.zeros)) return "with bytes that mean nothing";
  if ((ethernet || (layout.flags & kNeedsGrh) != 0) && zero_only(layout.gid))
    return "without a GID";
  if (layout.gid[0] == kMulticastGid) return "with a multicast GID";
  return nullptr;
}

template <typename Address>
Result<Endpoint> parse(const Address& address, std::uint8_t kind) {
  Layout layout;
  std::memcpy(&layout, address.bytes.data(), sizeof layout);
  if (const char* wrong = flaw(layout, kind)) {
    return error(ESP_ERR_NETWORK, fmt::format("an RDMA address {}", wrong));
  }
  return Endpoint{.link = static_cast<LinkLayer>(layout.link),
                  .mtu_bytes = std::uint32_t{1} << layout.mtu_log2,
                  .queue_pair = layout.queue_pair,
                  .key = layout.key,
                  .lid = layout.lid,
                  .reads = layout.reads,
                  .partition = layout.partition,
                  .limited = (layout.flags & kLimited) != 0,
                  .needs_grh = (layout.flags & kNeedsGrh) != 0,
                  .gid = layout.gid};
}

}  // namespace

const char* link_layer_name(LinkLayer link) noexcept {
  switch (link) {
    case LinkLayer::kInfiniband:
      return "InfiniBand";
    case LinkLayer::kEthernet:
      return "RoCE";
    case LinkLayer::kUnknown:
      break;
  }
  return "unknown";
}

bool stands_for_ipv4(const GidBytes& gid) noexcept {
  constexpr std::uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return std::equal(std::begin(kPrefix), std::end(kPrefix), gid.begin());
}

bool same_subnet(const GidBytes& a, const GidBytes& b) noexcept {
  return std::equal(a.begin(), a.begin() + kSubnetBytes, b.begin());
}

rdma::PortAddress datagram_address(const Endpoint& endpoint) noexcept {
  return make<rdma::PortAddress>(endpoint, kDatagrams);
}

rdma::ConnectionAddress connection_address(const Endpoint& endpoint) noexcept {
  return make<rdma::ConnectionAddress>(endpoint, kConnection);
}

Result<Endpoint> parse_address(const rdma::PortAddress& address) {
  return parse(address, kDatagrams);
}

Result<Endpoint> parse_address(const rdma::ConnectionAddress& address) {
  return parse(address, kConnection);
}

}  // namespace espalier::verbs
