#include "net/sim/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/clock.hpp"
#include "core/config_value.hpp"
#include "core/prng.hpp"
#include "net/sim/duration.hpp"

namespace espalier::sim {
namespace {

struct ShareName {
  std::string_view name;
  double FaultSpec::*field;
};
constexpr ShareName kShares[] = {
    {"loss", &FaultSpec::loss},
    {"duplicate", &FaultSpec::duplicate},
    {"reorder", &FaultSpec::reorder},
    {"corrupt", &FaultSpec::corrupt},
    {"branch-loss", &FaultSpec::branch_loss},
    {"rnr", &FaultSpec::rnr},
    {"echo", &FaultSpec::echo},
    {"retry", &FaultSpec::retry},
    {"no-memory", &FaultSpec::no_memory},
};
struct CountName {
  std::string_view name;
  std::uint32_t FaultSpec::*field;
  FaultEvent::Kind kind;
};
constexpr CountName kCounts[] = {
    {"clog", &FaultSpec::clogs, FaultEvent::Kind::kClog},
    {"partition", &FaultSpec::one_way_partitions, FaultEvent::Kind::kPartition},
    {"crash", &FaultSpec::crashes, FaultEvent::Kind::kCrash},
    {"slow", &FaultSpec::slow_ranks, FaultEvent::Kind::kSlow},
    {"break", &FaultSpec::breaks, FaultEvent::Kind::kBreak},
    {"overrun", &FaultSpec::overruns, FaultEvent::Kind::kOverrun},
};
constexpr std::uint32_t kCountMax = 10'000;

std::string known_names() {
  std::vector<std::string_view> names;
  for (const ShareName& share : kShares) names.push_back(share.name);
  names.push_back("delay");
  for (const CountName& count : kCounts) names.push_back(count.name);
  names.push_back("heal");
  return join_or(names);
}

bool parse_share(std::string_view text, double& share) {
  const auto number = parse_number(text);
  const bool inside = number && 0.0 <= *number && *number <= 1.0;  // not a number: false
  if (!inside) return false;
  share = *number;
  return true;
}

// Empty: understood; else what would have been right.
std::string set_value(std::string_view name, std::string_view value, FaultSpec& spec) {
  for (const ShareName& share : kShares) {
    if (name != share.name) continue;
    return parse_share(value, spec.*share.field) ? "" : "a share from 0 to 1";
  }
  for (const CountName& count : kCounts) {
    if (name != count.name) continue;
    const auto number = parse_integer(value);
    if (!number || *number < 0 || *number > kCountMax) {
      return fmt::format("a number from 0 to {}", kCountMax);
    }
    spec.*count.field = static_cast<std::uint32_t>(*number);
    return {};
  }
  if (name == "delay") {
    const std::size_t colon = std::min(value.find(':'), value.size());
    const auto scale = parse_duration(value.substr(std::min(colon + 1, value.size())));
    if (!scale || !parse_share(value.substr(0, colon), spec.delay)) {
      return "a share and a time, as in delay=0.1:5us";
    }
    spec.delay_ns = *scale;
    return {};
  }
  if (name == "heal") {
    const auto time = parse_duration(value);
    if (!time || *time == 0) return "a time, as in heal=2ms";
    spec.heal_ns = *time;
    return {};
  }
  return fmt::format("one of the names {}", known_names());
}

// `count` different ranks.
std::vector<std::int32_t> draw_ranks(Prng& prng, std::uint32_t count, std::uint32_t ranks) {
  std::vector<std::int32_t> drawn;
  while (drawn.size() < count) {
    const auto rank = static_cast<std::int32_t>(prng.below(ranks));
    if (std::find(drawn.begin(), drawn.end(), rank) == drawn.end()) drawn.push_back(rank);
  }
  return drawn;
}

// Begin anywhere before `end`; lengths over three decades, so that some are over before anybody
// notices and some outlast patience.
FaultEvent draw_times(Prng& prng, FaultEvent::Kind kind, std::uint64_t end) {
  std::uint64_t longest = end / 2;
  for (std::uint64_t i = prng.below(4); i > 0; --i) longest /= 10;
  FaultEvent event;
  event.kind = kind;
  event.begin_ns = prng.below(end);
  event.end_ns = std::min(event.begin_ns + 1 + prng.below(longest + 1), end);
  if (kind == FaultEvent::Kind::kCrash) event.end_ns = kNever;
  return event;
}

}  // namespace

bool FaultSpec::any() const noexcept {
  FaultSpec nothing;
  nothing.heal_ns = heal_ns;
  nothing.delay_ns = delay_ns;
  return !(*this == nothing);
}

Result<FaultSpec> parse_faults(std::string_view text) {
  FaultSpec spec;
  if (text.empty() || text == "none") return spec;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view value = item.substr(std::min(equals + 1, item.size()));
    const std::string expected = set_value(item.substr(0, equals), value, spec);
    if (!expected.empty()) {
      return error(ESP_ERR_ARGUMENT,
                   fmt::format("faults \"{}\": in \"{}\" expected {}", text, item, expected));
    }
    if (comma == rest.size()) return spec;
    rest.remove_prefix(comma + 1);
  }
}

std::string to_text(const FaultSpec& spec) {
  std::string text;
  const auto add = [&text](const std::string& item) { text += (text.empty() ? "" : ",") + item; };
  for (const ShareName& share : kShares) {
    if (spec.*share.field > 0.0) add(fmt::format("{}={}", share.name, spec.*share.field));
  }
  if (spec.delay > 0.0) add(fmt::format("delay={}:{}", spec.delay, format_duration(spec.delay_ns)));
  for (const CountName& count : kCounts) {
    if (spec.*count.field > 0) add(fmt::format("{}={}", count.name, spec.*count.field));
  }
  if (spec.heal_ns > 0) add(fmt::format("heal={}", format_duration(spec.heal_ns)));
  return text.empty() ? "none" : text;
}

std::vector<FaultEvent> draw_faults(const FaultSpec& spec, std::uint32_t ranks,
                                    std::uint64_t horizon_ns, std::uint64_t seed) {
  std::vector<FaultEvent> events;
  const std::uint64_t end = spec.heal_ns > 0 ? std::min(spec.heal_ns, horizon_ns) : horizon_ns;
  if (ranks == 0 || end == 0) return events;
  for (const CountName& name : kCounts) {
    const auto kind = name.kind;
    const std::uint32_t count = spec.*name.field;
    std::uint64_t state = seed ^ (0x6661756c74000000ULL + static_cast<std::uint64_t>(kind));
    Prng prng(splitmix64(state));
    using enum FaultEvent::Kind;
    if (kind == kCrash || kind == kSlow || kind == kOverrun) {
      const std::uint32_t limit = kind == kSlow ? ranks : ranks - 1;
      for (const std::int32_t rank : draw_ranks(prng, std::min(count, limit), ranks)) {
        events.push_back(draw_times(prng, kind, end));
        events.back().from = rank;
      }
    } else if (ranks > 1) {
      for (std::uint32_t i = 0; i < count; ++i) {
        events.push_back(draw_times(prng, kind, end));
        const std::uint64_t from = prng.below(ranks);
        events.back().from = static_cast<std::int32_t>(from);
        events.back().to = static_cast<std::int32_t>((from + 1 + prng.below(ranks - 1)) % ranks);
      }
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const FaultEvent& a, const FaultEvent& b) {
    return a.begin_ns < b.begin_ns;
  });
  return events;
}

}  // namespace espalier::sim
