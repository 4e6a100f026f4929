// One gather to a root or scatter from it with its check, regular or not. Called by all members of
// the team; checks this rank's part: the status, every byte of the result, of gaps and guards, and
// that the input keeps what it held. path: setup
#pragma once

#include <fmt/ranges.h>

#include "tests/support/typed.hpp"

namespace test {

// counts: of each member, in elements of whichever type has more built-in ones in an element.
struct ToRoot {
  Layout layout;                         // at the root
  Typed root_type = builtin(ESP_INT32);  // there, and of each member
  Typed type = builtin(ESP_INT32);
  int root = 0;
  bool irregular = true;
  bool in_place = false;

  std::size_t largest() const { return std::max(root_type.offsets.size(), type.offsets.size()); }
  std::size_t elements(const Typed& of, std::size_t member) const {
    return layout.counts[member] * largest() / of.offsets.size();
  }
  // Of the root's buffer, in its elements.
  Layout at_root() const {
    Layout all = layout;
    const std::size_t factor = largest() / root_type.offsets.size();
    for (std::size_t& count : all.counts) count *= factor;
    for (std::size_t& displ : all.displs) displ *= factor;
    return all;
  }
};

inline std::string describe(const char* name, const ToRoot& g, const Way& way, esp_team* team) {
  return fmt::format("{}{}{} of {} {} {} at {} for root {}, {}", name, g.irregular ? "v" : "",
                     g.in_place ? " in place" : "", fmt::join(g.layout.counts, ","),
                     g.layout.displs.empty() ? "packed" : "scattered",
                     esp_type_name(g.root_type.base), esp_team_rank(team), g.root, describe(way));
}

// Whether there is a result to check: an algorithm or shape that was asked for may not be made for
// this.
inline bool has_result(esp_status status, const Way& way, esp_team* team, const std::string& text) {
  const bool asked =
      way.options.algorithm != ESP_ALGORITHM_AUTO || way.options.shape != ESP_SHAPE_AUTO;
  if (asked && status == ESP_ERR_UNSUPPORTED) return false;
  CHECK_OK(status, team, "{}", text);
  return status == ESP_OK;
}

// Bytes of a buffer in which the blocks of a layout stand.
inline std::size_t reach(const Layout& layout, const Typed& type) {
  std::size_t end = 0;
  for (std::size_t r = 0; r < layout.counts.size(); ++r) {
    if (layout.counts[r] == 0) continue;
    end = std::max(end, layout.begin(r) * type.stride() + type.reach(layout.counts[r]));
  }
  return end;
}

inline esp_status check_gather(esp_team* team, const ToRoot& g, const Way& way) {
  const int rank = esp_team_rank(team);
  const auto me = static_cast<std::size_t>(rank);
  const bool at_root = rank == g.root, in_place = g.in_place && at_root;
  const Typed& mine = at_root ? g.root_type : g.type;
  const std::size_t count = g.elements(mine, me);
  const Layout to = g.at_root();
  Memory input(mine.reach(count)), output(at_root ? reach(to, g.root_type) : 0);
  const auto data = block_data(rank, 0, mine.moved(count));
  if (!in_place) input.put(0, mine, count, data);
  for (std::size_t r = 0; at_root && r < to.counts.size(); ++r) {
    const auto block = block_data(static_cast<int>(r), 0, g.root_type.moved(to.counts[r]));
    const std::size_t at = to.begin(r) * g.root_type.stride();
    if (in_place && r == me) output.put(at, g.root_type, to.counts[r], block);
    output.expect(at, g.root_type, to.counts[r], block);
  }
  const void* source = in_place ? ESP_IN_PLACE : input.data();
  // What is empty needs no memory, what others hold is not looked at.
  void* target = !at_root ? nullptr : output.data();
  const std::size_t* counts = at_root ? to.counts.data() : nullptr;
  const std::size_t* displs = at_root ? to.displacements() : nullptr;
  const esp_status status =
      g.irregular
          ? run(
                team, way, {&input, &output},
                [&](auto* f, auto... how) {
                  return f(team, source, count, target, counts, displs, mine.type, g.root, how...);
                },
                esp_gatherv, esp_gatherv_start, esp_gatherv_init)
          : run(
                team, way, {&input, &output},
                [&](auto* f, auto... how) {
                  return f(team, source, target, count, mine.type, g.root, how...);
                },
                esp_gather, esp_gather_start, esp_gather_init);
  const std::string text = describe("gather", g, way, team);
  if (!has_result(status, way, team, text)) return status;
  output.check(text);
  input.check("input of " + text);
  return status;
}

inline esp_status check_scatter(esp_team* team, const ToRoot& g, const Way& way) {
  const int rank = esp_team_rank(team);
  const auto me = static_cast<std::size_t>(rank);
  const bool at_root = rank == g.root, in_place = g.in_place && at_root;
  const Typed& mine = at_root ? g.root_type : g.type;
  const std::size_t count = g.elements(mine, me);
  const Layout from = g.at_root();
  Memory input(at_root ? reach(from, g.root_type) : 0), output(in_place ? 0 : mine.reach(count));
  for (std::size_t r = 0; at_root && r < from.counts.size(); ++r) {
    input.put(from.begin(r) * g.root_type.stride(), g.root_type, from.counts[r],
              block_data(g.root, static_cast<int>(r), g.root_type.moved(from.counts[r])));
  }
  if (!in_place) output.expect(0, mine, count, block_data(g.root, rank, mine.moved(count)));
  const void* source = at_root ? input.data() : nullptr;
  void* target = in_place ? const_cast<void*>(ESP_IN_PLACE) : output.data();
  const std::size_t* counts = at_root ? from.counts.data() : nullptr;
  const std::size_t* displs = at_root ? from.displacements() : nullptr;
  const esp_status status =
      g.irregular
          ? run(
                team, way, {&input, &output},
                [&](auto* f, auto... how) {
                  return f(team, source, counts, displs, target, count, mine.type, g.root, how...);
                },
                esp_scatterv, esp_scatterv_start, esp_scatterv_init)
          : run(
                team, way, {&input, &output},
                [&](auto* f, auto... how) {
                  return f(team, source, target, count, mine.type, g.root, how...);
                },
                esp_scatter, esp_scatter_start, esp_scatter_init);
  const std::string text = describe("scatter", g, way, team);
  if (!has_result(status, way, team, text)) return status;
  output.check(text);
  input.check("input of " + text);
  return status;
}

}  // namespace test
