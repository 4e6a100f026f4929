#include "tools/esp-tune/notebook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/config_value.hpp"
#include "core/host.hpp"
#include "tools/esp-tune/candidates.hpp"
#include "tools/esp-tune/whole_file.hpp"

namespace esp_tune {
namespace {

namespace fs = std::filesystem;
using espalier::error;
using espalier::Outcome;
using espalier::Profile;
using espalier::ProfileRow;
using espalier::Result;
using espalier::Situation;

constexpr std::string_view kNote = "# measured ";
constexpr std::string_view kHeading = "#operation ";
constexpr std::string_view kMade = "made ";

bool is_one(const espalier::ProfileRange& range) {
  return range.first == range.last;
}

// What comes after the time.
std::string_view maker_of(std::string_view made) {
  return made.substr(std::min(made.find(" on "), made.size()));
}

}  // namespace

Notebook::Key Notebook::key_of(const Situation& s) {
  return {s.collective, s.ranks, s.nodes, s.network, s.cores};
}
Notebook::Key Notebook::key_of(const ProfileRow& row) {
  return {row.collective, row.ranks.first, row.nodes.first, row.network, row.cores};
}

// The first five columns, as rows have them.
std::string Notebook::note_of(const Key& key) {
  ProfileRow row;
  row.collective = key.collective;
  row.ranks = {key.ranks, key.ranks};
  row.nodes = {key.nodes, key.nodes};
  row.network = key.network;
  row.cores = key.cores;
  const std::string whole = row.to_text();
  std::string note(kNote);
  std::size_t at = 0;
  for (int column = 0; column < 5; ++column) {
    const std::size_t end = whole.find(' ', at);
    note += whole.substr(at, end - at) + (column < 4 ? " " : ":");
    at = whole.find_first_not_of(' ', end);
  }
  return note;
}

Notebook::Series* Notebook::series_of_note(std::string_view line) {
  if (!line.starts_with(kNote)) return nullptr;
  for (auto& [key, series] : series_) {
    const std::string note = note_of(key);
    if (!line.starts_with(note)) continue;
    // What is measured between two rows chose as the lower one.
    std::map<std::uint64_t, Cell> measured;
    std::string_view sizes = line.substr(note.size());
    while (!sizes.empty()) {
      const auto bytes = espalier::parse_size(espalier::next_field(sizes, ' '));
      if (!bytes) continue;
      auto row = series.cells.upper_bound(*bytes);
      if (row == series.cells.begin()) continue;
      Cell cell{std::prev(row)->second.row, true};
      if (cell.row.from_bytes != *bytes) {
        cell.row.us = cell.row.next_us = 0;
        cell.row.next.clear();
      }
      cell.row.from_bytes = *bytes;
      measured.emplace(*bytes, std::move(cell));
    }
    for (auto& [bytes, cell] : measured) series.cells[bytes] = std::move(cell);
    return &series;
  }
  return nullptr;
}

void Notebook::take_lines(std::string_view text, const Profile& profile) {
  std::map<int, const Series*> series_of_line;
  if (!profile.made.empty() && maker_of(profile.made) != maker_of(made_)) {
    lines_.push_back({fmt::format("# before: made {}", profile.made), nullptr});
  }
  for (const ProfileRow& row : profile.rows) {
    if (!is_one(row.ranks) || !is_one(row.nodes)) continue;
    Series& series = series_[key_of(row)];
    series.cells[row.from_bytes] = {row, false};
    series_of_line[row.line] = &series;
  }
  for (std::size_t number = 0; !text.empty(); ++number) {
    const std::string line(espalier::next_field(text, '\n'));
    const bool made = line.find(kMade) == line.find_first_not_of(" \t");
    // These are written anew.
    if (number == 0 || made || line.starts_with(kHeading)) continue;
    if (line.empty() && lines_.empty()) continue;
    const auto row = series_of_line.find(static_cast<int>(number) + 1);
    const Series* series = row != series_of_line.end() ? row->second : series_of_note(line);
    lines_.push_back({line, series});
  }
}

Result<Notebook> Notebook::parse(std::string_view text, std::string path, std::string made) {
  Notebook notebook;
  notebook.path_ = std::move(path);
  notebook.made_ = std::move(made);
  if (text.empty()) return notebook;
  auto profile = Profile::parse(text, notebook.path_);
  if (!profile) return profile.error();
  notebook.take_lines(text, *profile);
  return notebook;
}

Result<Notebook> Notebook::open(const std::string& path, std::string made) {
  std::error_code failed;
  if (!fs::exists(path, failed)) {
    if (failed) return error(ESP_ERR_CONFIG, fmt::format("{}: {}", path, failed.message()));
    return parse("", path, std::move(made));
  }
  if (!fs::is_regular_file(path, failed)) {
    return error(ESP_ERR_CONFIG, fmt::format("{} is not a regular file", path));
  }
  // Where the name leads to another file that one is replaced.
  const std::string real = fs::canonical(path, failed).string();
  if (failed) return error(ESP_ERR_CONFIG, fmt::format("{}: {}", path, failed.message()));
  auto text = espalier::read_text_file(real);
  if (!text) return error(ESP_ERR_CONFIG, fmt::format("{} cannot be read", path));
  return parse(*text, real, std::move(made));
}

const Notebook::Cell* Notebook::measured_at(const Situation& situation) const {
  const auto series = series_.find(key_of(situation));
  if (series == series_.end()) return nullptr;
  const auto cell = series->second.cells.find(situation.bytes);
  return cell != series->second.cells.end() && cell->second.measured ? &cell->second : nullptr;
}

bool Notebook::has(const Situation& situation) const {
  return measured_at(situation) != nullptr;
}

bool Notebook::is_left_to_rules(const Situation& situation) const {
  const Cell* cell = measured_at(situation);
  return cell != nullptr && is_rules(cell->row.choice);
}

void Notebook::add(const Situation& situation, const Measured& measured) {
  Series& series = series_[key_of(situation)];
  Cell cell;
  cell.measured = true;
  cell.row.collective = situation.collective;
  cell.row.ranks = {situation.ranks, situation.ranks};
  cell.row.nodes = {situation.nodes, situation.nodes};
  cell.row.network = situation.network;
  cell.row.cores = situation.cores;
  cell.row.from_bytes = situation.bytes;
  cell.row.choice = measured.choice;
  cell.row.us = measured.us;
  cell.row.next = measured.next;
  cell.row.next_us = measured.next_us;
  series.cells[situation.bytes] = std::move(cell);
  series.touched = true;
}

std::vector<Notebook::Change> Notebook::changes(const Situation& situation) const {
  std::vector<Change> changes;
  const auto series = series_.find(key_of(situation));
  if (series == series_.end()) return changes;
  const std::pair<const std::uint64_t, Cell>* before = nullptr;
  for (const auto& cell : series->second.cells) {
    if (!cell.second.measured) continue;
    if (before != nullptr && !is_same(before->second.row.choice, cell.second.row.choice)) {
      changes.push_back({before->first, cell.first});
    }
    before = &cell;
  }
  return changes;
}

std::vector<std::uint64_t> Notebook::islands(const Situation& situation) const {
  std::vector<std::uint64_t> islands;
  std::vector<const ProfileRow*> rows;
  const auto series = series_.find(key_of(situation));
  if (series == series_.end()) return islands;
  for (const auto& [bytes, cell] : series->second.cells) {
    if (cell.measured) rows.push_back(&cell.row);
  }
  for (std::size_t k = 1; k + 1 < rows.size(); ++k) {
    const bool alone = !is_rules(rows[k]->choice) && is_rules(rows[k - 1]->choice) &&
                       is_rules(rows[k + 1]->choice);
    if (alone) islands.push_back(rows[k]->from_bytes);
  }
  return islands;
}

std::string Notebook::summary(const Situation& situation) const {
  std::string text;
  const auto series = series_.find(key_of(situation));
  if (series == series_.end()) return text;
  const ProfileRow* before = nullptr;
  for (const auto& [bytes, cell] : series->second.cells) {
    if (before != nullptr && is_same(before->choice, cell.row.choice)) continue;
    text += short_name(cell.row.choice).insert(0, before == nullptr ? "" : ", ");
    if (before != nullptr) text += " from " + espalier::format_size(bytes);
    before = &cell.row;
  }
  return text;
}

std::string Notebook::to_text() const {
  Profile head;
  head.made = made_;
  std::string text = head.to_text();
  for (const Line& line : lines_) {
    if (line.series == nullptr || !line.series->touched) text += line.text + "\n";
  }
  for (const auto& [key, series] : series_) {
    if (!series.touched) continue;
    std::string note = note_of(key);
    const ProfileRow* before = nullptr;
    for (const auto& [bytes, cell] : series.cells) {
      if (cell.measured) note += fmt::format(" {}", bytes);
      if (before != nullptr && is_same(before->choice, cell.row.choice)) continue;
      text += cell.row.to_text() + "\n";
      before = &cell.row;
    }
    text += note + "\n";
  }
  return text;
}

Outcome Notebook::save() const {
  return write_whole_file(path_, to_text());
}

}  // namespace esp_tune
