#include "pmix_server.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <semaphore>
#include <string_view>

#include "exit_codes.hpp"
#include "node_names.hpp"
#include "pmix_info.hpp"
#include "pmix_programs.hpp"
#include "pmix_upcalls.hpp"
#include "port_guard.hpp"

namespace esp_run {
namespace {

void check(const char* call, pmix_status_t code) {
  if (code == PMIX_SUCCESS || code == PMIX_OPERATION_SUCCEEDED) return;
  throw LaunchError(kLauncherFailed, fmt::format("{}: {}", call, PMIx_Error_string(code)));
}

// libpmix starts its work and reports the end on its own thread; this waits for it.
class Completion {
 public:
  static void on_done(pmix_status_t status, void* self) {
    auto* completion = static_cast<Completion*>(self);
    completion->status_ = status;
    completion->done_.release();
  }
  void check_after(const char* call, pmix_status_t started) {
    if (started == PMIX_SUCCESS) {
      done_.acquire();
      started = status_;
    }
    check(call, started);
  }

 private:
  std::binary_semaphore done_{0};
  pmix_status_t status_ = PMIX_SUCCESS;
};

// The address of an outer launcher; settings of the user (PMIX_MCA_...) stay.
void forget_outer_launcher() {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view assignment(*entry);
    if (assignment.starts_with("PMIX_") && !assignment.starts_with("PMIX_MCA_")) {
      names.emplace_back(assignment.substr(0, assignment.find('=')));
    }
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

std::string joined_with(const std::vector<std::string>& parts, char separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

// "0,1,2;3,4" of the ranks on each node.
std::string rank_lists(const JobPlan& plan) {
  std::vector<std::string> lists;
  for (int node = 0; node < plan.nodes(); ++node) {
    std::vector<std::string> ranks;
    for (const int rank : plan.ranks_on(node)) ranks.push_back(std::to_string(rank));
    lists.push_back(joined_with(ranks, ','));
  }
  return joined_with(lists, ';');
}

using PmixText = std::unique_ptr<char, decltype(&std::free)>;

// The buffer that answers a request; libpmix says when it has read it.
void answer(const Upcall& request, pmix_status_t status, std::string data) {
  auto* kept = new std::string(std::move(data));
  request.answer(
      status, kept->data(), kept->size(), request.context,
      [](void* buffer) { delete static_cast<std::string*>(buffer); }, kept);
}

}  // namespace

PmixServer::PmixServer(const JobPlan& plan, int node, Mailbox& mailbox)
    : job_name_(plan.job_name), mailbox_(mailbox) {
  forget_outer_launcher();
  initialise(plan, node);
  register_job(plan, node);
  register_ranks(plan, node);
}

void PmixServer::initialise(const JobPlan& plan, int node) const {
  pmix_server_module_t module = pmix_upcalls(mailbox_);
  pmix_topology_t topology{};
  topology.source = const_cast<char*>("hwloc");
  topology.topology = plan.topology.get();
  InfoList infos;
  infos.add_text(PMIX_HOSTNAME, plan.node_names[static_cast<std::size_t>(node)]);
  infos.add_topology(topology);
  // The default store (ds21) races and leaves large files; ours must stay out of the ranks'
  // settings.
  const bool is_chosen_by_user = std::getenv("PMIX_MCA_gds") != nullptr;
  setenv("PMIX_MCA_gds", "hash", 0);
  const pmix_status_t code = PMIx_server_init(&module, infos.data(), infos.size());
  infos.release_topology();
  check("PMIx_server_init", code);
  guard_listening_ports(plan.first_own_fd);
  if (!is_chosen_by_user) unsetenv("PMIX_MCA_gds");
}

void PmixServer::register_job(const JobPlan& plan, int node) const {
  char* raw = nullptr;
  check("PMIx_generate_ppn", PMIx_generate_ppn(rank_lists(plan).c_str(), &raw));
  const PmixText rank_map(raw, &std::free);

  // From these libpmix derives host names, local ranks and peers of every rank.
  InfoList infos;
  const auto ranks = static_cast<std::uint32_t>(plan.ranks());
  for (const char* key : {PMIX_JOB_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS}) {
    infos.add_number(key, ranks);
  }
  infos.add_number(PMIX_NUM_NODES, static_cast<std::uint32_t>(plan.nodes()));
  add_programs(infos, plan);
  infos.add_text(PMIX_JOBID, plan.job_name);
  infos.add_regex(PMIX_NODE_MAP, node_map(plan.node_names).c_str());
  infos.add_regex(PMIX_PROC_MAP, rank_map.get());

  pmix_nspace_t job;
  PMIX_LOAD_NSPACE(job, plan.job_name.c_str());
  const auto local_ranks = static_cast<int>(plan.ranks_on(node).size());
  Completion registered;
  registered.check_after("PMIx_server_register_nspace",
                         PMIx_server_register_nspace(job, local_ranks, infos.data(), infos.size(),
                                                     Completion::on_done, &registered));
  Completion supported;
  supported.check_after(
      "PMIx_server_setup_local_support",
      PMIx_server_setup_local_support(job, nullptr, 0, Completion::on_done, &supported));
}

void PmixServer::register_ranks(const JobPlan& plan, int node) const {
  for (const int rank : plan.ranks_on(node)) {
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, job_name_.c_str(), static_cast<pmix_rank_t>(rank));
    Completion registered;
    registered.check_after("PMIx_server_register_client",
                           PMIx_server_register_client(&process, getuid(), getgid(), nullptr,
                                                       Completion::on_done, &registered));
  }
}

std::vector<std::string> PmixServer::environment_of(int rank) const {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, job_name_.c_str(), static_cast<pmix_rank_t>(rank));
  char** variables = nullptr;
  check("PMIx_server_setup_fork", PMIx_server_setup_fork(&process, &variables));
  std::vector<std::string> result;
  for (char** variable = variables; variable != nullptr && *variable != nullptr; ++variable) {
    result.emplace_back(*variable);
    std::free(*variable);
  }
  std::free(variables);
  return result;
}

void PmixServer::finish_fence(const Upcall& request, FenceStatus status, std::string data) {
  answer(request, status == FenceStatus::kComplete ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS,
         std::move(data));
}

void PmixServer::finish_lookup(const Upcall& request, bool is_found, std::string data) {
  answer(request, is_found ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, std::move(data));
}

void PmixServer::look_up(int rank, std::uint64_t id) {
  struct Request {
    Mailbox& mailbox;
    Frame frame;
  };
  auto* request = new Request{mailbox_, {FrameKind::kLookupAnswer, rank, 0, id, {}}};
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, job_name_.c_str(), static_cast<pmix_rank_t>(rank));
  const pmix_dmodex_response_fn_t on_data = [](pmix_status_t status, char* data, std::size_t bytes,
                                               void* context) {
    const std::unique_ptr<Request> owned(static_cast<Request*>(context));
    owned->frame.status = status;
    if (bytes > 0) owned->frame.payload.assign(data, bytes);
    owned->mailbox.put({std::move(owned->frame)});
  };
  const pmix_status_t code = PMIx_server_dmodex_request(&process, on_data, request);
  if (code != PMIX_SUCCESS) on_data(code, nullptr, 0, request);
}

void PmixServer::report_death(int rank, DeathKind kind) const {
  pmix_proc_t dead;
  PMIX_LOAD_PROCID(&dead, job_name_.c_str(), static_cast<pmix_rank_t>(rank));
  pmix_status_t code = PMIX_ERR_PROC_ABORTED;
  if (kind == DeathKind::kKilled) code = PMIX_ERR_PROC_ABORTED_BY_SIG;
  if (kind == DeathKind::kWithoutFinalize) code = PMIX_ERR_PROC_TERM_WO_SYNC;
  auto infos = std::make_unique<InfoList>();
  infos->add_process(PMIX_EVENT_AFFECTED_PROC, dead);
  // libpmix reads the list until it calls back.
  const pmix_status_t started = PMIx_Notify_event(
      code, &dead, PMIX_RANGE_LOCAL, infos->data(), infos->size(),
      [](pmix_status_t, void* list) { delete static_cast<InfoList*>(list); }, infos.get());
  if (started == PMIX_SUCCESS) static_cast<void>(infos.release());
}

}  // namespace esp_run
