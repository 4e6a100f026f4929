#include "bootstrap/job_groups.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bootstrap/rdma_stack.hpp"
#include "net/multicast/group_address.hpp"
#include "net/udp/udp_group_port.hpp"

namespace espalier {
namespace {

// Below those that the kernel gives to clients.
constexpr std::uint16_t kUdpPortFirst = 20000, kUdpPorts = 12000;
// Tells numbers of lanes from those of groups.
constexpr std::uint64_t kLaneMark = std::uint64_t{0x1A7E} << 32;

std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ value >> 33) * 0xff51afd7ed558ccdULL;
  value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return value ^ value >> 33;
}

std::uint64_t number_of(std::uint64_t epoch, std::uint32_t team, Rank first) noexcept {
  return mix(mix(mix(epoch) + team) + static_cast<std::uint32_t>(first));
}

multicast::GroupAddress address_of(std::uint64_t number) noexcept {
  const auto byte = [&](int at) { return static_cast<std::uint8_t>(number >> at); };
  const auto key = static_cast<std::uint32_t>(number >> 24) & multicast::kGroupKeyMax;
  return multicast::group_address({239, byte(0), byte(8), byte(16)}, std::max(key, 1U));
}

// Of what IP network the address is one.
std::uint32_t hash_network(const net::Interface& interface) noexcept {
  std::uint32_t address = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    address = address << 8 | std::to_integer<std::uint32_t>(interface.address.bytes[i]);
  }
  const unsigned bits = std::min(interface.prefix_bits, 32U);
  const std::uint32_t mask = bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits);
  return static_cast<std::uint32_t>(mix(std::uint64_t{address & mask} << 8 | bits)) | 1;
}

}  // namespace

multicast::GroupAddress group_address_of(std::uint64_t epoch, std::uint32_t team, Rank first) {
  return address_of(number_of(epoch, team, first));
}

multicast::GroupAddress lane_address_of(std::uint64_t epoch, std::uint32_t team, Rank first,
                                        Rank source) {
  const std::uint64_t lane = kLaneMark | static_cast<std::uint32_t>(source);
  return address_of(mix(number_of(epoch, team, first) + lane));
}

std::unique_ptr<JobGroups> JobGroups::by_rdma(RdmaStack& stack) {
  std::unique_ptr<JobGroups> made(new JobGroups);
  made->stack_ = &stack;
  made->terms_ = stack.group_terms();
  made->why_none_ = stack.why_no_groups();
  return made;
}

std::unique_ptr<JobGroups> JobGroups::by_udp(const std::vector<net::Interface>& interfaces,
                                             const Log& log) {
  std::unique_ptr<JobGroups> made(new JobGroups);
  made->log_ = log;
  const auto found = std::ranges::find_if(interfaces, [](const net::Interface& one) {
    return one.address.family == net::TcpAddress::Family::kV4;
  });
  if (found == interfaces.end()) {
    made->why_none_ = "multicast over UDP is for IPv4";
    return made;
  }
  made->interface_ = *found;
  net::UdpGroupOptions options;
  options.interface = *found;
  options.group = group_address_of(0, 0, 0);
  options.port = kUdpPortFirst;
  auto probed = net::prepare_group_socket(options, log);
  if (!probed) {
    made->why_none_ = probed.error().text;
    return made;
  }
  made->terms_ = {GroupCarrier::kUdp, probed->packet_bytes, probed->depth, hash_network(*found)};
  return made;
}

std::string JobGroups::adapter() const {
  return stack_ != nullptr ? stack_->port_name() : interface_.name;
}

Result<std::unique_ptr<multicast::GroupPort>> JobGroups::open(std::uint32_t team, Rank first) {
  const multicast::GroupAddress address = group_address_of(epoch_, team, first);
  return stack_ != nullptr ? stack_->open_group(address) : open_udp(address);
}

Result<std::unique_ptr<multicast::PlacingPort>> JobGroups::open_lane(std::uint32_t team, Rank first,
                                                                     Rank source) {
  if (stack_ == nullptr) return error(ESP_ERR_UNSUPPORTED, "there are no lanes over UDP");
  return stack_->open_lane(lane_address_of(epoch_, team, first, source));
}

rdma::Lease JobGroups::lease(const void* memory, std::uint64_t bytes, rdma::Use use) noexcept {
  return stack_ != nullptr ? stack_->lease(memory, bytes, use) : rdma::Lease();
}

void JobGroups::end(rdma::Lease& lease) noexcept {
  if (stack_ != nullptr) stack_->end(lease);
}

const rdma::Region* JobGroups::hold_away(const std::byte* memory, std::uint64_t bytes) noexcept {
  return stack_ != nullptr ? stack_->hold_away(memory, bytes) : nullptr;
}

void JobGroups::drop_away(const std::byte* memory) noexcept {
  stack_->drop_away(memory);
}

Result<std::unique_ptr<multicast::GroupPort>> JobGroups::open_udp(
    const multicast::GroupAddress& address) {
  net::UdpGroupOptions options;
  options.interface = interface_;
  options.group = address;
  options.port = static_cast<std::uint16_t>(kUdpPortFirst + address.key % kUdpPorts);
  options.packet_bytes = agreed_.packet_bytes;
  auto port = net::UdpGroupPort::create(options, log_);
  if (!port) return port.error();
  return std::unique_ptr<multicast::GroupPort>(std::move(*port));
}

}  // namespace espalier
