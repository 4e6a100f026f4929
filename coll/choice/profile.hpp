// Profile: how collectives are best done in which situation, as measured; a file that people read.
//
//   espalier profile 1
//   made  2026-11-28 09:12 UTC on vm (2 CPUs, Intel Xeon) by esp-tune 0.9.0
//   # operation ranks nodes network cores from  algorithm shape radix segment window  us next us
//   allreduce   8     1     -       own   16384 spread    -     -     32768   -       31.2
//   ring 40.0
//
// A row holds for messages of `from` bytes and more (what a call counts: of one block, where it has
// one for each member), up to the next row for the same situation. `ranks` and `nodes` are numbers
// or ranges (8, 9-63, 64+, -: any); `network` between the nodes is tcp or rdma; `cores`: own, one
// for each rank, or shared. The five columns of the choice leave to the library's rules what they
// do not name. The times, in microseconds, are of the choice and of the best other one.
//
// All members of a team must read the same profile: who compares is bring-up (api/bring_up.cpp).
//
// Values; any thread. path: setup
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coll/choice/costs.hpp"
#include "coll/plan/collective.hpp"
#include "core/status.hpp"

namespace espalier {

// What a choice depends on; equal on all members.
struct Situation {
  Collective collective = Collective::kBarrier;
  std::int32_t ranks = 1;
  std::int32_t nodes = 1;
  NetworkClass network = NetworkClass::kAny;
  CoreClass cores = CoreClass::kAny;
  std::uint64_t bytes = 0;
};

struct ProfileRange {
  std::int32_t first = 1, last = 0x7fffffff;
  // In factors of 2; inside: 0.
  double distance(std::int32_t value) const noexcept;
  // Of it.
  double width() const noexcept;
  bool operator==(const ProfileRange&) const = default;
};

struct ProfileRow {
  Collective collective = Collective::kBarrier;
  ProfileRange ranks, nodes;
  NetworkClass network = NetworkClass::kAny;
  CoreClass cores = CoreClass::kAny;
  std::uint64_t from_bytes = 0;
  esp_coll_options choice = ESP_COLL_OPTIONS_INIT;  // AUTO and 0: not named. Variant: always EVENT
  double us = 0;                                    // 0: not measured
  std::string next;                                 // empty: nothing else was measured
  double next_us = 0;
  int line = 0;  // of the file

  std::string to_text() const;
};

class Profile {
 public:
  static constexpr std::size_t kRowsMax = 100'000;

  // `name` is for errors, which say the line. ESP_ERR_CONFIG.
  static Result<Profile> parse(std::string_view text, std::string name);
  // ESP_ERR_CONFIG with the system's reason, or for what is in the file.
  static Result<Profile> read(const std::string& path);

  std::string to_text() const;
  // The row to follow; nullptr: nothing similar was measured, similar being half to twice as many
  // ranks and nodes. Nearer ones come first, then narrower ranges, then the longest message.
  const ProfileRow* find(const Situation& situation) const noexcept;
  std::span<const ProfileRow> of(Collective collective) const noexcept;
  // Of the text without comments: equal profiles have equal ones.
  std::uint64_t digest() const;

  std::string name;
  std::string made;              // when, where, by what
  std::vector<ProfileRow> rows;  // in the order of collectives; those of one as in the file
};

}  // namespace espalier
