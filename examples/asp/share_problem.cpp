#include "share_problem.hpp"

#include <cstdint>

namespace asp {

bool share_problem(Team& team, Problem& problem, bool loaded) {
  struct Header {
    std::int64_t arcs;
    std::int32_t vertices;
    std::int32_t queries;
    std::int32_t wide;
    std::int32_t loaded;
  };
  Header header{std::ssize(problem.graph.arcs), problem.graph.vertex_count,
                static_cast<std::int32_t>(problem.queries.size()), problem.wide, loaded};
  team.broadcast(&header, 1);
  if (header.loaded == 0) return false;
  problem.wide = header.wide != 0;
  problem.graph.vertex_count = header.vertices;
  problem.graph.arcs.resize(static_cast<std::size_t>(header.arcs));
  problem.queries.resize(static_cast<std::size_t>(header.queries));
  team.broadcast(problem.graph.arcs.data(), problem.graph.arcs.size());
  team.broadcast(problem.queries.data(), problem.queries.size());
  return true;
}

}  // namespace asp
