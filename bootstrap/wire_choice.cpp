#include "bootstrap/wire_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace espalier {
namespace {

struct Known {
  WireKind kind;
  const char* name;
};
constexpr Known kKnown[] = {
    {WireKind::kShm, "shm"}, {WireKind::kRc, "rc"}, {WireKind::kUd, "ud"}, {WireKind::kTcp, "tcp"}};

std::string names(const std::vector<WireKind>& kinds) {
  std::vector<std::string> list;
  for (const WireKind kind : kinds) list.emplace_back(wire_name(kind));
  return fmt::format("{}", fmt::join(list, ","));
}

std::string known_names() {
  std::vector<WireKind> all;
  for (const Known& known : kKnown) all.push_back(known.kind);
  return names(all);
}

// Empty: as far as addresses tell these two ports reach each other.
std::string why_apart(const verbs::Endpoint& mine, const verbs::Endpoint& theirs) {
  if (mine.link != theirs.link) {
    return fmt::format("{} there, {} here", link_layer_name(theirs.link),
                       link_layer_name(mine.link));
  }
  if (mine.mtu_bytes != theirs.mtu_bytes) {
    return fmt::format("packets of {} bytes there, of {} here (RDMA_MTU)", theirs.mtu_bytes,
                       mine.mtu_bytes);
  }
  if (mine.partition != theirs.partition) {
    return fmt::format("partition {:#06x} there, {:#06x} here (P_Key)", theirs.partition,
                       mine.partition);
  }
  if (mine.limited && theirs.limited) {
    return fmt::format("both are limited members of partition {:#06x} (P_Key)", mine.partition);
  }
  if (mine.link == verbs::LinkLayer::kInfiniband) {
    return verbs::same_subnet(mine.gid, theirs.gid) ? "" : "another subnet";
  }
  const bool ipv4 = verbs::stands_for_ipv4(mine.gid);
  if (verbs::stands_for_ipv4(theirs.gid) == ipv4) return "";
  return fmt::format("its port has {} IPv4 address, the one here has {}", ipv4 ? "no" : "an",
                     ipv4 ? "one" : "none");
}

}  // namespace

const char* wire_name(WireKind kind) noexcept {
  for (const Known& known : kKnown) {
    if (known.kind == kind) return known.name;
  }
  return "?";
}

Result<std::vector<WireKind>> parse_wires(std::string_view text) {
  std::vector<WireKind> wires;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    const auto* known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                     [&](const Known& k) { return name == k.name; });
    if (known == std::end(kKnown)) {
      return error(ESP_ERR_CONFIG,
                   fmt::format("\"{}\" is no wire; known are {}", name, known_names()));
    }
    if (allows(wires, known->kind)) {
      return error(ESP_ERR_CONFIG, fmt::format("\"{}\" is listed twice", name));
    }
    wires.push_back(known->kind);
    if (comma == std::string_view::npos) return wires;
    text.remove_prefix(comma + 1);
  }
}

bool allows(const std::vector<WireKind>& wires, WireKind kind) noexcept {
  return std::find(wires.begin(), wires.end(), kind) != wires.end();
}

bool wants_connections(const std::vector<WireKind>& wires) noexcept {
  const auto connections = std::find(wires.begin(), wires.end(), WireKind::kRc);
  return connections < std::find(wires.begin(), wires.end(), WireKind::kUd);
}

bool all_have_rdma(const Directory& directory, const std::vector<WireKind>& wires) noexcept {
  const auto network = std::find_if(wires.begin(), wires.end(),
                                    [](WireKind kind) { return kind != WireKind::kShm; });
  return network != wires.end() && is_rdma(*network) && directory.head().all_have_datagrams != 0;
}

Result<std::optional<rdma::PortAddress>> rdma_address(const Directory& directory, Rank rank) {
  const auto bytes = directory.address(rank, WireKind::kUd);
  if (!bytes) return std::optional<rdma::PortAddress>();
  rdma::PortAddress address;
  if (bytes->size() != address.bytes.size()) {
    return error(ESP_ERR_BOOTSTRAP,
                 fmt::format("the RDMA address of rank {} has {} bytes, not {}", rank,
                             bytes->size(), address.bytes.size()),
                 rank);
  }
  std::copy(bytes->begin(), bytes->end(), address.bytes.begin());
  return std::optional(address);
}

