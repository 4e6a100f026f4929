#include "tools/esp-tune/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/descriptor.hpp"

namespace esp_tune {
namespace {

using espalier::error;
using espalier::Outcome;
using espalier::Unit;

// The file that is under way, for who is interrupted; empty: none. Another thread than the one that
// writes may get the signal, so to block it would not help.
char unfinished[PATH_MAX] = "";

// Async-signal-safe.
void take_away(int signal) {
  if (unfinished[0] != '\0') unlink(unfinished);
  raise(signal);  // the default action, when this has returned
}

espalier::Error failure(const std::string& path) {
  const int number = errno;
  return error(ESP_ERR_SYSTEM,
               fmt::format("cannot write {}: {}", path, std::generic_category().message(number)),
               -1, number);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(fd) == 0;
}

// Of the file that is replaced.
mode_t mode_of(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? found.st_mode & 0777 : 0644;
}

}  // namespace

Outcome write_whole_file(const std::string& path, std::string_view text) {
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) {
    return error(ESP_ERR_SYSTEM,
                 fmt::format("cannot make {}: {}", folder.string(), failed.message()));
  }
  const std::string name = fmt::format("{}.new-{}", path, getpid());
  if (name.size() >= sizeof unfinished) {
    errno = ENAMETOOLONG;
    return failure(path);
  }
  name.copy(unfinished, name.size());
  const espalier::Descriptor file(
      ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode_of(path)));
  const bool done =
      file.fd() >= 0 && write_all(file.fd(), text) && rename(name.c_str(), path.c_str()) == 0;
  Outcome outcome = done ? Outcome(Unit{}) : Outcome(failure(path));
  if (!done) unlink(name.c_str());
  std::fill_n(unfinished, name.size(), '\0');
  return outcome;
}

void clean_up_when_interrupted() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = take_away;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace esp_tune
