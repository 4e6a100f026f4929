// Addresses that are listed and cannot be used: in a network namespace of the test's own, where the
// other end of a cable is missing, so that the uniqueness of an IPv6 address is never shown.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "net/tcp/tcp_link.hpp"

namespace espalier::test {
namespace {

constexpr int kPassed = 0, kFailed = 1, kCannot = 77;

bool works(const char* command) {
  return std::system((std::string(command) + " 2> /dev/null").c_str()) == 0;
}

struct Said {
  static void write(void* self, LogLevel, Rank, std::string_view message) noexcept {
    static_cast<Said*>(self)->all.emplace_back(message);
  }
  Log log() { return Log(LogLevel::kWarn, 0, {&write, this}); }
  std::vector<std::string> all;
};

Result<std::unique_ptr<net::TcpLink>> open_link(Said& said, const std::string& interface) {
  static SteadyClock clock;
  static Counters counters;
  net::TcpOptions options;
  options.job_size = 2;
  options.interface = interface;
  return net::TcpLink::create(options, clock, counters, said.log());
}

bool check(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "not so: %s\n", what);
  return holds;
}

// Who is not root is root in a user namespace, lest the programs that are started have no rights.
bool enter_namespace() {
  const uid_t user = ::geteuid();
  if (user == 0) return ::unshare(CLONE_NEWNET) == 0;
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  std::FILE* map = std::fopen("/proc/self/uid_map", "w");
  if (map == nullptr) return false;
  std::fprintf(map, "0 %u 1", user);
  return std::fclose(map) == 0;
}

// In a process and a namespace of its own.
int with_a_tentative_address() {
  if (!enter_namespace()) return kCannot;
  const bool made = works("ip link add v0 type veth peer name v1") && works("ip link set v0 up") &&
                    works("ip addr add 10.9.8.7/24 dev v0") &&
                    works("ip addr add fd00:9::7/64 dev v0") &&
                    works("ip -6 addr show dev v0 tentative | grep -q fd00:9::7");
  if (!made) return kCannot;
  Said said;
  auto link = open_link(said, "");
  if (!check(link.ok(), "there is a link")) return kFailed;
  bool right = check((*link)->contact().addresses.size() == 1, "it listens on one address") &&
               check((*link)->listeners_text().find("10.9.8.7:") == 0, "that is the other one") &&
               check(said.all.size() == 1, "it warns once") &&
               check(said.all[0].find("no connections by v0: bind: ") == 0 &&
                         said.all[0].find("fd00:9::7") != std::string::npos,
                     "the warning names the address");
  // Asked for, it is an error; and so it is when it is the only one.
  right = check(!open_link(said, "fd00:9::7").ok(), "who asks for it gets an error") && right;
  right = works("ip addr del 10.9.8.7/24 dev v0") && right;
  auto none = open_link(said, "");
  right = check(!none.ok() && none.error().text.find("fd00:9::7") != std::string::npos,
                "with no other address the reason is told") &&
          right;
  return right ? kPassed : kFailed;
}

TEST(TcpListen, AnAddressThatCannotBeUsedIsLeftOut) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(with_a_tentative_address());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannot) GTEST_SKIP() << "no network namespace with IPv6 to be had";
  EXPECT_EQ(WEXITSTATUS(status), kPassed);
}

}  // namespace
}  // namespace espalier::test
