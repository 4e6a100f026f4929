// Reading and writing descriptions of noise (noise.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include "core/config_value.hpp"
#include "net/sim/duration.hpp"
#include "net/sim/noise.hpp"

namespace espalier::sim {
namespace {

constexpr std::string_view kForms =
    "none, uniform:10hz:0-10ms, fixed:1000hz:25us, exponential:10hz:2.5ms, each of these with "
    ":aligned, or trace:FILE";
constexpr double kHertzMin = 0.001, kHertzMax = 1e6;

Error refuse(std::string_view text, const std::string& reason) {
  return error(ESP_ERR_ARGUMENT, fmt::format("noise \"{}\": {} (forms: {})", text, reason, kForms));
}

std::optional<double> parse_hertz(std::string_view text) {
  if (!text.ends_with("hz")) return std::nullopt;
  text.remove_suffix(2);
  const auto number = parse_number(text);
  const bool inside = number && kHertzMin <= *number && *number <= kHertzMax;
  return inside ? number : std::nullopt;
}

// "0-10ms": a unit after the last number is also that of the first.
bool parse_range(std::string_view text, NoiseSpec& spec) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return false;
  std::string low(text.substr(0, dash));
  const std::string_view high = text.substr(dash + 1);
  const bool has_unit = low.find_first_not_of("0123456789.") != std::string::npos;
  const std::size_t unit = high.find_first_not_of("0123456789.");
  if (!has_unit && unit != std::string_view::npos) low += high.substr(unit);
  const auto low_ns = parse_duration(low);
  const auto high_ns = parse_duration(high);
  if (!low_ns || !high_ns || *low_ns > *high_ns) return false;
  spec.low_ns = *low_ns;
  spec.high_ns = *high_ns;
  return true;
}

bool parse_length(std::string_view text, NoiseSpec& spec) {
  const auto length = parse_duration(text);
  spec.low_ns = spec.high_ns = length.value_or(0);
  return length.has_value();
}

Result<NoiseSpec> load_trace(std::string_view text, const std::string& file) {
  if (file.empty()) return refuse(text, "the name of a file is missing after trace:");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"),
                                                               std::fclose);
  std::string content;
  char part[4096];
  while (stream != nullptr && std::feof(stream.get()) == 0 && std::ferror(stream.get()) == 0) {
    content.append(part, std::fread(part, 1, sizeof part, stream.get()));
  }
  if (stream == nullptr || std::ferror(stream.get()) != 0) {
    return refuse(text, fmt::format("cannot read the file: {}", std::strerror(errno)));
  }
  return parse_noise_trace(content, file);
}

// Microseconds with decimals, to the nanosecond.
std::optional<std::uint64_t> parse_microseconds(std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number < 0.0 || *number > 1e15) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(*number * 1e3));
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

// One line of a trace without its comment. An empty text: it is fine.
std::string read_line(std::string_view line, NoiseSpec& spec) {
  const std::string_view first = next_word(line), second = next_word(line);
  if (first.empty()) return {};
  if (second.empty() || !next_word(line).empty()) {
    return "expected \"begin_us length_us\" or \"period_us N\"";
  }
  const auto length = parse_microseconds(second);
  if (first == "period_us") {
    if (!length || *length == 0) return fmt::format("\"{}\" is not a positive number", second);
    if (spec.period_ns != 0) return "the period was given before";
    spec.period_ns = *length;
    return {};
  }
  const auto begin = parse_microseconds(first);
  if (!begin) return fmt::format("\"{}\" is not a number of microseconds", first);
  if (!length) return fmt::format("\"{}\" is not a number of microseconds", second);
  if (!spec.trace.empty()) {
    const Detour& last = spec.trace.back();
    if (*begin < last.begin_ns + last.length_ns) {
      return "the detour begins before the end of the one above; lines are in order of time";
    }
  }
  spec.trace.push_back({*begin, *length});
  return {};
}

}  // namespace

