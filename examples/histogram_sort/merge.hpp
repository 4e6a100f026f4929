// Merging sorted runs: all at once, or in groups as they come. No communication. path: data
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "keys.hpp"

namespace sorting {

using Run = std::span<const Key>;

// Merges any number of sorted runs, some of them empty; `out` has room for all and overlaps none.
void merge(std::span<const Run> runs, Key* out);

// Of `runs` that come one by one `size` are merged as soon as they are there, so that at the end
// there is less to do. A group of one or of all is left to the end. Runs stay where they are until
// finish().
class GroupMerge {
 public:
  GroupMerge(std::size_t size, std::size_t runs) : size_(size == 1 ? runs : size), runs_(runs) {}

  void add(Run run);
  // Merges all that has come.
  void finish(Key* out);

 private:
  std::size_t size_, runs_;
  std::vector<Run> waiting_, merged_;
  std::vector<std::unique_ptr<Key[]>> memory_;  // Of what is merged.
};

}  // namespace sorting
