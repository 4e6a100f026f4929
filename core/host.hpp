// Host: which machine this process is on and how much of it the process may use. Linux only.
//
// Nothing here loads hwloc: a handful of small files and system calls. Threads: any; affinity is
// that of the calling thread. path: setup
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// The content of a small file without trailing white space; nothing when it cannot be read.
std::optional<std::string> read_text_file(const std::string& path);

// "0-3,8" as the kernel writes it; nothing for text of another form. At most 65536 CPUs.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
std::string format_cpu_list(std::span<const int> ascending);

// FNV-1a, 64 bits: to compare names without sending them.
std::uint64_t hash_text(std::string_view text) noexcept;

// Fixed-size values for a card. Equal on two ranks: `node_hash` and `boot_hash` on the same node
// (of the same kernel), `pid_namespace`, too, when each can name the other's process id.
struct HostIdentity {
  std::uint64_t node_hash = 0;
  std::uint64_t boot_hash = 0;      // 0: unknown
  std::uint64_t pid_namespace = 0;  // 0: unknown
  friend bool operator==(const HostIdentity&, const HostIdentity&) = default;
  bool same_node(const HostIdentity& other) const noexcept {
    return node_hash == other.node_hash && boot_hash == other.boot_hash;
  }
};
// `node_name`: the launcher's name for the (possibly emulated) node; empty: the host name.
HostIdentity host_identity(std::string_view node_name);
// Processes of one machine with the same one can connect to each other's Unix sockets that have no
// path. 0: unknown.
std::uint64_t net_namespace() noexcept;

// The CPUs (hardware threads, by the kernel's number) the calling thread may run on, ascending.
std::vector<int> affinity_cpus();
// CPU time per time that the control groups of this process allow (version 1 and 2, all levels);
// nothing when unlimited. `root` is where "/" is, for tests.
std::optional<double> cgroup_cpu_quota(const std::string& root = "");
// How many threads can really run at once: affinity, cut to the quota (rounded up), at least 1.
int usable_cpus();
// The rule of usable_cpus().
int usable_cpus(std::size_t affinity_count, std::optional<double> quota) noexcept;

}  // namespace espalier
