#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>
#include <string_view>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

// 1 MiB, the most that a pipe holds (of an ordinary user): all that a rank leaves when it ends.
constexpr int kReadsOfAll = (1 << 20) / kLineBytesMax;

void set_lock(int fd, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  while (fcntl(fd, F_SETLKW, &range) != 0 && errno == EINTR) {
  }
}

// A description of our own that does not block: a terminal that has been stopped may say that it is
// ready for the sake of a byte. The user's description stays as it is.
espalier::Descriptor open_terminal(int fd) {
  if (isatty(fd) == 0) return {};
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  return espalier::Descriptor(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

SharedLock::SharedLock() : file_(memfd_create("esp-run-output", MFD_CLOEXEC)) {
  if (!file_.is_open()) fail_with_errno("memfd_create");
}

// Record locks belong to a process, not to the descriptor that forks share.
void SharedLock::lock() {
  set_lock(file_.fd(), F_WRLCK);
}
void SharedLock::unlock() {
  set_lock(file_.fd(), F_UNLCK);
}

TaggedOutput::TaggedOutput(SharedLock& lock, const FrameStream& root)
    : lock_(lock),
      root_(root),
      terminals_{open_terminal(STDOUT_FILENO), open_terminal(STDERR_FILENO)} {}

TaggedOutput::Pipes TaggedOutput::open(int rank) {
  return {open_stream(rank, STDOUT_FILENO), open_stream(rank, STDERR_FILENO)};
}

espalier::Descriptor TaggedOutput::open_stream(int rank, int target) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_with_errno("pipe");
  espalier::Descriptor read_end(ends[0]);
  espalier::Descriptor write_end(ends[1]);
  // Our end only: a rank does not expect its stdout to be non-blocking.
  fcntl(read_end.fd(), F_SETFL, O_NONBLOCK);
  streams_.push_back({rank, target, std::move(read_end), {}});
  return write_end;
}

void TaggedOutput::add_to(PollSet& polls) {
  std::erase_if(streams_, [](const Stream& stream) { return !stream.pipe.is_open(); });
  for (Stream& stream : streams_) {
    polls.add(stream.pipe.fd(), POLLIN, [this, &stream] { pump(stream, 1); });
  }
}

void TaggedOutput::finish(int rank) {
  for (Stream& stream : streams_) {
    if (stream.rank != rank) continue;
    pump(stream, kReadsOfAll);
    end_line_and_close(stream);
  }
}

void TaggedOutput::pump(Stream& stream, int reads_max) {
  std::array<char, kLineBytesMax> buffer;
  for (int reads = 0; reads < reads_max && stream.pipe.is_open(); ++reads) {
    const ssize_t count = ::read(stream.pipe.fd(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return end_line_and_close(stream);
    write_lines(stream, take_lines(stream, {buffer.data(), static_cast<std::size_t>(count)}));
  }
}

// The lines that are complete with `text`, marked.
std::string TaggedOutput::take_lines(Stream& stream, std::string_view text) {
  std::string lines;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    lines += fmt::format("[{}] {}{}\n", stream.rank, stream.unfinished, text.substr(0, end));
    stream.unfinished.clear();
    text.remove_prefix(end + 1);
  }
  stream.unfinished += text;
  if (stream.unfinished.size() >= kLineBytesMax) {
    lines += fmt::format("[{}] {}\n", stream.rank, std::exchange(stream.unfinished, {}));
  }
  return lines;
}

void TaggedOutput::end_line_and_close(Stream& stream) {
  if (!stream.unfinished.empty()) {
    write_lines(stream, fmt::format("[{}] {}\n", stream.rank, stream.unfinished));
    stream.unfinished.clear();
  }
  stream.pipe.close();
}

void TaggedOutput::write_lines(Stream& stream, const std::string& lines) {
  lock_.lock();
  const bool is_read = write_all(stream.target, lines);
  lock_.unlock();
  // Closing passes it on: the rank's next write ends it with SIGPIPE, as without --tag.
  if (!is_read) stream.pipe.close();
}

// False when nobody reads any more, or the root is gone: then the job ends, whoever has paused.
bool TaggedOutput::write_all(int target, std::string_view text) {
  const espalier::Descriptor& terminal = terminals_[target == STDOUT_FILENO ? 0 : 1];
  const int to = terminal.is_open() ? terminal.fd() : target;
  while (!text.empty() && root_.is_open()) {
    std::array<pollfd, 2> polled{{{to, POLLOUT, 0}, {root_.fd(), POLLRDHUP, 0}}};
    poll(polled.data(), polled.size(), -1);
    if (polled[1].revents != 0) return false;
    // A pipe that is ready takes this much without blocking.
    const std::size_t bytes = std::min<std::size_t>(text.size(), PIPE_BUF);
    const ssize_t written = ::write(to, text.data(), bytes);
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return text.empty();
}

}  // namespace esp_run