WireChooser::WireChooser(const Directory& directory, const JobNodes& nodes, Rank me,
                         std::vector<WireKind> allowed, std::vector<ClosedWire> closed)
    : directory_(directory),
      nodes_(nodes),
      me_(me),
      allowed_(std::move(allowed)),
      closed_(std::move(closed)) {
  // Nothing is better than shared memory where it is allowed: the layers above rely on that.
  std::stable_partition(allowed_.begin(), allowed_.end(),
                        [](WireKind kind) { return kind == WireKind::kShm; });
}

// What the rank's datagrams are sent from; nothing where there are none.
Result<WireChooser::RdmaEnd> WireChooser::rdma_end(Rank rank) const {
  const auto address = rdma_address(directory_, rank);
  if (!address) return address.error();
  if (!address.value()) return RdmaEnd();
  auto parsed = verbs::parse_address(*address.value());
  if (parsed) return RdmaEnd(*parsed);
  return error(
      ESP_ERR_BOOTSTRAP,
      fmt::format("the RDMA address of rank {} makes no sense: {}", rank, parsed.error().text),
      rank);
}

std::string WireChooser::why_closed(WireKind kind) const {
  for (const ClosedWire& wire : closed_) {
    if (wire.kind == kind) return "not here: " + wire.why;
  }
  return "not open here";
}

// Why two ranks are not on one node.
std::string WireChooser::why_no_memory(Rank rank) const {
  const Directory::Site &mine = directory_.site(me_), &theirs = directory_.site(rank);
  if (mine.machine != theirs.machine || std::strcmp(mine.node, theirs.node) != 0) {
    return "another node";
  }
  for (const auto& [site, where] : {std::pair(&mine, "here"), std::pair(&theirs, "there")}) {
    if (!can_share_memory(site->machine, site->net_namespace)) {
      return fmt::format("no Unix sockets or no /proc {}", where);
    }
  }
  return "another network namespace of this machine";
}

// Empty: this wire reaches the rank.
std::string WireChooser::obstacle(Rank rank, const RdmaEnd& theirs, WireKind kind) const {
  if (kind == WireKind::kShm) return nodes_.is_local(rank) ? "" : why_no_memory(rank);
  if (!directory_.has(me_, kind)) return why_closed(kind);
  if (!directory_.has(rank, kind)) return "not open there";
  if (!is_rdma(kind)) return "";
  if (!mine_ || !theirs) return "no datagrams, which carry its letters";
  return why_apart(*mine_, *theirs);
}

std::string WireChooser::others(Rank rank) const {
  const auto theirs = rdma_end(rank);
  bool found = false;
  std::vector<std::string> reasons;
  for (const WireKind kind : allowed_) {
    const std::string why_not =
        found ? "not needed" : obstacle(rank, theirs ? theirs.value() : RdmaEnd(), kind);
    found = found || why_not.empty();
    if (!why_not.empty()) reasons.push_back(fmt::format("{}: {}", wire_name(kind), why_not));
  }
  for (const Known& known : kKnown) {
    if (allows(allowed_, known.kind)) continue;
    reasons.push_back(fmt::format("{}: excluded by WIRES", known.name));
  }
  return fmt::format("{}", fmt::join(reasons, ", "));
}

Result<std::vector<WireKind>> WireChooser::choose() {
  std::vector<WireKind> chosen(static_cast<std::size_t>(directory_.size()), WireKind::kShm);
  auto mine = rdma_end(me_);
  if (!mine) return mine.error();
  mine_ = *mine;
  for (Rank rank = 0; rank < directory_.size(); ++rank) {
    if (rank == me_) continue;
    const auto theirs = rdma_end(rank);
    if (!theirs) return theirs.error();
    const auto found = std::find_if(allowed_.begin(), allowed_.end(), [&](WireKind kind) {
      return obstacle(rank, theirs.value(), kind).empty();
    });
    if (found == allowed_.end()) {
      return error(
          ESP_ERR_CONFIG,
          fmt::format("rank {} on {} cannot be reached from rank {} on {}: {} (ESPALIER_WIRES "
                      "is \"{}\")",
                      rank, directory_.site(rank).node, me_, directory_.site(me_).node,
                      others(rank), names(allowed_)),
          rank);
    }
    chosen[static_cast<std::size_t>(rank)] = *found;
  }
  return chosen;
}

}  // namespace espalier
