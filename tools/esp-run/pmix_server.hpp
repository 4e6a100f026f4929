// The PMIx server of one emulated node: libpmix as a host sees it.
//
// One per process, as libpmix is. Made and used by the main thread of a node daemon; what libpmix
// asks for arrives in the mailbox. Writes no files: with the "hash" store and without tool support
// libpmix needs no directory.
#pragma once

#include <string>
#include <vector>

#include "frame.hpp"
#include "job_plan.hpp"
#include "mailbox.hpp"

namespace esp_run {

class PmixServer {
 public:
  // Throws LaunchError. Changes the environment of this process: nothing of an outer launcher's job
  // may reach the ranks.
  PmixServer(const JobPlan& plan, int node, Mailbox& mailbox);
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;

  // "NAME=value" of what a rank finds its server by, to be added to environ.
  std::vector<std::string> environment_of(int rank) const;

  // Ends what `request` asked for; libpmix tells its clients.
  static void finish_fence(const Upcall& request, FenceStatus status, std::string data);
  static void finish_lookup(const Upcall& request, bool is_found, std::string data);
  // The data of a local rank, wanted elsewhere: arrives in the mailbox as kLookupAnswer with `id`.
  void look_up(int rank, std::uint64_t id);
  // Tells the local ranks that a rank of the job has died.
  void report_death(int rank, DeathKind kind) const;

 private:
  void initialise(const JobPlan& plan, int node) const;
  void register_job(const JobPlan& plan, int node) const;
  void register_ranks(const JobPlan& plan, int node) const;

  const std::string job_name_;
  Mailbox& mailbox_;
};

}  // namespace esp_run
