// Job: what must hold when a call ends and when a run does.
#include <fmt/format.h>

#include <algorithm>

#include "tests/swarm/job_node.hpp"

namespace espalier::swarm {

bool Job::has_departed(std::size_t team) const {
  const std::vector<Rank>& members = scenario_.teams[team];
  return std::any_of(members.begin(), members.end(),
                     [&](Rank rank) { return nodes_[static_cast<std::size_t>(rank)]->departed; });
}

bool Job::deviates(std::size_t team) const {
  return scenario_.deviation && scenario_.ops[scenario_.deviation->op].team == team;
}

// Who is named has called something else than the one that names it, or has left; nobody may be.
bool Job::accuses_rightly(const CallState& call, Rank named) const {
  const std::size_t team = scenario_.ops[call.op].team;
  if (named == kNoRank) return deviates(team) || has_departed(team);
  const std::vector<Rank>& members = scenario_.teams[team];
  const auto at = std::find(members.begin(), members.end(), named);
  if (at == members.end() || named == call.node->rank) return false;
  if (nodes_[static_cast<std::size_t>(named)]->departed) return true;
  const auto member = static_cast<std::int32_t>(at - members.begin());
  const std::int32_t odd = deviates(team) ? scenario_.deviation->member : -1;
  return odd >= 0 && (member == odd || call.member == odd);
}

// A failure needs a reason, and names a rank that has to do with it.
void Job::check_status(const CallState& call, Status status) {
  if (status.ok()) return;
  const std::size_t team = scenario_.ops[call.op].team;
  const std::vector<Rank>& members = scenario_.teams[team];
  const bool names_member =
      std::find(members.begin(), members.end(), status.rank()) != members.end();
  bool right = false;
  const bool cut_off = std::any_of(members.begin(), members.end(),
                                   [this](Rank member) { return stage_->cut_off(member); });
  switch (status.code()) {
    case ESP_ERR_PEER_DIED:
      right = names_member && (stage_->crashed(status.rank()) || cut_off);
      break;
    case ESP_ERR_NETWORK:
      right = names_member && cut_off;
      break;
    case ESP_ERR_CANCELED:  // nobody is to blame for it
      right = has_departed(team);
      break;
    case ESP_ERR_MISMATCH:
      right = accuses_rightly(call, status.rank());
      break;
    case ESP_ERR_TIMEOUT:  // a rank that waits for its own time-out elsewhere makes others late
      right = names_member && (scenario_.deviation || scenario_.departure);
      break;
    case ESP_ERR_SYSTEM:
      right = names_member && scenario_.moves && scenario_.moves->breaks_at == status.rank();
      break;
    default:
      break;
  }
  if (right) return;
  fail(fmt::format("op {} ends at rank {} with status {} of rank {}: {}", call.op, call.node->rank,
                   static_cast<int>(status.code()), status.rank(),
                   call.node->teams[team]->fault_text));
}

bool Job::all_have_entered(std::size_t op) const {
  return std::all_of(nodes_.begin(), nodes_.end(), [op](const auto& node) {
    return std::all_of(node->calls.begin(), node->calls.end(),
                       [op](const auto& call) { return call->op != op || call->entered; });
  });
}

void Job::check_result(CallState& call) {
  const OpSpec& spec = scenario_.call(call.op, call.member);
  const auto wrong = [&](const char* what) {
    fail(fmt::format("op {} is complete at rank {} (member {}), but {}", call.op, call.node->rank,
                     call.member, what));
  };
  if (!call.output.intact()) wrong("something was written beside its output");
  if (spec.has_input(call.member)) {
    Buffer own;
    own.create(call.input.bytes());
    own.fill(spec.values, call.member);
    if (!(own == call.input)) wrong("its input has changed");
  }
  // What came of another call than the others' is nobody's business.
  if (&spec != &scenario_.ops[call.op]) return;
  if (spec.collective == Collective::kBarrier && !deviates(spec.team) &&
      !all_have_entered(call.op)) {
    wrong("not all members have entered the barrier");
  }
  std::unique_ptr<Expected>& expected = expected_[call.op];
  if (expected == nullptr) expected = std::make_unique<Expected>(scenario_, call.op);
  const std::string complaint = expected->complaint(call.member, call.output);
  if (!complaint.empty()) wrong(complaint.c_str());
}

void Job::check_end() {
  for (const auto& node : nodes_) {
    if (!node->mover || node->mover->open() == 0 || stage_->crashed(node->rank)) continue;
    fail(fmt::format("{} moves of rank {} outlive their calls", node->mover->open(), node->rank));
  }
  for (const auto& node : nodes_) {
    if (!node->away || node->away->left() == 0) continue;
    fail(fmt::format("rank {} has {} places and blocks of devices left", node->rank,
                     node->away->left()));
  }
  if (scenario_.troubled()) return;
  if (audit_.open_operations() > 0) {
    fail(fmt::format("{} wire operations outlive their calls", audit_.open_operations()));
  }
  const std::string left = stage_->leftovers();
  if (!left.empty()) fail(left);
  if (report_.late_ns > kLateNsMax) {
    fail(fmt::format("the last call ends {} ns after faults were over and all had entered",
                     report_.late_ns));
  }
}

}  // namespace espalier::swarm
