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
  const char* name = collective_name(static_cast<Collective>(collective));
  const char* type_text = type_name(static_cast<esp_type>(type));
  switch (static_cast<Collective>(collective)) {
    case Collective::kBarrier:
      return name;
    case Collective::kBcast:
      return fmt::format("{} of {} {} from root {}", name, count, type_text, root);
    case Collective::kReduce:
      return fmt::format("{} ({}) of {} {} to root {}", name, operator_text(op), count, type_text,
                         root);
    case Collective::kPointToPoint:
      return fmt::format("point-to-point of {} bytes with team rank {}", count, root);
    default:
      return fmt::format("{} ({}) of {} {}", name, operator_text(op), count, type_text);
  }
}

}  // namespace espalier
