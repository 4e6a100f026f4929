// An operation that can be started, waited for, or called in its blocking form, with its buffers
// and what must be in them. Every rank of the job takes part.
//
// Threads: one. path: data
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "threads/job.hpp"

namespace espalier::bench {

class Started {
 public:
  // `name`: barrier, allreduce, alltoall (`bytes` for each member), bcast, or send (to the next
  // rank, from the one before).
  Started(const Job& job, const std::string& name, std::size_t bytes);

  // Before each: forgets the last result; of a send, starts the receive.
  void prepare();
  void start();
  void wait();
  void block();
  // After wait() or block(): the first and the last byte are what they must be.
  bool is_correct() const;

 private:
  enum class Kind { kBarrier, kAllreduce, kAlltoall, kBcast, kSend };
  static Kind kind_of(const std::string& name);
  // The byte that all of `rank`'s block for `reader` consists of, and all of a whole input.
  static std::uint8_t value(int rank, int reader) {
    return static_cast<std::uint8_t>(16 * rank + reader + 1);
  }
  bool holds(std::size_t at, std::uint8_t wanted) const {
    return output_[at] == wanted && output_[at + bytes_ - 1] == wanted;
  }

  const Job& job_;
  const Kind kind_;
  const std::size_t bytes_;
  std::vector<std::uint8_t> input_, output_;
  esp_request* requests_[2] = {};
};

}  // namespace espalier::bench
