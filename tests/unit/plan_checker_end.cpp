// The end of a run: everything is complete, each rank has its result, and nothing else was written.
#include "tests/unit/plan_checker_run.hpp"

namespace espalier::plan_check {
namespace {

const Layout& output_of(const Run& run, std::size_t r) {
  return run.plans[r].layout(run.results.output(r));
}

std::uint32_t user_block(const Run& run, std::size_t r, std::uint32_t position) {
  const Steps& order = run.plans[r].order;
  return order.at(0) < 0 ? position : static_cast<std::uint32_t>(order.at(position));
}

void check_block(Run& run, std::size_t r, std::uint32_t b) {
  const Layout& layout = output_of(run, r);
  const CollectiveTraits& traits = traits_of(run.request.collective);
  const Results& results = run.results;
  const Place place = results.output(r);
  for (std::uint64_t e = 0; e < layout.length(b); ++e) {
    const Cell& c = *run.memories[r].at(place, layout.begin(b) + e);
    const Value wanted = results.expected(r, user_block(run, r, b), e, run.memories[r].in_place);
    if (!(c.value == wanted)) {
      run.fail("rank {} block {} element {}: contributions {}+{} instead of {}+{}", r, b, e,
               c.value.first, c.value.length, wanted.first, wanted.length);
    }
    const bool undefined = run.request.collective == Collective::kExscan && r == 0;
    const bool delivers = run.request.delivers && !undefined && !(wanted == Value{});
    if (c.deliveries != (delivers ? 1 : 0)) {
      run.fail("rank {} block {} element {} delivered {} times", r, b, e, c.deliveries);
    }
    const Plan& plan = run.plans[r];
    if (!results.arrives_once() || plan.packs_output || plan.on_device) continue;
    const bool arrives =
        !traits.root_gets && !results.makes(static_cast<std::int32_t>(r), layout.begin(b) + e);
    if (c.arrivals != (arrives && run.size() > 1 ? 1 : 0)) {
      run.fail("rank {} block {} element {} arrived {} times", r, b, e, c.arrivals);
    }
  }
}

// What lies between blocks belongs to the user.
void check_gaps(Run& run, std::size_t r) {
  Memory& memory = run.memories[r];
  if (memory.in_place && replaces_blocks(run.request.collective)) return;  // all is given up
  const Layout& layout = output_of(run, r);
  const std::vector<Cell>& cells = memory.buffers[buffer_of(run.results.output(r))];
  std::vector<bool> used(cells.size(), false);
  for (std::uint32_t b = 0; b < layout.blocks; ++b) {
    for (std::uint64_t e = 0; e < layout.length(b); ++e) used[layout.begin(b) + e] = true;
  }
  for (std::size_t at = 0; at < cells.size(); ++at) {
    if (!used[at] && cells[at].value.length != 0) {
      run.fail("rank {}: a gap at {} is written", r, at);
    }
  }
}

}  // namespace

void Run::check_completion() {
  for (const State& s : states) {
    if (!s.complete()) fail("deadlock: {} does not complete", name(s, s.prefix));
    if (s.held > 0) fail("{} is not released", name(s, 0));
  }
}

void Run::check_result() {
  const CollectiveTraits& traits = traits_of(request.collective);
  if (size() == 1 && traits.output == Extent::kNone) return;
  if (size() == 1 && request.collective == Collective::kExscan) return;
  for (std::size_t r = 0; r < plans.size() && report.ok(); ++r) {
    if (!results.has_output(r)) continue;
    for (std::uint32_t b = 0; b < output_of(*this, r).blocks; ++b) check_block(*this, r, b);
    check_gaps(*this, r);
  }
}

}  // namespace espalier::plan_check
