// What the checker of plans keeps: values in memory, vertices under execution, transfers under way.
// Private to the checker (plan_checker_run.hpp) and to plan_hazards.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/plan/plan.hpp"

namespace espalier::plan_check {

// Contributions of `length` consecutive ranks (mod team size) from `first`, to one element: number
// `element` of each rank's input. A broadcast's data count as the root's contribution.
struct Value {
  std::int32_t first = -1;
  std::int32_t length = 0;
  std::uint64_t element = 0;
  friend bool operator==(const Value&, const Value&) = default;
};
using Values = std::vector<Value>;

// One element's place in memory.
struct Cell {
  Value value;
  std::uint32_t readers = 0;  // sends under way from it
  bool writing = false;       // a segment is arriving in it
  std::uint32_t arrivals = 0;
  bool closed = false;  // of an input that becomes ready by and by
  std::uint32_t deliveries = 0;
};

// The memory of a rank: buffers by buffer_of(). In place, the input is part of the output.
struct Memory {
  std::vector<std::vector<Cell>> buffers;
  bool in_place = false;
  std::uint64_t input_at = 0;  // in the output

  Cell* at(Place place, std::uint64_t element) {
    if (in_place && place == Place::kInput) {
      return buffers[buffer_of(Place::kOutput)].data() + input_at + element;
    }
    return buffers[buffer_of(place)].data() + element;
  }
};

// Where a vertex's indices meet those of another rank's vertex: the first of the flow there.
struct End {
  std::int32_t state = -1;
  std::uint32_t base = 0;
};

// A segment that is read in its sender's memory; of the index of a view.
struct Hold {
  std::uint32_t index = 0;
  std::int32_t send = 0;
  std::uint32_t send_index = 0;
};

// A vertex under execution. Bit k of the masks speaks of index prefix + k.
struct State {
  const Plan* plan = nullptr;
  const Vertex* vertex = nullptr;
  std::int32_t first_of_rank = 0;  // state number of the rank's vertex 0
  std::uint32_t prefix = 0;
  std::uint64_t started = 0;
  std::uint64_t done = 0;
  std::uint32_t in_flight = 0;
  std::uint32_t held = 0;  // views: in flight or not yet released
  bool queued = false;
  std::uint64_t busy_round = 0;
  std::vector<End> ends;      // by peer: of each step, unless it is always the same
  std::vector<Values> views;  // kRecvView: by index
  std::vector<bool> arrived;  // and those that are there
  std::vector<Hold> holds;
  std::vector<std::uint32_t> unread;  // kPublish: readers to come, by index % 64
  std::uint32_t count() const { return vertex->indices.count; }
  bool complete() const { return prefix == count(); }
};

struct Transfer {
  std::int32_t send = 0;
  std::uint32_t send_index = 0;
  std::int32_t recv = 0;
  std::uint32_t recv_index = 0;
  Values values;
};

// Elements from `begin` on.
struct Range {
  Cell* begin = nullptr;
  std::uint64_t elements = 0;
  Cell* end() const { return begin + elements; }
};

inline bool sends(const Vertex& v) {
  return v.action == Action::kSend || v.action == Action::kPublish;
}

inline bool is_skipped(const Plan& plan, const Vertex& v, std::uint32_t i) {
  return v.skips_empty && (plan.length_elements(v, i) == 0 || plan.peer(v, i) == plan.rank ||
                           v.indices.step(i) < v.since);
}

}  // namespace espalier::plan_check
