// Packing: elements of the caller's that lie apart are copied into one run before anything else
// reads them, and out of one at the end. All between is the plan of elements without gaps.
//
//   kUserInput --> kInput --> (the plan) --> kOutput --> kUserOutput
//
// Who reads kInput waits for all of it, and the last copy for all who write kOutput. A broadcast's
// root has its input in kUserOutput. Copies that take their time (PlanRequest::moves) go piece by
// piece beside all the rest: a reader that goes through the buffer in the same pieces needs its own
// alone, and what is final is copied out at once.
//
// A mover that combines (PlanRequest::combines) reads the caller's elements where they lie, and
// writes there what nobody reads: only what is sent, or received, is packed.
#include <algorithm>
#include <utility>

#include "coll/algorithms/builder.hpp"
#include "core/plant.hpp"

namespace espalier {
namespace {

// Of all blocks of the buffer.
Vertex copy_all(const Plan& plan, Place from, Place to) {
  Vertex copy;
  copy.action = Action::kCombine;
  copy.window = kMaxWindow;
  copy.dst = to;
  copy.shape = from;
  copy.operands = {{.place = from}};
  copy.skips_empty = true;
  copy.steps = plan.layout(from).blocks;
  if (copy.steps > 1) {
    copy.block = Steps::affine(0, 1, static_cast<std::int32_t>(copy.steps));
  }
  return copy;
}

// Of neighbours that are not there the blocks are left alone.
void keep_present(Plan& plan, Vertex& copy, const std::vector<std::int32_t>& sources) {
  std::vector<std::int32_t> present;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] != Neighbors::kNone) present.push_back(static_cast<std::int32_t>(i));
  }
  copy.steps = static_cast<std::uint32_t>(present.size());
  if (present.size() == sources.size() || present.empty()) return;
  copy.block = plan.add_table(std::move(present));
}

// Is index i of both about the same piece of what lies at the same places?
bool goes_along(const Plan& plan, const Vertex& copy, const Vertex& v) {
  return v.steps == copy.steps && v.block == copy.block && v.run == copy.run && v.lanes == 1 &&
         v.since == 0 && !v.elsewhere && plan.layout(v.shape) == plan.layout(copy.shape) &&
         plan.layout(v.shape).kind != Layout::Kind::kCounts;
}

Dependency need_of_copy(const Plan& plan, const Vertex& copy, const Vertex& v, bool piecewise) {
  return {.vertex = 0, .whole = !(piecewise && goes_along(plan, copy, v))};
}

void insert_first(Plan& plan, Vertex vertex, Place read, bool piecewise) {
  for (Vertex& v : plan.vertices) {
    for (Dependency& need : v.needs) ++need.vertex;
    for (Operand& operand : v.operands) {
      if (operand.place == Place::kView) ++operand.vertex;
    }
  }
  for (std::size_t at = 0; at < plan.vertices.size(); ++at) {
    Vertex& v = plan.vertices[at];
    if (!reads_from(v, read)) continue;
    const Dependency need = need_of_copy(plan, vertex, v, piecewise);
    v.needs.push_back(need);
    // Pieces may be packed in any order: see Builder::need_source.
    if (need.whole || is_local(v.action)) continue;
    v.needs.push_back({.vertex = static_cast<VertexId>(at + 1), .shift = v.window});
  }
  plan.vertices.insert(plan.vertices.begin(), std::move(vertex));
}

void append(Plan& plan, Vertex vertex) {
  for (std::size_t at = 0; at < plan.vertices.size(); ++at) {
    if (plan.vertices[at].dst != Place::kOutput) continue;
    vertex.needs.push_back({.vertex = static_cast<VertexId>(at), .whole = true});
  }
  if (!vertex.needs.empty()) plan.vertices.push_back(std::move(vertex));
}

bool combines(const Vertex& v) {
  return v.action == Action::kCombine && v.operands.size() > 1;
}

// What only combinations read, or write, is not packed: it is the caller's own. Of an input that is
// sent, too, combinations read the caller's elements all the same. In place this is as safe as a
// plan that packs nothing: what is final replaces what no combination has still to read.
void reach(Plan& plan) {
  const auto others_read = [](const Vertex& v) {
    return (!combines(v) && reads_from(v, Place::kInput)) ||
           std::any_of(v.operands.begin(), v.operands.end(),
                       [](const Operand& o) { return o.place == Place::kAccumulator; });
  };
  const auto is_no_result = [](const Vertex& v) {
    return reads_from(v, Place::kOutput) || reads_from(v, Place::kAccumulator) ||
           (v.dst == Place::kOutput && !combines(v));
  };
  const auto any = [&](const auto& what) {
    return std::any_of(plan.vertices.begin(), plan.vertices.end(), what);
  };
  plan.packs_input = plan.packs_input && any(others_read);
  plan.packs_output = plan.packs_output && any(is_no_result);
  for (Vertex& v : plan.vertices) {
    if (!plan.packs_input || !combines(v)) continue;
    for (Operand& o : v.operands) {
      if (o.place == Place::kInput) o.place = Place::kUserInput;
    }
  }
}

}  // namespace

void add_packing(Plan& plan, const PlanRequest& request) {
  plan.packs_input = request.packs_input;
  plan.packs_output = request.packs_output;
  plan.combines = request.combines;
  if (plan.combines) reach(plan);
  plan.layouts.resize(kMaxBuffers, Layout{});
  plan.layouts[buffer_of(Place::kUserInput)] = plan.layout(Place::kInput);
  plan.layouts[buffer_of(Place::kUserOutput)] = plan.layout(Place::kOutput);
  const CollectiveTraits& traits = traits_of(request.collective);
  const bool has_data = plan.layout(Place::kUserOutput).blocks > 0;
  const bool sends_output = traits.input == Extent::kNone && request.rank == request.root;
  const bool at_once = request.delivers || request.moves;
  if (plan.packs_output && sends_output) {
    insert_first(plan, copy_all(plan, Place::kUserOutput, Place::kOutput), Place::kOutput,
                 request.moves);
  } else if (plan.packs_output && has_data && at_once) {
    add_unpacking(plan);
  } else if (plan.packs_output && has_data) {
    Vertex copy = copy_all(plan, Place::kOutput, Place::kUserOutput);
    if (request.neighbors != nullptr) keep_present(plan, copy, request.neighbors->sources);
    if (copy.steps > 0) append(plan, std::move(copy));
  }
  const Place result = plan.packs_output ? Place::kUserOutput : Place::kOutput;
  if (plan.packs_input && plan.layout(Place::kUserInput).blocks > 0) {
    insert_first(plan, copy_all(plan, Place::kUserInput, Place::kInput), Place::kInput,
                 request.moves);
    // In place, what is unpacked as it comes would replace what is still to be packed.
    for (Vertex& v : plan.vertices) {
      const bool is_of_caller = v.dst == Place::kUserOutput || (plan.combines && v.dst == result);
      const bool replaces = ESP_PLANT(83, at_once && request.replaces, false) && is_of_caller;
      if (replaces) v.needs.push_back(need_of_copy(plan, plan.vertices[0], v, request.moves));
    }
  }
}

void add_flow_packing(Plan& plan, bool receives) {
  plan.packs_output = true;
  plan.layouts.resize(kMaxBuffers, Layout{});
  plan.layouts[buffer_of(Place::kUserOutput)] = plan.layout(Place::kOutput);
  if (receives) {
    add_unpacking(plan);
  } else {
    insert_first(plan, copy_all(plan, Place::kUserOutput, Place::kOutput), Place::kOutput, true);
  }
}

}  // namespace espalier
