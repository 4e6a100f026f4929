// Which wire connects this rank with each other one, and why not another.
//
// The setting WIRES lists what may be used, best first. Shared memory reaches the ranks of the same
// node; a network reaches whoever has an address on it. Values. path: setup
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/card.hpp"
#include "bootstrap/job_nodes.hpp"

namespace espalier {

const char* wire_name(WireKind kind) noexcept;  // "shm", "tcp"

// "shm,tcp": at least one, none twice.
Result<std::vector<WireKind>> parse_wires(std::string_view text);
bool allows(const std::vector<WireKind>& wires, WireKind kind) noexcept;

struct PeerWire {
  WireKind kind = WireKind::kShm;
  std::string others;  // for people: what else is allowed and why it was not taken
};

// By rank; the own entry is shared memory. An error names the first rank that cannot be reached and
// what would help.
Result<std::vector<PeerWire>> choose_wires(const std::vector<Card>& cards, const JobNodes& nodes,
                                           Rank me, const std::vector<WireKind>& allowed);

}  // namespace espalier
