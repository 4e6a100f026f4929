// PullProbes: which ranks of this node may this one read by CMA?
//
// Those whose processes are named by what they say themselves are asked at start, by one system
// call each. To name one of another PID namespace takes a connection: those are asked one by one
// later, while this rank is in the library, or when somebody wants to know, and not read until
// then. Ownership: borrows all. Threads: owner. path: setup, slow
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bootstrap/job_nodes.hpp"
#include "bootstrap/node_processes.hpp"
#include "core/config.hpp"
#include "core/worker.hpp"
#include "shm/segment.hpp"
#include "shm/shm_wire.hpp"

namespace espalier {

class PullProbes final : public Agent {
 public:
  struct Parts {
    shm::Segment& segment;
    shm::ShmWire& wire;
    const JobNodes& nodes;
    NodeProcesses& processes;
  };
  PullProbes(const Parts& parts, CmaMode mode) noexcept : parts_(parts), mode_(mode) {}

  // An error if CMA is wanted and denied.
  Outcome begin();
  bool done() const noexcept { return next_ == later_.size(); }
  void finish();
  // For people: of those that have been asked.
  const std::string& text() const noexcept { return text_; }
  int progress() noexcept override;

 private:
  void ask(Rank rank);

  const Parts parts_;
  const CmaMode mode_;
  std::vector<Rank> later_;
  std::size_t next_ = 0;  // of those
  std::string text_ = "available between all ranks of this node";
  bool denied_ = false;  // somewhere
};

}  // namespace espalier
