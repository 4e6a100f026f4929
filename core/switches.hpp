// Switches: behind which switches of the network nodes are, by a map that somebody has written.
//
//   SwitchName=leaf0 Nodes=n[001-016]            # as in Slurm's topology.conf
//   SwitchName=leaf1 Nodes=n[017-032],login
//   SwitchName=pod0  Switches=leaf[0-1]
//
// Entries are lines, or end at semicolons; LinkSpeed is read over. A name is a host name or that of
// a node by the launcher or NODE_NAME. No network is asked. Values; any thread. path: setup
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"

namespace espalier {

inline constexpr std::size_t kSwitchLevels = 3;
// The switches above a node, as numbers that tell them apart: from the outside to the inside, the
// last one the node's own. Equal for all nodes are levels that a map does not have.
using SwitchPath = std::array<std::int32_t, kSwitchLevels>;
inline constexpr SwitchPath kSwitchesUnknown = {};

class SwitchMap {
 public:
  // `setting`: a map, which has a '=', or the path of a file with one; empty: no map.
  // ESP_ERR_CONFIG says what is wrong and where.
  static Result<SwitchMap> load(const std::string& setting);
  static Result<SwitchMap> parse(std::string_view text);

  bool empty() const noexcept { return digest_ == 0; }
  std::uint64_t digest() const noexcept { return digest_; }  // of the map's text; 0: no map
  // Also by the part of the name before its first dot. A node nearer to the outermost switch than
  // others has its own one for those inside of it, too. Of more than kSwitchLevels levels the
  // outermost are left out.
  std::optional<SwitchPath> find(std::string_view node) const;
  // Of a node that is not named: with none of them it has a switch in common. `number`: from 1 on.
  SwitchPath alone(std::int32_t number) const;

 private:
  std::vector<std::int32_t> chain_from(
      std::int32_t number) const;  // from the inside to the outside

  std::uint64_t digest_ = 0;
  std::size_t depth_ = 0;  // switches one above the other, at most
  std::map<std::string, std::int32_t, std::less<>> switch_of_;  // by node
  std::vector<std::int32_t> parent_of_;                         // by switch; -1: none
};

}  // namespace espalier
