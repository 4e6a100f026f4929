// Config: every setting of the library, in one place.
//
// A plain value: read the fields. One table of knobs (config_knobs.cpp) gives each field its public
// name, unit, limits and explanation; parsing, printing and docs/configuration.md follow from that
// table. A new knob is a field here and a line there. Nothing here reads the environment
// (bootstrap/config_from_env.cpp does) or prints. Threads: a value. path: setup
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernels/isa.hpp"
#include "core/log.hpp"
#include "core/status.hpp"
#include "core/transfer.hpp"

namespace espalier {

enum class CmaMode : std::uint8_t { kAuto, kOn, kOff };
enum class MulticastMode : std::uint8_t { kAuto, kOn, kOff };
enum class MulticastLeaders : std::uint8_t { kAuto, kNode, kSocket, kAdapter };
enum class DevicesMode : std::uint8_t { kAuto, kOff };
enum class BootstrapKind : std::uint8_t { kAuto, kPmix, kSingleton };
enum class NodeRule : std::uint8_t { kLauncher, kMachine };
// From kBoard on: one level alone.
enum class LevelRule : std::uint8_t { kAuto, kOn, kOff, kBoard, kSocket, kNuma, kCache };
// "on", "off", or on with a file.
struct TraceSetting {
  bool on = false;
  std::string file;  // to which each rank adds its number; empty: the program writes by itself
  explicit operator bool() const noexcept { return on; }
};
std::optional<TraceSetting> parse_trace(std::string_view text);
enum class ConfigSource : std::uint8_t { kDefault, kEnvironment, kSetting };
const char* config_source_name(ConfigSource source) noexcept;

struct Config {
  static constexpr std::size_t kKnobsMax = 64;
  static constexpr std::uint64_t kArenaBytesMin = 64 << 10;

  LogLevel log_level = LogLevel::kWarn;
  BootstrapKind bootstrap = BootstrapKind::kAuto;
  std::string topology;
  NodeRule nodes = NodeRule::kLauncher;
  std::string node_name;
  std::string tuning;
  bool explain = false;
  LevelRule levels = LevelRule::kAuto;
  std::string level_shapes;
  std::string switches;
  int adapter_numa = -1;
  MulticastMode multicast = MulticastMode::kAuto;
  int multicast_groups = 8;
  MulticastLeaders multicast_leaders = MulticastLeaders::kAuto;
  std::uint64_t multicast_place_bytes = 128 << 10;
  std::string wires = "shm,rc,ud,tcp";
  std::string tcp_interface;
  double timeout = 3600.0;
  double stall_warning = 10.0;
  bool progress_thread = false;
  std::string progress_cpus = "auto";
  double spin_us = -1.0;
  double yield_us = -1.0;
  esp_algorithm algorithm = ESP_ALGORITHM_AUTO;
  esp_shape shape = ESP_SHAPE_AUTO;
  int radix = 0;
  esp_variant variant = ESP_VARIANT_EVENT;
  std::uint64_t short_bytes = 16384;
  std::uint64_t segment_bytes = 0;
  Path transfer = Path::kAny;
  int readers = 0;
  int window_send = 0;
  int window_recv = 0;
  Isa isa = Isa::kAuto;
  bool reproducible = false;
  std::uint64_t past_cache_bytes = 8 << 20;
  CmaMode cma = CmaMode::kAuto;
  std::uint64_t cma_quantum_bytes = 512 << 10;
  std::uint64_t cma_threshold_bytes = 0;
  std::uint64_t shm_arena_bytes = 0;
  std::uint64_t heap_bytes = 1 << 30;
  std::uint64_t tag_eager_bytes = 32 << 10;
  std::uint64_t tag_window_bytes = 1 << 20;
  std::uint64_t tag_unexpected_bytes = 64 << 20;
  std::string device;
  int gid_index = -1;
  std::uint64_t rdma_mtu_bytes = 0;
  int service_level = 0;
  int traffic_class = 0;
  int rdma_ack_timeout = 0;
  int rdma_retries = 6;
  int rdma_not_ready_retries = 6;
  int rdma_connections = 64;
  std::uint64_t rdma_cache_bytes = 0;
  std::uint64_t rdma_pull_bytes = 256 << 10;
  double rdma_silence = 0.0;
  DevicesMode devices = DevicesMode::kAuto;
  std::string cuda_driver;
  std::uint64_t device_share_bytes = 64 << 10;
  std::uint64_t device_direct_bytes = 64 << 10;
  std::uint64_t device_reduce_bytes = 256 << 10;
  bool counters = false;
  TraceSetting trace;
  std::uint64_t trace_events = 65536;

  // Plans follow where inside their nodes ranks are bound.
  bool needs_localities() const noexcept {
    return levels != LevelRule::kOff || multicast_leaders == MulticastLeaders::kSocket;
  }

  // What load() has to tell the user, one sentence each; the caller logs them.
  std::vector<std::string> warnings;
  // Parallel to knobs().
  std::array<ConfigSource, kKnobsMax> sources = {};

  // Assignments are "NAME=value", without the ESPALIER_ prefix; settings override the environment
  // and later ones earlier ones. A bad value is ESP_ERR_CONFIG; an unknown name is a warning that
  // names the nearest known one.
  static Result<Config> load(std::span<const std::string> environment,
                             std::span<const std::string> settings = {});

  // For messages, the name of a knob as its value was given: "WIRES" where by a setting, otherwise
  // "ESPALIER_WIRES".
  std::string written_name(std::string_view knob) const;
};

// One line of the table. The functions are made from the field's type.
struct Knob {
  std::string_view name;
  std::string_view unit;  // empty: none
  std::string_view doc;
  std::string (*allowed)(const Knob&);  // "an integer from 0 to 64"
  std::string (*print)(const Config&);  // the current value, as one would write it
  bool (*parse)(const Knob&, std::string_view, Config&);  // false: not allowed
  double min = 0.0;
  double max = 0.0;
  std::span<const std::string_view> names = {};  // of a choice's values, by position
};

// All knobs, in the order of the documentation. Static storage.
std::span<const Knob> knobs() noexcept;

// What one would write for a knob's value, given as a number: of a choice the value's position.
// Also for numbers that are no value of it.
std::string value_text(std::string_view knob, std::uint64_t number);

// Names, values and sources, aligned for people.
std::string config_text(const Config& config);
// docs/configuration.md.
std::string config_markdown();

}  // namespace espalier
