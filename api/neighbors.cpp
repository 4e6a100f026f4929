// C API: collectives on graphs, a row each. Contracts in neighbors.h. path: data
#include "api/forms.hpp"
#include "api/graph.hpp"

// As ESP_FORMS; the graph says on which team, and who the neighbours are.
#define ESP_GRAPH_CALL(COLLECTIVE, NAME, ...)                                   \
  ESP_CALL(COLLECTIVE, __VA_ARGS__);                                            \
  esp_team* team = nullptr;                                                     \
  const esp_status sound = espalier::api::take_graph(graph, #NAME, call, team); \
  if (sound != ESP_OK) return sound

#define ESP_GRAPH_FORM(FORM, FUNCTION, COLLECTIVE, PARAMETERS, ...)                           \
  esp_status FUNCTION(esp_graph* graph ESP_AFTER PARAMETERS, const esp_coll_options* options, \
                      const esp_notify* notify, esp_request** request) {                      \
    if (request != nullptr) *request = nullptr;                                               \
    ESP_GRAPH_CALL(COLLECTIVE, FUNCTION, __VA_ARGS__);                                        \
    return espalier::api::FORM(team, call, options, notify, request);                         \
  }

#define ESP_GRAPH_FORMS(COLLECTIVE, NAME, PARAMETERS, ...)                            \
  esp_status esp_##NAME(esp_graph* graph ESP_AFTER PARAMETERS) {                      \
    ESP_GRAPH_CALL(COLLECTIVE, esp_##NAME, __VA_ARGS__);                              \
    return espalier::api::run_call(team, call);                                       \
  }                                                                                   \
  ESP_GRAPH_FORM(start_call, esp_##NAME##_start, COLLECTIVE, PARAMETERS, __VA_ARGS__) \
  ESP_GRAPH_FORM(init_call, esp_##NAME##_init, COLLECTIVE, PARAMETERS, __VA_ARGS__)

ESP_GRAPH_FORMS(kNeighborAllgather, neighbor_allgather,
                (const void* input, void* output, size_t count, esp_type type), call.input = input,
                call.output = output, call.count = count, call.type = type);
ESP_GRAPH_FORMS(kNeighborAllgatherv, neighbor_allgatherv,
                (const void* input, size_t count, void* output, const size_t* counts,
                 const size_t* displs, esp_type type),
                call.input = input, call.own_count = count, call.output = output,
                call.out_counts = counts, call.out_displs = displs, call.type = type);
ESP_GRAPH_FORMS(kNeighborAlltoall, neighbor_alltoall,
                (const void* input, void* output, size_t count, esp_type type), call.input = input,
                call.output = output, call.count = count, call.type = type);
ESP_GRAPH_FORMS(kNeighborAlltoallv, neighbor_alltoallv,
                (const void* input, const size_t* in_counts, const size_t* in_displs, void* output,
                 const size_t* out_counts, const size_t* out_displs, esp_type type),
                call.input = input, call.output = output, call.in_counts = in_counts,
                call.in_displs = in_displs, call.out_counts = out_counts,
                call.out_displs = out_displs, call.type = type);
ESP_GRAPH_FORMS(kNeighborAlltoallw, neighbor_alltoallw,
                (const void* input, const size_t* in_counts, const size_t* in_displs,
                 const esp_type* in_types, void* output, const size_t* out_counts,
                 const size_t* out_displs, const esp_type* out_types),
                call.input = input, call.output = output, call.in_counts = in_counts,
                call.in_displs = in_displs, call.in_types = in_types, call.out_counts = out_counts,
                call.out_displs = out_displs, call.out_types = out_types);
