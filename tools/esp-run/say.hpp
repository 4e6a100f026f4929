// What the launcher tells its user, on stderr.
//
// A text that cannot be written is lost, and nothing else is: no job ends because somebody closed
// stderr or a disk is full. (fmt::print would throw.)
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace esp_run {

template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fputs(fmt::format("esp-run: {}\n", text).c_str(), stderr);
}

}  // namespace esp_run
