// One collective with its check: what every test of options, types and sizes repeats.
//
// Each function is called by all members of the team and checks this rank's part: the status, every
// element of the result, the guards around it, and that buffers that are not results keep what they
// held. path: setup
#pragma once

#include "tests/support/buffer.hpp"
#include "tests/support/rank_check.hpp"

namespace test {

struct Shape {  // Of the data, not of a tree.
  esp_type type = ESP_INT32;
  std::size_t count = 0;
  esp_op op = ESP_SUM;
  int root = 0;
  bool in_place = false;
  const esp_coll_options* options = nullptr;  // Not null: the *_start form with them.
};

inline std::string describe(const Shape& s, esp_team* team) {
  std::string text =
      fmt::format("{} {} x {} root {} of {}{}", esp_op_name(s.op), esp_type_name(s.type), s.count,
                  s.root, esp_team_size(team), s.in_place ? " in place" : "");
  if (s.options != nullptr) {
    text += fmt::format(" algorithm {} shape {} radix {} segment {} windows {}/{} variant {}",
                        static_cast<int>(s.options->algorithm), static_cast<int>(s.options->shape),
                        s.options->radix, s.options->segment_bytes, s.options->window_send,
                        s.options->window_recv, static_cast<int>(s.options->variant));
  }
  return text;
}

enum class Collective { kBcast, kReduce, kAllreduce };

// Whether the algorithm that is asked for is not made for that, and has to say so.
inline bool is_declined(Collective collective, const Shape& shape) {
  switch (shape.options == nullptr ? ESP_ALGORITHM_AUTO : shape.options->algorithm) {
    case ESP_ALGORITHM_AUTO:
    case ESP_ALGORITHM_TREE:
      return false;
    case ESP_ALGORITHM_PUBLISH:
      return collective == Collective::kReduce;
    case ESP_ALGORITHM_SPREAD:
    case ESP_ALGORITHM_RING:
    case ESP_ALGORITHM_DOUBLING:
    case ESP_ALGORITHM_HALVING:
      return collective != Collective::kAllreduce;
    default:  // SHORT is for the blocking forms only, which have no options; others for gathers.
      return true;
  }
}

// Checks the status. True: there is a result to check.
inline bool succeeded(esp_status status, Collective collective, const Shape& shape,
                      esp_team* team) {
  const esp_status expected = is_declined(collective, shape) ? ESP_ERR_UNSUPPORTED : ESP_OK;
  CHECK_STATUS(status, expected, team, "{}", describe(shape, team));
  return status == ESP_OK && expected == ESP_OK;
}

// Waits for what a *_start call began; its own failure counts as the operation's.
inline esp_status finish(esp_status started, esp_request** request) {
  return started == ESP_OK ? esp_request_wait(request) : started;
}

inline void check_bcast(esp_team* team, const Shape& s) {
  // Depends on the root; any operator's values do, those of ESP_MAX exist for every type.
  const auto table = contribution_table(s.type, ESP_MAX, s.root);
  Buffer buffer(s.type, s.count);
  if (esp_team_rank(team) == s.root) buffer.fill(table);
  esp_request* request = nullptr;
  const esp_status status = s.options == nullptr
                                ? esp_bcast(team, buffer.data(), s.count, s.type, s.root)
                                : finish(esp_bcast_start(team, buffer.data(), s.count, s.type,
                                                         s.root, s.options, nullptr, &request),
                                         &request);
  if (!succeeded(status, Collective::kBcast, s, team)) return;
  CHECK_EQ(buffer.first_wrong(table), s.count, "bcast {}", describe(s, team));
  CHECK(buffer.guards_intact(), "bcast {}", describe(s, team));
}

// The buffers of a reduction as this rank passes them.
struct Operands {
  Operands(const Shape& s, int rank, bool receives)
      : mine(contribution_table(s.type, s.op, rank)),
        in_place(s.in_place && receives),
        input(s.type, in_place ? 0 : s.count),
        output(s.type, receives ? s.count : 0) {
    (in_place ? output : input).fill(mine);
  }
  const void* source() const { return in_place ? ESP_IN_PLACE : input.data(); }

  std::vector<unsigned char> mine;
  bool in_place;
  Buffer input;
  Buffer output;
};

inline void check_operands(const Operands& operands, const Shape& s, esp_team* team, bool receives,
                           const char* what) {
  if (receives) {
    const auto expected = result_table(s.type, s.op, esp_team_size(team));
    CHECK_EQ(operands.output.first_wrong(expected), s.count, "{} {}", what, describe(s, team));
  }
  CHECK(operands.output.guards_intact(), "{} {}", what, describe(s, team));
  if (operands.in_place) {
    CHECK(operands.input.untouched(), "{} {}", what, describe(s, team));
  } else {
    CHECK_EQ(operands.input.first_wrong(operands.mine), s.count, "input of {} {}", what,
             describe(s, team));
    CHECK(operands.input.guards_intact(), "{} {}", what, describe(s, team));
  }
}

inline void check_reduce(esp_team* team, const Shape& s) {
  const bool receives = esp_team_rank(team) == s.root;
  Operands operands(s, esp_team_rank(team), receives);
  void* output = receives ? operands.output.data() : nullptr;
  esp_request* request = nullptr;
  const esp_status status =
      s.options == nullptr
          ? esp_reduce(team, operands.source(), output, s.count, s.type, s.op, s.root)
          : finish(esp_reduce_start(team, operands.source(), output, s.count, s.type, s.op, s.root,
                                    s.options, nullptr, &request),
                   &request);
  if (succeeded(status, Collective::kReduce, s, team)) {
    check_operands(operands, s, team, receives, "reduce");
  }
}

inline void check_allreduce(esp_team* team, const Shape& s) {
  Operands operands(s, esp_team_rank(team), true);
  esp_request* request = nullptr;
  const esp_status status =
      s.options == nullptr
          ? esp_allreduce(team, operands.source(), operands.output.data(), s.count, s.type, s.op)
          : finish(esp_allreduce_start(team, operands.source(), operands.output.data(), s.count,
                                       s.type, s.op, s.options, nullptr, &request),
                   &request);
  if (succeeded(status, Collective::kAllreduce, s, team)) {
    check_operands(operands, s, team, true, "allreduce");
  }
}

}  // namespace test
