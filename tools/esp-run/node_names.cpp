#include "node_names.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

// Not isalnum(): that depends on the locale.
bool is_plain(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

}  // namespace

std::string node_name_of_host(std::string_view host) {
  if (host.empty()) return "localhost";
  std::string name(host);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_plain(c); }, '_');
  return name;
}

std::vector<std::string> name_nodes(int nodes) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) fail_with_errno("gethostname");
  const std::string name = node_name_of_host(host.data());
  if (nodes == 1) return {name};
  std::vector<std::string> names;
  for (int node = 0; node < nodes; ++node) names.push_back(fmt::format("{}-node{}", name, node));
  return names;
}

// PMIx_generate_regex() of libpmix 4.2.2 writes the letters of a name into 50 bytes of its stack,
// however many there are (preg_native.c). This form it reads as it is.
std::string node_map(const std::vector<std::string>& names) {
  return fmt::format("raw:{}", fmt::join(names, ","));
}

}  // namespace esp_run
