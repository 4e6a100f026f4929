#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "exit_codes.hpp"

namespace esp_run {
namespace {

void set_lock(int fd, short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  while (fcntl(fd, F_SETLKW, &range) != 0 && errno == EINTR) {
  }
}

// False when nobody reads any more.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // Somebody made our terminal non-blocking.
      pollfd writable{fd, POLLOUT, 0};
      poll(&writable, 1, -1);
      continue;
    }
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

SharedLock::SharedLock() : file_(memfd_create("esp-run-output", MFD_CLOEXEC)) {
  if (!file_.is_open()) fail_with_errno("memfd_create");
}

// Record locks belong to a process, not to the descriptor that forks share.
void SharedLock::lock() {
  set_lock(file_.get(), F_WRLCK);
}
void SharedLock::unlock() {
  set_lock(file_.get(), F_UNLCK);
}

TaggedOutput::Pipes TaggedOutput::open(int rank) {
  return {open_channel(rank, STDOUT_FILENO), open_channel(rank, STDERR_FILENO)};
}

UniqueFd TaggedOutput::open_channel(int rank, int target) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_with_errno("pipe");
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  // Our end only: a rank does not expect its stdout to be non-blocking.
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  channels_.push_back({rank, target, std::move(read_end), {}});
  return write_end;
}

void TaggedOutput::add_to(PollSet& polls) {
  std::erase_if(channels_, [](const Channel& channel) { return !channel.pipe.is_open(); });
  for (Channel& channel : channels_) {
    polls.add(channel.pipe.get(), POLLIN, [this, &channel] { pump(channel); });
  }
}

void TaggedOutput::finish(int rank) {
  for (Channel& channel : channels_) {
    if (channel.rank != rank) continue;
    pump(channel);
    end_line_and_close(channel);
  }
}

void TaggedOutput::pump(Channel& channel) {
  std::array<char, kLineBytesMax> buffer;
  std::string lines;
  bool at_end = false;
  while (channel.pipe.is_open()) {
    const ssize_t count = ::read(channel.pipe.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      at_end = true;
      break;
    }
    std::string_view rest(buffer.data(), static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string_view::npos;) {
      lines += fmt::format("[{}] {}{}\n", channel.rank, channel.unfinished, rest.substr(0, end));
      channel.unfinished.clear();
      rest.remove_prefix(end + 1);
    }
    channel.unfinished += rest;
    if (channel.unfinished.size() >= kLineBytesMax) {
      lines += fmt::format("[{}] {}\n", channel.rank, std::exchange(channel.unfinished, {}));
    }
    if (lines.size() >= kLineBytesMax) write_lines(channel, std::exchange(lines, {}));
  }
  if (!lines.empty()) write_lines(channel, lines);
  if (at_end) end_line_and_close(channel);
}

void TaggedOutput::end_line_and_close(Channel& channel) {
  if (!channel.unfinished.empty()) {
    write_lines(channel, fmt::format("[{}] {}\n", channel.rank, channel.unfinished));
    channel.unfinished.clear();
  }
  channel.pipe.reset();
}

void TaggedOutput::write_lines(Channel& channel, const std::string& lines) {
  lock_.lock();
  const bool is_read = write_all(channel.target, lines);
  lock_.unlock();
  // Closing passes it on: the rank's next write ends it with SIGPIPE, as without --tag.
  if (!is_read) channel.pipe.reset();
}

}  // namespace esp_run
