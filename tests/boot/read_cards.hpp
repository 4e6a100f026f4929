// Cards made by hand, as a job reads them.
#pragma once

#include <string>
#include <vector>

#include "bootstrap/directory_maker.hpp"
#include "bootstrap/wire_choice.hpp"

namespace espalier {

struct CardsRead {
  Directory directory;
  JobNodes nodes;

  std::vector<std::int32_t> node_of() const {
    std::vector<std::int32_t> all;
    for (Rank rank = 0; rank < directory.size(); ++rank) all.push_back(directory.node_of(rank));
    return all;
  }
};

inline CardsRead read_cards(const std::vector<Card>& cards, Rank me,
                            const DirectoryMaker::Rules& rules = {}) {
  DirectoryMaker maker(cards[static_cast<std::size_t>(me)], me, rules);
  for (const Card& card : cards) maker.add(card);
  return {maker.directory(), maker.nodes()};
}

// How rank `me` reaches another, and why not otherwise.
struct ChosenWire {
  WireKind kind = WireKind::kShm;
  std::string others;
};

inline Result<ChosenWire> choose_wire(const std::vector<Card>& cards, Rank me, Rank peer,
                                      const std::vector<WireKind>& allowed,
                                      const std::vector<ClosedWire>& closed = {}) {
  const CardsRead read = read_cards(cards, me, {.share = allows(allowed, WireKind::kShm)});
  WireChooser chooser(read.directory, read.nodes, me, allowed, closed);
  auto chosen = chooser.choose();
  if (!chosen) return chosen.error();
  return ChosenWire{(*chosen)[static_cast<std::size_t>(peer)], chooser.others(peer)};
}

}  // namespace espalier
