// The profile that is written: what was measured, and everything else that was in the file.
//
// What belongs together is a *series*: one operation in one situation, with a cell for each size.
// Neighbouring cells with the same choice are one row. A comment below the rows says which sizes
// were measured, so that a second run knows:
//
//   # measured allreduce 8 1 - own: 8 32 128
//
// Lines of other series stay as they are, comments too. path: setup
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coll/choice/profile.hpp"
#include "tools/esp-tune/measure.hpp"

namespace esp_tune {

class Notebook {
 public:
  // Where there is no file it will be made, with its folders. ESP_ERR_CONFIG for one that is there
  // and is no profile, which then stays as it is. `made`: who measures, and where.
  static espalier::Result<Notebook> open(const std::string& path, std::string made);
  // Of a file's text, which is empty where there is none.
  static espalier::Result<Notebook> parse(std::string_view text, std::string path,
                                          std::string made);

  // Is there a row for what was measured at this very size?
  bool has(const espalier::Situation& situation) const;
  // Was it measured, and is nothing named for it?
  bool is_left_to_rules(const espalier::Situation& situation) const;
  void add(const espalier::Situation& situation, const Measured& measured);
  // The sizes where the next larger one that was measured has another choice, and that one.
  struct Change {
    std::uint64_t below, above;
  };
  std::vector<Change> changes(const espalier::Situation& situation) const;
  // Sizes with a choice of their own between two that are left to the rules.
  std::vector<std::uint64_t> islands(const espalier::Situation& situation) const;
  // "rules, ring from 16K"
  std::string summary(const espalier::Situation& situation) const;

  std::string to_text() const;
  // Whoever reads sees the old file or the new one.
  espalier::Outcome save() const;
  const std::string& path() const { return path_; }

 private:
  Notebook() = default;
  struct Key {
    espalier::Collective collective;
    std::int32_t ranks, nodes;
    espalier::NetworkClass network;
    espalier::CoreClass cores;
    auto operator<=>(const Key&) const = default;
  };
  struct Cell {
    espalier::ProfileRow row;
    bool measured = false;  // at this size; else it is a row of the file, whoever wrote it
  };
  struct Series {
    std::map<std::uint64_t, Cell> cells;  // by bytes
    bool touched = false;                 // something was added: its lines are written anew
  };
  struct Line {
    std::string text;
    const Series* series;  // whose row, or comment of what was measured; nullptr: neither
  };
  const Cell* measured_at(const espalier::Situation& situation) const;
  static Key key_of(const espalier::Situation& situation);
  static Key key_of(const espalier::ProfileRow& row);
  static std::string note_of(const Key& key);
  Series* series_of_note(std::string_view line);
  void take_lines(std::string_view text, const espalier::Profile& profile);

  std::string path_, made_;
  std::vector<Line> lines_;
  std::map<Key, Series> series_;
};

}  // namespace esp_tune
