// Warnings about settings that a launcher has said for all its ranks: it looks at what they find in
// their environment, and hands them a digest of what there was to say. A rank that would say the
// same is silent.
//
// Threads: any. path: setup
#pragma once

#include <span>
#include <string>

namespace espalier {

// The variable that carries the digest.
inline constexpr const char* kSaidWarningsVariable = "ESP_WARNINGS_SAID";

std::string warnings_digest(std::span<const std::string> warnings);

}  // namespace espalier
