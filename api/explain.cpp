// The setting EXPLAIN. path: slow
#include "coll/choice/explain.hpp"

#include "api/start.hpp"

namespace espalier::api {

void explain_once(esp_team& handle, const Call& call) {
  const Team& team = handle.team;
  const bool of_user = call.purpose == Purpose::kUser || call.purpose == Purpose::kPersistent;
  if (team.rank != 0 || !of_user) return;
  if (!handle.explained.emplace(call.collective, call.bytes()).second) return;
  const esp_job& job = *handle.job;
  const Log log(LogLevel::kInfo, job.rank);
  const bool is_short = ShortOperations::takes(team, call);
  log.info("team {}: {}{}", team.id,
           explain(call.options, Engine::request_of(team, call), job.engine->tuning(), is_short),
           job.devices->explain(call, is_short));
}

}  // namespace espalier::api
