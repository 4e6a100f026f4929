// PlanCache: the plans of a team's calls, each with the memory of its instances.
//
// A plan on which an operation runs stays. The others wait for the next call of their shape, in the
// order in which they were last used; when there are more of them than the limits allow, the one
// that was not used for longest goes. Looking one up, using and returning it is O(1).
//
// Ownership: owns plans and instances. Threads: owner. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "coll/plan/plan.hpp"
#include "core/intrusive_list.hpp"

namespace espalier {

struct Call;
struct Instance;
struct PlanEntry;

// All of a call that its plan depends on, for one team.
struct PlanKey {
  Collective collective = Collective::kBarrier;
  bool commutative = true;
  bool in_place = false;  // where another plan is made for it
  bool packs_input = false, packs_output = false;
  bool replaces = false;                // PlanRequest
  bool moves = false;                   // by a mover: instances have slots for it
  bool shares = false, direct = false;  // PlanRequest
  bool combines = false;                // and it combines
  std::uint32_t graph = 0;              // of neighbours; 0: none
  bool among_heads = false;             // of the part of a short operation between nodes
  bool awaits = false, delivers = false, places = false;  // PlanRequest
  std::int32_t root = 0;
  std::uint64_t count = 0;
  std::uint32_t element_bytes = 1;
  esp_algorithm algorithm = ESP_ALGORITHM_AUTO;
  esp_shape shape = ESP_SHAPE_AUTO;
  esp_variant variant = ESP_VARIANT_EVENT;
  std::int32_t radix = 0;
  std::int32_t window_send = 0, window_recv = 0;
  std::uint64_t segment_bytes = 0;

  static PlanKey of(const Call& call) noexcept;
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

class PlanCache {
 public:
  // Of plans on which nothing runs.
  struct Limits {
    std::size_t plans = 64;
    std::uint64_t bytes = std::uint64_t{32} << 20;
    // So many stay however large they are: a program's loop makes its plans once.
    std::size_t plans_least = 8;
  };

  PlanCache();
  ~PlanCache();  // Asserts that nothing runs on any.
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  void set_limits(const Limits& limits) noexcept { limits_ = limits; }

  // nullptr: there is none. Stays at least until the next add() or give_back(), and while in use.
  PlanEntry* find(const PlanKey& key) noexcept;
  PlanEntry& add(const PlanKey& key, Plan plan);
  // An instance of the plan, which is in use until it is given back. nullptr: no memory.
  Instance* take(PlanEntry& entry);
  void give_back(Instance& instance) noexcept;
  // From now on no memory is given back before the end: of a team that has failed, whose segments
  // others may read until they learn of it (Wire::cancel).
  void keep_all() noexcept { keeps_all_ = true; }

  std::size_t plans() const noexcept { return entries_.size(); }
  std::uint64_t idle_bytes() const noexcept { return idle_bytes_; }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [key, entry] : entries_) visit(*entry);
  }

 private:
  struct Hash {
    std::size_t operator()(const PlanKey& key) const noexcept;
  };

  void lay_aside(PlanEntry& entry) noexcept;
  void trim() noexcept;

  Limits limits_;
  bool keeps_all_ = false;
  std::unordered_map<PlanKey, std::unique_ptr<PlanEntry>, Hash> entries_;
  IntrusiveList<PlanEntry> idle_;  // the one used last at the end
  std::size_t idle_plans_ = 0;
  std::uint64_t idle_bytes_ = 0;
};

}  // namespace espalier
