#include "bootstrap/wire_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "net/verbs/address.hpp"

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

bool has_address(const Card& card, WireKind kind) {
  return std::any_of(card.addresses.begin(), card.addresses.end(),
                     [&](const CardAddress& address) { return address.kind == kind; });
}

// What a rank's datagrams are sent from; nothing where there are none.
using RdmaEnd = std::optional<verbs::Endpoint>;

Result<RdmaEnd> rdma_end(const Card& card, Rank rank) {
  const auto address = rdma_address(card, rank);
  if (!address) return address.error();
  if (!address.value()) return RdmaEnd();
  auto parsed = verbs::parse_address(*address.value());
  if (parsed) return RdmaEnd(*parsed);
  return error(
      ESP_ERR_BOOTSTRAP,
      fmt::format("the RDMA address of rank {} makes no sense: {}", rank, parsed.error().text),
      rank);
}

// The choice of one rank.
struct Chooser {
  const std::vector<Card>& cards;
  const JobNodes& nodes;
  const Rank me;
  const std::vector<WireKind>& allowed;
  const std::vector<ClosedWire>& closed;
  RdmaEnd mine;

  const Card& card(Rank rank) const { return cards[static_cast<std::size_t>(rank)]; }

  std::string why_closed(WireKind kind) const {
    for (const ClosedWire& wire : closed) {
      if (wire.kind == kind) return "not here: " + wire.why;
    }
    return "not open here";
  }

  // Empty: this wire reaches the rank.
  std::string obstacle(Rank rank, const RdmaEnd& theirs, WireKind kind) const {
    if (kind == WireKind::kShm) {
      return nodes.is_local(me, rank) ? "" : why_no_memory(card(me), card(rank));
    }
    if (!has_address(card(me), kind)) return why_closed(kind);
    if (!has_address(card(rank), kind)) return "not open there";
    if (!is_rdma(kind)) return "";
    if (!mine || !theirs) return "no datagrams, which carry its letters";
    return why_apart(*mine, *theirs);
  }

  // Empty: as far as addresses tell these two ports reach each other.
  static std::string why_apart(const verbs::Endpoint& mine, const verbs::Endpoint& theirs);

  // Empty `kind`: none reaches it.
  std::optional<WireKind> choose(Rank rank, const RdmaEnd& theirs, std::string& others) const;
};

std::string Chooser::why_apart(const verbs::Endpoint& mine, const verbs::Endpoint& theirs) {
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

std::optional<WireKind> Chooser::choose(Rank rank, const RdmaEnd& theirs,
                                        std::string& others) const {
  // Nothing is better than shared memory where it is allowed: the layers above rely on that.
  std::vector<WireKind> in_order = allowed;
  std::stable_partition(in_order.begin(), in_order.end(),
                        [](WireKind kind) { return kind == WireKind::kShm; });
  std::optional<WireKind> found;
  std::vector<std::string> reasons;
  for (const WireKind kind : in_order) {
    const std::string why_not = found ? "not needed" : obstacle(rank, theirs, kind);
    if (why_not.empty()) {
      found = kind;
    } else {
      reasons.push_back(fmt::format("{}: {}", wire_name(kind), why_not));
    }
  }
  for (const Known& known : kKnown) {
    if (allows(allowed, known.kind)) continue;
    reasons.push_back(fmt::format("{}: excluded by WIRES", known.name));
  }
  others = fmt::format("{}", fmt::join(reasons, ", "));
  return found;
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

bool all_have_rdma(const std::vector<Card>& cards, const std::vector<WireKind>& wires) noexcept {
  const auto network = std::find_if(wires.begin(), wires.end(),
                                    [](WireKind kind) { return kind != WireKind::kShm; });
  return network != wires.end() && is_rdma(*network) &&
         std::all_of(cards.begin(), cards.end(),
                     [](const Card& card) { return has_address(card, WireKind::kUd); });
}

Result<std::optional<rdma::PortAddress>> rdma_address(const Card& card, Rank rank) {
  for (const CardAddress& one : card.addresses) {
    if (one.kind != WireKind::kUd) continue;
    rdma::PortAddress address;
    if (one.bytes.size() != address.bytes.size()) {
      return error(ESP_ERR_BOOTSTRAP,
                   fmt::format("the RDMA address of rank {} has {} bytes, not {}", rank,
                               one.bytes.size(), address.bytes.size()),
                   rank);
    }
    std::copy(one.bytes.begin(), one.bytes.end(), address.bytes.begin());
    return std::optional(address);
  }
  return std::optional<rdma::PortAddress>();
}

Result<std::vector<PeerWire>> choose_wires(const std::vector<Card>& cards, const JobNodes& nodes,
                                           Rank me, const std::vector<WireKind>& allowed,
                                           const std::vector<ClosedWire>& closed) {
  std::vector<PeerWire> chosen(cards.size());
  Chooser chooser{cards, nodes, me, allowed, closed, {}};
  auto mine = rdma_end(chooser.card(me), me);
  if (!mine) return mine.error();
  chooser.mine = *mine;
  for (std::size_t r = 0; r < cards.size(); ++r) {
    const auto rank = static_cast<Rank>(r);
    if (rank == me) continue;
    const auto theirs = rdma_end(cards[r], rank);
    if (!theirs) return theirs.error();
    const auto kind = chooser.choose(rank, theirs.value(), chosen[r].others);
    if (!kind) {
      return error(
          ESP_ERR_CONFIG,
          fmt::format("rank {} on {} cannot be reached from rank {} on {}: {} (ESPALIER_WIRES "
                      "is \"{}\")",
                      rank, cards[r].node, me, chooser.card(me).node, chosen[r].others,
                      names(allowed)),
          rank);
    }
    chosen[r].kind = *kind;
  }
  return chosen;
}

}  // namespace espalier
