// From the lines of a machine file to a Machine: which keys there are, what must be there, and what
// must fit together.
#include <fmt/format.h>

#include <algorithm>

#include "core/config_value.hpp"
#include "net/sim/machine.hpp"
#include "net/sim/machine_text.hpp"
#include "net/sim/machine_values.hpp"

namespace espalier::sim {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kSectionKinds[] = {"level",     "lane",   "cma",
                                              "multicast", "device", "compute"};
constexpr std::string_view kTopKeys[] = {"title"};
constexpr std::string_view kCoreKeys[] = {"arity"};
constexpr std::string_view kLevelKeys[] = {"arity",     "carrier",       "pull_from",     "latency",
                                           "overhead",  "overhead_send", "overhead_recv", "gap",
                                           "bandwidth", "lane"};
constexpr std::string_view kLaneKeys[] = {"per", "bandwidth", "gap", "duplex"};
constexpr std::string_view kCmaKeys[] = {"call", "page", "reader"};
constexpr std::string_view kMulticastKeys[] = {"packet", "setup", "growth"};
constexpr std::string_view kDeviceKeys[] = {"to_host",     "to_device",   "latency", "post",
                                            "launch",      "reduce",      "peer",    "peer_lanes",
                                            "peer_across", "peer_latency"};
constexpr std::string_view kComputeKeys[] = {"reduce"};

Words keys_of(const MachineSection& section) {
  if (section.kind.empty()) return kTopKeys;
  if (section.kind == "lane") return kLaneKeys;
  if (section.kind == "cma") return kCmaKeys;
  if (section.kind == "multicast") return kMulticastKeys;
  if (section.kind == "device") return kDeviceKeys;
  if (section.kind == "compute") return kComputeKeys;
  return section.name == "core" ? Words(kCoreKeys) : Words(kLevelKeys);
}

std::string stem(std::string_view file_name) {
  const std::size_t slash = file_name.find_last_of('/');
  if (slash != std::string_view::npos) file_name.remove_prefix(slash + 1);
  return std::string(file_name.substr(0, file_name.find('.')));
}

// Reads the entries of one section into variables; the first that is wrong ends it.
class Reader {
 public:
  Reader(const MachineText& text, const MachineSection& section) : text_(text), section_(section) {}

  Reader& time(std::string_view key, double& value, bool required = true) {
    return read(key, required, parse_nanoseconds, value,
                "is not a time: write a number and ns, us, ms or s, as in \"1.3 us\"");
  }
  Reader& bandwidth(std::string_view key, double& ns_per_byte, bool required = true) {
    return read(key, required, parse_ns_per_byte, ns_per_byte,
                "is not a bandwidth: write a number above 0 and B/s, kB/s, MB/s, GB/s, TB/s, "
                "Mbit/s or Gbit/s, as in \"8 GB/s\"");
  }
  Reader& count(std::string_view key, std::uint32_t& value) {
    return read(key, true, parse_count, value,
                "is not a count: write a whole number from 1 to 4294967295");
  }
  Reader& size(std::string_view key, std::uint64_t& value, bool required = false) {
    return read(key, required, parse_bytes, value,
                "is not a size: write a whole number and B, KiB or MiB, as in \"16 KiB\"");
  }
  Reader& carrier(std::string_view key, Carrier& value) {
    return read(key, true, parse_carrier, value, "is not a carrier: write device, copy or pull");
  }
  Reader& peer_lanes(std::string_view key, bool& own) {
    return read(key, true, parse_peer_lanes, own,
                "is neither host (PCIe: those to and from the host) nor own (NVLink)");
  }
  Reader& yes_no(std::string_view key, bool& value) {
    return read(key, true, parse_bool, value, "is neither yes nor no");
  }
  Reader& word(std::string_view key, std::string& value, bool required = true) {
    const MachineEntry* entry = find(key, required);
    if (entry != nullptr) value = entry->value;
    return *this;
  }

  Outcome outcome() const { return outcome_; }

 private:
  template <typename Parse, typename T>
  Reader& read(std::string_view key, bool required, Parse parse, T& value, const char* complaint) {
    const MachineEntry* entry = find(key, required);
    if (entry == nullptr) return *this;
    const auto parsed = parse(entry->value);
    if (parsed) {
      value = *parsed;
    } else {
      outcome_ =
          text_.error_in(entry->line, fmt::format("{} = \"{}\" {}", key, entry->value, complaint));
    }
    return *this;
  }

