#include "coll/choice/explain.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace espalier {
namespace {

std::string time_text(std::optional<double> ns) {
  return ns ? fmt::format("predicted {:.1f} us", *ns / 1000) : std::string("not predicted");
}

std::string place_text(const Situation& where) {
  constexpr const char* kNetworks[] = {"a network", "tcp", "rdma"};
  constexpr const char* kCores[] = {"", ", own cores", ", shared cores"};
  if (where.nodes > 1) {
    return fmt::format("{} ranks on {} nodes over {}", where.ranks, where.nodes,
                       kNetworks[static_cast<std::size_t>(where.network)]);
  }
  return fmt::format("{} rank{} on one node{}", where.ranks, where.ranks == 1 ? "" : "s",
                     kCores[static_cast<std::size_t>(where.cores)]);
}

struct Candidate {
  std::string name;
  double ns = 0;
};

// The best by prediction of what was not chosen.
std::optional<Candidate> next_best(const PlanRequest& base, const Tuning& tuning,
                                   esp_algorithm chosen, const Costs& costs) {
  Tuning rules = tuning;
  rules.profile = nullptr;
  std::optional<Candidate> best;
  for (int a = ESP_ALGORITHM_SHORT + 1; a < ESP_ALGORITHM_COUNT; ++a) {
    const auto algorithm = static_cast<esp_algorithm>(a);
    if (algorithm == chosen || !exists(algorithm, base)) continue;
    esp_coll_options options = ESP_COLL_OPTIONS_INIT;
    options.algorithm = algorithm;
    auto request = resolve(options, base, rules);
    const auto ns = request ? predict(*request, costs) : std::nullopt;
    if (ns && (!best || *ns < best->ns)) best = {algorithm_name(algorithm), *ns};
  }
  return best;
}

const ProfileRow* row_of(const Tuning& tuning, const PlanRequest& base, int line) {
  if (tuning.profile == nullptr || line == 0) return nullptr;
  for (const ProfileRow& row : tuning.profile->of(base.collective)) {
    if (row.line == line) return &row;
  }
  return nullptr;
}

bool names_something(const esp_coll_options& choice) {
  return choice.algorithm != ESP_ALGORITHM_AUTO || choice.shape != ESP_SHAPE_AUTO ||
         choice.radix != 0 || choice.segment_bytes != 0 || choice.window_send != 0;
}

// Its times are those of its first size, and of the team that was measured.
std::string measured_text(const Profile& profile, const ProfileRow& row,
                          const PlanRequest& request) {
  std::string text = fmt::format("as in {}:{}", profile.name, row.line);
  if (row.choice.window_send != 0) {
    text += fmt::format(", windows of {} and {}", request.window_send, request.window_recv);
  }
  if (!names_something(row.choice)) text += fmt::format(", by rule: {}", request.reason.rule);
  if (row.us == 0) return text;
  text += fmt::format("; measured {:.1f} us at {} bytes", row.us, row.from_bytes);
  if (row.ranks.first == row.ranks.last) text += fmt::format(" by {} ranks", row.ranks.first);
  if (!row.next.empty()) text += fmt::format("; next {}, {:.1f} us there", row.next, row.next_us);
  return text;
}

}  // namespace

std::optional<double> predict_short(const PlanRequest& request, const Costs& costs) {
  const auto bytes = static_cast<double>(request.elements * request.element_bytes);
  const double others = request.size - 1;
  const LinkCosts& link = costs.inside;
  const double turn = costs.cores != 0 ? costs.turn * std::ceil(request.size / costs.cores) : 0;
  const double put = link.message + bytes * link.copy_per_byte + link.latency + turn;
  const double all = others * (link.message / 2 + bytes * link.copy_per_byte);
  switch (request.collective) {
    case Collective::kBcast:
      return put + bytes * link.copy_per_byte;
    case Collective::kBarrier:
    case Collective::kReduce:
    case Collective::kAllreduce:
    case Collective::kAllgather:
    case Collective::kAlltoall:
    case Collective::kScan:
    case Collective::kExscan:
      return put + all;
    default:
      return {};
  }
}

std::string explain(const esp_coll_options& options, const PlanRequest& base, const Tuning& tuning,
                    bool is_short) {
  const Situation where = situation_of(base, tuning);
  const Costs costs =
      tuning.costs && where.nodes > 1 ? *tuning.costs : Costs::typical(where.network, where.cores);
  const bool inside = where.nodes == 1;
  // Of one node the place says it.
  const char* cores = inside ? "" : tuning.costs ? ", own cores" : ", shared cores";
  std::string text = fmt::format("{} of {} bytes by {}{}: ", collective_name(base.collective),
                                 where.bytes, place_text(where), cores);
  if (is_short) {
    text += inside ? "short: lines of shared memory, no plan"
                   : "short: lines of shared memory inside nodes, a plan between them";
    if (inside) text += "; " + time_text(predict_short(base, costs));
  }
  auto request = resolve(options, base, tuning);
  if (!request) return text + request.error().text;
  auto plan = make_plan(*request);
  // Engine::make does without the row, too.
  if (!plan && (request->reason.line != 0 || request->nodes.multicast)) {
    Tuning rules = tuning;
    rules.profile = nullptr;
    rules.multicast = Multicast::kOff;
    return explain(options, base, rules, is_short);
  }
  if (!plan) return text + plan.error().text;
  if (is_short) {
    return text +
           fmt::format("; next {}, {}", plan->algorithm, time_text(predict(*request, costs)));
  }
  text += plan->algorithm + ", ";
  const char* const why_not = without_multicast(options, base, tuning);
  if (why_not != nullptr && !inside) text += fmt::format("no multicast ({}), ", why_not);
  const ProfileRow* const row = row_of(tuning, base, request->reason.line);
  text += row != nullptr ? measured_text(*tuning.profile, *row, *request) : request->reason.rule;
  if (row != nullptr && row->us > 0) return text;
  text += "; " + time_text(predict(*request, costs));
  const auto next = next_best(base, tuning, request->algorithm, costs);
  if (next) text += fmt::format("; next {}, predicted {:.1f} us", next->name, next->ns / 1000);
  return text;
}

}  // namespace espalier
