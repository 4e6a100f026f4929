#include "threads/started.hpp"

#include <algorithm>

namespace espalier::bench {

Started::Kind Started::kind_of(const std::string& name) {
  if (name == "allreduce") return Kind::kAllreduce;
  if (name == "alltoall") return Kind::kAlltoall;
  if (name == "bcast") return Kind::kBcast;
  return name == "send" ? Kind::kSend : Kind::kBarrier;
}

Started::Started(const Job& job, const std::string& name, std::size_t bytes)
    : job_(job), kind_(kind_of(name)), bytes_(bytes) {
  const int rank = job.rank(), size = job.size();
  const auto blocks = kind_ == Kind::kAlltoall ? static_cast<std::size_t>(size) : 1;
  if (kind_ == Kind::kBarrier) return;
  input_.assign(bytes * blocks, value(rank, 0));
  output_.assign(bytes * blocks, 0);
  for (std::size_t block = 1; block < blocks; ++block) {
    std::fill_n(input_.begin() + static_cast<std::ptrdiff_t>(block * bytes), bytes,
                value(rank, static_cast<int>(block)));
  }
}

void Started::prepare() {
  const int size = job_.size();
  const bool is_source = kind_ == Kind::kBcast && job_.rank() == 0;
  for (std::size_t at = 0; at < output_.size(); at += bytes_) {
    output_[at] = output_[at + bytes_ - 1] = 0;
  }
  if (is_source) output_.front() = output_.back() = value(0, 0);
  if (kind_ != Kind::kSend) return;
  const int before = (job_.rank() + size - 1) % size;
  job_.must(
      esp_recv_start(job_.world(), output_.data(), bytes_, before, 0, nullptr, &requests_[1]));
}

void Started::start() {
  esp_team* const world = job_.world();
  esp_request** const request = &requests_[0];
  const void* const in = input_.data();
  void* const out = output_.data();
  switch (kind_) {
    case Kind::kBarrier:
      return job_.must(esp_barrier_start(world, nullptr, nullptr, request));
    case Kind::kAllreduce:
      return job_.must(esp_allreduce_start(world, in, out, bytes_, ESP_UINT8, ESP_SUM, nullptr,
                                           nullptr, request));
    case Kind::kAlltoall:
      return job_.must(
          esp_alltoall_start(world, in, out, bytes_, ESP_BYTE, nullptr, nullptr, request));
    case Kind::kBcast:
      return job_.must(esp_bcast_start(world, out, bytes_, ESP_BYTE, 0, nullptr, nullptr, request));
    case Kind::kSend:
      const int next = (job_.rank() + 1) % job_.size();
      return job_.must(esp_send_start(world, in, bytes_, next, 0, nullptr, request));
  }
}

void Started::wait() {
  job_.must(esp_request_wait_all(requests_, 2));
}

void Started::block() {
  esp_team* const world = job_.world();
  switch (kind_) {
    case Kind::kBarrier:
      return job_.must(esp_barrier(world));
    case Kind::kAllreduce:
      return job_.must(
          esp_allreduce(world, input_.data(), output_.data(), bytes_, ESP_UINT8, ESP_SUM));
    case Kind::kAlltoall:
      return job_.must(esp_alltoall(world, input_.data(), output_.data(), bytes_, ESP_BYTE));
    case Kind::kBcast:
      return job_.must(esp_bcast(world, output_.data(), bytes_, ESP_BYTE, 0));
    case Kind::kSend:
      start();
      return wait();
  }
}

bool Started::is_correct() const {
  const int rank = job_.rank(), size = job_.size();
  std::uint8_t sum = 0;
  switch (kind_) {
    case Kind::kBarrier:
      return true;
    case Kind::kAllreduce:
      for (int r = 0; r < size; ++r) sum = static_cast<std::uint8_t>(sum + value(r, 0));
      return holds(0, sum);
    case Kind::kAlltoall:
      for (int r = 0; r < size; ++r) {
        if (!holds(static_cast<std::size_t>(r) * bytes_, value(r, rank))) return false;
      }
      return true;
    case Kind::kBcast:
      return holds(0, value(0, 0));
    case Kind::kSend:
      return holds(0, value((rank + size - 1) % size, 0));
  }
  return false;
}

}  // namespace espalier::bench
