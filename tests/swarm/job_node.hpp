// What Job keeps of each rank and each call; private to job*.cpp.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/datatype.hpp"
#include "tests/swarm/job.hpp"
#include "tests/swarm/late_away.hpp"
#include "tests/swarm/late_mover.hpp"
#include "tests/swarm/partial.hpp"

namespace espalier::swarm {

// A call of one rank, with its memory.
struct Job::CallState {
  Job* job = nullptr;
  Node* node = nullptr;
  std::size_t op = 0;
  std::int32_t member = 0;
  Buffer input, output;
  Blocks in, out;  // the arrays of an irregular call
  PartialUse use;
  Reduction reduction;  // of a mover that combines
  bool entered = false, ended = false;

  void prepare(const OpSpec& spec) {
    in = input_blocks(spec, member);
    out = output_blocks(spec, member);
    output.create(bytes_of(spec, member, output_memory(spec, member)));
    if (spec.in_place_at(member) || spec.brings(member)) output.fill(spec.values, member);
    if (!spec.has_input(member)) return;
    input.create(bytes_of(spec, member, in));
    input.fill(spec.values, member);
  }
  Call make_call(const OpSpec& spec) {
    Call call;
    call.collective = spec.collective;
    call.output = output.data();
    call.input = spec.has_input(member) ? input.data() : output.data();
    call.count = spec.count * spec.scale();
    call.in_place = spec.in_place_at(member);
    if (spec.packs_at(member)) call.pattern = spec.pattern.get();
    call.packs_input = spec.packs_input_at(member);
    call.packs_output = spec.packs_output_at(member);
    call.shares = spec.shares_at(member);
    if (spec.combines_at(member)) call.reduction = &reduction;
    if (!spec.graph.empty()) call.neighbors = &spec.graph[static_cast<std::size_t>(member)];
    if (spec.is_exchange() || spec.moves_parts()) add_blocks(spec, call);
    call.type = spec.type;
    call.element_bytes = static_cast<std::uint32_t>(type_size(spec.type));
    call.op = spec.ordered ? static_cast<esp_op>(ESP_OP_BUILTIN_COUNT) : spec.op;
    call.root = spec.root;
    call.combiner = combiner(spec);
    call.options = spec.options;
    call.blocking = spec.blocking;
    call.choice_is_free = spec.options.algorithm == ESP_ALGORITHM_AUTO &&
                          spec.options.shape == ESP_SHAPE_AUTO &&
                          spec.options.variant == ESP_VARIANT_EVENT;
    return call;
  }
  // The user has it all back and uses it for something else.
  void spoil() {
    output.spoil();
    input.spoil();
    for (auto* array : {&in.counts, &in.begins, &out.counts, &out.begins}) {
      std::fill(array->begin(), array->end(), ~std::size_t{0});
    }
  }

 private:
  // As api/check.cpp does.
  void add_blocks(const OpSpec& spec, Call& call) {
    const bool own_block = spec.moves_blocks() && !replaces_blocks(spec.collective);
    const auto me = static_cast<std::size_t>(member);
    const bool from_output = call.in_place && !spec.keeps_block_at(member);
    if (from_output && own_block && out.counts[me] > 0) {
      call.input = output.data() + out.begins[me] * spec.step_bytes(member);
    }
    // What is empty needs no memory.
    if (output.bytes() == 0) call.output = nullptr;
    if (from_output ? output.bytes() == 0 : input.bytes() == 0) call.input = nullptr;
    if (!is_irregular(spec.collective)) return;
    const bool both = spec.traits().input == spec.traits().output;
    const Blocks& from = call.in_place && both ? out : in;
    if (spec.traits().input == Extent::kCounts && !from.counts.empty()) {
      call.in_counts = from.counts.data();
      call.in_displs = from.displs();
    }
    if (spec.traits().output == Extent::kCounts && !out.counts.empty()) {
      call.out_counts = out.counts.data();
      call.out_displs = out.displs();
    }
    if (!both) call.own_count = spec.counts[me] * spec.scale();
  }
};

struct Job::Node {
  Node(Job& job, Rank rank, const WatchLimits& limits);

  Rank rank;
  AuditedWire wire;
  std::optional<LateMover> mover;
  std::optional<LateAway> away;
  Engine engine;
  TeamWatch watch;
  std::vector<std::unique_ptr<Team>> teams;       // by number; nullptr: not a member
  std::vector<std::unique_ptr<CallState>> calls;  // in order
  std::size_t next = 0;                           // call to enter
  std::size_t woken_for = 0;                      // this call + 1 has its turn scheduled
  std::size_t open = 0;                           // entered, not ended
  std::vector<std::uint64_t> look_times;
  bool entering = false;
  bool looks = false;
  bool departed = false;
};

class Job::JobLiveness final : public Liveness {
 public:
  explicit JobLiveness(const Job& job) noexcept : job_(job) {}
  bool is_dead(Rank rank) noexcept override { return job_.stage_->crashed(rank); }
  bool is_stopped(Rank) noexcept override { return false; }
  bool is_leaving(Rank rank) noexcept override {
    return job_.nodes_[static_cast<std::size_t>(rank)]->departed;
  }
  bool has_left(Rank) noexcept override { return false; }

 private:
  const Job& job_;
};

}  // namespace espalier::swarm
