// C API: types and operators. Contracts in espalier.h.
#include "api/under_way.hpp"
#include "core/datatype.hpp"

namespace api = espalier::api;

namespace {
// Signatures have 8 bits for the operator.
constexpr std::size_t kUserOperatorsMax = 200;

bool is_used(const esp_job& job, esp_op op) {
  return api::any_instance(job, [&](const espalier::Instance& i) { return i.call.op == op; });
}

}  // namespace

extern "C" {

size_t esp_type_size(esp_type type) {
  return espalier::type_size(type);
}
const char* esp_type_name(esp_type type) {
  return espalier::type_name(type);
}
const char* esp_op_name(esp_op op) {
  return espalier::op_name(op);
}
int esp_op_defined(esp_op op, esp_type type) {
  return espalier::op_defined(op, type) ? 1 : 0;
}

esp_status esp_op_create(esp_job* job, esp_op_function function, void* context, int commutative,
                         esp_op* op) {
  if (job == nullptr || op == nullptr) return ESP_ERR_ARGUMENT;
  if (function == nullptr) return api::fail(*job, ESP_ERR_ARGUMENT, "esp_op_create: no function");
  esp_status status = ESP_OK;
  api::on_owner(*job, [&] {
    auto& table = job->user_operators;
    std::size_t i = 0;
    while (i < table.size() && table[i].has_value()) ++i;
    if (i == kUserOperatorsMax) {
      status = api::fail(*job, ESP_ERR_NO_MEMORY, "esp_op_create: 200 operators exist already");
      return;
    }
    if (i == table.size()) table.emplace_back();
    table[i] = espalier::UserOperator{function, context, commutative != 0};
    *op = ESP_OP_BUILTIN_COUNT + static_cast<esp_op>(i);
  });
  return status;
}

esp_status esp_op_free(esp_job* job, esp_op op) {
  if (job == nullptr) return ESP_ERR_ARGUMENT;
  esp_status status = ESP_OK;
  api::on_owner(*job, [&] {
    auto& table = job->user_operators;
    const auto i = static_cast<std::size_t>(op - ESP_OP_BUILTIN_COUNT);
    if (op < ESP_OP_BUILTIN_COUNT || i >= table.size() || !table[i].has_value()) {
      status = api::fail(*job, ESP_ERR_ARGUMENT, "esp_op_free: not an operator of this job");
      return;
    }
    if (is_used(*job, op)) {
      status = api::fail(*job, ESP_ERR_STATE,
                         "esp_op_free: operations under way or persistent requests use it");
      return;
    }
    table[i].reset();
  });
  return status;
}

}  // extern "C"
