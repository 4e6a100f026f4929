// An environment for exec: that of this process and some variables more.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace esp_run {

// Keeps pointers into `added` and environ; both must outlive it unchanged. What is added takes the
// place of variables of the same name, and what is added later that of what is added before.
class Environment {
 public:
  explicit Environment(const std::vector<std::string>& added) {
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (!is_among(added, 0, *variable)) variables_.push_back(*variable);
    }
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (is_among(added, i + 1, added[i])) continue;
      variables_.push_back(const_cast<char*>(added[i].c_str()));
    }
    variables_.push_back(nullptr);
  }

  // exec takes pointers to non-const for reasons of history; it changes nothing.
  char* const* data() const { return variables_.data(); }

 private:
  static bool is_among(const std::vector<std::string>& added, std::size_t from,
                       std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('='));
    return std::any_of(
        added.begin() + static_cast<std::ptrdiff_t>(from), added.end(),
        [name](std::string_view one) { return one.substr(0, one.find('=')) == name; });
  }

  std::vector<char*> variables_;
};

}  // namespace esp_run
