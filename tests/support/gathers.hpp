// One allgather or alltoall with its check, regular or not: what every test of them repeats.
//
// Each function is called by all members of the team and checks this rank's part: the status, every
// byte of the result, of gaps and guards, and that the input keeps what it held. path: setup
#pragma once

#include "tests/support/blocks.hpp"
#include "tests/support/forms.hpp"

namespace test {

enum class Gathering { kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kScan, kExscan };

inline bool is_power_of_two(int n) {
  return (n & (n - 1)) == 0;
}

// Whether the algorithm is not made for that, and has to say so.
inline bool is_declined(Gathering what, esp_algorithm algorithm, int size) {
  const bool all = what == Gathering::kAlltoall || what == Gathering::kAlltoallv;
  const bool prefix = what == Gathering::kScan || what == Gathering::kExscan;
  switch (algorithm) {
    case ESP_ALGORITHM_AUTO:
    case ESP_ALGORITHM_RING:
      return false;
    case ESP_ALGORITHM_TREE:
      return prefix || what == Gathering::kAlltoallv;
    case ESP_ALGORITHM_PUBLISH:
      return all || prefix;
    case ESP_ALGORITHM_BRUCK:
      return prefix || what == Gathering::kAlltoallv;
    case ESP_ALGORITHM_DOUBLING:
      return all || (!prefix && !is_power_of_two(size));
    case ESP_ALGORITHM_ONE_FACTOR:
      return !all;
    case ESP_ALGORITHM_XOR:
      return !all || !is_power_of_two(size);
    default:
      return true;
  }
}

// Checks the status. True: there is a result to check.
inline bool succeeded(esp_status status, Gathering what, const Way& way, esp_team* team,
                      const std::string& text) {
  const bool declined = is_declined(what, way.options.algorithm, esp_team_size(team));
  CHECK_STATUS(status, declined ? ESP_ERR_UNSUPPORTED : ESP_OK, team, "{}", text);
  return status == ESP_OK && !declined;
}

// An allgather; irregular: with the counts and displacements of a layout.
struct Gather {
  Layout layout;
  esp_type type = ESP_BYTE;
  bool irregular = true;
  bool in_place = false;
};

inline std::string describe(const Gather& g, const Way& way, esp_team* team) {
  return fmt::format("allgather{}{} of {} {} {} to {}, {}", g.irregular ? "v" : "",
                     g.in_place ? " in place" : "", fmt::join(g.layout.counts, ","),
                     g.layout.displs.empty() ? "packed" : "scattered", esp_type_name(g.type),
                     esp_team_rank(team), describe(way));
}

inline void check_allgather(esp_team* team, const Gather& g, const Way& way) {
  const auto me = static_cast<std::size_t>(esp_team_rank(team));
  const Layout& to = g.layout;
  const std::size_t element = esp_type_size(g.type), count = to.counts[me];
  BlockBuffer input(packed({count}), element), output(to, element);
  const auto mine = block_data(static_cast<int>(me), 0, count * element);
  input.put(0, mine);
  if (g.in_place) output.put(me, mine);
  for (std::size_t r = 0; r < to.counts.size(); ++r) {
    output.expect(r, block_data(static_cast<int>(r), 0, output.block_bytes(r)));
  }
  // What is empty needs no memory.
  const void* source = g.in_place ? ESP_IN_PLACE : count == 0 ? nullptr : input.data();
  void* target = to.extent() == 0 ? nullptr : output.data();
  const esp_status status = call(
      team, way,
      [&] {
        return g.irregular ? esp_allgatherv(team, source, target, to.counts.data(),
                                            to.displacements(), g.type)
                           : esp_allgather(team, source, target, count, g.type);
      },
      [&](const esp_coll_options* o, const esp_notify* n, esp_request** r) {
        return g.irregular ? esp_allgatherv_start(team, source, target, to.counts.data(),
                                                  to.displacements(), g.type, o, n, r)
                           : esp_allgather_start(team, source, target, count, g.type, o, n, r);
      });
  const std::string text = describe(g, way, team);
  const Gathering what = g.irregular ? Gathering::kAllgatherv : Gathering::kAllgather;
  if (!succeeded(status, what, way, team, text)) return;
  output.check(text);
  input.check("input of " + text);
}

// An alltoall, likewise. In place: `received` is the layout of both, and counts are symmetric.
struct Exchange {
  Layout sent, received;
  esp_type type = ESP_BYTE;
  bool irregular = true;
  bool in_place = false;
};

inline std::string describe(const Exchange& e, const Way& way, esp_team* team) {
  return fmt::format("alltoall{}{} of {} {} for {} {} {} at {}, {}", e.irregular ? "v" : "",
                     e.in_place ? " in place" : "", fmt::join(e.sent.counts, ","),
                     e.sent.displs.empty() ? "packed" : "scattered",
                     fmt::join(e.received.counts, ","),
                     e.received.displs.empty() ? "packed" : "scattered", esp_type_name(e.type),
                     esp_team_rank(team), describe(way));
}

inline void check_alltoall(esp_team* team, const Exchange& e, const Way& way) {
  const int me = esp_team_rank(team);
  const Layout &from = e.sent, &to = e.received;
  const std::size_t element = esp_type_size(e.type), count = to.counts[0];
  BlockBuffer input(e.in_place ? packed({}) : from, element), output(to, element);
  for (std::size_t r = 0; r < to.counts.size(); ++r) {
    const int member = static_cast<int>(r);
    BlockBuffer& source = e.in_place ? output : input;
    source.put(r, block_data(me, member, source.block_bytes(r)));
    output.expect(r, block_data(member, me, output.block_bytes(r)));
  }
  // What is empty needs no memory.
  const void* source = e.in_place ? ESP_IN_PLACE : from.extent() == 0 ? nullptr : input.data();
  void* target = to.extent() == 0 ? nullptr : output.data();
  const std::size_t* in_counts = e.in_place ? nullptr : from.counts.data();
  const std::size_t* in_displs = e.in_place ? nullptr : from.displacements();
  const esp_status status = call(
      team, way,
      [&] {
        return e.irregular ? esp_alltoallv(team, source, in_counts, in_displs, target,
                                           to.counts.data(), to.displacements(), e.type)
                           : esp_alltoall(team, source, target, count, e.type);
      },
      [&](const esp_coll_options* o, const esp_notify* n, esp_request** r) {
        return e.irregular
                   ? esp_alltoallv_start(team, source, in_counts, in_displs, target,
                                         to.counts.data(), to.displacements(), e.type, o, n, r)
                   : esp_alltoall_start(team, source, target, count, e.type, o, n, r);
      });
  const std::string text = describe(e, way, team);
  const Gathering what = e.irregular ? Gathering::kAlltoallv : Gathering::kAlltoall;
  if (!succeeded(status, what, way, team, text)) return;
  output.check(text);
  input.check("input of " + text);
}

}  // namespace test
