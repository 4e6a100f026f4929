#include "net/verbs/choice.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>

#include "net/verbs/verbs.hpp"

namespace espalier::verbs {
namespace {

bool link_local(const GidBytes& gid) noexcept {
  return gid[0] == 0xFE && (gid[1] & 0xC0) == 0x80;
}

// The smaller the better; nothing: not without being asked for.
std::optional<int> rank_of(const Gid& gid, LinkLayer link) noexcept {
  if (link == LinkLayer::kInfiniband) return 0;
  if (gid.type != GidType::kRoceV2) return std::nullopt;
  if (stands_for_ipv4(gid.bytes)) return 0;
  return link_local(gid.bytes) ? 2 : 1;
}

// Ports of one class reach each other, if any do. The smaller the better.
struct PortClass {
  LinkLayer link;
  int gid_rank;
  std::uint64_t subnet;  // InfiniBand; no order but the same everywhere, and so the partition
  std::uint32_t short_of_mtu;
  std::uint16_t partition;
  friend auto operator<=>(const PortClass&, const PortClass&) = default;
};

PortClass class_of(const PortInfo& info, const Options& options) noexcept {
  constexpr int kAskedFor = 3;
  const std::uint32_t most = options.mtu_bytes != 0 ? options.mtu_bytes : kMtuMax;
  PortClass made{.link = info.link,
                 .gid_rank = rank_of(info.gid, info.link).value_or(kAskedFor),
                 .subnet = 0,
                 .short_of_mtu = most - std::min(most, info.mtu_bytes),
                 .partition = static_cast<std::uint16_t>(info.partition_key & kPartitionMask)};
  if (info.link == LinkLayer::kInfiniband) {
    for (std::size_t i = 0; i < sizeof made.subnet; ++i) {
      made.subnet = made.subnet << 8 | info.gid.bytes[i];
    }
  }
  return made;
}

struct PortName {
  std::string_view device;
  int port = 0;  // 0: any
};

std::optional<PortName> parse_port_name(std::string_view text) noexcept {
  const std::size_t colon = text.find(':');
  PortName name{text.substr(0, colon)};
  if (name.device.empty()) return std::nullopt;
  if (colon == std::string_view::npos) return name;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data() + colon + 1, end, name.port);
  if (failure != std::errc() || stop != end || name.port < 1) return std::nullopt;
  return name;
}

// The ports that one entry of options.device names.
Result<std::vector<PortInfo>> named(std::span<const PortInfo> all, std::string_view text) {
  const auto name = parse_port_name(text);
  if (!name) {
    return error(ESP_ERR_CONFIG,
                 fmt::format("DEVICE: \"{}\" is not of the form name[:port]", text));
  }
  std::vector<PortInfo> found;
  std::string reasons;
  for (const PortInfo& info : all) {
    if (info.device != name->device || (name->port != 0 && info.port != name->port)) continue;
    if (info.why_not.empty()) {
      found.push_back(info);
    } else {
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", info.name(), info.why_not);
    }
  }
  if (!found.empty()) return found;
  if (!reasons.empty()) return error(ESP_ERR_CONFIG, fmt::format("DEVICE: {}", reasons));
  std::string known;
  for (const PortInfo& info : all) known += " " + info.name();
  if (known.empty()) known = " none (" + why_no_device() + ")";
  return error(
      ESP_ERR_CONFIG,
      fmt::format("DEVICE: there is no RDMA device \"{}\" here; there are:{}", text, known));
}

}  // namespace

std::string gid_text(const GidBytes& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool ipv4 = stands_for_ipv4(gid);
  inet_ntop(ipv4 ? AF_INET : AF_INET6, gid.data() + (ipv4 ? 12 : 0), text, sizeof text);
  return text;
}

