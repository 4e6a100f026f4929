// Submission: work for the owner of a worker, by value: a function and what it needs, of a fixed
// size, so that handing it over is one copy into the queue and asks for no memory.
//
// Threads: a value. path: data
#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace espalier {

class Submission {
 public:
  // With the function, and the sequence of a cell of the queue, an item is 128 bytes: two lines,
  // which no other item touches.
  static constexpr std::size_t kBytes = 112;

  Submission() = default;
  // `work` is copied byte by byte, and called once, without arguments.
  template <typename Work>
  explicit Submission(const Work& work) noexcept
      : run_([](std::byte* bytes) noexcept { (*std::launder(reinterpret_cast<Work*>(bytes)))(); }) {
    static_assert(sizeof(Work) <= kBytes && alignof(Work) <= 8);
    static_assert(std::is_trivially_copyable_v<Work> && std::is_trivially_destructible_v<Work>);
    ::new (static_cast<void*>(bytes_)) Work(work);
  }

  void run() noexcept { run_(bytes_); }

 private:
  void (*run_)(std::byte* bytes) noexcept = nullptr;
  alignas(8) std::byte bytes_[kBytes];
};
static_assert(sizeof(Submission) == 120 && std::is_trivially_copyable_v<Submission>);

}  // namespace espalier
