// What the parts of the backend over Espalier share.
//
// Blocking calls unless choose() asked for a particular algorithm; then the start/wait pair, which
// is where the API takes options. path: data
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "esp-bench/backend.hpp"
#include "espalier/espalier.h"

namespace espalier::bench {

struct Backend::State {
  esp_job* job = nullptr;
  esp_team* world = nullptr;
  bool chosen = false;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  std::string refusal;
  std::vector<esp_request*> requests;
  std::vector<std::size_t> sent, received;  // floats, by rank
  std::vector<std::size_t> displs, displs_bytes;
  std::vector<esp_type> types;
  esp_graph* grid = nullptr;

  // Ends the job with the library's explanation.
  [[noreturn, gnu::cold, gnu::noinline]] void fail(esp_status status) const {
    std::fprintf(stderr, "esp-bench: %s: %s\n", esp_status_text(status), esp_team_error(world));
    esp_abort(job, 1, "esp-bench: a measured call failed");
    std::abort();  // esp_abort does not return.
  }
  void check(esp_status status) const {
    if (status != ESP_OK) [[unlikely]]
      fail(status);
  }
  // After a ..._start with options: the library may say no to them.
  void finish(esp_status started, esp_request* request) {
    if (started == ESP_ERR_ARGUMENT || started == ESP_ERR_UNSUPPORTED) [[unlikely]] {
      refusal = esp_team_error(world);
      return;
    }
    check(started);
    check(esp_request_wait(&request));
  }
  // `plain`, or `start` with the options that were chosen; of a team or of a graph.
  template <typename Of, typename... Args>
  using Start = esp_status (*)(Of*, Args..., const esp_coll_options*, const esp_notify*,
                               esp_request**);
  template <typename Of, typename... Args>
  void call(Of* of, esp_status (*plain)(Of*, Args...),
            std::type_identity_t<Start<Of, Args...>> start, std::type_identity_t<Args>... args) {
    if (!chosen) return check(plain(of, args...));
    esp_request* request = nullptr;
    const esp_status started = start(of, args..., &options, nullptr, &request);
    finish(started, request);
  }
};

}  // namespace espalier::bench
