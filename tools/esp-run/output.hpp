// --tag: the output of the ranks of one node, each line marked with its rank.
//
// Ranks write into pipes; the daemon passes whole lines on to its own stdout and stderr, which it
// shares with the daemons of the other nodes, so it holds a lock while it writes. A line longer
// than kLineBytesMax is broken.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <string>
#include <string_view>

#include "core/descriptor.hpp"
#include "frame.hpp"
#include "poll_set.hpp"

namespace esp_run {

inline constexpr std::size_t kLineBytesMax = 1U << 16;

// A lock among processes that share it through fork. Released by the kernel when its holder dies.
class SharedLock {
 public:
  SharedLock();
  void lock();
  void unlock();

 private:
  espalier::Descriptor file_;
};

class TaggedOutput {
 public:
  struct Pipes {  // Write ends, for the rank.
    espalier::Descriptor out;
    espalier::Descriptor err;
  };

  TaggedOutput(SharedLock& lock, const FrameStream& root);

  Pipes open(int rank);
  void add_to(PollSet& polls);
  // The rank has ended: passes on what is left, an unfinished line included.
  void finish(int rank);

 private:
  struct Stream {
    int rank;
    int target;  // Of this process: 1 or 2.
    espalier::Descriptor pipe;
    std::string unfinished;
  };

  espalier::Descriptor open_stream(int rank, int target);
  void pump(Stream& stream, int reads_max);
  static std::string take_lines(Stream& stream, std::string_view text);
  void end_line_and_close(Stream& stream);
  void write_lines(Stream& stream, const std::string& lines);
  bool write_all(int target, std::string_view text);

  SharedLock& lock_;
  const FrameStream& root_;
  std::array<espalier::Descriptor, 2>
      terminals_;              // Of stdout and stderr, where they are terminals.
  std::list<Stream> streams_;  // A list: handlers of a PollSet keep references.
};

}  // namespace esp_run
