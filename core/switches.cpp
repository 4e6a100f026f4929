#include "core/switches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/config_value.hpp"
#include "core/host.hpp"

namespace espalier {
namespace {

constexpr std::size_t kNamesMax = 1 << 20;  // of one list, so that a slip of the pen ends
constexpr std::string_view kKeys[] = {"SwitchName", "Nodes", "Switches", "LinkSpeed"};
enum Key : std::size_t { kSwitchName, kNodes, kSwitches, kKeyCount = 4 };

using Names = std::vector<std::string>;
using Entry = std::array<std::string_view, kKeyCount>;  // by Key; empty: not given

Error senseless(std::string text) {
  return error(ESP_ERR_CONFIG, std::move(text));
}

// Of a list, up to a comma outside of brackets.
std::string_view next_word(std::string_view& list) {
  std::size_t end = 0;
  for (int depth = 0; end < list.size() && (list[end] != ',' || depth > 0); ++end) {
    depth += list[end] == '[' ? 1 : list[end] == ']' ? -1 : 0;
  }
  const std::string_view word = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return word;
}

std::optional<std::uint32_t> parse_number_of_name(std::string_view digits) {
  const bool plain = !digits.empty() && digits.size() <= 9 &&
                     std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c); });
  if (!plain) return std::nullopt;
  return static_cast<std::uint32_t>(*parse_integer(digits));
}

// "n[08-10,12]-ib" is n08-ib, n09-ib, n10-ib and n12-ib. False: it is not of this form, or too
// many.
bool expand(const std::string& before, std::string_view word, Names& names) {
  const std::size_t open = word.find('[');
  if (open == std::string_view::npos) {
    const std::string name = before + std::string(word);
    const bool fine = !name.empty() && name.find(']') == std::string::npos;
    if (fine) names.push_back(name);
    return fine && names.size() <= kNamesMax;
  }
  const std::size_t close = word.find(']', open);
  if (close == std::string_view::npos || close == open + 1) return false;
  std::string_view ranges = word.substr(open + 1, close - open - 1);
  const std::string head = before + std::string(word.substr(0, open));
  while (!ranges.empty()) {
    std::string_view high = next_field(ranges, ',');
    const bool range = high.find('-') != std::string_view::npos;
    const std::string_view low = range ? next_field(high, '-') : high;
    const auto first = parse_number_of_name(low), last = parse_number_of_name(high);
    if (!first || !last || *first > *last) return false;
    for (std::uint32_t k = *first; k <= *last; ++k) {
      const std::string digits = fmt::format("{:0{}}", k, low.size());
      if (!expand(head + digits, word.substr(close + 1), names)) return false;
    }
  }
  return true;
}

Result<Names> expand_list(std::string_view list) {
  Names names;
  while (!list.empty()) {
    const std::string_view word = next_word(list);
    if (expand({}, word, names)) continue;
    return senseless(
        fmt::format("\"{}\" is no name, and no names as n[0-15,20], {} at most", word, kNamesMax));
  }
  return names;
}

Result<Entry> parse_entry(std::string_view text) {
  Entry entry;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t begin = rest.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(rest.find_first_of(" \t\r", begin), rest.size());
    std::string_view value = rest.substr(begin, end - begin);
    rest.remove_prefix(end);
    const auto key = parse_name(next_field(value, '='), kKeys);
    if (!key || value.empty() || !entry[*key].empty()) {
      return senseless(
          fmt::format("\"{}\" is not SwitchName=NAME with Nodes=LIST or Switches=LIST", text));
    }
    entry[*key] = value;
  }
  const bool says = !entry[kNodes].empty() || !entry[kSwitches].empty();
  if (entry[kSwitchName].empty() || !says) {
    return senseless(
        fmt::format("\"{}\" is not SwitchName=NAME with Nodes=LIST or Switches=LIST", text));
  }
  return entry;
}