Result<Gid> choose_gid(std::span<const Gid> table, LinkLayer link, int wanted) {
  const Gid* best = nullptr;
  for (const Gid& gid : table) {
    if (wanted >= 0) {
      if (gid.index == wanted) return gid;
      continue;
    }
    const auto rank = rank_of(gid, link);
    if (rank && (best == nullptr || *rank < *rank_of(*best, link))) best = &gid;
  }
  if (best != nullptr) return *best;
  if (wanted >= 0) return error(ESP_ERR_CONFIG, fmt::format("it has no GID of index {}", wanted));
  return error(ESP_ERR_UNSUPPORTED, "it has no GID of RoCE version 2 (no IP address?)");
}

std::string why_not_kind(Transport transport, LinkLayer link) {
  if (transport == Transport::kIwarp) return "it speaks iWARP, which has no datagrams";
  if (transport == Transport::kInfiniband && link != LinkLayer::kUnknown) return "";
  return "it is neither InfiniBand nor RoCE";
}

Result<std::uint16_t> choose_partition(std::span<const std::uint16_t> table) {
  const auto is_full = [](std::uint16_t key) { return (key & ~kPartitionMask) != 0; };
  const auto is_any = [](std::uint16_t key) { return (key & kPartitionMask) != 0; };
  auto best = std::find_if(table.begin(), table.end(), is_full);
  if (best == table.end()) best = std::find_if(table.begin(), table.end(), is_any);
  if (best != table.end()) return static_cast<std::uint16_t>(best - table.begin());
  return error(ESP_ERR_UNSUPPORTED, "it is in no partition (no P_Key)");
}

std::string describe(const PortInfo& info) {
  std::string text = info.name();
  if (info.link != LinkLayer::kUnknown) text += fmt::format(" {}", link_layer_name(info.link));
  if (!info.why_not.empty()) return text + ": not usable, " + info.why_not;
  text += fmt::format(", {}, MTU {}, GID {} ({})", info.state, info.mtu_bytes, info.gid.index,
                      gid_text(info.gid.bytes));
  if (info.link == LinkLayer::kInfiniband) text += fmt::format(", LID {}", info.lid);
  if (!info.atomics) text += ", no atomics";
  return text;
}

std::string why_no_groups(const PortInfo& info) {
  if (!info.why_not.empty()) return info.why_not;
  if (std::string why = why_no_groups(); !why.empty()) return why;
  if (info.link != LinkLayer::kEthernet || info.gid.type != GidType::kRoceV2 ||
      !stands_for_ipv4(info.gid.bytes)) {
    return "multicast is made for RoCE version 2 over IPv4 alone";
  }
  if (info.group_limits.groups == 0) return "the device has no multicast";
  return "";
}

std::string describe_groups(const PortInfo& info) {
  if (const std::string why = why_no_groups(info); !why.empty()) return "no multicast: " + why;
  return fmt::format("multicast: {} groups, {} queue pairs in one, {} in all",
                     info.group_limits.groups, info.group_limits.of_one,
                     info.group_limits.memberships);
}

Result<std::vector<PortInfo>> choose_ports(std::span<const PortInfo> all, const Options& options,
                                           const Machine& machine, const Asker& asker) {
  std::vector<PortInfo> chosen;
  for (std::string_view rest = options.device; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    auto found = named(all, rest.substr(0, comma));
    if (!found) return found.error();
    chosen.insert(chosen.end(), found->begin(), found->end());
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (!chosen.empty()) return chosen;

  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
               [](const PortInfo& info) { return info.why_not.empty(); });
  const auto far = [&](const PortInfo& info) {
    return distance(common_locality(machine, info.cpus), asker.place);
  };
  const auto merit = [&](const PortInfo& info) {
    return std::tuple(class_of(info, options), -info.gbits, far(info));
  };
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](const PortInfo& a, const PortInfo& b) { return merit(a) < merit(b); });
  if (chosen.empty()) return chosen;
  const auto best_end = std::find_if(chosen.begin(), chosen.end(), [&](const PortInfo& info) {
    return merit(chosen.front()) < merit(info);
  });
  const auto best = best_end - chosen.begin();
  std::rotate(chosen.begin(), chosen.begin() + asker.node_rank % best, best_end);
  return chosen;
}

}  // namespace espalier::verbs
