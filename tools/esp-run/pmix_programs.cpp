#include "pmix_programs.hpp"

namespace esp_run {
namespace {

void add_program(InfoList& infos, std::uint32_t number, std::uint32_t first_rank,
                 std::uint32_t ranks) {
  InfoList about;
  about.add_number(PMIX_APPNUM, number);
  about.add_number(PMIX_APP_SIZE, ranks);
  about.add_rank(PMIX_APPLDR, first_rank);
  infos.add_list(PMIX_APP_INFO_ARRAY, about);
}

// Who says one thing about a rank says all: libpmix then derives nothing but its host name.
void add_rank(InfoList& infos, const JobPlan& plan, int rank, std::size_t local_rank) {
  InfoList about;
  about.add_rank(PMIX_RANK, static_cast<std::uint32_t>(rank));
  about.add_number(PMIX_APPNUM, static_cast<std::uint32_t>(plan.program_of(rank)));
  about.add_number(PMIX_NODEID, static_cast<std::uint32_t>(plan.node_of(rank)));
  about.add_short_number(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(local_rank));
  about.add_short_number(PMIX_NODE_RANK, static_cast<std::uint16_t>(local_rank));
  infos.add_list(PMIX_PROC_INFO_ARRAY, about);
}

}  // namespace

void add_programs(InfoList& infos, const JobPlan& plan) {
  const std::vector<Program>& programs = plan.options.programs;
  infos.add_number(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(programs.size()));
  if (programs.size() == 1) return;
  std::uint32_t first_rank = 0;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto ranks = static_cast<std::uint32_t>(programs[i].ranks);
    add_program(infos, static_cast<std::uint32_t>(i), first_rank, ranks);
    first_rank += ranks;
  }
  for (int node = 0; node < plan.nodes(); ++node) {
    const std::vector<int>& here = plan.ranks_on(node);
    for (std::size_t i = 0; i < here.size(); ++i) add_rank(infos, plan, here[i], i);
  }
}

}  // namespace esp_run
