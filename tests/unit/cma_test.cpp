// Copying between processes: the probe, lists longer than the kernel takes, quanta, and regions
// that refuse what was not offered. The other process is a forked child.
#include "shm/cma.hpp"

#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/prctl.h>

#include <climits>
#include <cstring>
#include <vector>

#include "child.hpp"
#include "core/prng.hpp"
#include "core/process_state.hpp"
#include "shm/region.hpp"

namespace espalier::shm {
namespace {

using test::Child;
using test::Shared;
using test::wait_for;

// What the child tells: where its private memory lies. It checks what was pushed when told to.
struct Told {
  std::atomic<int> step{0};
  std::uint64_t address = 0;
  std::uint64_t nonce_address = 0;
};
constexpr std::uint64_t kBytes = 3 << 20;
constexpr std::uint64_t kNonce = 0x1122334455667788;

std::byte pattern(std::uint64_t i) {
  return static_cast<std::byte>(i * 131 + i / 251);
}

class Owner {
 public:
  Owner()
      : child_([this] {
          std::vector<std::byte> memory(kBytes);
          for (std::uint64_t i = 0; i < kBytes; ++i) memory[i] = pattern(i);
          const std::uint64_t nonce = kNonce;
          told_->address = reinterpret_cast<std::uint64_t>(memory.data());
          told_->nonce_address = reinterpret_cast<std::uint64_t>(&nonce);
          told_->step.store(1);
          wait_for(told_->step, 2);
          for (std::uint64_t i = 0; i < kBytes; ++i) {
            if (memory[i] != static_cast<std::byte>(~static_cast<unsigned>(pattern(i)))) return 1;
          }
          return 0;
        }) {
    wait_for(told_->step, 1);
    const VisiblePid pid(child_.pid());
    region_ = {pid, process_state(pid)->start, told_->address, kBytes, RegionAccess::kReadWrite, 7};
  }
  // Does its memory hold the complement of the pattern?
  bool got_complement() {
    told_->step.store(2);
    return child_.wait() == 0;
  }
  VisiblePid pid() const { return VisiblePid(child_.pid()); }
  const Told& told() const { return *told_; }
  Region region() const { return region_; }
  Child& child() { return child_; }

 private:
  Shared<Told> told_;
  Child child_;
  Region region_;
};

// Cuts [0, kBytes) into about `parts` ranges of unequal lengths, some empty, in order.
std::vector<RegionRange> cut(Prng& prng, std::uint64_t parts) {
  std::vector<RegionRange> ranges;
  for (std::uint64_t at = 0; at < kBytes;) {
    const std::uint64_t bytes = std::min(kBytes - at, prng.below(2 * kBytes / parts + 1));
    ranges.push_back({at, bytes});
    at += bytes;
  }
  return ranges;
}

std::vector<iovec> in(std::vector<std::byte>& memory, const std::vector<RegionRange>& ranges) {
  std::vector<iovec> list;
  for (const auto& r : ranges) list.push_back({memory.data() + r.offset, r.bytes});
  return list;
}

TEST(CmaProbe, AChildMayBeReadAndTheNonceDecides) {
  Owner owner;
  const std::uint64_t address = owner.told().nonce_address;
  EXPECT_EQ(probe_pull(owner.pid(), address, kNonce).access, PullAccess::kYes);
  const ProbeResult other = probe_pull(owner.pid(), address, kNonce + 1);
  EXPECT_EQ(other.access, PullAccess::kNo);
  EXPECT_EQ(other.error_number, 0);
  EXPECT_NE(explain_denied(other.error_number).find("namespaces"), std::string::npos);
  EXPECT_EQ(probe_pull(owner.pid(), 8, kNonce).error_number, EFAULT);
  owner.child().kill();
}

TEST(CmaProbe, AProcessThatIsGoneSaysSo) {
  Child child([] { return 0; });
  const VisiblePid pid(child.pid());
  (void)child.wait();
  const ProbeResult result = probe_pull(pid, 4096, 1);
  EXPECT_EQ(result.error_number, ESRCH);
  EXPECT_NE(explain_denied(ESRCH).find("ESRCH"), std::string::npos);
}

TEST(CmaProbe, ForbiddenBySeccompIsNoAndExplained) {
  for (const int number : {EPERM, ENOSYS}) {
    Child child([number] {
      const std::uint64_t nonce = kNonce;
      const auto at = reinterpret_cast<std::uint64_t>(&nonce);
      if (probe_pull(VisiblePid::self(), at, kNonce).access != PullAccess::kYes) return 1;
      scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
      (void)seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(number)),
                             SCMP_SYS(process_vm_readv), 0);
      if (seccomp_load(filter) != 0) return 2;
      const ProbeResult result = probe_pull(VisiblePid::self(), at, kNonce);
      if (result.access != PullAccess::kNo || result.error_number != number) return 3;
      return explain_denied(number).find("seccomp") == std::string::npos ? 4 : 0;
    });
    EXPECT_EQ(child.wait(), 0) << "errno " << number;
  }
}

TEST(Region, GetWithListsLongerThanIovMaxOnBothSides) {
  Owner owner;
  auto process = Process::open(owner.pid(), owner.region().pid_start);
  ASSERT_TRUE(process.ok());
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Prng prng(seed);
    const auto far = cut(prng, 500 * seed), near = cut(prng, 3 * IOV_MAX);
    ASSERT_GT(near.size(), static_cast<std::size_t>(IOV_MAX));
    std::vector<std::byte> memory(kBytes);
    auto copy = RegionCopy::get(*process, owner.region(), 7, far, in(memory, near));
    ASSERT_TRUE(copy.ok()) << copy.error().text;
    std::uint64_t calls = 0;
    ASSERT_TRUE(copy->advance(kBytes, calls).ok());
    EXPECT_TRUE(copy->done());
    for (std::uint64_t i = 0; i < kBytes; ++i) ASSERT_EQ(memory[i], pattern(i)) << i;
  }
  owner.child().kill();
}

