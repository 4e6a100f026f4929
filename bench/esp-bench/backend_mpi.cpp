// Backend over any MPI: compiled by mpicxx.openmpi and by mpicxx.mpich.
// path: data
#include <mpi.h>

#include <vector>

#include "esp-bench/backend.hpp"
#include "esp-bench/one_sided.hpp"

namespace espalier::bench {

struct Backend::State {
  int rank = 0;
  int size = 1;
  std::vector<MPI_Request> requests;
  std::vector<int> sent, received;  // floats, by rank
  std::vector<int> displs, displs_bytes;
  std::vector<MPI_Datatype> types;
  MPI_Comm grid = MPI_COMM_NULL;
};

namespace {

// Messages above 2^31-1 elements are beyond what the command line accepts, and Operation.
int to_int(std::size_t value) {
  return static_cast<int>(value);
}
constexpr int kTag = 1;

}  // namespace

Backend::Backend(std::unique_ptr<State> state) : state_(std::move(state)) {}

std::unique_ptr<Backend> Backend::open(std::size_t /*heap_bytes*/) {
  MPI_Init(nullptr, nullptr);  // Errors are fatal by default, with the library's own text.
  auto state = std::make_unique<State>();
  MPI_Comm_rank(MPI_COMM_WORLD, &state->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state->size);
  return std::unique_ptr<Backend>(new Backend(std::move(state)));
}

Backend::~Backend() {
  if (state_->grid != MPI_COMM_NULL) MPI_Comm_free(&state_->grid);
  MPI_Finalize();
}

std::string Backend::library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string all(text);
  // Open MPI: "Open MPI v4.1.4, package: ..."; MPICH: "MPICH Version:\t4.0.2\nMPICH Release ...".
  std::string first = all.substr(0, all.find_first_of(",\n"));
  const auto version = first.find(" Version:");
  if (version != std::string::npos) {
    first.replace(version, std::string(" Version:").size(), "");
    for (char& c : first) c = c == '\t' ? ' ' : c;
  }
  return first;
}

bool Backend::has_choices() {
  return false;
}
int Backend::rank() const {
  return state_->rank;
}
int Backend::size() const {
  return state_->size;
}

void Backend::barrier() {
  MPI_Barrier(MPI_COMM_WORLD);
}

void Backend::bcast(void* buffer, std::size_t bytes, int root) {
  MPI_Bcast(buffer, to_int(bytes), MPI_BYTE, root, MPI_COMM_WORLD);
}

