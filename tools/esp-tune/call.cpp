#include "tools/esp-tune/call.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace esp_tune {
namespace {

using espalier::Collective;

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kRingBytes = 4 << 20;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// `plain`, or `start` with options.
struct Caller {
  esp_team* team;
  const esp_coll_options* options;

  template <typename... Args>
  using Start = esp_status (*)(esp_team*, Args..., const esp_coll_options*, const esp_notify*,
                               esp_request**);
  template <typename... Args>
  esp_status operator()(esp_status (*plain)(esp_team*, Args...),
                        std::type_identity_t<Start<Args...>> start,
                        std::type_identity_t<Args>... args) const {
    if (options == nullptr) return plain(team, args...);
    esp_request* request = nullptr;
    const esp_status started = start(team, args..., options, nullptr, &request);
    return started == ESP_OK ? esp_request_wait(&request) : started;
  }
};

}  // namespace

void Call::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

// No page is new when it is timed.
Call::Memory Call::make(std::size_t bytes) {
  const std::size_t whole = round_up(std::max<std::size_t>(bytes, 1), kPage);
  auto* got = static_cast<std::byte*>(std::aligned_alloc(kPage, whole));
  if (got == nullptr) throw std::bad_alloc();
  std::memset(got, 0, whole);
  return Memory(got);
}

std::size_t Call::buffer_bytes(Collective collective, int ranks, std::size_t bytes) {
  const espalier::CollectiveTraits& traits = traits_of(collective);
  const bool blocks =
      traits.input == espalier::Extent::kPerMember || traits.output == espalier::Extent::kPerMember;
  return blocks ? bytes * static_cast<std::size_t>(ranks) : bytes;
}

Call::Call(esp_team* team, Collective collective, std::size_t bytes)
    : team_(team),
      collective_(collective),
      bytes_(bytes),
      stride_(round_up(buffer_bytes(collective, esp_team_size(team), bytes), kLine)),
      slots_(std::clamp<std::size_t>(kRingBytes / std::max(stride_, kLine), 1, kSlotsMax)),
      input_(make(slots_ * stride_)),
      output_(make(slots_ * stride_)) {}

void Call::rewrite(std::size_t calls, unsigned round) {
  const bool writes = !traits_of(collective_).root_sends || esp_team_rank(team_) == 0;
  for (std::size_t slot = 0; writes && slot < calls; ++slot) {
    auto* values = reinterpret_cast<float*>(input_.get() + slot * stride_);
    std::fill_n(values, stride_ / sizeof(float), static_cast<float>((round + slot) % 16));
  }
}

esp_status Call::run(std::size_t slot, const esp_coll_options* options) {
  void* input = input_.get() + slot * stride_;
  void* output = output_.get() + slot * stride_;
  const std::size_t floats = bytes_ / sizeof(float);
  const Caller call{team_, options};
  switch (collective_) {
    case Collective::kBarrier:
      return call(esp_barrier, esp_barrier_start);
    case Collective::kBcast:
      return call(esp_bcast, esp_bcast_start, input, bytes_, ESP_BYTE, 0);
    case Collective::kReduce:
      return call(esp_reduce, esp_reduce_start, input, output, floats, ESP_FLOAT, ESP_SUM, 0);
    case Collective::kAllreduce:
      return call(esp_allreduce, esp_allreduce_start, input, output, floats, ESP_FLOAT, ESP_SUM);
    case Collective::kAllgather:
      return call(esp_allgather, esp_allgather_start, input, output, bytes_, ESP_BYTE);
    case Collective::kAlltoall:
      return call(esp_alltoall, esp_alltoall_start, input, output, bytes_, ESP_BYTE);
    case Collective::kScan:
      return call(esp_scan, esp_scan_start, input, output, floats, ESP_FLOAT, ESP_SUM);
    case Collective::kExscan:
      return call(esp_exscan, esp_exscan_start, input, output, floats, ESP_FLOAT, ESP_SUM);
    case Collective::kGather:
      return call(esp_gather, esp_gather_start, input, output, bytes_, ESP_BYTE, 0);
    case Collective::kScatter:
      return call(esp_scatter, esp_scatter_start, input, output, bytes_, ESP_BYTE, 0);
    case Collective::kReduceScatterBlock:
      return call(esp_reduce_scatter_block, esp_reduce_scatter_block_start, input, output, floats,
                  ESP_FLOAT, ESP_SUM);
    default:
      return ESP_ERR_UNSUPPORTED;
  }
}

}  // namespace esp_tune
