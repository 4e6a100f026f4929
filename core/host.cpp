#include "core/host.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>

#include "core/config_value.hpp"

namespace espalier {
namespace {

constexpr int kCpusMax = 65536;

std::optional<double> parse_positive(std::string_view text) {
  double value = 0.0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || !(value > 0)) {
    return std::nullopt;
  }
  return value;
}

std::optional<int> parse_cpu(std::string_view text) {
  int cpu = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), cpu);
  const bool whole = failure == std::errc() && end == text.data() + text.size();
  if (!whole || cpu < 0 || cpu >= kCpusMax) return std::nullopt;
  return cpu;
}

// Version 2: "max 100000" or "150000 100000".
std::optional<double> quota_v2(const std::string& directory) {
  const auto content = read_text_file(directory + "/cpu.max");
  if (!content) return std::nullopt;
  std::string_view rest = *content;
  const auto quota = parse_positive(next_field(rest, ' '));
  const auto period = parse_positive(rest);
  if (!quota || !period) return std::nullopt;
  return *quota / *period;
}

// Version 1: two files, a quota of -1 is none.
std::optional<double> quota_v1(const std::string& directory) {
  const auto quota_text = read_text_file(directory + "/cpu.cfs_quota_us");
  const auto period_text = read_text_file(directory + "/cpu.cfs_period_us");
  if (!quota_text || !period_text) return std::nullopt;
  const auto quota = parse_positive(*quota_text);
  const auto period = parse_positive(*period_text);
  if (!quota || !period) return std::nullopt;
  return *quota / *period;
}

// The smallest quota of a control group and its ancestors. In a container the path may name groups
// that are not visible; what is visible counts.
std::optional<double> smallest_quota(const std::string& mount, std::string path,
                                     std::optional<double> (*read)(const std::string&)) {
  std::optional<double> smallest;
  while (true) {
    const auto quota = read(mount + path);
    if (quota && (!smallest || *quota < *smallest)) smallest = quota;
    if (path.empty()) return smallest;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

bool has_controller(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    if (next_field(controllers, ',') == wanted) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> read_text_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (file == nullptr) return std::nullopt;
  std::string content;
  char block[4096];
  while (const std::size_t bytes = std::fread(block, 1, sizeof block, file.get())) {
    content.append(block, bytes);
  }
  if (std::ferror(file.get()) != 0) return std::nullopt;
  content.resize(content.find_last_not_of(" \n\t") + 1);  // npos + 1 == 0
  return content;
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    std::string_view range = next_field(text, ',');
    const bool is_range = range.find('-') != std::string_view::npos;
    const auto first = parse_cpu(next_field(range, '-'));
    const auto last = is_range ? parse_cpu(range) : first;
    if (!first || !last || *last < *first) return std::nullopt;
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string format_cpu_list(std::span<const int> ascending) {
  std::string text;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t end = i + 1;
    while (end < ascending.size() && ascending[end] == ascending[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += fmt::format("{}", ascending[i]);
    if (end - i > 1) text += fmt::format("-{}", ascending[end - 1]);
    i = end;
  }
  return text;
}

std::uint64_t hash_text(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001B3u;
  }
  return hash;
}

HostIdentity host_identity(std::string_view node_name) {
  HostIdentity identity;
  char host_name[256] = "";
  if (node_name.empty() && gethostname(host_name, sizeof host_name - 1) == 0) node_name = host_name;
  identity.node_hash = hash_text(node_name);
  if (const auto boot_id = read_text_file("/proc/sys/kernel/random/boot_id")) {
    identity.boot_hash = hash_text(*boot_id);
  }
  struct stat status = {};
  if (stat("/proc/self/ns/pid", &status) == 0) identity.pid_namespace = status.st_ino;
  return identity;
}

std::uint64_t net_namespace() noexcept {
  struct stat status = {};
  return stat("/proc/self/ns/net", &status) == 0 ? status.st_ino : 0;
}

std::vector<int> affinity_cpus() {
  // The kernel refuses a mask smaller than its own; grow until it fits.
  for (int size = 1024; size <= kCpusMax; size *= 4) {
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(
        CPU_ALLOC(static_cast<std::size_t>(size)), [](cpu_set_t* set) { CPU_FREE(set); });
    if (mask == nullptr) break;
    CPU_ZERO_S(bytes, mask.get());
    if (sched_getaffinity(0, bytes, mask.get()) != 0) continue;
    std::vector<int> cpus;
    for (int cpu = 0; cpu < size; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, mask.get())) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {};
}

std::optional<double> cgroup_cpu_quota(const std::string& root) {
  const auto groups = read_text_file(root + "/proc/self/cgroup");
  if (!groups) return std::nullopt;
  const std::string mount = root + "/sys/fs/cgroup";
  std::optional<double> smallest;
  const auto consider = [&smallest](std::optional<double> quota) {
    if (quota && (!smallest || *quota < *smallest)) smallest = quota;
  };
  std::string_view lines = *groups;
  while (!lines.empty()) {
    std::string_view rest = next_field(lines, '\n');  // "hierarchy:controllers:/path"
    next_field(rest, ':');
    const std::string_view controllers = next_field(rest, ':');
    const std::string path(rest == "/" ? "" : rest);
    if (controllers.empty()) {
      consider(smallest_quota(mount, path, &quota_v2));
      consider(smallest_quota(mount + "/unified", path, &quota_v2));
    } else if (has_controller(controllers, "cpu")) {
      consider(smallest_quota(mount + "/" + std::string(controllers), path, &quota_v1));
      consider(smallest_quota(mount + "/cpu", path, &quota_v1));
    }
  }
  return smallest;
}

int usable_cpus() {
  return usable_cpus(affinity_cpus().size(), cgroup_cpu_quota());
}

int usable_cpus(std::size_t affinity_count, std::optional<double> quota) noexcept {
  double usable = static_cast<double>(affinity_count);
  if (quota) usable = std::min(usable, std::ceil(*quota));
  return static_cast<int>(std::max(usable, 1.0));
}

}  // namespace espalier
