// Partial completion: what lands is handed to a consumer, what is not ready yet is waited for, and
// blocks lie in order of arrival. All of it is added to the plan of any maker; no other member sees
// anything of it.
//
//   recv --> output                             recv --> output --> deliver
//   input --> send                    becomes   await --> send
//   recv --> block r of the output              view --> copy to where there is room --> deliver
//
// A deliver vertex follows the last one that writes a block, index by index; what nobody writes is
// there from the beginning. An await vertex goes before each that reads the input.
#include <algorithm>
#include <numeric>
#include <utility>

#include "coll/algorithms/builder.hpp"
#include "coll/plan/has_result.hpp"
#include "core/plant.hpp"

namespace espalier {
namespace {

bool writes(const Vertex& v, Place place) {
  return v.dst == place && (v.action == Action::kRecv || v.action == Action::kCombine);
}

// Who was the last to write a block, of as many kinds of pieces as lanes tell apart.
class LastWriters {
 public:
  LastWriters(const Plan& plan, Place result) : plan_(plan), result_(result) {
    for (const Vertex& v : plan.vertices) {
      if (writes(v, result)) kinds_ = std::lcm(kinds_, v.lanes);
    }
    blocks_ = plan.layout(result).blocks;
    last_.resize(std::size_t{blocks_} * kinds_, Write{});
    // What another member sends into the result is more final than what is combined there, whatever
    // the order of the vertices: the ring's combines are undone by what comes around.
    for (const Action action : {Action::kCombine, Action::kRecv}) {
      for (std::size_t id = 0; id < plan.vertices.size(); ++id) {
        if (plan.vertices[id].action == action) note(static_cast<VertexId>(id));
      }
    }
  }

  // The step since which all that the vertex writes is final; as many as it has: none is.
  std::uint32_t final_since(VertexId id) const {
    const Vertex& v = plan_.vertices[id];
    std::uint32_t since = v.steps;
    while (since > 0 && is_final(id, since - 1)) --since;
    for (std::uint32_t step = 0; step < since; ++step) ESP_ASSERT(!is_last(id, step));
    return since;
  }
  std::vector<std::int32_t> unwritten() const {
    std::vector<std::int32_t> blocks;
    for (std::uint32_t b = 0; b < blocks_; ++b) {
      if (last_[std::size_t{b} * kinds_].vertex == kNoVertex) {
        blocks.push_back(static_cast<std::int32_t>(b));
      }
    }
    return blocks;
  }

 private:
  struct Write {
    VertexId vertex = kNoVertex;
    std::uint32_t step = 0;
  };

  bool is_idle(const Vertex& v, std::uint32_t step) const {
    return v.skips_empty && v.peer.at(step) == plan_.rank;
  }
  template <typename Visit>
  void for_each_part(const Vertex& v, std::uint32_t step, Visit&& visit) const {
    const auto block = static_cast<std::size_t>(v.block.at(step));
    for (std::size_t b = block; b < block + v.run_at(step); ++b) {
      for (std::size_t kind = v.lane; kind < kinds_; kind += v.lanes) visit(b * kinds_ + kind);
    }
  }
  void note(VertexId id) {
    const Vertex& v = plan_.vertices[id];
    if (!writes(v, result_)) return;
    ESP_ASSERT(v.shape == result_ || (v.shape == Place::kOutput && result_ == Place::kUserOutput));
    for (std::uint32_t step = 0; step < v.steps; ++step) {
      if (is_idle(v, step)) continue;
      for_each_part(v, step, [&](std::size_t part) { last_[part] = {id, step}; });
    }
  }
  bool is_last(VertexId id, std::uint32_t step) const {
    bool any = false;
    if (is_idle(plan_.vertices[id], step)) return false;
    for_each_part(plan_.vertices[id], step, [&](std::size_t part) {
      any = any || (last_[part].vertex == id && last_[part].step == step);
    });
    return any;
  }
  bool is_final(VertexId id, std::uint32_t step) const {
    bool all = true;
    if (is_idle(plan_.vertices[id], step)) return true;
    for_each_part(plan_.vertices[id], step, [&](std::size_t part) {
      all = all && last_[part].vertex == id && last_[part].step == step;
    });
    return all;
  }

