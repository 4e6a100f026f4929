// C API: the collectives that have no short path, a row each. Contracts
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
ESP_FORMS(kAlltoallw, alltoallw,
          (const void* input, const size_t* in_counts, const size_t* in_displs,
           const esp_type* in_types, void* output, const size_t* out_counts,
           const size_t* out_displs, const esp_type* out_types),
          call.input = input, call.output = output, call.in_counts = in_counts,
          call.in_displs = in_displs, call.in_types = in_types, call.out_counts = out_counts,
          call.out_displs = out_displs, call.out_types = out_types);
ESP_FORMS(kGather, gather, (const void* input, void* output, size_t count, esp_type type, int root),
          call.input = input, call.output = output, call.count = count, call.type = type,
          call.root = root);
ESP_FORMS(kGatherv, gatherv,
          (const void* input, size_t count, void* output, const size_t* counts,
           const size_t* displs, esp_type type, int root),
          call.input = input, call.own_count = count, call.output = output,
          call.out_counts = counts, call.out_displs = displs, call.type = type, call.root = root);
ESP_FORMS(kScatter, scatter,
          (const void* input, void* output, size_t count, esp_type type, int root),
          call.input = input, call.output = output, call.count = count, call.type = type,
          call.root = root);
ESP_FORMS(kScatterv, scatterv,
          (const void* input, const size_t* counts, const size_t* displs, void* output,
           size_t count, esp_type type, int root),
          call.input = input, call.in_counts = counts, call.in_displs = displs,
          call.output = output, call.own_count = count, call.type = type, call.root = root);
ESP_FORMS(kReduceScatterBlock, reduce_scatter_block,
          (const void* input, void* output, size_t count, esp_type type, esp_op op),
          call.input = input, call.output = output, call.count = count, call.type = type,
          call.op = op);
ESP_FORMS(kReduceScatter, reduce_scatter,
          (const void* input, void* output, const size_t* counts, esp_type type, esp_op op),
          call.input = input, call.output = output, call.in_counts = counts, call.type = type,
          call.op = op);
