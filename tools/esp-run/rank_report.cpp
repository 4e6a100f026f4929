#include "rank_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "job_state.hpp"

namespace esp_run {
namespace {

// A report of thousands of ranks that all do something else is of no use.
constexpr std::size_t kGroupsMost = 100;

// Payloads are lines; the first letter says what a line is, a tab ends its number.
void add_line(std::string& payload, char kind, std::uint64_t number, std::string_view text) {
  payload += fmt::format("{}{}\t", kind, number);
  for (const char c : text) payload += c == '\n' ? ' ' : c;
  payload += '\n';
}

struct Line {
  char kind = 0;
  std::uint64_t number = 0;
  std::string text;
};

bool read_line(std::string_view& payload, Line& line) {
  const std::size_t end = payload.find('\n');
  const std::size_t tab = payload.find('\t');
  if (end == std::string_view::npos || tab == std::string_view::npos || tab > end || tab == 0) {
    return false;
  }
  line.kind = payload[0];
  line.number = 0;
  std::from_chars(payload.data() + 1, payload.data() + tab, line.number);
  line.text = payload.substr(tab + 1, end - tab - 1);
  payload.remove_prefix(end + 1);
  return true;
}

// The shortest and the longest of those that share a line.
struct Span {
  std::uint64_t least = ~std::uint64_t{0}, most = 0;

  void add(std::uint64_t ns) {
    least = std::min(least, ns);
    most = std::max(most, ns);
  }
  std::string text() const {
    const auto seconds = [](std::uint64_t ns) {
      return fmt::format("{:.1f}", static_cast<double>(ns) * 1e-9);
    };
    const std::string from = seconds(least), to = seconds(most);
    return from == to ? fmt::format("for {} s", to) : fmt::format("for {} to {} s", from, to);
  }
};

struct Group {
  std::vector<int> ranks;
  const RankReport* first = nullptr;
  Span since;
  std::vector<Span> waited;

  void add(const RankReport& report) {
    if (first == nullptr) first = &report;
    ranks.push_back(report.rank);
    since.add(report.since_ns);
    waited.resize(report.waited.size());
    for (std::size_t i = 0; i < waited.size(); ++i) waited[i].add(report.waited[i].ns);
  }
  std::string name() const {
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", ranks_text(ranks));
  }
};

// In order of the first rank of each.
template <typename Key>
std::vector<Group> grouped(std::vector<RankReport>& reports, Key&& key) {
  std::sort(reports.begin(), reports.end(),
            [](const RankReport& a, const RankReport& b) { return a.rank < b.rank; });
  std::vector<Group> groups;
  std::map<std::string, std::size_t> at;
  for (const RankReport& report : reports) {
    const auto [found, is_new] = at.try_emplace(key(report), groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].add(report);
  }
  return groups;
}

std::string key_of(const RankReport& report) {
  std::string key = report.state;
  for (const RankReport::Waited& one : report.waited) key += '\n' + one.text;
  return key;
}

// Without what differs from process to process: addresses, and numbers of threads.
std::string stack_key(const RankReport& report) {
  std::string key;
  for (const std::string& line : report.stack) {
    const bool is_frame = line.starts_with('#');
    for (std::size_t i = 0; i < line.size(); ++i) {
      const bool is_address = line.compare(i, 2, "0x") == 0;
      while (is_address && i < line.size() && std::isalnum(static_cast<unsigned char>(line[i])))
        ++i;
      if (i == line.size()) break;
      if (is_frame || std::isdigit(static_cast<unsigned char>(line[i])) == 0) key += line[i];
    }
    key += '\n';
  }
  return key;
}

}  // namespace

std::string pack_reports(const std::vector<RankReport>& reports) {
  std::string payload;
  for (const RankReport& report : reports) {
    add_line(payload, 'R', static_cast<std::uint64_t>(report.rank), report.state);
    if (report.since_ns != 0) add_line(payload, 'T', report.since_ns, {});
    for (const RankReport::Waited& one : report.waited) add_line(payload, 'W', one.ns, one.text);
    for (const std::string& line : report.stack) add_line(payload, 'S', 0, line);
  }
  return payload;
}

std::vector<RankReport> unpack_reports(std::string_view payload) {
  std::vector<RankReport> reports;
  for (Line line; read_line(payload, line);) {
    if (line.kind == 'R') {
      reports.push_back({.rank = static_cast<int>(line.number), .state = std::move(line.text)});
    }
    if (reports.empty()) continue;
    RankReport& report = reports.back();
    if (line.kind == 'T') report.since_ns = line.number;
    if (line.kind == 'W') report.waited.push_back({line.number, std::move(line.text)});
    if (line.kind == 'S') report.stack.push_back(std::move(line.text));
  }
  return reports;
}

std::string reports_text(std::vector<RankReport> reports) {
  std::string text;
  const std::vector<Group> groups = grouped(reports, key_of);
  for (std::size_t i = 0; i < std::min(groups.size(), kGroupsMost); ++i) {
    const Group& group = groups[i];
    text += fmt::format("\n  {}: {}", group.name(), group.first->state);
    if (group.since.least != 0) text += ", " + group.since.text();
    for (std::size_t w = 0; w < group.waited.size(); ++w) {
      text += fmt::format("\n    {}: {}", group.waited[w].text(), group.first->waited[w].text);
    }
  }
  if (groups.size() > kGroupsMost) {
    std::size_t left = 0;
    for (std::size_t i = kGroupsMost; i < groups.size(); ++i) left += groups[i].ranks.size();
    text += fmt::format("\n  and {} ranks that all do something else", left);
  }
  return text;
}

std::string stacks_text(std::vector<RankReport> reports) {
  std::string text;
  for (const Group& group : grouped(reports, stack_key)) {
    text += fmt::format("\n  stack of {}:", group.name());
    for (const std::string& line : group.first->stack) text += "\n    " + line;
  }
  return text;
}

}  // namespace esp_run