  const MachineEntry* find(std::string_view key, bool required) {
    const MachineEntry* entry = section_.find(key);
    if (entry == nullptr && required && outcome_.ok()) {
      outcome_ =
          text_.error_in(section_.line, fmt::format("{} has no \"{}\"", section_.title(), key));
    }
    return outcome_.ok() ? entry : nullptr;
  }

  const MachineText& text_;
  const MachineSection& section_;
  Outcome outcome_ = espalier::Unit{};
};

class Builder {
 public:
  explicit Builder(const MachineText& text) : text_(text) {}

  Result<Machine> build() {
    machine_.name = machine_.title = stem(text_.file_name);
    for (const MachineSection& section : text_.sections) {
      Outcome outcome = check_words(section);
      if (outcome.ok()) outcome = take(section);
      if (!outcome) return outcome.error();
    }
    Outcome outcome = check_levels();
    if (outcome.ok()) outcome = connect_lanes();
    if (outcome.ok()) outcome = check_complete();
    if (!outcome) return outcome.error();
    return std::move(machine_);
  }

 private:
  // Where a level or lane was declared, for errors that show later.
  struct Use {
    const MachineSection* section;
    std::string word;  // level: its lane; lane: its level
  };

  Outcome check_words(const MachineSection& section) const {
    const bool named = section.kind == "level" || section.kind == "lane";
    if (section.line != 0 && std::find(std::begin(kSectionKinds), std::end(kSectionKinds),
                                       section.kind) == std::end(kSectionKinds)) {
      return text_.error_in(
          section.line,
          fmt::format("there is no section {}; the nearest known kind is \"{}\" (known: {})",
                      section.title(), nearest(section.kind, kSectionKinds),
                      join_or(kSectionKinds)));
    }
    if (section.line != 0 && named == section.name.empty()) {
      return text_.error_in(
          section.line,
          named ? fmt::format("[{0}] needs a name: \"[{0} NAME]\"", section.kind)
                : fmt::format("{} takes no name: write \"[{}]\"", section.title(), section.kind));
    }
    if (section.kind == "level" && find_word(kLevelNames, section.name) == kLevelNames.size()) {
      return text_.error_in(
          section.line,
          fmt::format("there is no level \"{}\"; the nearest known one is \"{}\" "
                      "(from the outside: {})",
                      section.name, nearest(section.name, kLevelNames), join_or(kLevelNames)));
    }
    return check_keys(section);
  }

  Outcome check_keys(const MachineSection& section) const {
    const Words keys = keys_of(section);
    for (const MachineEntry& entry : section.entries) {
      if (find_word(keys, entry.key) != keys.size()) continue;
      const std::string where = section.line == 0 ? "the top of the file" : section.title();
      return text_.error_in(
          entry.line,
          fmt::format("{} has no key \"{}\"; the nearest known one is \"{}\" (known: {})", where,
                      entry.key, nearest(entry.key, keys), join_or(keys)));
    }
    return espalier::Unit{};
  }

