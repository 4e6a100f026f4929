// Machine text: the lines of a machine file, before they mean anything.
//
//   title = Zoot, 4 x quad-core Xeon       a line of its own, above all sections
//   [level node]                           section: a kind, and a name where the kind has names
//   latency = 0.5 us   # assumed: why      entry: key, value, and where the value comes from
//
// Empty lines and lines that begin with '#' are skipped. Every entry of a section needs an origin:
// "published: where", "measured: on what" or "assumed: why". Values; any thread. path: setup
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/sim/machine.hpp"

namespace espalier::sim {

struct MachineEntry {
  std::string key;
  std::string value;
  Origin::Kind origin = Origin::Kind::kAssumed;
  std::string reason;  // the text of the origin
  std::uint32_t line = 0;
};

struct MachineSection {
  std::string kind;  // "" above the first section
  std::string name;
  std::uint32_t line = 0;
  std::vector<MachineEntry> entries;

  // "[level node]", as in the file.
  std::string title() const;
  // nullptr: not there.
  const MachineEntry* find(std::string_view key) const noexcept;
};

struct MachineText {
  std::string file_name;
  std::uint32_t lines = 0;
  std::vector<MachineSection> sections;  // the first is the one without a kind

  // ESP_ERR_ARGUMENT, "FILE:LINE: text".
  Error error_in(std::uint32_t line, std::string_view text) const;
};

// Checks what can be checked without knowing keys: form, origins, and that nothing is there twice.
Result<MachineText> split_machine_text(std::string_view text, std::string_view file_name);

// The known word that differs least from `word`; known is not empty.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace espalier::sim
