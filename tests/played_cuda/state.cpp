#include "tests/played_cuda/state.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace played {
namespace {

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 0) : fallback;
}

constinit thread_local ContextStack stack_of_thread = {};

void control_fail(const char* calls) {
  const std::lock_guard guard(state.lock);
  state.failures.add(calls);
}

std::uint64_t control_count(const char* name) {
  const std::lock_guard guard(state.lock);
  return state.failures.count(name);
}

void control_hold(int hold) {
  const std::lock_guard guard(state.lock);
  state.streams.hold(hold != 0);
}

}  // namespace

State state;

extern "C" __attribute__((visibility("default"))) const Control espalier_played_driver;
const Control espalier_played_driver = {
    .fail = &control_fail, .count = &control_count, .hold = &control_hold};

State::State() {
  settings.devices = static_cast<int>(number_from("PLAYED_CUDA_DEVICES", 1));
  settings.memory_bytes = number_from("PLAYED_CUDA_MEMORY", settings.memory_bytes);
  settings.peers = number_from("PLAYED_CUDA_PEERS", 1) != 0;
  settings.pool = number_from("PLAYED_CUDA_POOL", 0) != 0;
  settings.version = static_cast<int>(number_from("PLAYED_CUDA_VERSION", 12040));
  settings.delay_us = static_cast<unsigned>(number_from("PLAYED_CUDA_DELAY_US", settings.delay_us));
  settings.seed = number_from("PLAYED_CUDA_SEED", settings.seed);
  prng_ = settings.seed;
  if (const char* const calls = std::getenv("PLAYED_CUDA_FAIL")) failures.add(calls);
}

// splitmix64
std::size_t State::draw(std::size_t below) noexcept {
  std::uint64_t z = prng_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<std::size_t>((z ^ (z >> 31)) % below);
}

void fault(const char* call, const std::string& text) {
  fmt::print(stderr, "played CUDA: fault: {}: {}\n", call, text);
  std::fflush(stderr);
  std::abort();
}

bool is_default(const void* stream) noexcept {
  return reinterpret_cast<std::uintptr_t>(stream) <= kThreadStream;
}

Stream& stream_of(const char* call, void* handle) {
  Context& context = state.current(call);
  if (reinterpret_cast<std::uintptr_t>(handle) == kThreadStream) {
    Stream*& own = context.thread_streams[std::this_thread::get_id()];
    if (own == nullptr) own = &state.streams.make_stream(context, Stream::kBlocking);
    return *own;
  }
  if (is_default(handle)) return *context.default_stream;
  Stream& stream = state.streams.stream(call, handle);
  if (stream.context != &context) fault(call, "the stream is of another context");
  return stream;
}

ContextStack& context_stack() {
  return stack_of_thread;
}

void ContextStack::push(Context* context) {
  if (depth_ == entries_.size()) fault("cuCtxPushCurrent", "never popped");
  entries_[depth_++] = context;
}

void ContextStack::pop() {
  if (depth_ == 0) fault("cuCtxPopCurrent", "the thread has no current context");
  --depth_;
}

// Failures ----------------------------------------------------------------------------------------

void Failures::add(const std::string& calls) {
  constexpr int kFields = 3;
  std::istringstream list(calls);
  for (std::string one; std::getline(list, one, ',');) {
    std::array<char, 64> name = {};
    unsigned long long at = 0;
    int code = 0;
    if (std::sscanf(one.c_str(), "%63[^:]:%llu:%d", name.data(), &at, &code) != kFields) {
      fault("PLAYED_CUDA_FAIL", one + " is not function:number:code");
    }
    failing_.push_back({name.data(), count(name.data()) + at, static_cast<cuda::Code>(code)});
  }
}

// Allocates at the first time alone: tests count what the library allocates.
std::uint64_t Failures::note(std::string_view name) {
  const auto found = counts_.find(name);
  return found != counts_.end() ? ++found->second : ++counts_[std::string(name)];
}

cuda::Code Failures::next(std::string_view name) {
  const std::uint64_t number = note(name);
  for (const Failing& failing : failing_) {
    if (failing.name != name || failing.at != number) continue;
    if (cuda::is_final(failing.code)) lost_ = failing.code;
    return failing.code;
  }
  return lost_;
}

std::uint64_t Failures::count(std::string_view name) const {
  const auto found = counts_.find(name);
  return found != counts_.end() ? found->second : 0;
}

// Calls and contexts ------------------------------------------------------------------------------

Call::Call(const char* name, Kind kind) : lock_(state.lock) {
  if (kind == kAlways) {
    state.failures.note(name);
  } else if (!state.initialised) {
    state.failures.note(name);
    code_ = cuda::kNotInitialized;
  } else {
    code_ = state.failures.next(name);
  }
}

Context& State::make_context(int device, bool primary) {
  contexts.push_back(std::make_unique<Context>());
  Context& made = *contexts.back();
  made.device = device;
  made.primary = primary;
  made.default_stream = &streams.make_stream(made, Stream::kLegacy);
  return made;
}

Context* State::known(void* context, const char* call) {
  for (const auto& one : contexts) {
    if (one.get() == context) return one.get();
  }
  fault(call, "there is no such context");
}

Context& State::current(const char* call) {
  Context* const top = stack_of_thread.top();
  if (top == nullptr) fault(call, "the thread has no current context");
  if (top->destroyed) fault(call, "the current context is destroyed");
  return *top;
}

}  // namespace played
