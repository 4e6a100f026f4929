// Requests for the data of a rank on another node (PMIx direct modex) on their way through the
// root.
//
// Pure bookkeeping. A request for a rank that has ended is answered "not found" at once: nobody may
// wait for data that never comes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace esp_run {

class Lookups {
 public:
  struct Asker {
    int node;
    std::uint64_t id;  // The asking node's own number.
  };

  // A number for the request that is unique within the job.
  std::uint64_t add(Asker asker, std::int32_t rank) {
    pending_.emplace(++last_id_, Pending{asker, rank});
    return last_id_;
  }

  // Who asked; nothing when the request has been answered already.
  std::optional<Asker> take(std::uint64_t id) {
    const auto found = pending_.find(id);
    if (found == pending_.end()) return std::nullopt;
    const Asker asker = found->second.asker;
    pending_.erase(found);
    return asker;
  }

  std::vector<Asker> take_all_for(std::int32_t rank) {
    std::vector<Asker> askers;
    std::erase_if(pending_, [&](const auto& entry) {
      if (entry.second.rank != rank) return false;
      askers.push_back(entry.second.asker);
      return true;
    });
    return askers;
  }

 private:
  struct Pending {
    Asker asker;
    std::int32_t rank;
  };
  std::map<std::uint64_t, Pending> pending_;
  std::uint64_t last_id_ = 0;
};

}  // namespace esp_run
