#include "tests/played_cuda/streams.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "tests/played_cuda/state.hpp"

namespace played {
namespace {

constexpr std::size_t kAccessesMax = 10000;
constexpr int kPoison = 0xa5;
constexpr std::chrono::microseconds kFlagLook{50};

bool overlap(std::uintptr_t a, std::uintptr_t a_end, std::uintptr_t b, std::uintptr_t b_end) {
  return a < b_end && b < a_end;
}

}  // namespace

void Clock::merge(const Clock& other) {
  if (numbers_.size() < other.numbers_.size()) numbers_.resize(other.numbers_.size());
  for (std::size_t i = 0; i < other.numbers_.size(); ++i) {
    numbers_[i] = std::max(numbers_[i], other.numbers_[i]);
  }
}

void Clock::set(std::size_t stream, std::uint64_t number) {
  if (numbers_.size() <= stream) numbers_.resize(stream + 1);
  numbers_[stream] = number;
}

bool Clock::covers(std::size_t stream, std::uint64_t number) const {
  return stream < numbers_.size() && numbers_[stream] >= number;
}

Streams::~Streams() {
  {
    const std::lock_guard guard(state.lock);
    ending_ = true;
    more_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Stream& Streams::make_stream(Context& context, Stream::Kind kind) {
  streams_.push_back(std::make_unique<Stream>());
  streams_.back()->kind = kind;
  streams_.back()->context = &context;
  streams_.back()->index = streams_.size() - 1;
  return *streams_.back();
}

Event& Streams::make_event(Context& context) {
  events_.push_back(std::make_unique<Event>());
  events_.back()->context = &context;
  return *events_.back();
}

Stream& Streams::stream(const char* call, void* handle) {
  for (const auto& known : streams_) {
    if (known.get() != handle) continue;
    if (known->destroyed) fault(call, "the stream is destroyed");
    if (known->context->destroyed) fault(call, "the stream's context is destroyed");
    return *known;
  }
  fault(call, "there is no such stream");
}

bool Streams::has_event(const void* handle) const {
  return std::any_of(events_.begin(), events_.end(),
                     [&](const auto& one) { return one.get() == handle; });
}

bool Streams::has_stream(const void* handle) const {
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& one) {
    return one.get() == handle && !one->destroyed && !one->context->destroyed;
  });
}

Event& Streams::event(const char* call, void* handle) {
  for (const auto& known : events_) {
    if (known.get() != handle) continue;
    if (known->destroyed) fault(call, "the event is destroyed");
    return *known;
  }
  fault(call, "there is no such event");
}

void Streams::put_behind(Stream& stream, Operation& operation) const {
  if (stream.kind == Stream::kNonBlocking) return;
  const auto other = stream.kind == Stream::kLegacy ? Stream::kBlocking : Stream::kLegacy;
  for (const auto& one : streams_) {
    if (one->kind != other || one->context != stream.context) continue;
    if (!one->queue.empty()) operation.behind.emplace_back(one.get(), one->submitted);
    stream.clock.merge(one->clock);
  }
}

void Streams::submit(Stream& stream, Operation operation) {
  put_behind(stream, operation);
  operation.stream = stream.index;
  operation.number = ++stream.submitted;
  stream.clock.merge(program_);
  stream.clock.set(stream.index, operation.number);
  operation.clock = stream.clock;
  if (operation.records != nullptr) operation.records->recorded_clock = operation.clock;
  stream.queue.push_back(std::move(operation));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  more_.notify_all();
}

void Streams::finish(std::unique_lock<std::mutex>& lock, Stream& stream) {
  finished_.wait(lock,
                 [&] { return stream.queue.empty() || state.failures.lost() != cuda::kSuccess; });
  learned(stream.clock);
}

void Streams::finish(std::unique_lock<std::mutex>& lock, const Context* context) {
  for (std::size_t i = 0; i < streams_.size(); ++i) {  // Others may make more meanwhile.
    if (context == nullptr || streams_[i]->context == context) finish(lock, *streams_[i]);
  }
}

void Streams::learned(const Clock& clock) {
  program_.merge(clock);
}

void Streams::hold(bool hold) {
  held_ = hold;
  more_.notify_all();
}

bool Streams::uses(const void* at, std::uint64_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  for (const auto& stream : streams_) {
    for (const Operation& operation : stream->queue) {
      for (const auto& [from, count] : operation.host) {
        if (overlap(begin, begin + bytes, from, from + count)) return true;
      }
    }
  }
  return false;
}

// What is done -----------------------------------------------------------------------------------

bool Streams::ready(const Stream& stream) {
  if (stream.queue.empty()) return false;
  const Operation& first = stream.queue.front();
  for (const auto& [other, number] : first.behind) {
    if (!other->has_done(number)) return false;
  }
  if (first.waits_on != nullptr) {
    const std::uint32_t flag = __atomic_load_n(first.waits_on, __ATOMIC_ACQUIRE);
    return static_cast<std::int32_t>(flag - first.value) >= 0;
  }
  return first.waits_for == nullptr || first.waits_for->done >= first.generation;
}

bool Streams::waits_on_flags() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& stream) {
    return !stream->queue.empty() && stream->queue.front().waits_on != nullptr;
  });
}

