// How the halo of a rank's tile gets there in each step: what the variants differ in.
//
// The threads of a rank call begin() and finish() once in a step, each for itself; between the two
// they update inner cells. path: data
#pragma once

#include <array>
#include <cstddef>
#include <espalier/espalier.hpp>
#include <memory>

#include "layout.hpp"
#include "plate.hpp"

namespace heat {

class Exchange {
 public:
  virtual ~Exchange() = default;
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  virtual void begin(std::size_t thread) = 0;
  // Returns when the boundary cells of the thread have been updated, or others are about to.
  virtual void finish(std::size_t thread) = 0;
  // By one thread, when all have finished the step.
  virtual void end_step() {}
};

// What a rank has. All of it lives as long as the exchange.
struct Rank {
  esp_team* team;
  esp_graph* grid;
  std::array<int, kEdges> neighbors;  // ESP_NO_NEIGHBOR: the border of the plate.
  Tile& tile;
  const Layout& layout;
};

// One sender: thread 0 exchanges whole edges, and the others wait for it. The caller drives
// progress.
std::unique_ptr<Exchange> make_funnel(const Rank& rank);
// Many senders: each thread exchanges its part of the edges with the same thread of the neighbors.
// A thread of the library drives progress.
std::unique_ptr<Exchange> make_multiple(const Rank& rank);
// One exchange of all neighbors, to which each thread gives its parts when they are ready. When all
// of it has come, threads update their boundary cells (sync); or who finds that a part has come
// updates the cells that it opens, while others still come, whosever stripe they are in (partial).
// `separate`: each part is a message of its own. A thread of the library drives progress.
std::unique_ptr<Exchange> make_sync(const Rank& rank, bool separate);
std::unique_ptr<Exchange> make_partial(const Rank& rank, bool separate);

// Updates the boundary cells of a thread.
void update_boundary(const Rank& rank, std::size_t thread);

}  // namespace heat