  static std::size_t find_word(Words words, std::string_view word) {
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), word) - words.begin());
  }

  Outcome take(const MachineSection& section) {
    const std::string place =
        section.name.empty() ? section.kind : section.kind + " " + section.name;
    for (const MachineEntry& entry : section.entries) {
      if (section.line == 0) continue;
      machine_.origins.push_back({place + ": " + entry.key, entry.origin, entry.reason});
    }
    if (section.kind == "level") return take_level(section);
    if (section.kind == "lane") return take_lane(section);
    if (section.kind == "cma") {
      has_cma_ = true;
      CmaCost& cma = machine_.cma;
      return Reader(text_, section)
          .time("call", cma.call_ns)
          .time("page", cma.page_ns)
          .time("reader", cma.reader_ns)
          .outcome();
    }
    if (section.kind == "multicast") return take_multicast(section);
    if (section.kind == "device") return take_device(section);
    if (section.kind == "compute") {
      has_compute_ = true;
      return Reader(text_, section).bandwidth("reduce", machine_.reduce_ns_per_byte).outcome();
    }
    return Reader(text_, section).word("title", machine_.title, false).outcome();
  }

  Outcome take_level(const MachineSection& section) {
    Level level;
    Use use{&section, {}};
    level.name = section.name;
    Reader reader(text_, section);
    reader.count("arity", level.arity);
    if (section.name != "core") {
      reader.carrier("carrier", level.carrier).size("pull_from", level.pull_from_bytes);
      reader.time("latency", level.latency_ns);
      const bool both =
          section.find("overhead_send") != nullptr || section.find("overhead_recv") != nullptr;
      if (both && section.find("overhead") != nullptr) {
        return text_.error_in(section.find("overhead")->line,
                              "\"overhead\" stands for \"overhead_send\" and \"overhead_recv\": "
                              "give it or both of them");
      }
      if (both) {
        reader.time("overhead_send", level.overhead_send_ns);
        reader.time("overhead_recv", level.overhead_recv_ns);
      } else {
        reader.time("overhead", level.overhead_send_ns);
        level.overhead_recv_ns = level.overhead_send_ns;
      }
      reader.time("gap", level.gap_ns, false).word("lane", use.word, false);
      reader.bandwidth("bandwidth", level.ns_per_byte, use.word.empty());
    }
    machine_.levels.push_back(std::move(level));
    level_uses_.push_back(std::move(use));
    return reader.outcome();
  }

  Outcome take_lane(const MachineSection& section) {
    Lane lane;
    lane.name = section.name;
    Reader reader(text_, section);
    reader.word("per", lane.per).bandwidth("bandwidth", lane.ns_per_byte);
    reader.time("gap", lane.gap_ns, false).yes_no("duplex", lane.duplex);
    lane_uses_.push_back({&section, lane.per});
    machine_.lanes.push_back(std::move(lane));
    return reader.outcome();
  }

  Outcome take_multicast(const MachineSection& section) {
    MulticastCost& cost = machine_.multicast;
    Reader reader(text_, section);
    reader.size("packet", cost.packet_bytes, true).time("setup", cost.setup_ns);
    reader.time("growth", cost.growth_ns, false);
    if (!reader.outcome() || cost.any()) return reader.outcome();
    return text_.error_in(section.find("packet")->line,
                          "packet = \"0 B\" carries nothing: leave [multicast] out where the "
                          "network has no groups");
  }

  Outcome take_device(const MachineSection& section) {
    DeviceCost& device = machine_.device;
    Reader reader(text_, section);
    reader.bandwidth("to_host", device.to_host_ns_per_byte)
        .bandwidth("to_device", device.to_device_ns_per_byte)
        .time("latency", device.latency_ns)
        .time("post", device.post_ns)
        .time("launch", device.launch_ns)
        .bandwidth("reduce", device.reduce_ns_per_byte);
    const bool reaches = std::any_of(section.entries.begin(), section.entries.end(),
                                     [](const auto& e) { return e.key.starts_with("peer"); });
    if (!reader.outcome() || !reaches) return reader.outcome();
    PeerCost& peer = device.peer;
    peer.latency_ns = device.latency_ns;
    reader.bandwidth("peer", peer.ns_per_byte).peer_lanes("peer_lanes", peer.own_lanes);
    peer.across_ns_per_byte = peer.ns_per_byte;
    reader.bandwidth("peer_across", peer.across_ns_per_byte, false);
    reader.time("peer_latency", peer.latency_ns, false);
    return reader.outcome() ? check_peers(section) : reader.outcome();
  }

  // What goes over lanes to and from the host is not faster than these.
  Outcome check_peers(const MachineSection& section) const {
    const DeviceCost& device = machine_.device;
    if (device.peer.own_lanes) return espalier::Unit{};
    const double least = std::max(device.to_host_ns_per_byte, device.to_device_ns_per_byte);
    const std::pair<const char*, double> all[] = {{"peer", device.peer.ns_per_byte},
                                                  {"peer_across", device.peer.across_ns_per_byte}};
    for (const auto& [key, takes] : all) {
      const MachineEntry* entry = section.find(key);
      if (entry == nullptr || takes >= least) continue;
      return text_.error_in(
          entry->line, fmt::format("{} = \"{}\" is faster than the lanes that it takes, {:g} GB/s: "
                                   "write that, or peer_lanes = own",
                                   key, entry->value, 1 / least));
    }
    return espalier::Unit{};
  }

  // Order, ends and size of the nest.
  Outcome check_levels() const {
    for (std::size_t i = 1; i < level_uses_.size(); ++i) {
      const MachineSection& outer = *level_uses_[i - 1].section;
      const MachineSection& inner = *level_uses_[i].section;
      if (find_word(kLevelNames, outer.name) < find_word(kLevelNames, inner.name)) continue;
      return text_.error_in(
          inner.line,
          fmt::format("{} stands below {} of line {}; levels go from the outside to the "
                      "inside: {}",
                      inner.title(), outer.title(), outer.line, fmt::join(kLevelNames, ", ")));
    }
    if (level_uses_.empty() || level_uses_.back().section->name != "core") {
      return text_.error_in(level_uses_.empty() ? text_.lines : level_uses_.back().section->line,
                            "the innermost level is missing: end the levels with [level core]");
    }
    const MachineSection& first = *level_uses_.front().section;
    if (machine_.levels.front().arity != 1) {
      return text_.error_in(first.find("arity")->line,
                            fmt::format("{} is the outermost level, the machine itself: its arity "
                                        "is 1, not {}",
                                        first.title(), machine_.levels.front().arity));
    }
    if (machine_.find_level("node") < 0) {
      return text_.error_in(text_.lines, "there is no [level node], by which ranks are placed");
    }
    double cores = 1;
    for (const Level& level : machine_.levels) cores *= level.arity;
    if (cores < 4294967296.0) return espalier::Unit{};
    return text_.error_in(
        level_uses_.back().section->line,
        fmt::format("{:.0f} cores in all: at most 4294967295 can be numbered", cores));
  }

  Outcome connect_lanes() {
    for (std::size_t i = 0; i < machine_.lanes.size(); ++i) {
      if (machine_.find_level(machine_.lanes[i].per) < 0) {
        return unknown_word(*lane_uses_[i].section, "per", "level", level_names());
      }
    }
    std::vector<std::string_view> names;
    for (const Lane& lane : machine_.lanes) names.push_back(lane.name);
    std::vector<bool> used(names.size());
    for (std::size_t i = 0; i < machine_.levels.size(); ++i) {
      const Use& use = level_uses_[i];
      if (use.word.empty()) continue;
      const std::size_t at = find_word(names, use.word);
      if (at == names.size()) return unknown_word(*use.section, "lane", "lane", names);
      used[at] = true;
      Outcome outcome = connect_lane(machine_.levels[i], at, *use.section);
      if (!outcome) return outcome;
    }
    const auto idle = std::find(used.begin(), used.end(), false) - used.begin();
    if (static_cast<std::size_t>(idle) == used.size()) return espalier::Unit{};
    const MachineSection& section = *lane_uses_[static_cast<std::size_t>(idle)].section;
    return text_.error_in(section.line,
                          fmt::format("no level uses {0}: add \"lane = {1}\" to one, or remove it",
                                      section.title(), section.name));
  }

  Outcome connect_lane(Level& level, std::size_t at, const MachineSection& section) const {
    level.lane = static_cast<std::uint32_t>(at + 1);
    const double lane = machine_.lanes[at].ns_per_byte;
    if (section.find("bandwidth") == nullptr) level.ns_per_byte = lane;
    if (level.ns_per_byte >= lane) return espalier::Unit{};
    return text_.error_in(
        section.find("bandwidth")->line,
        fmt::format("one transfer of {} cannot be faster than its lane \"{}\", {:g} GB/s",
                    section.title(), machine_.lanes[at].name, 1 / lane));
  }

  std::vector<std::string_view> level_names() const {
    std::vector<std::string_view> names;
    for (const Level& level : machine_.levels) names.push_back(level.name);
    return names;
  }

  Error unknown_word(const MachineSection& section, std::string_view key, std::string_view kind,
                     const std::vector<std::string_view>& known) const {
    const MachineEntry& entry = *section.find(key);
    if (known.empty()) {
      return text_.error_in(entry.line, fmt::format("there is no [{} {}]", kind, entry.value));
    }
    return text_.error_in(entry.line, fmt::format("there is no [{0} {1}]; the nearest is [{0} {2}]",
                                                  kind, entry.value, nearest(entry.value, known)));
  }

  Outcome check_complete() const {
    for (std::size_t i = 0; i < machine_.levels.size(); ++i) {
      const MachineEntry* from = level_uses_[i].section->find("pull_from");
      if (from == nullptr || machine_.levels[i].carrier == Carrier::kPull) continue;
      return text_.error_in(from->line,
                            "pull_from belongs to carrier pull: smaller messages are "
                            "copied");
    }
    for (std::size_t i = 0; i < machine_.levels.size(); ++i) {
      const MachineEntry* carrier = level_uses_[i].section->find("carrier");
      if (carrier == nullptr || machine_.levels[i].carrier != Carrier::kPull || has_cma_) continue;
      return text_.error_in(carrier->line,
                            "carrier pull needs a section [cma] with call, page and reader");
    }
    if (has_compute_) return espalier::Unit{};
    return text_.error_in(text_.lines, "there is no section [compute] with reduce");
  }

  const MachineText& text_;
  Machine machine_;
  std::vector<Use> level_uses_;
  std::vector<Use> lane_uses_;
  bool has_cma_ = false;
  bool has_compute_ = false;
};

}  // namespace

Result<Machine> parse_machine(std::string_view text, std::string_view file_name) {
  Result<MachineText> lines = split_machine_text(text, file_name);
  if (!lines) return lines.error();
  return Builder(*lines).build();
}

}  // namespace espalier::sim
