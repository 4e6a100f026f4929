#include "coll/choice/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>

#include "coll/algorithms/trees.hpp"
#include "core/config_value.hpp"
#include "core/host.hpp"

namespace espalier {
namespace {

constexpr std::string_view kFirstLine = "espalier profile 1";
constexpr std::string_view kNetworks[] = {"-", "tcp", "rdma"};
constexpr std::string_view kCores[] = {"-", "own", "shared"};
constexpr std::size_t kColumns = 14;
constexpr double kFar = 1.0;  // a factor of 2

template <typename T, typename NameOf>
std::optional<T> named(std::string_view text, int count, NameOf name_of) {
  for (int k = 0; k < count; ++k) {
    const std::string_view name = name_of(static_cast<T>(k));
    std::string plain(name);  // as settings write it: "kary"
    std::erase(plain, '-');
    const std::string_view names[] = {name, plain};
    if (parse_name(text, names)) return static_cast<T>(k);
  }
  return {};
}

// A number of at least `least`; "-" is `unnamed`.
std::optional<std::int64_t> number(std::string_view text, std::int64_t least,
                                   std::int64_t unnamed) {
  if (text == "-") return unnamed;
  const auto value = parse_integer(text);
  return value && *value >= least && *value <= 0x7fffffff ? value : std::nullopt;
}

std::optional<ProfileRange> range(std::string_view text) {
  if (text == "-") return ProfileRange{};
  const bool open = text.ends_with('+');
  if (open) text.remove_suffix(1);
  const auto first = number(next_field(text, '-'), 1, 0);
  const auto last = text.empty() ? first : number(text, 1, 0);
  if (!first || !last || *first < 1 || *last < *first || (open && !text.empty())) return {};
  ProfileRange range{static_cast<std::int32_t>(*first), static_cast<std::int32_t>(*last)};
  if (open) range.last = ProfileRange{}.last;
  return range;
}

std::string range_text(const ProfileRange& range) {
  if (range == ProfileRange{}) return "-";
  if (range.last == ProfileRange{}.last) return fmt::format("{}+", range.first);
  if (range.first == range.last) return fmt::format("{}", range.first);
  return fmt::format("{}-{}", range.first, range.last);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  while (true) {
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// What is wrong with the words of a row; empty: nothing.
std::string read_row(const std::vector<std::string_view>& words, ProfileRow& row) {
  if (words.size() != kColumns) {
    return fmt::format("{} columns, expected {}", words.size(), kColumns);
  }
  const auto bad = [](const char* what, std::string_view text) {
    return fmt::format("\"{}\" is no {}", text, what);
  };
  const auto collective = named<Collective>(words[0], static_cast<int>(kCollectives),
                                            [](Collective c) { return collective_name(c); });
  if (!collective) return bad("operation", words[0]);
  row.collective = *collective;
  const auto ranks = range(words[1]), nodes = range(words[2]);
  if (!ranks) return bad("number or range of ranks", words[1]);
  if (!nodes) return bad("number or range of nodes", words[2]);
  row.ranks = *ranks;
  row.nodes = *nodes;
  const auto network = parse_name(words[3], kNetworks), cores = parse_name(words[4], kCores);
  if (!network) return bad("network (tcp, rdma, -)", words[3]);
  if (!cores) return bad("cores (own, shared, -)", words[4]);
  row.network = static_cast<NetworkClass>(*network);
  row.cores = static_cast<CoreClass>(*cores);
  const auto from = parse_size(words[5]);
  if (!from) return bad("number of bytes", words[5]);
  row.from_bytes = *from;
  const bool free = words[6] == "-", plain = words[7] == "-";
  const auto algorithm = named<esp_algorithm>(free ? "auto" : words[6], ESP_ALGORITHM_COUNT,
                                              [](esp_algorithm a) { return algorithm_name(a); });
  const auto shape = named<esp_shape>(plain ? "auto" : words[7], ESP_SHAPE_COUNT,
                                      [](esp_shape s) { return shape_name(s); });
  if (!algorithm) return bad("algorithm", words[6]);
  if (!shape) return bad("shape", words[7]);
  const bool exists = *algorithm == ESP_ALGORITHM_AUTO || *algorithm == ESP_ALGORITHM_SHORT ||
                      has_algorithm(*collective, *algorithm);
  if (!exists) return fmt::format("{} has no algorithm {}", words[0], words[6]);
  const auto radix = number(words[8], 1, 0);
  const auto segment = parse_size(words[9] == "-" ? "0" : words[9]);
  const auto window = number(words[10], 1, 0);
  if (!radix || (*shape == ESP_SHAPE_KNOMIAL && *radix == 1)) return bad("radix", words[8]);
  if (!segment || (*segment == 0 && words[9] != "-"))
    return bad("number of bytes of a segment", words[9]);
  if (!window || *window > 64) return bad("window (1 to 64)", words[10]);
  row.choice.algorithm = *algorithm;
  row.choice.shape = *shape;
  row.choice.radix = static_cast<int>(*radix);
  row.choice.segment_bytes = static_cast<std::size_t>(*segment);
  row.choice.window_send = static_cast<int>(*window);
  for (const auto& [column, time] : {std::pair{11, &row.us}, std::pair{13, &row.next_us}}) {
    const std::string_view text = words[static_cast<std::size_t>(column)];
    const auto value = parse_number(text == "-" ? "0" : text);
    if (!value || *value < 0) return bad("time", text);
    *time = *value;
  }
  row.next = words[12] == "-" ? std::string{} : std::string(words[12]);
  return {};
}

}  // namespace

double ProfileRange::distance(std::int32_t value) const noexcept {
  if (value < first) return std::log2(static_cast<double>(first) / std::max(value, 1));
  return value > last ? std::log2(static_cast<double>(value) / last) : 0;
}
double ProfileRange::width() const noexcept {
  return std::log2(static_cast<double>(last) / first);
}

std::string ProfileRow::to_text() const {
  const auto or_dash = [](auto value) {
    return value > 0 ? fmt::format("{}", value) : std::string("-");
  };
  const auto time = [](double value) {
    return value > 0 ? fmt::format("{:.2f}", value) : std::string("-");
  };
  const bool free = choice.algorithm == ESP_ALGORITHM_AUTO, plain = choice.shape == ESP_SHAPE_AUTO;
  return fmt::format(
      "{:<20} {:<6} {:<6} {:<7} {:<6} {:<9} {:<10} {:<8} {:<5} {:<8} {:<6} {:<9} {:<24} {}",
      collective_name(collective), range_text(ranks), range_text(nodes),
      kNetworks[static_cast<std::size_t>(network)], kCores[static_cast<std::size_t>(cores)],
      from_bytes, free ? "-" : algorithm_name(choice.algorithm),
      plain ? "-" : shape_name(choice.shape), or_dash(choice.radix), or_dash(choice.segment_bytes),
      or_dash(choice.window_send), time(us), next.empty() ? "-" : next, time(next_us));
}

Result<Profile> Profile::parse(std::string_view text, std::string name) {
  Profile profile;
  profile.name = std::move(name);
  const auto refuse = [&](int line, const std::string& why) {
    return error(ESP_ERR_CONFIG, fmt::format("{}:{}: {}", profile.name, line, why));
  };
  for (int line = 1; !text.empty() || line == 1; ++line) {
    const std::string_view whole = next_field(text, '\n');
    const std::vector<std::string_view> words = words_of(whole);
    if (line == 1) {
      const std::string_view first = whole.substr(0, whole.find_last_not_of(" \t\r") + 1);
      if (first != kFirstLine)
        return refuse(1, fmt::format("it does not begin with \"{}\"", kFirstLine));
      continue;
    }
    if (words.empty()) continue;
    if (words[0] == "made") {
      for (std::size_t k = 1; k < words.size(); ++k) {
        profile.made.append(k == 1 ? "" : " ").append(words[k]);
      }
      continue;
    }
    if (profile.rows.size() == kRowsMax) return refuse(line, "too many rows");
    ProfileRow row;
    row.line = line;
    if (const std::string why = read_row(words, row); !why.empty()) return refuse(line, why);
    profile.rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(profile.rows, {}, &ProfileRow::collective);
  return profile;
}

Result<Profile> Profile::read(const std::string& path) {
  constexpr std::streamsize kBytesMax = 64 << 20;
  std::error_code unknown;
  // A FIFO would have us wait for who writes.
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown)) {
    return error(ESP_ERR_CONFIG, fmt::format("{}: not a regular file", path));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 1 << 16> piece;
  while (file && static_cast<std::streamsize>(text.size()) <= kBytesMax) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof() || file.bad()) {
    const bool large = static_cast<std::streamsize>(text.size()) > kBytesMax;
    return error(ESP_ERR_CONFIG, fmt::format("{}: {}", path,
                                             large ? "too large for a profile"
                                                   : std::generic_category().message(errno)));
  }
  return parse(text, path);
}

std::string Profile::to_text() const {
  std::string text = fmt::format("{}\nmade  {}\n\n", kFirstLine, made);
  text += fmt::format(
      "#{:<19} {:<6} {:<6} {:<7} {:<6} {:<9} {:<10} {:<8} {:<5} {:<8} {:<6} {:<9} {:<24} {}\n",
      "operation", "ranks", "nodes", "network", "cores", "from", "algorithm", "shape", "radix",
      "segment", "window", "us", "next", "us");
  for (const ProfileRow& row : rows) text += row.to_text() + "\n";
  return text;
}

const ProfileRow* Profile::find(const Situation& situation) const noexcept {
  const ProfileRow* best = nullptr;
  double best_distance = 0, best_width = 0;
  for (const ProfileRow& row : of(situation.collective)) {
    if (row.from_bytes > situation.bytes) continue;
    if (row.network != NetworkClass::kAny && row.network != situation.network) continue;
    if (row.cores != CoreClass::kAny && row.cores != situation.cores) continue;
    const double ranks = row.ranks.distance(situation.ranks);
    const double nodes = row.nodes.distance(situation.nodes);
    // One node is another thing than two: nothing crosses a network.
    const bool crosses = situation.nodes > 1;
    if (ranks > kFar || nodes > kFar || (nodes > 0 && (!crosses || row.nodes.last == 1))) continue;
    const double distance = ranks + nodes, width = row.ranks.width() + row.nodes.width();
    const bool better =
        best == nullptr || distance < best_distance ||
        (distance == best_distance && width < best_width) ||
        (distance == best_distance && width == best_width && row.from_bytes >= best->from_bytes);
    if (!better) continue;
    best = &row;
    best_distance = distance;
    best_width = width;
  }
  return best;
}

std::span<const ProfileRow> Profile::of(Collective collective) const noexcept {
  return std::ranges::equal_range(rows, collective, {}, &ProfileRow::collective);
}

std::uint64_t Profile::digest() const {
  return hash_text(to_text());
}

}  // namespace espalier
