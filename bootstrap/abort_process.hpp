// The last steps of every Bootstrap::abort. Path: setup.
#pragma once

#include <string_view>

#include "core/status.hpp"

namespace espalier {

// One line on stderr in one write, so that lines of several ranks stay whole. Nothing when
// `message` is empty.
void print_abort_message(Rank rank, std::string_view message) noexcept;

// Ends the calling process without running destructors: the state they would see is broken. An exit
// code outside 1..255 becomes 1, for a shell would read 256 as success.
[[noreturn]] void abort_process(int exit_code) noexcept;
int clamp_exit_code(int exit_code) noexcept;

}  // namespace espalier