void Streams::catch_up(Stream& stream, const Clock& clock) {
  stream.clock.merge(clock);
  for (Operation& later : stream.queue) {
    later.clock.merge(clock);
    Event* const event = later.records;
    if (event != nullptr && event->recorded == later.generation) event->recorded_clock.merge(clock);
  }
}

Stream* Streams::draw() {
  if (held_ || state.failures.lost() != cuda::kSuccess) return nullptr;
  std::vector<Stream*> able;
  for (const auto& stream : streams_) {
    if (ready(*stream)) able.push_back(stream.get());
  }
  return able.empty() ? nullptr : able[state.draw(able.size())];
}

void Streams::run() {
  std::unique_lock lock(state.lock);
  while (!ending_) {
    if (draw() == nullptr) {
      if (waits_on_flags()) {
        more_.wait_for(lock, kFlagLook);
      } else {
        more_.wait(lock);
      }
      continue;
    }
    if (state.settings.delay_us > 0) {
      const auto delay = static_cast<useconds_t>(state.draw(state.settings.delay_us + 1));
      lock.unlock();
      ::usleep(delay);
      lock.lock();
    }
    Stream* const stream = draw();
    if (stream == nullptr || ending_) continue;
    stream->busy = true;
    const Operation& operation = stream->queue.front();
    for (const auto& [other, number] : operation.behind) catch_up(*stream, other->clock);
    lock.unlock();
    if (operation.work) operation.work(operation);
    lock.lock();
    stream->busy = false;
    if (operation.records != nullptr) operation.records->done = operation.generation;
    if (operation.raises_flag) learned(operation.clock);
    // Who wrote the flag knew no more than the program does now.
    if (operation.waits_on != nullptr) catch_up(*stream, program_);
    if (operation.waits_for != nullptr && operation.waits_for->recorded == operation.generation) {
      catch_up(*stream, operation.waits_for->recorded_clock);
    }
    stream->queue.pop_front();
    finished_.notify_all();
  }
}

std::byte* Streams::use(const Operation& operation, cuda::Address at, std::uint64_t bytes,
                        bool write) {
  const std::lock_guard guard(state.lock);
  std::byte* const touchable = state.memory.use(operation.call, at, bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(touchable);
  check(operation, begin, begin + bytes, write);
  return touchable;
}

// The program knows of it, and did when it submitted what is still to be done. Clocks in a stream
// only grow, so the first stands for all.
bool Streams::is_past(const Access& access) const {
  const auto before = [&](const std::unique_ptr<Stream>& stream) {
    return stream->queue.empty() ||
           stream->queue.front().clock.covers(access.stream, access.number);
  };
  return program_.covers(access.stream, access.number) &&
         std::all_of(streams_.begin(), streams_.end(), before);
}

void Streams::check(const Operation& operation, std::uintptr_t begin, std::uintptr_t end,
                    bool write) {
  std::erase_if(accesses_, [&](const Access& access) { return is_past(access); });
  for (const Access& access : accesses_) {
    if (!overlap(begin, end, access.begin, access.end) || (!write && !access.write)) continue;
    if (operation.clock.covers(access.stream, access.number)) continue;
    fault(operation.call,
          fmt::format("it {} in stream {} what {} {} in stream {}, and no event orders them",
                      write ? "writes" : "reads", operation.stream, access.call,
                      access.write ? "writes" : "reads", access.stream));
  }
  if (accesses_.size() >= kAccessesMax) accesses_.erase(accesses_.begin());
  accesses_.push_back({begin, end, write, operation.stream, operation.number, operation.call});
}

}  // namespace played
