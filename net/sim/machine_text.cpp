#include "net/sim/machine_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/config_value.hpp"

namespace espalier::sim {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr std::array<std::string_view, 3> kOrigins = {"published", "measured", "assumed"};

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

class Splitter {
 public:
  explicit Splitter(std::string_view file_name) {
    text_.file_name = file_name;
    text_.sections.emplace_back();
  }

  Result<MachineText> split(std::string_view all) {
    while (!all.empty()) {
      const std::size_t end = std::min(all.find('\n'), all.size());
      ++text_.lines;
      Outcome outcome = take_line(trim(all.substr(0, end)));
      if (!outcome) return outcome.error();
      all.remove_prefix(std::min(end + 1, all.size()));
    }
    return std::move(text_);
  }

 private:
  Error wrong(std::string_view what) const { return text_.error_in(text_.lines, what); }

  Outcome take_line(std::string_view line) {
    if (line.empty() || line.front() == '#') return Unit{};
    return line.front() == '[' ? take_section(line) : take_entry(line);
  }

  Outcome take_section(std::string_view line) {
    const std::string_view bare = trim(line.substr(0, line.find('#')));
    if (bare.back() != ']') {
      return wrong(
          fmt::format("\"{}\" does not end with ']': a section is \"[level NAME]\", "
                      "\"[lane NAME]\", \"[cma]\", \"[multicast]\", \"[device]\" or \"[compute]\"",
                      bare));
    }
    const std::string_view inner = trim(bare.substr(1, bare.size() - 2));
    const std::size_t space = std::min(inner.find_first_of(kBlank), inner.size());
    MachineSection section;
    section.kind = inner.substr(0, space);
    section.name = trim(inner.substr(space));
    section.line = text_.lines;
    for (const MachineSection& other : text_.sections) {
      if (other.line != 0 && other.kind == section.kind && other.name == section.name) {
        return wrong(fmt::format("{} is there already, in line {}: give each section once",
                                 section.title(), other.line));
      }
    }
    text_.sections.push_back(std::move(section));
    return Unit{};
  }

  Outcome take_entry(std::string_view line) {
    const std::size_t hash = std::min(line.find('#'), line.size());
    const std::string_view statement = trim(line.substr(0, hash));
    const std::size_t equals = statement.find('=');
    if (equals == std::string_view::npos || trim(statement.substr(0, equals)).empty() ||
        trim(statement.substr(equals + 1)).empty()) {
      return wrong(
          fmt::format("\"{}\" is neither \"[section]\" nor \"key = value  # origin\"", statement));
    }
    MachineEntry entry;
    entry.key = trim(statement.substr(0, equals));
    entry.value = trim(statement.substr(equals + 1));
    entry.line = text_.lines;
    MachineSection& section = text_.sections.back();
    if (const MachineEntry* other = section.find(entry.key)) {
      return wrong(fmt::format("\"{}\" is set already, in line {}: give each key once", entry.key,
                               other->line));
    }
    if (section.line != 0) {
      Outcome outcome = take_origin(statement, trim(line.substr(hash)), entry);
      if (!outcome) return outcome;
    }
    section.entries.push_back(std::move(entry));
    return Unit{};
  }

  Outcome take_origin(std::string_view statement, std::string_view comment, MachineEntry& entry) {
    const std::string_view text = comment.empty() ? comment : trim(comment.substr(1));
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto known = std::find(kOrigins.begin(), kOrigins.end(), trim(text.substr(0, colon)));
    if (text.empty() || colon == text.size() || known == kOrigins.end()) {
      return wrong(fmt::format(
          "\"{}\" has no origin: add \"# published: WHERE\", \"# measured: ON WHAT\" or "
          "\"# assumed: WHY\"",
          statement));
    }
    entry.origin = static_cast<Origin::Kind>(known - kOrigins.begin());
    entry.reason = trim(text.substr(colon + 1));
    if (entry.reason.empty()) {
      return wrong(fmt::format("\"{}\" is {}, but {} is missing after the colon", statement, *known,
                               entry.origin == Origin::Kind::kAssumed ? "the reason"
                               : entry.origin == Origin::Kind::kPublished
                                   ? "the source"
                                   : "what it was measured on"));
    }
    return Unit{};
  }

  MachineText text_;
};

}  // namespace

const char* origin_name(Origin::Kind kind) noexcept {
  return kOrigins[static_cast<std::size_t>(kind)].data();
}

std::string MachineSection::title() const {
  return name.empty() ? fmt::format("[{}]", kind) : fmt::format("[{} {}]", kind, name);
}

const MachineEntry* MachineSection::find(std::string_view key) const noexcept {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const MachineEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

Error MachineText::error_in(std::uint32_t line, std::string_view text) const {
  return error(ESP_ERR_ARGUMENT, fmt::format("{}:{}: {}", file_name, line, text));
}

Result<MachineText> split_machine_text(std::string_view text, std::string_view file_name) {
  return Splitter(file_name).split(text);
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  return *std::min_element(known.begin(), known.end(), [&](auto a, auto b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
}

}  // namespace espalier::sim
