// Backend over Espalier's public C API: collectives of blocks.
// path: data
#include "esp-bench/backend_espalier.hpp"

namespace espalier::bench {

void Backend::allgather(const void* input, void* output, std::size_t bytes) {
  state_->call(state_->world, esp_allgather, esp_allgather_start, input, output, bytes, ESP_BYTE);
}

void Backend::alltoall(const void* input, void* output, std::size_t bytes) {
  state_->call(state_->world, esp_alltoall, esp_alltoall_start, input, output, bytes, ESP_BYTE);
}

void Backend::gather(const void* input, void* output, std::size_t bytes, int root) {
  state_->call(state_->world, esp_gather, esp_gather_start, input, output, bytes, ESP_BYTE, root);
}

void Backend::scatter(const void* input, void* output, std::size_t bytes, int root) {
  state_->call(state_->world, esp_scatter, esp_scatter_start, input, output, bytes, ESP_BYTE, root);
}

void Backend::reduce_scatter_block_sum(const float* input, float* output, std::size_t count) {
  state_->call(state_->world, esp_reduce_scatter_block, esp_reduce_scatter_block_start, input,
               output, count, ESP_FLOAT, ESP_SUM);
}

void Backend::set_blocks(std::span<const std::size_t> sent, std::span<const std::size_t> received,
                         std::span<const std::size_t> displs) {
  state_->sent.assign(sent.begin(), sent.end());
  state_->received.assign(received.begin(), received.end());
  state_->displs.assign(displs.begin(), displs.end());
  state_->displs_bytes.clear();
  for (const std::size_t displ : displs) state_->displs_bytes.push_back(displ * sizeof(float));
  state_->types.assign(displs.size(), ESP_FLOAT);
}

void Backend::allgatherv(const float* input, float* output) {
  state_->call(state_->world, esp_allgatherv, esp_allgatherv_start, input, output,
               state_->received.data(), state_->displs.data(), ESP_FLOAT);
}

void Backend::alltoallv(const float* input, float* output) {
  const std::size_t* displs = state_->displs.data();
  state_->call(state_->world, esp_alltoallv, esp_alltoallv_start, input, state_->sent.data(),
               displs, output, state_->received.data(), displs, ESP_FLOAT);
}

void Backend::alltoallw(const float* input, float* output) {
  const std::size_t* displs = state_->displs_bytes.data();
  const esp_type* types = state_->types.data();
  state_->call(state_->world, esp_alltoallw, esp_alltoallw_start, input, state_->sent.data(),
               displs, types, output, state_->received.data(), displs, types);
}

void Backend::gatherv(const float* input, float* output, int root) {
  const std::size_t own = state_->received[static_cast<std::size_t>(rank())];
  state_->call(state_->world, esp_gatherv, esp_gatherv_start, input, own, output,
               state_->received.data(), state_->displs.data(), ESP_FLOAT, root);
}

void Backend::scatterv(const float* input, float* output, int root) {
  const std::size_t own = state_->sent[static_cast<std::size_t>(rank())];
  state_->call(state_->world, esp_scatterv, esp_scatterv_start, input, state_->sent.data(),
               state_->displs.data(), output, own, ESP_FLOAT, root);
}

void Backend::reduce_scatter_sum(const float* input, float* output) {
  state_->call(state_->world, esp_reduce_scatter, esp_reduce_scatter_start, input, output,
               state_->sent.data(), ESP_FLOAT, ESP_SUM);
}

void Backend::set_grid(std::span<const int> extents) {
  if (state_->grid != nullptr) state_->check(esp_graph_free(&state_->grid));
  const std::vector<int> periodic(extents.size(), 1);
  state_->check(esp_grid_create(state_->world, static_cast<int>(extents.size()), extents.data(),
                                periodic.data(), &state_->grid));
}

void Backend::neighbor_allgather(const void* input, void* output, std::size_t bytes) {
  state_->call(state_->grid, esp_neighbor_allgather, esp_neighbor_allgather_start, input, output,
               bytes, ESP_BYTE);
}

void Backend::neighbor_alltoall(const void* input, void* output, std::size_t bytes) {
  state_->call(state_->grid, esp_neighbor_alltoall, esp_neighbor_alltoall_start, input, output,
               bytes, ESP_BYTE);
}

}  // namespace espalier::bench