void Backend::reduce_sum(const float* input, float* output, std::size_t count, int root) {
  MPI_Reduce(input, output, to_int(count), MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
}

void Backend::allreduce_sum(const float* input, float* output, std::size_t count) {
  MPI_Allreduce(input, output, to_int(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

void Backend::allgather(const void* input, void* output, std::size_t bytes) {
  MPI_Allgather(input, to_int(bytes), MPI_BYTE, output, to_int(bytes), MPI_BYTE, MPI_COMM_WORLD);
}

void Backend::alltoall(const void* input, void* output, std::size_t bytes) {
  MPI_Alltoall(input, to_int(bytes), MPI_BYTE, output, to_int(bytes), MPI_BYTE, MPI_COMM_WORLD);
}

void Backend::gather(const void* input, void* output, std::size_t bytes, int root) {
  MPI_Gather(input, to_int(bytes), MPI_BYTE, output, to_int(bytes), MPI_BYTE, root, MPI_COMM_WORLD);
}

void Backend::scatter(const void* input, void* output, std::size_t bytes, int root) {
  MPI_Scatter(input, to_int(bytes), MPI_BYTE, output, to_int(bytes), MPI_BYTE, root,
              MPI_COMM_WORLD);
}

void Backend::reduce_scatter_block_sum(const float* input, float* output, std::size_t count) {
  MPI_Reduce_scatter_block(input, output, to_int(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

void Backend::set_blocks(std::span<const std::size_t> sent, std::span<const std::size_t> received,
                         std::span<const std::size_t> displs) {
  state_->sent.assign(sent.begin(), sent.end());
  state_->received.assign(received.begin(), received.end());
  state_->displs.assign(displs.begin(), displs.end());
  state_->displs_bytes.clear();
  for (const std::size_t displ : displs) {
    state_->displs_bytes.push_back(to_int(displ * sizeof(float)));
  }
  state_->types.assign(displs.size(), MPI_FLOAT);
}

void Backend::allgatherv(const float* input, float* output) {
  const int own = state_->received[static_cast<std::size_t>(state_->rank)];
  MPI_Allgatherv(input, own, MPI_FLOAT, output, state_->received.data(), state_->displs.data(),
                 MPI_FLOAT, MPI_COMM_WORLD);
}

void Backend::alltoallv(const float* input, float* output) {
  const int* displs = state_->displs.data();
  MPI_Alltoallv(input, state_->sent.data(), displs, MPI_FLOAT, output, state_->received.data(),
                displs, MPI_FLOAT, MPI_COMM_WORLD);
}

void Backend::alltoallw(const float* input, float* output) {
  const int* displs = state_->displs_bytes.data();
  const MPI_Datatype* types = state_->types.data();
  MPI_Alltoallw(input, state_->sent.data(), displs, types, output, state_->received.data(), displs,
                types, MPI_COMM_WORLD);
}

void Backend::gatherv(const float* input, float* output, int root) {
  const int own = state_->received[static_cast<std::size_t>(state_->rank)];
  MPI_Gatherv(input, own, MPI_FLOAT, output, state_->received.data(), state_->displs.data(),
              MPI_FLOAT, root, MPI_COMM_WORLD);
}

void Backend::scatterv(const float* input, float* output, int root) {
  const int own = state_->sent[static_cast<std::size_t>(state_->rank)];
  MPI_Scatterv(input, state_->sent.data(), state_->displs.data(), MPI_FLOAT, output, own, MPI_FLOAT,
               root, MPI_COMM_WORLD);
}

void Backend::reduce_scatter_sum(const float* input, float* output) {
  MPI_Reduce_scatter(input, output, state_->sent.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

// No reordering, so ranks are those of MPI_COMM_WORLD.
void Backend::set_grid(std::span<const int> extents) {
  if (state_->grid != MPI_COMM_NULL) MPI_Comm_free(&state_->grid);
  const std::vector<int> periodic(extents.size(), 1);
  MPI_Cart_create(MPI_COMM_WORLD, to_int(extents.size()), extents.data(), periodic.data(), 0,
                  &state_->grid);
}

void Backend::neighbor_allgather(const void* input, void* output, std::size_t bytes) {
  MPI_Neighbor_allgather(input, to_int(bytes), MPI_BYTE, output, to_int(bytes), MPI_BYTE,
                         state_->grid);
}

void Backend::neighbor_alltoall(const void* input, void* output, std::size_t bytes) {
  MPI_Neighbor_alltoall(input, to_int(bytes), MPI_BYTE, output, to_int(bytes), MPI_BYTE,
                        state_->grid);
}

void Backend::scan_sum(const float* input, float* output, std::size_t count) {
  MPI_Scan(input, output, to_int(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

void Backend::exscan_sum(const float* input, float* output, std::size_t count) {
  MPI_Exscan(input, output, to_int(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

void Backend::combine(std::span<double> values, Combine how) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), to_int(values.size()), MPI_DOUBLE,
                how == Combine::kSum ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);
}

void Backend::send(const void* buffer, std::size_t bytes, int peer) {
  MPI_Send(buffer, to_int(bytes), MPI_BYTE, peer, kTag, MPI_COMM_WORLD);
}

void Backend::recv(void* buffer, std::size_t bytes, int peer) {
  MPI_Recv(buffer, to_int(bytes), MPI_BYTE, peer, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void Backend::send_window(std::span<void* const> buffers, std::size_t bytes, int peer) {
  state_->requests.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    MPI_Isend(buffers[i], to_int(bytes), MPI_BYTE, peer, kTag, MPI_COMM_WORLD,
              &state_->requests[i]);
  }
  MPI_Waitall(to_int(buffers.size()), state_->requests.data(), MPI_STATUSES_IGNORE);
}

void Backend::recv_window(std::span<void* const> buffers, std::size_t bytes, int peer) {
  state_->requests.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    MPI_Irecv(buffers[i], to_int(bytes), MPI_BYTE, peer, kTag, MPI_COMM_WORLD,
              &state_->requests[i]);
  }
  MPI_Waitall(to_int(buffers.size()), state_->requests.data(), MPI_STATUSES_IGNORE);
}

void* Backend::native_job() const {
  return nullptr;
}
bool OneSided::is_there() {
  return false;
}
std::unique_ptr<OneSided> OneSided::open(Backend& /*backend*/, std::size_t /*bytes*/) {
  return nullptr;
}

void Backend::choose(const Choice& /*choice*/) {}
std::string Backend::take_refusal() {
  return {};
}
void* Backend::allocate(std::size_t /*bytes*/) {
  return nullptr;
}
void Backend::release(void* /*memory*/) {}

}  // namespace espalier::bench