// Lines, and what is between semicolons, without comments.
Result<std::vector<Entry>> parse_entries(std::string_view text) {
  std::vector<Entry> entries;
  while (!text.empty()) {
    std::string_view whole_line = next_field(text, '\n');
    std::string_view line = next_field(whole_line, '#');
    while (!line.empty()) {
      const std::string_view part = next_field(line, ';');
      if (part.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      auto entry = parse_entry(part);
      if (!entry) return entry.error();
      entries.push_back(*entry);
    }
  }
  return entries;
}

bool has_circle(const std::vector<std::int32_t>& parent_of) {
  for (std::int32_t at : parent_of) {
    for (std::size_t steps = 0; at >= 0; ++steps) {
      if (steps == parent_of.size()) return true;
      at = parent_of[static_cast<std::size_t>(at)];
    }
  }
  return false;
}

}  // namespace

Result<SwitchMap> SwitchMap::parse(std::string_view text) {
  auto entries = parse_entries(text);
  if (!entries) return entries.error();
  SwitchMap map;
  map.digest_ = hash_text(text) | 1;
  map.parent_of_.assign(entries->size(), -1);
  std::map<std::string_view, std::int32_t> numbers;  // of the switches
  for (const Entry& entry : *entries) {
    const auto number = static_cast<std::int32_t>(numbers.size());
    if (numbers.emplace(entry[kSwitchName], number).second) continue;
    return senseless(fmt::format("switch {} is there twice", entry[kSwitchName]));
  }
  for (const Entry& entry : *entries) {
    const std::int32_t number = numbers.at(entry[kSwitchName]);
    auto nodes = expand_list(entry[kNodes]);
    auto switches = expand_list(entry[kSwitches]);
    if (!nodes) return nodes.error();
    if (!switches) return switches.error();
    for (const std::string& node : *nodes) {
      if (map.switch_of_.emplace(node, number).second) continue;
      return senseless(fmt::format("node {} is there twice", node));
    }
    for (const std::string& name : *switches) {
      const auto known = numbers.find(name);
      if (known == numbers.end()) return senseless(fmt::format("there is no switch {}", name));
      std::int32_t& parent = map.parent_of_[static_cast<std::size_t>(known->second)];
      if (parent >= 0) return senseless(fmt::format("switch {} is below two others", name));
      parent = number;
    }
  }
  if (has_circle(map.parent_of_)) return senseless("switches are below each other in a circle");
  for (const auto& [node, number] : map.switch_of_) {
    map.depth_ = std::max(map.depth_, map.chain_from(number).size());
  }
  return map;
}

Result<SwitchMap> SwitchMap::load(const std::string& setting) {
  if (setting.empty()) return SwitchMap();
  if (setting.find('=') != std::string::npos) return parse(setting);
  const auto text = read_text_file(setting);
  if (!text) {
    return senseless(
        fmt::format("\"{}\" is neither a file that can be read nor a map such as "
                    "SwitchName=s0 Nodes=n[0-3]; SwitchName=s1 Nodes=n[4-7]",
                    setting));
  }
  auto map = parse(*text);
  if (map) return map;
  return senseless(fmt::format("{}: {}", setting, map.error().text));
}

std::vector<std::int32_t> SwitchMap::chain_from(std::int32_t number) const {
  std::vector<std::int32_t> chain;
  for (; number >= 0; number = parent_of_[static_cast<std::size_t>(number)]) {
    chain.push_back(number);
  }
  return chain;
}

std::optional<SwitchPath> SwitchMap::find(std::string_view node) const {
  auto found = switch_of_.find(node);
  if (found == switch_of_.end()) found = switch_of_.find(node.substr(0, node.find('.')));
  if (found == switch_of_.end()) return std::nullopt;
  const std::vector<std::int32_t> chain = chain_from(found->second);
  SwitchPath path = kSwitchesUnknown;
  const std::size_t kept = std::min(depth_, kSwitchLevels);
  for (std::size_t k = 0; k < kept; ++k) {
    const std::size_t below = std::min(depth_ - kept + k, chain.size() - 1);  // the outermost
    path[kSwitchLevels - kept + k] = chain[chain.size() - 1 - below] + 1;
  }
  return path;
}

SwitchPath SwitchMap::alone(std::int32_t number) const {
  SwitchPath path = kSwitchesUnknown;
  for (std::size_t k = kSwitchLevels - std::min(depth_, kSwitchLevels); k < kSwitchLevels; ++k) {
    path[k] = -number;
  }
  return path;
}

}  // namespace espalier
