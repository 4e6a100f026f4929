// What libpmix is told about the programs of a job and their ranks, where there are several.
#pragma once

#include "job_plan.hpp"
#include "pmix_info.hpp"

namespace esp_run {

// The number of programs, and for each rank that of its own (PMIX_APPNUM). Of a job of one program
// all follows from the maps of nodes and ranks.
void add_programs(InfoList& infos, const JobPlan& plan);

}  // namespace esp_run
