// What the played driver is: one lock, devices, contexts, streams, and rules of which a violation
// is a fault: it is printed, and the process aborts. Threads: any, under State::lock unless it says
// otherwise.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/played_cuda/control.hpp"
#include "tests/played_cuda/memory.hpp"
#include "tests/played_cuda/modules.hpp"
#include "tests/played_cuda/streams.hpp"

namespace played {

struct Settings {
  int devices = 1;
  std::uint64_t memory_bytes = 256 << 20;
  bool peers = true;
  bool pool = false;
  int version = 12040;
  std::uint64_t seed = 1;
  unsigned delay_us = 200;
};

struct Context {
  int device = 0;
  bool primary = false;
  int retained = 0;
  bool destroyed = false;
  Stream* default_stream = nullptr;
  std::map<std::thread::id, Stream*> thread_streams;
};

// Calls that are to fail, and counts of calls.
class Failures {
 public:
  void add(const std::string& calls);
  cuda::Code next(std::string_view name);
  std::uint64_t count(std::string_view name) const;
  std::uint64_t note(std::string_view name);          // this was one more
  cuda::Code lost() const noexcept { return lost_; }  // kSuccess: not

 private:
  struct Failing {
    std::string name;
    std::uint64_t at;
    cuda::Code code;
  };
  std::map<std::string, std::uint64_t, std::less<>> counts_;
  std::vector<Failing> failing_;
  cuda::Code lost_ = cuda::kSuccess;
};

struct State {
  State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // The calling thread's current context; a fault without one.
  Context& current(const char* call);
  Context* known(void* context, const char* call);  // never a stranger
  Context& make_context(int device, bool primary);

  std::mutex lock;
  Settings settings;
  bool initialised = false;
  Failures failures;
  Memory memory;
  std::vector<std::unique_ptr<Context>> contexts;
  Modules modules;
  Streams streams;  // its thread ends before the rest goes

  std::size_t draw(std::size_t below) noexcept;

 private:
  std::uint64_t prng_ = 0;
};

extern State state;

[[noreturn]] void fault(const char* call, const std::string& text);
// Whether it names a default stream of the current context.
bool is_default(const void* stream) noexcept;
// The stream of a call, which must be of the current context.
Stream& stream_of(const char* call, void* handle);
// Of the calling thread. Nothing is to be destroyed, so threads do not keep the library loaded.
class ContextStack {
 public:
  Context* top() const noexcept { return depth_ > 0 ? entries_[depth_ - 1] : nullptr; }
  void push(Context* context);
  void pop();

 private:
  std::array<Context*, 64> entries_;
  std::size_t depth_;
};
ContextStack& context_stack();

// Entering a function of the driver: the lock, its count, and whether it is to fail.
class Call {
 public:
  enum Kind { kNeedsInit, kAlways };  // kAlways: also before cuInit() and on a lost device
  explicit Call(const char* name, Kind kind = kNeedsInit);
  bool fails() const noexcept { return code_ != cuda::kSuccess; }
  cuda::Code code() const noexcept { return code_; }
  std::unique_lock<std::mutex>& lock() noexcept { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
  cuda::Code code_ = cuda::kSuccess;
};

}  // namespace played
