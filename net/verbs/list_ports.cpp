// The devices and ports of this machine, with what decides between them.
// path: setup
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

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
  info.link =
      port.link_layer == IBV_LINK_LAYER_ETHERNET ? LinkLayer::kEthernet : LinkLayer::kInfiniband;
  info.state = port.state == IBV_PORT_ACTIVE ? "active" : ibv_port_state_str(port.state);
  info.mtu_bytes = mtu_bytes(port.active_mtu);
  info.lid = info.link == LinkLayer::kInfiniband ? port.lid : std::uint16_t{0};
  info.atomics = device.atomic_cap != IBV_ATOMIC_NONE;
  if (port.state != IBV_PORT_ACTIVE) {
    info.why_not = fmt::format("its link is {}", info.state);
    return;
  }
  const auto gid = choose_gid(gids_of(context, info.port, gids_max), info.link, options.gid_index);
  if (gid) {
    info.gid = gid.value();
  } else {
    info.why_not = gid.error().text;
  }
}

void list_device(ibv_device* device, const Options& options, std::vector<PortInfo>& all) {
  PortInfo info;
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
    info.port = port;
    info.why_not.clear();
    look_at(context.get(), attributes, gids_max, options, info);
    all.push_back(info);
  }
}

}  // namespace

bool built() noexcept {
  return true;
}

std::vector<PortInfo> list_ports(const Options& options) {
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
