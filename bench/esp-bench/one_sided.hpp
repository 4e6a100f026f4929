// One-sided operations and active messages of the library under test: what operation.hpp measures
// of them and nothing else.
//
// nullptr from open(): the library has none. Errors of the library end the program, as in
// backend.hpp. Threads: all calls on the main thread. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace espalier::bench {

class Backend;

class OneSided {
 public:
  // Called where progress is driven, with what a message brings.
  using Handler = void (*)(void* context, std::uint64_t argument, const void* payload,
                           std::size_t bytes);

  // Collective; so is the end. `bytes` of memory that others reach.
  static std::unique_ptr<OneSided> open(Backend& backend, std::size_t bytes);
  static bool is_there();
  virtual ~OneSided() = default;

  virtual std::byte* memory() = 0;
  virtual void put(const void* from, std::size_t bytes, int peer, std::size_t offset) = 0;
  virtual void get(void* to, std::size_t bytes, int peer, std::size_t offset) = 0;
  virtual std::uint64_t fetch_add(int peer, std::size_t offset, std::uint64_t value) = 0;

  // Started, to be ended by wait_all().
  virtual void start_put(const void* from, std::size_t bytes, int peer, std::size_t offset) = 0;
  virtual void start_get(void* to, std::size_t bytes, int peer, std::size_t offset) = 0;
  virtual void start_fetch_add(int peer, std::size_t offset, std::uint64_t value,
                               std::uint64_t* old) = 0;
  virtual void start_message(const void* payload, std::size_t bytes, int peer,
                             std::uint64_t argument) = 0;
  virtual void wait_all() = 0;

  // Of this rank, from now on; nullptr: none.
  virtual void on_message(Handler handler, void* context) = 0;
  virtual std::size_t message_bytes_max() const = 0;
  virtual void message(const void* payload, std::size_t bytes, int peer,
                       std::uint64_t argument) = 0;
  virtual void progress() = 0;
};

}  // namespace espalier::bench
