// The memory of all ranks: what is in it at the beginning, and when it may be read and written.
#include <algorithm>

#include "tests/unit/plan_checker_run.hpp"

namespace espalier::plan_check {
namespace {

// Elements that a buffer may hold, gaps between blocks included.
std::uint64_t cells_of(const Plan& plan, const Layout& layout) {
  if (layout.kind == Layout::Kind::kRing) {
    return layout.blocks * plan.ring_slot_bytes(layout) / plan.element_bytes;
  }
  std::uint64_t end = 0;
  for (std::uint32_t b = 0; b < layout.blocks; ++b) {
    end = std::max(end, layout.begin(b) + layout.length(b));
  }
  return end;
}

}  // namespace

void Run::make_memory() {
  memories.resize(plans.size());
  for (std::size_t r = 0; r < plans.size(); ++r) {
    const Plan& plan = plans[r];
    Memory& memory = memories[r];
    for (const Layout& layout : plan.layouts) {
      memory.buffers.emplace_back(cells_of(plan, layout));
    }
    // The plan of an alltoall in place is another one.
    const bool replaces = replaces_blocks(request.collective);
    const bool asked = request.in_place || (schedule.in_place && !replaces);
    memory.in_place = results.shares_memory(r, memory.input_at) && asked;
    const Layout& input = plan.layout(results.input(r));
    if (memory.in_place) {
      std::vector<Cell>& shared = memory.buffers[buffer_of(Place::kOutput)];
      const std::uint64_t end = memory.input_at + cells_of(plan, input);
      if (shared.size() < end) shared.resize(end);
    }
    for (std::uint32_t b = 0; results.has_input(r) && b < input.blocks; ++b) {
      for (std::uint64_t e = 0; e < input.length(b); ++e) {
        const std::uint64_t at = input.begin(b) + e;
        Cell& cell = *memory.at(results.input(r), at);
        cell.value = {results.name(r), 1, at};
        cell.closed = request.awaits;
      }
    }
  }
}

Range Run::cells(const State& s, Place place, std::uint32_t i, bool reads) {
  if (place == Place::kAccumulator) {
    place = i < s.vertex->indices.inner ? Place::kInput : Place::kOutput;
  }
  const Plan& plan = *s.plan;
  const std::uint64_t at =
      reads ? plan.source_bytes(*s.vertex, i, place) : plan.offset_bytes(*s.vertex, i, place);
  Memory& memory = memories[static_cast<std::size_t>(plan.rank)];
  return {memory.at(place, at / plan.element_bytes), plan.length_elements(*s.vertex, i)};
}

Range Run::readable(const State& s, Place place, std::uint32_t i) {
  const Range range = cells(s, place, i, true);
  for (const Cell* from = range.begin; from != range.end(); ++from) {
    if (from->writing) fail("{} reads a place that is being written", name(s, i));
    if (from->value.length == 0) fail("{} reads before anything is there", name(s, i));
    if (from->closed) fail("{} reads an input that is not ready", name(s, i));
  }
  return range;
}

Values Run::read(const State& s, Place place, std::uint32_t i) {
  const Range range = readable(s, place, i);
  Values values;
  values.reserve(range.elements);
  for (const Cell* from = range.begin; from != range.end(); ++from) {
    values.push_back(from->value);
  }
  return values;
}

Range Run::writable(const State& s, std::uint32_t i) {
  const Range range = cells(s, s.vertex->dst, i, false);
  for (const Cell* to = range.begin; to != range.end(); ++to) {
    if (to->writing) fail("{} writes a place that is being written", name(s, i));
    if (to->readers > 0) fail("{} overwrites a place that is being sent", name(s, i));
    if (to->deliveries > 0) fail("{} overwrites what was delivered", name(s, i));
    if (to->closed) fail("{} overwrites an input that is not ready", name(s, i));
  }
  return range;
}

bool Run::copies_to_itself(const State& s, std::uint32_t i) {
  const std::vector<Operand>& operands = s.vertex->operands;
  if (operands.size() != 1 || operands[0].place == Place::kView) return false;
  return cells(s, operands[0].place, i, true).begin == cells(s, s.vertex->dst, i, false).begin;
}

}  // namespace espalier::plan_check
