// Which wire connects this rank with each other one, and why not another.
//
// The setting WIRES lists what may be used, best first. Shared memory reaches the ranks of the same
// node; a network reaches whoever has an address on it (RDMA: of a port that the own one can talk
// to, as far as addresses tell), and RDMA connections whoever has said that it can have them. Both
// ranks of a pair come to the same answer, from the same cards. Values. path: setup
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/directory.hpp"
#include "bootstrap/job_nodes.hpp"
#include "net/rdma/datagram_port.hpp"
#include "net/verbs/address.hpp"

namespace espalier {

const char* wire_name(WireKind kind) noexcept;  // "shm", "rc", "ud", "tcp"
constexpr bool is_rdma(WireKind kind) noexcept {
  return kind == WireKind::kRc || kind == WireKind::kUd;
}

// "shm,tcp": at least one, none twice. Errors do not name the setting, which the caller knows.
Result<std::vector<WireKind>> parse_wires(std::string_view text);
bool allows(const std::vector<WireKind>& wires, WireKind kind) noexcept;
// Datagrams alone reach whoever connections reach: those are wanted where they are better or
// nothing else is.
bool wants_connections(const std::vector<WireKind>& wires) noexcept;

// Whether RDMA comes before TCP and all ranks have it. Of cards and settings that are the same on
// all ranks, so all come to the same answer, whomever they are connected with.
bool all_have_rdma(const Directory& directory, const std::vector<WireKind>& wires) noexcept;
// The address of a rank's datagrams; nothing if it has none.
Result<std::optional<rdma::PortAddress>> rdma_address(const Directory& directory, Rank rank);

// A network that is allowed and could not be opened on this rank.
struct ClosedWire {
  WireKind kind = WireKind::kTcp;
  std::string why;
};

class WireChooser {
 public:
  // Directory and nodes outlive this object.
  WireChooser(const Directory& directory, const JobNodes& nodes, Rank me,
              std::vector<WireKind> allowed, std::vector<ClosedWire> closed);

  // By rank; the own entry is shared memory. An error names the first rank that cannot be reached
  // and what would help, or whose RDMA address makes no sense.
  Result<std::vector<WireKind>> choose();
  // For people: what else is allowed and why it was not taken.
  std::string others(Rank rank) const;

 private:
  using RdmaEnd = std::optional<verbs::Endpoint>;

  Result<RdmaEnd> rdma_end(Rank rank) const;
  std::string why_closed(WireKind kind) const;
  std::string why_no_memory(Rank rank) const;
  std::string obstacle(Rank rank, const RdmaEnd& theirs, WireKind kind) const;

  const Directory& directory_;
  const JobNodes& nodes_;
  const Rank me_;
  std::vector<WireKind> allowed_;  // the best first
  std::vector<ClosedWire> closed_;
  RdmaEnd mine_;
};

}  // namespace espalier