  const Plan& plan_;
  Place result_;
  std::uint32_t blocks_ = 0, kinds_ = 1;
  std::vector<Write> last_;
};

// Follows `before`, index by index.
Vertex behind(const Vertex& of, VertexId before, std::uint32_t since) {
  Vertex next = of;
  next.src = next.dst = Place::kNone;
  next.operands.clear();
  next.feeds.clear();
  next.needs = {{.vertex = before}};
  next.elsewhere = next.places = false;
  next.skips_empty = true;
  next.window = kMaxWindow;
  next.since = since;
  return next;
}

Vertex deliver_behind(const Plan& plan, VertexId writer, std::uint32_t since, Place result) {
  Vertex deliver = behind(plan.vertices[writer], writer, since);
  deliver.action = Action::kDeliver;
  deliver.src = deliver.shape = result;
  return deliver;
}

// What nobody writes stands there already: a root's message, or blocks that stay in their place.
void add_unwritten(Plan& plan, const PlanRequest& request, Place result,
                   std::vector<std::int32_t> blocks) {
  if (request.neighbors != nullptr && traits_of(request.collective).neighbors) {
    std::erase_if(blocks, [&](std::int32_t b) {
      return request.neighbors->sources[static_cast<std::size_t>(b)] == Neighbors::kNone;
    });
  }
  if (blocks.empty()) return;
  Vertex deliver;
  deliver.action = Action::kDeliver;
  deliver.src = deliver.shape = result;
  deliver.window = kMaxWindow;
  deliver.skips_empty = true;
  deliver.steps = static_cast<std::uint32_t>(blocks.size());
  deliver.block =
      blocks.size() == 1 ? Steps::constant(blocks[0]) : plan.add_table(std::move(blocks));
  plan.vertices.push_back(std::move(deliver));
}

// One after the other behind each vertex that writes something final. `make(writer, since)`.
template <typename Make>
void add_behind_writers(Plan& plan, Place result, Make&& make) {
  const LastWriters last(plan, result);
  const std::size_t count = plan.vertices.size();
  for (std::size_t id = 0; id < count; ++id) {
    const auto writer = static_cast<VertexId>(id);
    if (!writes(plan.vertices[id], result)) continue;
    const std::uint32_t since = last.final_since(writer);
    if (since == plan.vertices[id].steps) continue;
    plan.vertices.push_back(make(writer, ESP_PLANT(81, since, 0U)));
  }
}

// A chain reads its input in the first step.
bool accumulates(const Vertex& v) {
  return v.src == Place::kAccumulator ||
         std::any_of(v.operands.begin(), v.operands.end(),
                     [](const Operand& o) { return o.place == Place::kAccumulator; });
}

Place input_of(const PlanRequest& request) {
  if (traits_of(request.collective).input == Extent::kNone) {  // of a root that sends its output
    return request.packs_output ? Place::kUserOutput : Place::kOutput;
  }
  return request.packs_input ? Place::kUserInput : Place::kInput;
}

void add_deliveries(Plan& plan, const PlanRequest& request) {
  if (!has_result(request.collective, request.rank, request.root, request.in_place)) return;
  const Place result = plan.packs_output ? Place::kUserOutput : Place::kOutput;
  std::vector<std::int32_t> unwritten = LastWriters(plan, result).unwritten();
  add_behind_writers(plan, result, [&](VertexId writer, std::uint32_t since) {
    return deliver_behind(plan, writer, since, result);
  });
  add_unwritten(plan, request, result, std::move(unwritten));
}

// An operation is not complete before all of its input was ready, whoever reads it, and what of it
// has no elements, too: nobody needs this one, which the engine takes for all of the input.
Vertex await_all(Place input) {
  Vertex await;
  await.action = Action::kAwait;
  await.src = await.shape = input;
  await.window = kMaxWindow;
  return await;
}

void add_awaits(Plan& plan, Place input) {
  std::vector<Vertex> awaits;
  std::vector<std::size_t> readers;
  for (std::size_t id = 0; id < plan.vertices.size(); ++id) {
    const Vertex& v = plan.vertices[id];
    if (!reads_from(v, input)) continue;
    Vertex await = v;
    await.action = Action::kAwait;
    await.src = input;
    await.dst = Place::kNone;
    await.operands.clear();
    await.needs.clear();
    await.peers.clear();
    await.places = await.synchronous = false;
    await.window = kMaxWindow;
    if (accumulates(v)) await.steps = 1;
    awaits.push_back(std::move(await));
    readers.push_back(id);
  }
  if (plan.layout(input).blocks > 0) awaits.push_back(await_all(input));
  const auto more = static_cast<VertexId>(awaits.size());
  for (Vertex& v : plan.vertices) {
    for (Dependency& need : v.needs) need.vertex += more;
    for (Operand& operand : v.operands) {
      if (operand.place == Place::kView) operand.vertex += more;
    }
  }
  for (std::size_t k = 0; k < readers.size(); ++k) {
    Vertex& reader = plan.vertices[readers[k]];
    reader.needs.push_back({.vertex = static_cast<VertexId>(k)});
    if (is_local(reader.action)) continue;
    // See Builder::need_source.
    reader.needs.push_back(
        {.vertex = static_cast<VertexId>(readers[k] + more), .shift = reader.window});
  }
  plan.vertices.insert(plan.vertices.begin(), std::make_move_iterator(awaits.begin()),
                       std::make_move_iterator(awaits.end()));
}

// Does it only write its output, block by block? Else blocks stay where they belong.
bool may_place(const Plan& plan) {
  return std::none_of(plan.vertices.begin(), plan.vertices.end(), [](const Vertex& v) {
    return reads_from(v, Place::kOutput) || (writes(v, Place::kOutput) && v.run != 1);
  });
}

}  // namespace

void place_on_arrival(Plan& plan) {
  if (plan.order.at(0) >= 0 || !may_place(plan)) return;
  plan.places = true;
  const std::size_t count = plan.vertices.size();
  for (std::size_t id = 0; id < count; ++id) {
    if (!writes(plan.vertices[id], Place::kOutput)) continue;
    if (plan.vertices[id].action == Action::kCombine) {
      plan.vertices[id].places = true;
      continue;
    }
    Vertex copy = plan.vertices[id];
    Vertex& view = plan.vertices[id];
    view.action = Action::kRecvView;
    view.dst = Place::kNone;
    const auto copied = static_cast<VertexId>(plan.vertices.size());
    view.needs.push_back({.vertex = copied, .shift = view.window});
    copy.action = Action::kCombine;
    copy.places = true;
    copy.operands = {{.place = Place::kView, .vertex = static_cast<VertexId>(id)}};
    copy.needs = {{.vertex = static_cast<VertexId>(id)}};
    plan.vertices.push_back(std::move(copy));
  }
}

void add_unpacking(Plan& plan) {
  add_behind_writers(plan, Place::kOutput, [&](VertexId writer, std::uint32_t since) {
    Vertex copy = behind(plan.vertices[writer], writer, since);
    copy.action = Action::kCombine;
    copy.dst = Place::kUserOutput;
    copy.operands = {{.place = Place::kOutput}};
    return copy;
  });
}

void add_partial(Plan& plan, const PlanRequest& request) {
  if (request.delivers) add_deliveries(plan, request);
  if (request.awaits) add_awaits(plan, input_of(request));
}

void add_flow_partial(Plan& plan, bool delivers, bool awaits) {
  const Place place = plan.packs_output ? Place::kUserOutput : Place::kOutput;
  const auto last = static_cast<VertexId>(plan.vertices.size() - 1);
  if (delivers) plan.vertices.push_back(deliver_behind(plan, last, 0, place));
  if (awaits) add_awaits(plan, place);
}

}  // namespace espalier
