// The C functions of a collective, made from a row: its name, its parameters between the team and
// the options, and what these set of the Call. path: data
#pragma once

#include "api/start.hpp"

// A list in parentheses behind other parameters.
#define ESP_AFTER(...) __VA_OPT__(, ) __VA_ARGS__

#define ESP_CALL(COLLECTIVE, ...)                     \
  espalier::Call call;                                \
  call.collective = espalier::Collective::COLLECTIVE; \
  __VA_ARGS__

#define ESP_NON_BLOCKING(FORM, FUNCTION, PARAMETERS, ...)                                   \
  esp_status FUNCTION(esp_team* team ESP_AFTER PARAMETERS, const esp_coll_options* options, \
                      const esp_notify* notify, esp_request** request) {                    \
    ESP_CALL(__VA_ARGS__);                                                                  \
    return espalier::api::FORM(team, call, options, notify, request);                       \
  }

// Of who has a quick way: long_NAME, the blocking form, and esp_NAME_init.
#define ESP_LONG_FORMS(COLLECTIVE, NAME, PARAMETERS, ...)                                \
  [[gnu::noinline]] static esp_status long_##NAME(espalier::Purpose purpose,             \
                                                  esp_team* team ESP_AFTER PARAMETERS) { \
    ESP_CALL(COLLECTIVE, __VA_ARGS__);                                                   \
    return espalier::api::run_call(team, call, purpose);                                 \
  }                                                                                      \
  ESP_NON_BLOCKING(init_call, esp_##NAME##_init, PARAMETERS, COLLECTIVE, __VA_ARGS__)

// These, and esp_NAME_start.
#define ESP_STARTED_FORMS(COLLECTIVE, NAME, PARAMETERS, ...) \
  ESP_LONG_FORMS(COLLECTIVE, NAME, PARAMETERS, __VA_ARGS__)  \
  ESP_NON_BLOCKING(start_call, esp_##NAME##_start, PARAMETERS, COLLECTIVE, __VA_ARGS__)

// All three, esp_NAME among them.
#define ESP_FORMS(COLLECTIVE, NAME, PARAMETERS, ...)                                    \
  esp_status esp_##NAME(esp_team* team ESP_AFTER PARAMETERS) {                          \
    ESP_CALL(COLLECTIVE, __VA_ARGS__);                                                  \
    return espalier::api::run_call(team, call);                                         \
  }                                                                                     \
  ESP_NON_BLOCKING(start_call, esp_##NAME##_start, PARAMETERS, COLLECTIVE, __VA_ARGS__) \
  ESP_NON_BLOCKING(init_call, esp_##NAME##_init, PARAMETERS, COLLECTIVE, __VA_ARGS__)
