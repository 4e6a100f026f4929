#include "coll/device/stream_order.hpp"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <utility>

namespace espalier {

Outcome StreamOrder::enter() {
  reached_ = false;
  ++value_;
  if (Outcome done = driver_->record(before_, stream_); !done) return done;
  if (Outcome done = driver_->wait_flag(stream_, flag_, value_); !done) return done;
  const Outcome told =
      event_ != nullptr ? driver_->record_foreign(event_, stream_) : Outcome(Unit{});
  const Outcome passed = driver_->record(passed_, stream_);
  return told ? passed : told;
}

Result<bool> StreamOrder::is_reached() {
  if (reached_) return true;
  const auto state = driver_->query(before_);
  if (!state) return state.error();
  return reached_ = state.value() == device::EventState::kDone;
}

Result<StreamOrder*> StreamOrders::take(void* stream, void* event) {
  const auto of = driver_.foreign_stream(stream);
  if (!of) return of.error();
  if (event != nullptr) {
    if (Outcome known = driver_.check_foreign(event, of.value()); !known) return known.error();
  }
  StreamOrder* order = nullptr;
  for (const auto& one : orders_) {
    const bool fits =
        one->free_.load(std::memory_order_acquire) && one->before_.home() == of.value().home;
    if (!fits) continue;
    const auto passed = driver_.query(one->passed_);
    if (!passed.ok() || passed.value() != device::EventState::kDone) continue;
    order = one.get();
    break;
  }
  if (order == nullptr) {
    auto made = make(of.value().home);
    if (!made) return made;
    order = made.value();
  }
  order->free_.store(false, std::memory_order_relaxed);
  order->stream_ = of.value();
  order->event_ = event;
  return order;
}

void StreamOrders::give_back(StreamOrder& order) noexcept {
  order.end();
  order.free_.store(true, std::memory_order_release);
}

Result<StreamOrder*> StreamOrders::make(const device::Home& home) {
  const std::size_t flag = orders_.size() % kFlags;
  if (orders_.size() == pages_.size() * kFlags) {
    void* const memory =
        ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return error(ESP_ERR_NO_MEMORY, "no memory for flags of streams");
    ::madvise(memory, kPageBytes, MADV_DONTFORK);
    auto registered = driver_.register_host(memory, kPageBytes, home);
    if (!registered) {
      ::munmap(memory, kPageBytes);
      return registered.error();
    }
    pages_.push_back({static_cast<std::byte*>(memory), std::move(registered.value())});
  }
  auto before = driver_.make_event(home), passed = driver_.make_event(home);
  if (!before || !passed) return (before ? passed : before).error();
  auto order = std::make_unique<StreamOrder>();
  order->driver_ = &driver_;
  order->before_ = std::move(before.value());
  order->passed_ = std::move(passed.value());
  order->flag_ = reinterpret_cast<std::uint32_t*>(pages_.back().begin + flag * kFlagBytes);
  orders_.push_back(std::move(order));
  return orders_.back().get();
}

// A device that answers nothing any more looks at nothing.
bool StreamOrders::have_passed() {
  return std::all_of(orders_.begin(), orders_.end(), [&](const auto& order) {
    const auto passed = driver_.query(order->passed_);
    return !passed.ok() || passed.value() == device::EventState::kDone;
  });
}

StreamOrders::~StreamOrders() {
  constexpr timespec kNap = {0, 50'000};
  for (const auto& order : orders_) order->end();
  const std::uint64_t give_up_ns = clock_.now_ns() + kGiveUpNs;
  bool passed = have_passed();
  while (!passed && clock_.now_ns() < give_up_ns) {
    ::nanosleep(&kNap, nullptr);
    passed = have_passed();
  }
  if (!passed) log_.warn("a stream has not come to the end of its calls: its flags stay");
  for (Page& page : pages_) {
    if (!passed) {
      page.registration.abandon();
      continue;
    }
    page.registration.reset();
    ::munmap(page.begin, kPageBytes);
  }
}

}  // namespace espalier
