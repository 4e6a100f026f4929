#include "bootstrap/wire_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace espalier {
namespace {

struct Known {
  WireKind kind;
  const char* name;
};
constexpr Known kKnown[] = {{WireKind::kShm, "shm"}, {WireKind::kTcp, "tcp"}};

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

// Empty: this wire reaches the rank.
std::string obstacle(const std::vector<Card>& cards, const JobNodes& nodes, Rank me, Rank rank,
                     WireKind kind) {
  if (kind == WireKind::kShm) return nodes.is_local(me, rank) ? "" : "another node";
  if (!has_address(cards[static_cast<std::size_t>(me)], kind)) return "not open here";
  if (!has_address(cards[static_cast<std::size_t>(rank)], kind)) return "not open there";
  return "";
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
    const std::string_view name = text.substr(0, comma);
    const auto* known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                     [&](const Known& k) { return name == k.name; });
    if (known == std::end(kKnown)) {
      return error(ESP_ERR_CONFIG,
                   fmt::format("WIRES: \"{}\" is no wire; known are {}", name, known_names()));
    }
    if (allows(wires, known->kind)) {
      return error(ESP_ERR_CONFIG, fmt::format("WIRES: \"{}\" is listed twice", name));
    }
    wires.push_back(known->kind);
    if (comma == std::string_view::npos) return wires;
    text.remove_prefix(comma + 1);
  }
}

bool allows(const std::vector<WireKind>& wires, WireKind kind) noexcept {
  return std::find(wires.begin(), wires.end(), kind) != wires.end();
}

Result<std::vector<PeerWire>> choose_wires(const std::vector<Card>& cards, const JobNodes& nodes,
                                           Rank me, const std::vector<WireKind>& allowed) {
  std::vector<PeerWire> chosen(cards.size());
  // Nothing is better than shared memory where it is allowed: the layers above rely on that.
  std::vector<WireKind> in_order = allowed;
  std::stable_partition(in_order.begin(), in_order.end(),
                        [](WireKind kind) { return kind == WireKind::kShm; });
  for (std::size_t r = 0; r < cards.size(); ++r) {
    const auto rank = static_cast<Rank>(r);
    if (rank == me) continue;
    bool found = false;
    std::vector<std::string> others;
    for (const WireKind kind : in_order) {
      const std::string why_not = found ? "not needed" : obstacle(cards, nodes, me, rank, kind);
      if (why_not.empty()) {
        chosen[r].kind = kind;
        found = true;
      } else {
        others.push_back(fmt::format("{}: {}", wire_name(kind), why_not));
      }
    }
    for (const Known& known : kKnown) {
      if (allows(allowed, known.kind)) continue;
      others.push_back(fmt::format("{}: excluded by WIRES", known.name));
    }
    chosen[r].others = fmt::format("{}", fmt::join(others, ", "));
    if (found) continue;
    return error(
        ESP_ERR_CONFIG,
        fmt::format("rank {} on {} cannot be reached from rank {} on {}: {} (ESPALIER_WIRES "
                    "is \"{}\")",
                    rank, cards[r].node, me, cards[static_cast<std::size_t>(me)].node,
                    chosen[r].others, names(allowed)),
        rank);
  }
  return chosen;
}

}  // namespace espalier
