// The devices and ports of this machine, with what decides between them.
// path: setup
#include <endian.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "core/host.hpp"
#include "net/verbs/adapter.hpp"

namespace espalier::verbs {
namespace {

std::vector<Gid> gids_of(ibv_context* context, int port, std::size_t table_length) {
  std::vector<ibv_gid_entry> entries(table_length);
  // The table of all ports together is asked for once; entries of others are left out below.
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  std::vector<Gid> gids;
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<std::size_t>(i)];
    if (entry.port_num != static_cast<std::uint32_t>(port)) continue;
    Gid gid{.index = static_cast<int>(entry.gid_index),
            .type = entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? GidType::kRoceV2
                    : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? GidType::kRoceV1
                                                             : GidType::kInfiniband};
    std::memcpy(gid.bytes.data(), entry.gid.raw, gid.bytes.size());
    gids.push_back(gid);
  }
  return gids;
}

LinkLayer link_of(const ibv_port_attr& port) noexcept {
  switch (port.link_layer) {
    case IBV_LINK_LAYER_INFINIBAND:
      return LinkLayer::kInfiniband;
    case IBV_LINK_LAYER_ETHERNET:
      return LinkLayer::kEthernet;
    default:
      return LinkLayer::kUnknown;
  }
}

Transport transport_of(ibv_transport_type transport) noexcept {
  switch (transport) {
    case IBV_TRANSPORT_IB:
      return Transport::kInfiniband;
    case IBV_TRANSPORT_IWARP:
      return Transport::kIwarp;
    default:
      return Transport::kOther;
  }
}

// Codes of one bit each; 0: one that is not known.
double gbits_of(const ibv_port_attr& port) noexcept {
  constexpr int kLanes[] = {1, 4, 8, 12, 2};
  constexpr double kOfALane[] = {2.5, 5, 10, 10, 14, 25, 50, 100};
  const auto width = static_cast<std::size_t>(std::countr_zero(port.active_width));
  const auto speed = static_cast<std::size_t>(std::countr_zero(port.active_speed));
  if (width >= std::size(kLanes) || speed >= std::size(kOfALane)) return 0;
  return kLanes[width] * kOfALane[speed];
}

GroupLimits group_limits_of(const ibv_device_attr& device) noexcept {
  const auto limit = [](int told) { return static_cast<std::uint32_t>(std::max(told, 0)); };
  return {.groups = limit(device.max_mcast_grp),
          .of_one = limit(device.max_mcast_qp_attach),
          .memberships = limit(device.max_total_mcast_qp_attach)};
}

// Into which partition queue pairs go.
Outcome find_partition(ibv_context* context, const ibv_port_attr& port, PortInfo& info) {
  std::vector<std::uint16_t> keys;
  for (int i = 0; i < port.pkey_tbl_len; ++i) {
    __be16 key = 0;
    if (ibv_query_pkey(context, static_cast<std::uint8_t>(info.port), i, &key) != 0) break;
    keys.push_back(be16toh(key));
    if ((keys.back() & ~kPartitionMask) != 0) break;
  }
  const auto index = choose_partition(keys);
  if (!index && info.link == LinkLayer::kEthernet) return Unit{};  // It has one, the first.
  if (!index) return index.error();
  info.partition_index = index.value();
  info.partition_key = keys[info.partition_index];
  return Unit{};
}

std::vector<int> cpus_near(ibv_device* device) {
  const auto text = read_text_file(fmt::format("{}/device/local_cpulist", device->ibdev_path));
  if (!text) return {};
  return parse_cpu_list(*text).value_or(std::vector<int>());
}

// Fills in the rest of `info`, at least why_not.
void look_at(ibv_context* context, const ibv_device_attr& device, std::size_t gids_max,
             const Options& options, PortInfo& info) {
  ibv_port_attr port = {};
  if (const int failure = ibv_query_port(context, static_cast<std::uint8_t>(info.port), &port)) {
    info.why_not = fmt::format("ibv_query_port: {}", std::strerror(failure));
    return;
  }
  info.link = link_of(port);
  info.state = port.state == IBV_PORT_ACTIVE ? "active" : ibv_port_state_str(port.state);
  info.why_not = why_not_kind(transport_of(context->device->transport_type), info.link);
  if (!info.why_not.empty()) return;
  info.mtu_bytes = mtu_bytes(port.active_mtu);
  info.gbits = gbits_of(port);
  info.lid = info.link == LinkLayer::kInfiniband ? port.lid : std::uint16_t{0};
  info.needs_grh = info.link == LinkLayer::kInfiniband && (port.flags & IBV_QPF_GRH_REQUIRED) != 0;
  info.atomics = device.atomic_cap != IBV_ATOMIC_NONE;
  info.group_limits = group_limits_of(device);
  if (port.state != IBV_PORT_ACTIVE) {
    info.why_not = fmt::format("its link is {}", info.state);
    return;
  }
  const auto gid = choose_gid(gids_of(context, info.port, gids_max), info.link, options.gid_index);
  if (!gid) {
    info.why_not = gid.error().text;
    return;
  }
  info.gid = gid.value();
  if (auto found = find_partition(context, port, info); !found) info.why_not = found.error().text;
}

void list_device(ibv_device* device, const Options& options, std::vector<PortInfo>& all) {
  PortInfo info;
  info.link = LinkLayer::kUnknown;
  info.device = ibv_get_device_name(device);
  info.cpus = cpus_near(device);
  const Context context(ibv_open_device(device));
  ibv_device_attr attributes = {};
  if (context == nullptr || ibv_query_device(context.get(), &attributes) != 0) {
    info.why_not = fmt::format("cannot be opened: {}", std::strerror(errno));
    all.push_back(info);
    return;
  }
  std::size_t gids_max = 0;
  for (int port = 1; port <= attributes.phys_port_cnt; ++port) {
    ibv_port_attr of_port = {};
    if (ibv_query_port(context.get(), static_cast<std::uint8_t>(port), &of_port) == 0) {
      gids_max += static_cast<std::size_t>(of_port.gid_tbl_len);
    }
  }
  for (int port = 1; port <= attributes.phys_port_cnt; ++port) {
    PortInfo of_port = info;
    of_port.port = port;
    look_at(context.get(), attributes, gids_max, options, of_port);
    all.push_back(of_port);
  }
}

// A child that is forked while the adapter uses memory may, on kernels before 5.12, take it along.
// Comes too late, without harm, where somebody else in this process has registered memory before.
void prepare_for_forks() noexcept {
  if (ibv_is_fork_initialized() != IBV_FORK_UNNEEDED) (void)ibv_fork_init();
}

}  // namespace

bool built() noexcept {
  return true;
}

std::vector<PortInfo> list_ports(const Options& options) {
  prepare_for_forks();
  int count = 0;
  const DeviceList devices(ibv_get_device_list(&count));
  std::vector<PortInfo> all;
  for (int i = 0; devices != nullptr && i < count; ++i) {
    list_device(devices[static_cast<std::size_t>(i)], options, all);
  }
  return all;
}

std::string why_no_device() {
  int count = 0;
  const DeviceList devices(ibv_get_device_list(&count));
  if (devices != nullptr) {
    return count > 0 ? "" : "the kernel offers no RDMA device (/sys/class/infiniband is empty)";
  }
  return errno == ENOSYS ? "the kernel has no RDMA (module ib_uverbs is not loaded)"
                         : fmt::format("ibv_get_device_list: {}", std::strerror(errno));
}

}  // namespace espalier::verbs
