// C API: the collectives that have no short path: allgather, alltoall, scans. Contracts in
// collectives.h. path: data
#include "api/start.hpp"

using espalier::Call;
using espalier::Collective;
namespace api = espalier::api;

namespace {

// Blocks of `count` elements; or, with arrays, of as many as these say.
Call blocks(Collective collective, const void* input, void* output, size_t count,
            esp_type type) noexcept {
  Call call;
  call.collective = collective;
  call.input = input;
  call.output = output;
  call.count = count;
  call.type = type;
  return call;
}

Call allgatherv(const void* input, void* output, const size_t* counts, const size_t* displs,
                esp_type type) noexcept {
  Call call = blocks(Collective::kAllgatherv, input, output, 0, type);
  call.out_counts = counts;
  call.out_displs = displs;
  return call;
}

Call alltoallv(const void* input, const size_t* in_counts, const size_t* in_displs, void* output,
               const size_t* out_counts, const size_t* out_displs, esp_type type) noexcept {
  Call call = blocks(Collective::kAlltoallv, input, output, 0, type);
  call.in_counts = in_counts;
  call.in_displs = in_displs;
  call.out_counts = out_counts;
  call.out_displs = out_displs;
  return call;
}

Call prefixes(Collective collective, const void* input, void* output, size_t count, esp_type type,
              esp_op op) noexcept {
  Call call = blocks(collective, input, output, count, type);
  call.op = op;
  return call;
}

}  // namespace

extern "C" {

esp_status esp_allgather(esp_team* team, const void* input, void* output, size_t count,
                         esp_type type) {
  return api::run_call(team, blocks(Collective::kAllgather, input, output, count, type));
}

esp_status esp_allgatherv(esp_team* team, const void* input, void* output, const size_t* counts,
                          const size_t* displs, esp_type type) {
  return api::run_call(team, allgatherv(input, output, counts, displs, type));
}

esp_status esp_alltoall(esp_team* team, const void* input, void* output, size_t count,
                        esp_type type) {
  return api::run_call(team, blocks(Collective::kAlltoall, input, output, count, type));
}

esp_status esp_alltoallv(esp_team* team, const void* input, const size_t* in_counts,
                         const size_t* in_displs, void* output, const size_t* out_counts,
                         const size_t* out_displs, esp_type type) {
  return api::run_call(
      team, alltoallv(input, in_counts, in_displs, output, out_counts, out_displs, type));
}

esp_status esp_scan(esp_team* team, const void* input, void* output, size_t count, esp_type type,
                    esp_op op) {
  return api::run_call(team, prefixes(Collective::kScan, input, output, count, type, op));
}

esp_status esp_exscan(esp_team* team, const void* input, void* output, size_t count, esp_type type,
                      esp_op op) {
  return api::run_call(team, prefixes(Collective::kExscan, input, output, count, type, op));
}

esp_status esp_allgather_start(esp_team* team, const void* input, void* output, size_t count,
                               esp_type type, const esp_coll_options* options,
                               const esp_notify* notify, esp_request** request) {
  return api::start_call(team, blocks(Collective::kAllgather, input, output, count, type), options,
                         notify, request);
}

esp_status esp_allgatherv_start(esp_team* team, const void* input, void* output,
                                const size_t* counts, const size_t* displs, esp_type type,
                                const esp_coll_options* options, const esp_notify* notify,
                                esp_request** request) {
  return api::start_call(team, allgatherv(input, output, counts, displs, type), options, notify,
                         request);
}

esp_status esp_alltoall_start(esp_team* team, const void* input, void* output, size_t count,
                              esp_type type, const esp_coll_options* options,
                              const esp_notify* notify, esp_request** request) {
  return api::start_call(team, blocks(Collective::kAlltoall, input, output, count, type), options,
                         notify, request);
}

esp_status esp_alltoallv_start(esp_team* team, const void* input, const size_t* in_counts,
                               const size_t* in_displs, void* output, const size_t* out_counts,
                               const size_t* out_displs, esp_type type,
                               const esp_coll_options* options, const esp_notify* notify,
                               esp_request** request) {
  return api::start_call(
      team, alltoallv(input, in_counts, in_displs, output, out_counts, out_displs, type), options,
      notify, request);
}

esp_status esp_scan_start(esp_team* team, const void* input, void* output, size_t count,
                          esp_type type, esp_op op, const esp_coll_options* options,
                          const esp_notify* notify, esp_request** request) {
  return api::start_call(team, prefixes(Collective::kScan, input, output, count, type, op), options,
                         notify, request);
}

esp_status esp_exscan_start(esp_team* team, const void* input, void* output, size_t count,
                            esp_type type, esp_op op, const esp_coll_options* options,
                            const esp_notify* notify, esp_request** request) {
  return api::start_call(team, prefixes(Collective::kExscan, input, output, count, type, op),
                         options, notify, request);
}

}  // extern "C"
