// lost_right_probe seccomp|setuid|dumpable: one rank of a job in which ranks may read each other's
// memory (CMA) until, with broadcasts under way, some may not any more:
//   seccomp   odd ranks install a filter that refuses process_vm_readv
//   setuid    rank 1 becomes another user (root only)
//   dumpable  all are an ordinary user's, and rank 1 does not let itself be read any more
// Prints "OK ..." when everything arrives all the same, "BAD ..." when not, "SKIP: ..." with code
// 77 where CMA was not allowed to begin with.
#include <grp.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

#include "tests/nodes/probe.hpp"

namespace {

constexpr std::size_t kWords = std::size_t{3} << 17;  // 3 MiB
constexpr uid_t kNobody = 65534;

std::uint64_t word(int root, std::uint64_t round, std::size_t i) {
  return round << 48 | static_cast<std::uint64_t>(root) << 32 | i;
}

// A broadcast from every rank at a time.
class Round {
 public:
  Round(const Rank& r, std::uint64_t number) : r_(r), number_(number) {
    const auto size = static_cast<std::size_t>(r.size);
    data_.resize(size);
    requests_.resize(size);
    for (int root = 0; root < r.size; ++root) {
      auto& words = data_[static_cast<std::size_t>(root)];
      words.assign(kWords, 0);
      for (std::size_t i = 0; root == r.rank && i < kWords; ++i) words[i] = word(root, number, i);
      expect(r,
             esp_bcast_start(r.world, words.data(), kWords, ESP_UINT64, root, nullptr, nullptr,
                             &requests_[static_cast<std::size_t>(root)]) == ESP_OK,
             "start");
    }
  }
  void end() {
    expect(r_, esp_request_wait_all(requests_.data(), requests_.size()) == ESP_OK, "wait");
    for (int root = 0; root < r_.size; ++root) {
      const auto& words = data_[static_cast<std::size_t>(root)];
      for (std::size_t i = 0; i < kWords; ++i) {
        expect(r_, words[i] == word(root, number_, i),
               "wrong data in round " + std::to_string(number_));
      }
    }
  }

 private:
  const Rank& r_;
  std::uint64_t number_;
  std::vector<std::vector<std::uint64_t>> data_;
  std::vector<esp_request*> requests_;
};

std::string describe(const Rank& r) {
  std::string text(esp_job_describe(r.job, nullptr, 0) + 1, ' ');
  (void)esp_job_describe(r.job, text.data(), text.size());
  return text;
}

void become_nobody(const Rank& r) {
  expect(r,
         setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
             setresuid(kNobody, kNobody, kNobody) == 0,
         "no other user");
}

void install_filter(const Rank& r) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  expect(r,
         filter != nullptr &&
             seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(process_vm_readv), 0) == 0 &&
             seccomp_load(filter) == 0,
         "no filter");
  seccomp_release(filter);
}

void lose_right(const Rank& r, const std::string& how) {
  if (how == "seccomp" && r.rank % 2 == 1) install_filter(r);
  if (how == "setuid" && r.rank == 1) become_nobody(r);
  if (how == "dumpable" && r.rank == 1) expect(r, prctl(PR_SET_DUMPABLE, 0) == 0, how);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  const Rank r = join();
  if (how == "dumpable" && geteuid() == 0) {
    become_nobody(r);
    expect(r, prctl(PR_SET_DUMPABLE, 1) == 0, "PR_SET_DUMPABLE");
    expect(r, esp_barrier(r.world) == ESP_OK, "barrier");
  }
  Round(r, 1).end();
  if (counter(r, "cma_bytes") == 0) {
    std::puts("SKIP: ranks may not read each other's memory here");
    return 77;
  }
  expect(r, describe(r).find("refused since") == std::string::npos, "refused early");
  {
    Round under_way(r, 2);
    for (int i = 0; i < 3 * r.size; ++i) (void)esp_progress(r.job);
    lose_right(r, how);
    under_way.end();
  }
  Round(r, 3).end();
  // Nobody is asked for more than once.
  const std::uint64_t calls = counter(r, "cma_calls");
  Round(r, 4).end();
  const bool reads_nobody = how == "seccomp" && r.rank % 2 == 1;
  expect(r, !reads_nobody || counter(r, "cma_calls") == calls, "tries again and again");
  if (describe(r).find("CMA          refused since") != std::string::npos) {
    std::printf("REFUSED rank %d\n", r.rank);
  }
  std::uint64_t sum = 0;
  const std::uint64_t one = 1;
  expect(r, esp_allreduce(r.world, &one, &sum, 1, ESP_UINT64, ESP_SUM) == ESP_OK, "allreduce");
  expect(r, sum == static_cast<std::uint64_t>(r.size), "sum");
  expect(r, esp_job_finalize(r.job) == ESP_OK, "finalize");
  std::printf("OK rank %d\n", r.rank);
  return 0;
}