TEST(Region, PutWithListsLongerThanIovMaxOnBothSidesInQuanta) {
  Owner owner;
  auto process = Process::open(owner.pid(), owner.region().pid_start);
  ASSERT_TRUE(process.ok());
  Prng prng(3);
  const auto far = cut(prng, 2 * IOV_MAX), near = cut(prng, 5 * IOV_MAX);
  ASSERT_GT(far.size(), static_cast<std::size_t>(IOV_MAX));
  std::vector<std::byte> memory(kBytes);
  for (std::uint64_t i = 0; i < kBytes; ++i) {
    memory[i] = static_cast<std::byte>(~static_cast<unsigned>(pattern(i)));
  }
  auto copy = RegionCopy::put(*process, owner.region(), 7, far, in(memory, near));
  ASSERT_TRUE(copy.ok()) << copy.error().text;
  std::uint64_t calls = 0;
  constexpr std::uint64_t kQuantum = 100'000;
  for (std::uint64_t steps = 1; !copy->done(); ++steps) {
    ASSERT_TRUE(copy->advance(kQuantum, calls).ok());
    ASSERT_EQ(copy->copied(), std::min(kBytes, steps * kQuantum));
  }
  EXPECT_TRUE(owner.got_complement());
}

TEST(Region, WhatWasNotOfferedIsRefused) {
  Owner owner;
  auto process = Process::open(owner.pid(), owner.region().pid_start);
  ASSERT_TRUE(process.ok());
  std::vector<std::byte> memory(64);
  const std::vector<iovec> local = {{memory.data(), memory.size()}};
  const auto get = [&](const Region& region, RegionRange range, std::uint32_t epoch) {
    auto copy = RegionCopy::get(*process, region, epoch, std::span(&range, 1), local);
    return copy ? ESP_OK : copy.error().status.code();
  };
  const auto put = [&](const Region& region, RegionRange range, std::uint32_t epoch) {
    auto copy = RegionCopy::put(*process, region, epoch, std::span(&range, 1), local);
    return copy ? ESP_OK : copy.error().status.code();
  };
  const Region whole = owner.region();
  Region readable = whole, writable = whole, another = whole, wrapping = whole;
  readable.access = RegionAccess::kRead;
  writable.access = RegionAccess::kWrite;
  another.pid_start += 1;
  wrapping.base = ~std::uint64_t{0} - 10;
  EXPECT_EQ(get(whole, {0, 64}, 7), ESP_OK);
  EXPECT_EQ(put(whole, {kBytes - 64, 64}, 7), ESP_OK);
  EXPECT_EQ(get(readable, {0, 64}, 7), ESP_OK);
  EXPECT_EQ(put(readable, {0, 64}, 7), ESP_ERR_ARGUMENT);
  EXPECT_EQ(put(writable, {0, 64}, 7), ESP_OK);
  EXPECT_EQ(get(writable, {0, 64}, 7), ESP_ERR_ARGUMENT);
  EXPECT_EQ(get(whole, {kBytes - 63, 64}, 7), ESP_ERR_ARGUMENT) << "past the end";
  EXPECT_EQ(get(whole, {~std::uint64_t{0} - 10, 64}, 7), ESP_ERR_ARGUMENT) << "overflow";
  EXPECT_EQ(get(whole, {0, 63}, 7), ESP_ERR_ARGUMENT) << "lengths differ";
  EXPECT_EQ(get(wrapping, {0, 64}, 7), ESP_ERR_ARGUMENT);
  EXPECT_EQ(get(whole, {0, 64}, 8), ESP_ERR_STATE) << "withdrawn";
  EXPECT_EQ(get(another, {0, 64}, 7), ESP_ERR_PEER_DIED) << "another process has the id";
  EXPECT_FALSE(Process::open(owner.pid(), whole.pid_start + 1).ok());
  EXPECT_TRUE(process->alive());
  owner.child().kill();
  EXPECT_FALSE(process->alive());
  EXPECT_EQ(get(whole, {0, 64}, 7), ESP_ERR_PEER_DIED) << "it is gone";
  EXPECT_FALSE(Process::open(whole.pid, whole.pid_start).ok());
}

TEST(CmaCopy, MemoryThatIsNotThereEndsTheCopyAfterWhatWas) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  auto* memory = static_cast<std::byte*>(
      ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(memory, 9, 3 * page);
  ::munmap(memory + 2 * page, page);
  std::vector<std::byte> to(3 * page);
  CmaCopy copy = CmaCopy::pull(VisiblePid::self(), reinterpret_cast<std::uint64_t>(memory),
                               to.data(), to.size());
  std::uint64_t calls = 0;
  const Status status = copy.advance(to.size(), calls);
  EXPECT_EQ(status.code(), ESP_ERR_SYSTEM);
  EXPECT_EQ(status.error_number(), EFAULT);
  EXPECT_EQ(copy.copied(), 2 * page) << "a short count was continued and then failed";
  ::munmap(memory, 2 * page);
  Owner owner;
  owner.child().kill();
  CmaCopy late = CmaCopy::pull(owner.region().pid, owner.told().address, to.data(), 8);
  EXPECT_EQ(late.advance(8, calls).code(), ESP_ERR_PEER_DIED);
}

}  // namespace
}  // namespace espalier::shm
