#include "net/sim/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "net/sim/machine_text.hpp"
#include "net/sim/shipped_machines.hpp"

namespace espalier::sim {

std::uint64_t MulticastCost::packets(std::uint64_t bytes) const noexcept {
  return any() ? std::max<std::uint64_t>((bytes + packet_bytes - 1) / packet_bytes, 1) : 1;
}

double MulticastCost::extra_ns(std::uint64_t bytes, std::uint64_t members) const noexcept {
  const double packet = setup_ns + growth_ns * std::log(static_cast<double>(members));
  return static_cast<double>(packets(bytes)) * packet;
}

std::uint64_t Machine::cores() const noexcept {
  return units(levels.size() - 1);
}

std::uint64_t Machine::units(std::size_t level) const noexcept {
  std::uint64_t count = 1;
  for (std::size_t i = 0; i <= level; ++i) count *= levels[i].arity;
  return count;
}

std::uint64_t Machine::cores_per_unit(std::size_t level) const noexcept {
  return cores() / units(level);
}

int Machine::find_level(std::string_view wanted) const noexcept {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].name == wanted) return static_cast<int>(i);
  }
  return -1;
}

std::vector<std::string> shipped_machines() {
  std::vector<std::string> names;
  for (const ShippedMachine& machine : shipped_machine_files()) names.emplace_back(machine.name);
  return names;
}

namespace {

Result<Machine> load_shipped(const std::string& name) {
  std::vector<std::string_view> names;
  for (const ShippedMachine& machine : shipped_machine_files()) {
    if (machine.name == name) return parse_machine(machine.text, name + ".machine");
    names.push_back(machine.name);
  }
  return error(ESP_ERR_ARGUMENT,
               fmt::format("there is no machine \"{}\"; the nearest is \"{}\" (known: {}; a file "
                           "is named with a '/' or ends in \".machine\")",
                           name, nearest(name, names), fmt::join(names, ", ")));
}

// Nothing: see errno.
std::optional<std::string> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  if (!file) return std::nullopt;
  std::string text;
  char block[4096];
  while (const std::size_t bytes = std::fread(block, 1, sizeof(block), file.get())) {
    text.append(block, bytes);
  }
  if (std::ferror(file.get()) != 0) return std::nullopt;
  return text;
}

}  // namespace

Result<Machine> load_machine(const std::string& path_or_name) {
  if (path_or_name.find('/') == std::string::npos && !path_or_name.ends_with(".machine")) {
    return load_shipped(path_or_name);
  }
  const auto text = read_file(path_or_name);
  if (!text) {
    const int number = errno;
    return error(ESP_ERR_ARGUMENT, fmt::format("cannot read the machine file {}: {}", path_or_name,
                                               std::strerror(number)));
  }
  return parse_machine(*text, path_or_name);
}

}  // namespace espalier::sim
