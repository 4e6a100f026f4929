#include "core/said_warnings.hpp"

#include <fmt/format.h>

#include "core/host.hpp"

namespace espalier {

std::string warnings_digest(std::span<const std::string> warnings) {
  std::string text;
  for (const std::string& warning : warnings) text += warning + '\0';
  return fmt::format("{:016x}", hash_text(text));
}

}  // namespace espalier