Result<NoiseSpec> parse_noise_trace(std::string_view text, std::string_view file_name) {
  NoiseSpec spec;
  spec.kind = NoiseSpec::Kind::kTrace;
  spec.file = file_name;
  unsigned line_number = 0;
  while (!text.empty()) {
    ++line_number;
    std::string_view line = next_field(text, '\n');
    const std::string reason = read_line(next_field(line, '#'), spec);
    if (!reason.empty()) {
      return error(ESP_ERR_ARGUMENT, fmt::format("{}:{}: {}", file_name, line_number, reason));
    }
  }
  if (spec.trace.empty()) {
    return error(ESP_ERR_ARGUMENT,
                 fmt::format("{}:{}: the trace has no detour", file_name, line_number));
  }
  const std::uint64_t end = spec.trace.back().begin_ns + spec.trace.back().length_ns;
  if (spec.period_ns == 0) spec.period_ns = end;
  if (spec.period_ns < end || spec.share() >= 1.0) {
    return error(ESP_ERR_ARGUMENT,
                 fmt::format("{}:{}: {}", file_name, line_number,
                             spec.period_ns < end ? "the last detour ends after the period"
                                                  : "the detours leave no time for work"));
  }
  return spec;
}

Result<NoiseSpec> parse_noise(std::string_view text) {
  NoiseSpec spec;
  if (text == "none") return spec;
  std::string_view rest = text;
  const std::string_view kind = next_field(rest, ':');
  if (kind == "trace") return load_trace(text, std::string(rest));
  const std::string_view hertz = next_field(rest, ':');
  constexpr std::string_view kAligned = ":aligned";
  spec.aligned = rest.ends_with(kAligned);
  if (spec.aligned) rest.remove_suffix(kAligned.size());
  bool understood = false;
  if (kind == "uniform") {
    spec.kind = NoiseSpec::Kind::kUniform;
    understood = parse_range(rest, spec);
  } else if (kind == "fixed") {
    spec.kind = NoiseSpec::Kind::kFixed;
    understood = parse_length(rest, spec);
  } else if (kind == "exponential") {
    spec.kind = NoiseSpec::Kind::kExponential;
    understood = parse_length(rest, spec);
  } else {
    return refuse(text, fmt::format("there is no kind \"{}\"", kind));
  }
  const auto frequency = parse_hertz(hertz);
  if (!frequency) {
    return refuse(text, fmt::format("\"{}\" is not a frequency from {}hz to {}hz", hertz, kHertzMin,
                                    kHertzMax));
  }
  spec.hertz = *frequency;
  if (!understood) return refuse(text, fmt::format("cannot read the length \"{}\"", rest));
  const bool is_cut = spec.kind == NoiseSpec::Kind::kExponential;
  const std::uint64_t longest = is_cut ? spec.low_ns : spec.high_ns;
  if (longest >= spec.period()) {
    return refuse(text, fmt::format("detours of {} at {}hz leave no time for work",
                                    format_duration(longest), spec.hertz));
  }
  return spec;
}

std::string to_text(const NoiseSpec& spec) {
  const std::string low = format_duration(spec.low_ns);
  const char* const aligned = spec.aligned ? ":aligned" : "";
  switch (spec.kind) {
    case NoiseSpec::Kind::kNone:
      break;
    case NoiseSpec::Kind::kUniform:
      return fmt::format("uniform:{}hz:{}-{}{}", spec.hertz, low, format_duration(spec.high_ns),
                         aligned);
    case NoiseSpec::Kind::kFixed:
      return fmt::format("fixed:{}hz:{}{}", spec.hertz, low, aligned);
    case NoiseSpec::Kind::kExponential:
      return fmt::format("exponential:{}hz:{}{}", spec.hertz, low, aligned);
    case NoiseSpec::Kind::kTrace:
      return fmt::format("trace:{}", spec.file);
  }
  return "none";
}

}  // namespace espalier::sim
