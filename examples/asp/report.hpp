// What rank 0 prints. `unit` is that of the weights, for people; may be empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "evaluate.hpp"
#include "problem.hpp"

namespace asp {

// One rank's seconds; gathered as bytes.
struct Times {
  double total = 0;
  double broadcast = 0;
};

void print_header(const Problem& problem, int rank_count, int lookahead);
void print_times(const std::vector<Times>& times, std::int64_t rows, std::size_t row_bytes);
void print_facts(const Graph& graph, const Facts& facts, const std::string& unit);
void print_route(const Graph& graph, const Query& query, const std::vector<std::int64_t>& to_target,
                 const std::string& unit);
void print_check(const CheckPlan& plan, std::int64_t vertex_count, const std::string& difference);

}  // namespace asp
