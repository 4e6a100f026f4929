// What Job keeps of each rank and each call; private to job*.cpp.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "core/datatype.hpp"
#include "tests/swarm/job.hpp"

namespace espalier::swarm {

// A call of one rank, with its memory.
struct Job::CallState {
  Job* job = nullptr;
  Node* node = nullptr;
  std::size_t op = 0;
  std::int32_t member = 0;
  Buffer input, output;
  bool entered = false, ended = false;

  bool brings(const OpSpec& spec) const noexcept {  // the message of a broadcast or flow
    return !spec.reduces() && member == spec.root;
  }
  bool gets(const OpSpec& spec) const noexcept {  // a result
    return spec.collective != Collective::kReduce || member == spec.root;
  }
  void prepare(const OpSpec& spec) {
    const std::uint64_t bytes = spec.count * type_size(spec.type);
    output.create(bytes);
    if (spec.reduces() && !spec.in_place) {
      input.create(bytes);
      input.fill(spec.values, member);
    } else if (spec.reduces() || brings(spec)) {
      output.fill(spec.values, member);
    }
  }
  Call make_call(const OpSpec& spec) {
    Call call;
    call.collective = spec.collective;
    call.output = output.data();
    call.input = spec.in_place || !spec.reduces() ? output.data() : input.data();
    call.count = spec.count;
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
};

struct Job::Node {
  Node(Job& job, Rank rank, const WatchLimits& limits);

  Rank rank;
  AuditedWire wire;
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
