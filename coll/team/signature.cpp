#include "coll/team/signature.hpp"

#include <fmt/format.h>

#include "core/datatype.hpp"

namespace espalier {

const char* purpose_name(Purpose purpose) noexcept {
  switch (purpose) {
    case Purpose::kTeamDup:
      return "esp_team_dup";
    case Purpose::kTeamSplit:
      return "esp_team_split";
    case Purpose::kTeamInclude:
      return "esp_team_include";
    case Purpose::kRegion:
      return "esp_region_create";
    case Purpose::kRegionEnd:
      return "esp_region_free";
    case Purpose::kGraph:
      return "esp_graph_create";
    case Purpose::kGrid:
      return "esp_grid_create";
    case Purpose::kPersistent:
    case Purpose::kUser:
      break;
  }
  return nullptr;
}

namespace {

// Of a user's operator all that members can compare.
const char* operator_text(std::uint8_t op) noexcept {
  if (op < ESP_OP_BUILTIN_COUNT) return op_name(op);
  return op == ESP_OP_BUILTIN_COUNT ? "user, not commutative" : "user";
}

}  // namespace

std::string CallSignature::to_text() const {
  if (const char* function = purpose_name(static_cast<Purpose>(options))) return function;
  const auto which = static_cast<Collective>(collective);
  if (which == Collective::kPointToPoint) {
    return fmt::format("point-to-point of {} bytes with team rank {}", count, root);
  }
  const CollectiveTraits& traits = traits_of(which);
  std::string text = traits.name;
  if (traits.reduces) text += fmt::format(" ({})", operator_text(op));
  const char* type_text = type_name(static_cast<esp_type>(type));
  // What members send may differ.
  const bool all_know = all_know_lengths(which);
  const std::string graph = traits.neighbors ? fmt::format(" on graph {} of the team", root) : "";
  if (traits.types) return text + graph;
  if (is_irregular(which) && !all_know) {
    text += fmt::format(" of {}", type_text);
  } else if (traits.output != Extent::kNone) {
    text += fmt::format(" of {} {}", count, type_text);
  }
  text += graph;
  if (all_know) text += " in all";
  if (traits.rooted) text += fmt::format(" {} root {}", traits.root_gets ? "to" : "from", root);
  return text;
}

bool CallSignature::differs_in_lengths(const CallSignature& other) const noexcept {
  CallSignature same = other;
  same.root = root;
  return same == *this && other != *this && all_know_lengths(static_cast<Collective>(collective));
}

std::string CallSignature::difference_text(const CallSignature& other) const {
  if (to_text() != other.to_text()) return {};
  if (differs_in_lengths(other)) return " with other lengths of blocks";
  return " with other options (or in another form: blocking, started, persistent)";
}

}  // namespace espalier
