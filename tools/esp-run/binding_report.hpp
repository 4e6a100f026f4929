// What --bind has come to, for people.
#pragma once

#include <string>

#include "job_plan.hpp"

namespace esp_run {

// --report-bindings: a line per rank, each with its newline.
std::string binding_report(const JobPlan& plan);

// One sentence where ranks have to share what each should have alone; else nothing.
std::string crowding_note(const JobPlan& plan);

}  // namespace esp_run
