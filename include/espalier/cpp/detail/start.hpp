// How the *_start functions of teams and regions call their C namesakes: `call` takes what
// reports, an esp_notify or an esp_request*, and the other is nullptr.
// path: short
#ifndef ESPALIER_CPP_DETAIL_START_HPP
#define ESPALIER_CPP_DETAIL_START_HPP

#include "espalier/cpp/notify.hpp"
#include "espalier/cpp/request.hpp"
#include "espalier/cpp/result.hpp"

namespace esp::detail {

Result<Request> request(const esp_team* team, auto&& call) {
  esp_request* handle = nullptr;
  const esp_status status = call(nullptr, &handle);
  if (status != ESP_OK) return Result<Request>(explain(team, status));
  return Result<Request>(Request(handle, team));
}

Status started(const esp_team* team, Notify& notify, auto&& call) noexcept {
  const esp_status status = call(notify.get(), nullptr);
  if (status == ESP_OK) notify.release();
  return explain(team, status);
}

}  // namespace esp::detail

#endif  // ESPALIER_CPP_DETAIL_START_HPP
