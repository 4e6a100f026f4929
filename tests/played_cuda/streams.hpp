// Streams of the played driver. One thread does what is in them: it draws by seed which stream is
// next, and a delay before each thing. So whatever is not ordered by events comes in any order.
//
// Also found is what is wrong in the order that was drawn but harmless in it: two accesses of the
// same bytes, one of them a write, in two streams, where neither an event nor the program's own
// knowledge (a query that said "done") orders them. Each operation has a vector clock for that.
// A fault is printed and ends the process. Threads: any, under State::lock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/played_cuda/control.hpp"

namespace played {

struct Context;

// By number of stream: so many of its operations come before.
class Clock {
 public:
  void merge(const Clock& other);
  void set(std::size_t stream, std::uint64_t number);
  bool covers(std::size_t stream, std::uint64_t number) const;

 private:
  std::vector<std::uint64_t> numbers_;
};

struct Stream;

struct Event {
  Context* context = nullptr;
  std::uint64_t recorded = 0, done = 0;  // how often
  bool destroyed = false;
  Clock recorded_clock;
};

struct Operation {
  const char* call = "";
  // Without the lock. May ask Streams::use().
  std::function<void(const Operation&)> work;
  std::vector<std::pair<std::uintptr_t, std::uint64_t>> host;   // that it may touch
  std::vector<std::pair<const Stream*, std::uint64_t>> behind;  // and so many of its operations
  Event* waits_for = nullptr;
  std::uint64_t generation = 0;             // of waits_for
  const std::uint32_t* waits_on = nullptr;  // a flag of at least `value`, cyclic
  std::uint32_t value = 0;
  Event* records = nullptr;
  bool raises_flag = false;  // that the program may see, and then knows what is done
  std::size_t stream = 0;
  std::uint64_t number = 0;
  Clock clock;
};

struct Stream {
  // What is put into a legacy stream comes behind all that is in blocking ones of its context, and
  // what is put there later behind it.
  enum Kind { kLegacy, kBlocking, kNonBlocking };
  Kind kind = kNonBlocking;
  Context* context = nullptr;
  std::size_t index = 0;
  bool destroyed = false;
  bool busy = false;  // the first is being done
  std::uint64_t submitted = 0;
  Clock clock;
  std::deque<Operation> queue;

  bool has_done(std::uint64_t number) const { return submitted - queue.size() >= number; }
};

class Streams {
 public:
  Streams() = default;
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  Stream& make_stream(Context& context, Stream::Kind kind);
  Event& make_event(Context& context);
  // What a program has as a handle; faults: a stranger, one that is destroyed.
  Stream& stream(const char* call, void* handle);
  Event& event(const char* call, void* handle);
  // Whether it is a stream that lives; an event that ever was.
  bool has_stream(const void* handle) const;
  bool has_event(const void* handle) const;

  void submit(Stream& stream, Operation operation);
  // Until it is empty or the device is lost. `lock` is held before and after.
  void finish(std::unique_lock<std::mutex>& lock, Stream& stream);
  void finish(std::unique_lock<std::mutex>& lock, const Context* context);  // nullptr: all
  // The program knows now that this has happened.
  void learned(const Clock& clock);
  void hold(bool hold);
  // Whether an operation under way may touch it.
  bool uses(const void* at, std::uint64_t bytes) const;
  // From work(), without the lock: the bytes of an operand, which may be a device's address.
  std::byte* use(const Operation& operation, cuda::Address at, std::uint64_t bytes, bool write);

 private:
  void put_behind(Stream& stream, Operation& operation) const;
  struct Access {
    std::uintptr_t begin, end;
    bool write;
    std::size_t stream;
    std::uint64_t number;
    const char* call;
  };
  void run();
  Stream* draw();
  static bool ready(const Stream& stream);
  // Whether some stream waits for what the host writes: nobody tells of that.
  bool waits_on_flags() const;
  // What is behind an operation that has waited comes after more than was known when it was put
  // there.
  static void catch_up(Stream& stream, const Clock& clock);
  bool is_past(const Access& access) const;
  void check(const Operation& operation, std::uintptr_t begin, std::uintptr_t end, bool write);

  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<Access> accesses_;  // that are not past
  Clock program_;                 // what it knows
  std::condition_variable more_;
  std::condition_variable finished_;
  std::thread thread_;
  bool ending_ = false;
  bool held_ = false;
};

}  // namespace played
