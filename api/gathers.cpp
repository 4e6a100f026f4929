// C API: the collectives that have no short path, a row each: allgather, alltoall, scans. Contracts
// in collectives.h. path: data
#include "api/forms.hpp"

ESP_FORMS(kAllgather, allgather, (const void* input, void* output, size_t count, esp_type type),
          call.input = input, call.output = output, call.count = count, call.type = type);
ESP_FORMS(kAllgatherv, allgatherv,
          (const void* input, void* output, const size_t* counts, const size_t* displs,
           esp_type type),
          call.input = input, call.output = output, call.out_counts = counts,
          call.out_displs = displs, call.type = type);
ESP_FORMS(kAlltoall, alltoall, (const void* input, void* output, size_t count, esp_type type),
          call.input = input, call.output = output, call.count = count, call.type = type);
ESP_FORMS(kAlltoallv, alltoallv,
          (const void* input, const size_t* in_counts, const size_t* in_displs, void* output,
           const size_t* out_counts, const size_t* out_displs, esp_type type),
          call.input = input, call.output = output, call.in_counts = in_counts,
          call.in_displs = in_displs, call.out_counts = out_counts, call.out_displs = out_displs,
          call.type = type);
ESP_FORMS(kScan, scan, (const void* input, void* output, size_t count, esp_type type, esp_op op),
          call.input = input, call.output = output, call.count = count, call.type = type,
          call.op = op);
ESP_FORMS(kExscan, exscan,
          (const void* input, void* output, size_t count, esp_type type, esp_op op),
          call.input = input, call.output = output, call.count = count, call.type = type,
          call.op = op);
