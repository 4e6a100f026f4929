// api_claims_test CLAIM: what the sources of the algorithms promise of copies and publications, by
// the counters of a job (docs/testing.md lists all claims and where each is proven).
//
// Every rank is a thread with a bootstrap and a node of its choice. Counted are the copies of the
// library's processors in memory: into shared memory (copy_in_bytes), out of it or out of a buffer
// for what came early (copy_out_bytes), from or to another rank's private memory (cma_bytes), from
// its esp_alloc memory (direct_bytes) and by plans (combine_bytes), and packets of RDMA links
// (packet_bytes). Not counted is what TCP must: the kernel's copies, and what came into the
// reader's staging buffer along with a header. A claim that is proven by what is not copied is also
// tried where it is (TRANSFER=copy), so that the counters are seen to count.
#include <algorithm>
#include <utility>

#include "tests/api/counted_job.hpp"

namespace {

using test::count;
using test::Counts;
using test::g_case;
using test::Operation;
using test::Rank;

constexpr std::size_t kBytes = std::size_t{256} << 10;
constexpr std::size_t kSegment = std::size_t{64} << 10;

unsigned char value(int rank, std::size_t i) {
  return static_cast<unsigned char>(i * 31 + static_cast<std::size_t>(rank) * 7 + i / 4096);
}

constexpr int kRoot = 1;

void fill(Rank& r) {
  for (std::size_t i = 0; i < kBytes; ++i) r.in.push_back(value(r.rank, i));
}

// All copies of a rank, by kind.
struct Copies {
  std::uint64_t in = 0, out = 0, pulled = 0;
  friend bool operator==(const Copies&, const Copies&) = default;
};

void expect_copies(Counts& c, const Copies& expected, int rank) {
  CHECK_EQ(c["copy_in_bytes"], expected.in, "rank {}", rank);
  CHECK_EQ(c["copy_out_bytes"], expected.out, "rank {}", rank);
  CHECK_EQ(c["cma_bytes"], expected.pulled, "rank {}", rank);
  for (const char* none : {"direct_bytes", "combine_bytes", "packet_bytes"}) {
    CHECK_EQ(c[none], std::uint64_t{0}, "rank {} {}", rank, none);
  }
}

// ---- operations ----

esp_status start_bcast(Rank& r, esp_request** request) {
  if (r.rank == kRoot) std::copy(r.in.begin(), r.in.end(), r.out.begin());
  return esp_bcast_start(r.world, r.out.data(), kBytes, ESP_BYTE, kRoot, &r.options, nullptr,
                         request);
}
bool got_bcast(const Rank& r) {
  for (std::size_t i = 0; i < kBytes; ++i) {
    if (r.out[i] != value(kRoot, i)) return false;
  }
  return true;
}
Operation bcast(esp_algorithm algorithm, esp_shape shape = ESP_SHAPE_AUTO) {
  return {fill, start_bcast, got_bcast, algorithm, shape, kSegment};
}

esp_status start_allgather(Rank& r, esp_request** request) {
  return esp_allgather_start(r.world, r.in.data(), r.out.data(), kBytes, ESP_BYTE, &r.options,
                             nullptr, request);
}
bool got_allgather(const Rank& r) {
  for (int owner = 0; owner < r.size; ++owner) {
    const unsigned char* block = r.out.data() + kBytes * static_cast<std::size_t>(owner);
    for (std::size_t i = 0; i < kBytes; ++i) {
      if (block[i] != value(owner, i)) return false;
    }
  }
  return true;
}

// ---- claims ----

// Linear broadcast inside a node (Ma's thesis, chapter 3): the root tells where its buffer is, each
// reader copies for itself. Whoever comes first.
void root_copies_nothing() {
  for (const bool published : {false, true}) {
    const Operation operation =
        published ? bcast(ESP_ALGORITHM_PUBLISH) : bcast(ESP_ALGORITHM_TREE, ESP_SHAPE_FLAT);
    for (const int ranks : {2, 3, 5}) {
      for (const int last : {kRoot, 0}) {
        std::vector<Counts> counted = count({.ranks = ranks}, operation, last);
        for (int r = 0; r < ranks; ++r) {
          const Copies expected = r == kRoot ? Copies{} : Copies{.pulled = kBytes};
          expect_copies(counted[static_cast<std::size_t>(r)], expected, r);
        }
      }
      std::vector<Counts> copied = count({.ranks = ranks, .transfer = "copy"}, operation, kRoot);
      const std::uint64_t times = published ? 1 : static_cast<std::uint64_t>(ranks) - 1;
      for (int r = 0; r < ranks; ++r) {
        const Copies expected = r == kRoot ? Copies{.in = times * kBytes} : Copies{.out = kBytes};
        expect_copies(copied[static_cast<std::size_t>(r)], expected, r);
      }
    }
  }
}

// However many read it: an owner publishes each of its segments once, and copies it in once.
void one_publication_per_owner() {
  for (const int ranks : {2, 3, 5}) {
    for (const std::size_t segment : {kBytes, kSegment}) {
      const std::uint64_t segments = kBytes / segment;
      Operation gather{fill, start_allgather, got_allgather, ESP_ALGORITHM_PUBLISH};
      gather.segment_bytes = segment;
      for (Counts& c : count({.ranks = ranks, .transfer = "copy"}, gather, 0)) {
        CHECK_EQ(c["publishes"], segments, "{} ranks", ranks);
        CHECK_EQ(c["copy_in_bytes"], kBytes, "{} ranks", ranks);
      }
      Operation broadcast = bcast(ESP_ALGORITHM_PUBLISH);
      broadcast.segment_bytes = segment;
      std::vector<Counts> counted = count({.ranks = ranks, .transfer = "copy"}, broadcast, 0);
      for (int r = 0; r < ranks; ++r) {
        Counts& c = counted[static_cast<std::size_t>(r)];
        CHECK_EQ(c["publishes"], r == kRoot ? segments : 0, "rank {} of {}", r, ranks);
        CHECK_EQ(c["copy_in_bytes"], r == kRoot ? kBytes : 0, "rank {} of {}", r, ranks);
      }
      // A tree has none: it sends to each.
      Operation tree = bcast(ESP_ALGORITHM_TREE, ESP_SHAPE_FLAT);
      tree.segment_bytes = segment;
      for (Counts& c : count({.ranks = ranks, .transfer = "copy"}, tree, 0)) {
        CHECK_EQ(c["publishes"], std::uint64_t{0}, "{} ranks", ranks);
      }
    }
  }
}

// Broadcast over nodes (HierKNEM: Ma's thesis, chapter 5): what a leader gets from the network
// comes into its user's buffer, and its node reads it there. Nobody copies but those readers.
void leaders_copy_nothing() {
  constexpr int kRanks = 9, kNodes = 3;
  for (const char* shapes : {"node:flat", "node:binomial", "node:chain"}) {
    for (const bool pulled : {true, false}) {
      const test::Layout layout{kRanks, kNodes, pulled ? "pull" : "copy", shapes};
      std::vector<Counts> counted = count(layout, bcast(ESP_ALGORITHM_AUTO), kRoot);
      for (int node = 0; node < kNodes; ++node) {
        int leaders = 0;
        for (int r = node; r < kRanks; r += kNodes) {
          Counts& c = counted[static_cast<std::size_t>(r)];
          const bool leads = c["publishes"] > 0;
          leaders += leads ? 1 : 0;
          Copies expected = pulled ? Copies{.pulled = kBytes} : Copies{.out = kBytes};
          if (leads) expected = pulled ? Copies{} : Copies{.in = kBytes};
          expect_copies(c, expected, r);
          CHECK_EQ(c["bytes_received"], r == kRoot ? 0 : kBytes, "rank {}", r);
        }
        CHECK_EQ(leaders, 1, "node {}", node);
      }
    }
  }
}

// Is a rank of this process allowed to read in another's memory?
std::string denial() {
  test::Meeting meeting(2);
  std::string text;
  const auto run = [&](int rank) {
    const test::Opened opened = test::open(meeting, test::Layout{}, rank);
    if (rank == 0) text = opened.text;
    if (opened.job != nullptr) (void)esp_job_finalize(opened.job);
  };
  std::jthread other(run, 1);
  run(0);
  return text;
}

constexpr std::pair<const char*, void (*)()> kClaims[] = {
    {"root_copies_nothing", root_copies_nothing},
    {"one_publication_per_owner", one_publication_per_owner},
    {"leaders_copy_nothing", leaders_copy_nothing},
};

}  // namespace

int main(int argc, char** argv) {
  if (const std::string text = denial(); !text.empty()) {
    fmt::print("SKIP: {}\n", text);
    return text.find("CMA") != std::string::npos ? 77 : 1;
  }
  for (int i = 1; i < argc; ++i) {
    g_case = argv[i];
    const auto* claim = std::find_if(std::begin(kClaims), std::end(kClaims),
                                     [&](const auto& one) { return one.first == g_case; });
    CHECK(claim != std::end(kClaims), "no claim {}", g_case);
    if (claim != std::end(kClaims)) claim->second();
  }
  fmt::print("{} checks, {} failures\n", test::g_checks.load(), test::g_failures.load());
  return test::g_failures.load() == 0 && test::g_checks.load() > 100 ? 0 : 1;
}
