// OneSided over Espalier's public C API.
// path: data
#include <cstdio>
#include <cstdlib>

#include "esp-bench/backend.hpp"
#include "esp-bench/one_sided.hpp"
#include "espalier/espalier.h"

namespace espalier::bench {
namespace {

constexpr int kMessage = 1;

class EspalierOneSided final : public OneSided {
 public:
  EspalierOneSided(esp_job* job, std::size_t bytes) : job_(job) {
    check(esp_region_create(esp_job_world(job), bytes, &region_));
  }
  ~EspalierOneSided() override {
    on_message(nullptr, nullptr);
    check(esp_region_free(region_));
  }
  EspalierOneSided(const EspalierOneSided&) = delete;
  EspalierOneSided& operator=(const EspalierOneSided&) = delete;

  std::byte* memory() override { return static_cast<std::byte*>(esp_region_memory(region_)); }
  void put(const void* from, std::size_t bytes, int peer, std::size_t offset) override {
    check(esp_put(region_, peer, offset, from, bytes));
  }
  void get(void* to, std::size_t bytes, int peer, std::size_t offset) override {
    check(esp_get(region_, peer, offset, to, bytes));
  }
  std::uint64_t fetch_add(int peer, std::size_t offset, std::uint64_t value) override {
    std::uint64_t old = 0;
    check(esp_fetch_add(region_, peer, offset, value, &old));
    return old;
  }

  void start_put(const void* from, std::size_t bytes, int peer, std::size_t offset) override {
    check(esp_put_start(region_, peer, offset, from, bytes, started(), nullptr));
  }
  void start_get(void* to, std::size_t bytes, int peer, std::size_t offset) override {
    check(esp_get_start(region_, peer, offset, to, bytes, started(), nullptr));
  }
  void start_fetch_add(int peer, std::size_t offset, std::uint64_t value,
                       std::uint64_t* old) override {
    check(esp_fetch_add_start(region_, peer, offset, value, old, started(), nullptr));
  }
  void start_message(const void* payload, std::size_t bytes, int peer,
                     std::uint64_t argument) override {
    check(esp_am_send_start(job_, peer, kMessage, argument, payload, bytes, started(), nullptr));
  }
  void wait_all() override { check(esp_counter_wait(job_, &open_, 0, 0)); }

  void on_message(Handler handler, void* context) override {
    handler_ = handler;
    context_ = context;
    check(esp_am_register(job_, kMessage, handler != nullptr ? &heard : nullptr, this));
  }
  std::size_t message_bytes_max() const override { return esp_am_bytes_max(job_); }
  void message(const void* payload, std::size_t bytes, int peer, std::uint64_t argument) override {
    check(esp_am_send(job_, peer, kMessage, argument, payload, bytes));
  }
  void progress() override { esp_progress(job_); }

 private:
  static void heard(void* self, int /*source*/, std::uint64_t argument, const void* payload,
                    std::size_t bytes) {
    const auto& here = *static_cast<EspalierOneSided*>(self);
    here.handler_(here.context_, argument, payload, bytes);
  }
  const esp_notify* started() {
    __atomic_fetch_add(&open_, 1, __ATOMIC_RELAXED);
    return &notify_;
  }
  [[noreturn, gnu::cold, gnu::noinline]] void fail(esp_status status) const {
    std::fprintf(stderr, "esp-bench: %s: %s\n", esp_status_text(status), esp_job_error(job_));
    esp_abort(job_, 1, "esp-bench: a measured call failed");
    std::abort();  // esp_abort does not return.
  }
  void check(esp_status status) const {
    if (status != ESP_OK) [[unlikely]]
      fail(status);
  }

  esp_job* job_;
  esp_region* region_ = nullptr;
  std::int64_t open_ = 0;
  esp_notify notify_ = {nullptr, nullptr, &open_};
  Handler handler_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace

bool OneSided::is_there() {
  return true;
}

std::unique_ptr<OneSided> OneSided::open(Backend& backend, std::size_t bytes) {
  return std::make_unique<EspalierOneSided>(static_cast<esp_job*>(backend.native_job()), bytes);
}

}  // namespace espalier::bench
