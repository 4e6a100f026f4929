// An environment for exec: that of this process and some variables more.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

namespace esp_run {

// Keeps pointers into `added` and environ; both must outlive it unchanged.
class Environment {
 public:
  explicit Environment(const std::vector<std::string>& added) {
    for (char** variable = environ; *variable != nullptr; ++variable) {
      variables_.push_back(*variable);
    }
    for (const std::string& variable : added) {
      variables_.push_back(const_cast<char*>(variable.c_str()));
    }
    variables_.push_back(nullptr);
  }

  // exec takes pointers to non-const for reasons of history; it changes nothing.
  char* const* data() const { return variables_.data(); }

 private:
  std::vector<char*> variables_;
};

}  // namespace esp_run
