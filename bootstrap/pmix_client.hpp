// The few PMIx client calls this library makes, with types and texts.
//
// Wraps calls of a joined process; it keeps no state. Keys of the launcher are looked up with
// PMIX_OPTIONAL and cards with PMIX_IMMEDIATE, never plainly: a plain look-up of a missing key
// waits for ever under Slurm 22.05, and PMIX_TIMEOUT does not help there. Path: setup.
#pragma once

#include <pmix.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"

namespace espalier::pmix {

// "PMIx_Fence: UNREACHABLE (-25)".
Error failure(std::string_view call, pmix_status_t code);

pmix_proc_t process(const pmix_proc_t& self, Rank rank);
pmix_proc_t whole_job(const pmix_proc_t& self);

// Keys that the launcher provides; nothing when it does not. Numbers come in differing types.
std::optional<std::uint32_t> launcher_number(const pmix_proc_t& of, const char* key);
std::optional<std::string> launcher_text(const pmix_proc_t& of, const char* key);

// Publishes bytes of this process under a key; visible to the others after a collecting fence.
Outcome publish(const std::string& key, std::span<const std::byte> bytes);
// Nothing when `of` has not published the key.
Result<std::optional<std::vector<std::byte>>> fetch(const pmix_proc_t& of, const std::string& key);
// Whether this process has published the key.
bool has_published(const pmix_proc_t& self, const std::string& key);

enum class Fence { kBarrier, kCollect };
enum class FenceEnd { kComplete, kWithoutSome };  // kWithoutSome: ranks died on the way.
Result<FenceEnd> fence(const pmix_proc_t& self, Fence kind);

}  // namespace espalier::pmix
