// Delivery: every operation hands out what it receives, block by block or as it lands: once, final,
// for takers on several threads and for functions; and in order of arrival.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/api/cases.hpp"

namespace test {
namespace partial_cases {
namespace {

// What `from` sends to `to`, element by element; sums of it stay exact.
int value(int from, int to, std::size_t at) {
  return from * 1000 + to * 10 + static_cast<int>(at % 7);
}

enum class Kind {
  kBcast,
  kReduce,
  kAllreduce,
  kScan,
  kAllgather,
  kAlltoall,
  kGather,
  kScatter,
  kReduceScatter,
  kAllgatherv,
  kAlltoallv,
  kGatherv,
  kScatterv,
};
constexpr Kind kKinds[] = {
    Kind::kBcast,     Kind::kReduce,  Kind::kAllreduce, Kind::kScan,          Kind::kAllgather,
    Kind::kAlltoall,  Kind::kGather,  Kind::kScatter,   Kind::kReduceScatter, Kind::kAllgatherv,
    Kind::kAlltoallv, Kind::kGatherv, Kind::kScatterv};

constexpr int kMessageBlocks = 5;

// A call of `count` elements a block; in those whose blocks differ, block b has count + b % 3, but
// number 1 none.
class Exchange {
 public:
  Exchange(const Context& context, Kind kind, std::size_t count)
      : context_(context), kind_(kind), count_(count), root_(context.size / 2) {
    const auto members = static_cast<std::size_t>(context.size);
    for (std::size_t r = 0; r < members; ++r) counts_.push_back(r == 1 ? 0 : count + r % 3);
    own_.assign(members, length(context.rank));
    if (kind == Kind::kBcast) {
      output_ = whole(is_root() ? root_ : -1);
    } else {
      fill_input();
      output_.assign(extent(gets_many()), -1);
    }
  }

  bool irregular() const { return kind_ >= Kind::kAllgatherv; }
  bool gets_many() const {
    switch (kind_) {
      case Kind::kAllgather:
      case Kind::kAlltoall:
      case Kind::kGather:
      case Kind::kAllgatherv:
      case Kind::kAlltoallv:
      case Kind::kGatherv:
        return true;
      default:
        return false;
    }
  }
  bool receives() const {
    const bool to_root =
        kind_ == Kind::kReduce || kind_ == Kind::kGather || kind_ == Kind::kGatherv;
    return !to_root || is_root();
  }
  int blocks() const { return gets_many() ? context_.size : kMessageBlocks; }
  // Elements of a block of the output.
  std::size_t block_length(int block) const {
    if (gets_many()) return irregular() ? from_length(block) : count_;
    const std::size_t all = message_length(), parts = kMessageBlocks;
    return all / parts + (static_cast<std::size_t>(block) < all % parts ? 1 : 0);
  }
  std::size_t block_begin(int block) const {
    std::size_t at = 0;
    for (int b = 0; b < block; ++b) at += block_length(b);
    return at;
  }
  int source_of(int block) const {
    if (gets_many()) return block;
    const bool one = kind_ == Kind::kBcast || kind_ == Kind::kScatter || kind_ == Kind::kScatterv;
    return one ? root_ : -1;
  }
  // Element `at` of a block.
  int expected(int block, std::size_t at) const {
    const int me = context_.rank;
    const std::size_t i = gets_many() ? at : block_begin(block) + at;
    switch (kind_) {
      case Kind::kBcast:
        return value(root_, 0, i);
      case Kind::kReduce:
      case Kind::kAllreduce:
        return sum(context_.size, 0, i);
      case Kind::kScan:
        return sum(me + 1, 0, i);
      case Kind::kReduceScatter:
        return sum(context_.size, me, i);
      case Kind::kScatter:
      case Kind::kScatterv:
        return value(root_, me, i);
      case Kind::kAlltoall:
      case Kind::kAlltoallv:
        return value(block, me, i);
      default:
        return value(block, 0, i);
    }
  }
  const int* output() const { return output_.data(); }

  esp_status start(const esp_coll_options& o, const esp_notify* notify, esp_request** request) {
    esp_team* t = context_.world;
    const void* in = input_.data();
    int* out = output_.data();
    const std::size_t n = count_;
    const auto* counts = counts_.data();
    switch (kind_) {
      case Kind::kBcast:
        return esp_bcast_start(t, out, n, ESP_INT32, root_, &o, notify, request);
      case Kind::kReduce:
        return esp_reduce_start(t, in, out, n, ESP_INT32, ESP_SUM, root_, &o, notify, request);
      case Kind::kAllreduce:
        return esp_allreduce_start(t, in, out, n, ESP_INT32, ESP_SUM, &o, notify, request);
      case Kind::kScan:
        return esp_scan_start(t, in, out, n, ESP_INT32, ESP_SUM, &o, notify, request);
      case Kind::kAllgather:
        return esp_allgather_start(t, in, out, n, ESP_INT32, &o, notify, request);
      case Kind::kAlltoall:
        return esp_alltoall_start(t, in, out, n, ESP_INT32, &o, notify, request);
      case Kind::kGather:
        return esp_gather_start(t, in, out, n, ESP_INT32, root_, &o, notify, request);
      case Kind::kScatter:
        return esp_scatter_start(t, in, out, n, ESP_INT32, root_, &o, notify, request);
      case Kind::kReduceScatter:
        return esp_reduce_scatter_block_start(t, in, out, n, ESP_INT32, ESP_SUM, &o, notify,
                                              request);
      case Kind::kAllgatherv:
        return esp_allgatherv_start(t, in, out, counts, nullptr, ESP_INT32, &o, notify, request);
      case Kind::kAlltoallv:
        return esp_alltoallv_start(t, in, counts, nullptr, out, own_.data(), nullptr, ESP_INT32, &o,
                                   notify, request);
      case Kind::kGatherv:
        return esp_gatherv_start(t, in, length(context_.rank), out, counts, nullptr, ESP_INT32,
                                 root_, &o, notify, request);
      case Kind::kScatterv:
        return esp_scatterv_start(t, in, counts, nullptr, out, length(context_.rank), ESP_INT32,
                                  root_, &o, notify, request);
    }
    return ESP_ERR_INTERNAL;
  }

 private:
  bool is_root() const { return context_.rank == root_; }
  std::size_t length(int member) const { return counts_[static_cast<std::size_t>(member)]; }
  // Of what comes from a member: alltoallv sends by the receiver's count.
  std::size_t from_length(int member) const {
    return kind_ == Kind::kAlltoallv ? length(context_.rank) : length(member);
  }
  std::size_t message_length() const {
    return kind_ == Kind::kScatterv ? length(context_.rank) : count_;
  }
  static int sum(int members, int to, std::size_t at) {
    int all = 0;
    for (int r = 0; r < members; ++r) all += value(r, to, at);
    return all;
  }
  std::size_t extent(bool many) const {
    std::size_t all = 0;
    for (int b = 0; b < (many ? context_.size : 1); ++b) {
      all += many ? block_length(b) : message_length();
    }
    return all + 1;
  }
  std::vector<int> whole(int from) const {
    std::vector<int> data(count_ + 1, -1);
    for (std::size_t i = 0; from >= 0 && i < count_; ++i) data[i] = value(from, 0, i);
    return data;
  }
  // One block for each member, or one for all.
  void fill_input() {
    const bool each = kind_ == Kind::kAlltoall || kind_ == Kind::kScatter ||
                      kind_ == Kind::kReduceScatter || kind_ == Kind::kAlltoallv ||
                      kind_ == Kind::kScatterv;
    for (int to = 0; to < (each ? context_.size : 1); ++to) {
      const bool own = irregular() && !each;
      const std::size_t n = own ? length(context_.rank) : irregular() ? length(to) : count_;
      for (std::size_t i = 0; i < n; ++i) input_.push_back(value(context_.rank, to, i));
    }
    input_.push_back(-1);
  }

  const Context& context_;
  Kind kind_;
  std::size_t count_;
  int root_;
  std::vector<std::size_t> counts_, own_;
  std::vector<int> input_, output_;
};

// Checks segments as they come: final, inside their block, each byte once.
class Ledger {
 public:
  Ledger(const Exchange& exchange, bool by_blocks, bool in_place)
      : exchange_(exchange), by_blocks_(by_blocks), stands_(in_place) {
    for (int b = 0; b < exchange.blocks(); ++b) seen_.emplace_back(exchange.block_length(b), 0);
  }
  void note(const esp_segment& segment) {
    const std::lock_guard lock(mutex_);
    CHECK(segment.block >= 0 && segment.block < exchange_.blocks(), "block {}", segment.block);
    CHECK_EQ(segment.source, exchange_.source_of(segment.block), "block {}", segment.block);
    const std::size_t first = segment.offset / sizeof(int), n = segment.bytes / sizeof(int);
    const std::size_t length = exchange_.block_length(segment.block);
    CHECK(n > 0 && first + n <= length, "{}+{} of {}", first, n, length);
    if (by_blocks_) CHECK(first == 0 && n == length, "{}+{} is not all of {}", first, n, length);
    const int* data = static_cast<const int*>(segment.address);
    if (stands_) {
      const int* place = exchange_.output() + exchange_.block_begin(segment.block) + first;
      CHECK(data == place, "block {} lies elsewhere", segment.block);
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (data[i] == exchange_.expected(segment.block, first + i)) continue;
      CHECK(false, "block {} element {} is {}, expected {}", segment.block, first + i, data[i],
            exchange_.expected(segment.block, first + i));
      break;
    }
    for (std::size_t i = 0; i < n; ++i) ++seen_[static_cast<std::size_t>(segment.block)][first + i];
    if (first == 0) begins_.push_back(data);
    ends_.push_back(data + n);
    ++segments_;
  }
  void check_all() const {
    for (std::size_t b = 0; b < seen_.size(); ++b) {
      const bool once = std::all_of(seen_[b].begin(), seen_[b].end(), [&](int times) {
        return times == (exchange_.receives() ? 1 : 0);
      });
      CHECK(once, "block {} was not delivered once", b);
    }
  }
  // The blocks fill the output from its beginning, without gaps.
  void check_dense() const {
    std::vector<const int*> begins = begins_;
    std::sort(begins.begin(), begins.end());
    std::size_t elements = 0;
    for (int b = 0; b < exchange_.blocks(); ++b) elements += exchange_.block_length(b);
    if (!exchange_.receives() || elements == 0) return;
    CHECK(begins.front() == exchange_.output(), "the first block is not at the beginning");
    CHECK(*std::max_element(ends_.begin(), ends_.end()) == exchange_.output() + elements,
          "the last block does not end at the end");
  }
  std::size_t segments() const { return segments_; }

 private:
  const Exchange& exchange_;
  bool by_blocks_, stands_;
  std::mutex mutex_;
  std::vector<std::vector<int>> seen_;
  std::vector<const int*> begins_, ends_;
  std::size_t segments_ = 0;
};

esp_partial wanted(unsigned flags) {
  esp_partial partial = ESP_PARTIAL_INIT;
  partial.flags = ESP_PARTIAL_DELIVER | flags;
  partial.blocks = kMessageBlocks;
  return partial;
}

void take_all(const Context& context, esp_request* request, Ledger& ledger) {
  for (;;) {
    esp_segment segment;
    int taken = 0;
    CHECK_OK(esp_segment_wait(request, &segment, &taken), context.world, "");
    if (taken == 0) return;
    ledger.note(segment);
  }
}

void taken_one_by_one(const Context& context, Kind kind, std::size_t count, unsigned flags) {
  Exchange exchange(context, kind, count);
  const bool unordered = (flags & ESP_PARTIAL_UNORDERED) != 0;
  Ledger ledger(exchange, (flags & ESP_PARTIAL_SEGMENTS) == 0, !unordered);
  const esp_partial partial = wanted(flags);
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.partial = &partial;
  esp_request* request = nullptr;
  CHECK_OK(exchange.start(options, nullptr, &request), context.world, "kind {}",
           static_cast<int>(kind));
  if (request == nullptr) return;
  take_all(context, request, ledger);
  ledger.check_all();
  if (unordered) ledger.check_dense();
  for (int b = 0; exchange.receives() && b < exchange.blocks(); ++b) {
    CHECK_EQ(esp_arrived(request, b), 1, "kind {} block {}", static_cast<int>(kind), b);
  }
  CHECK_EQ(esp_arrived(request, exchange.blocks()), -1, "no such block");
  CHECK_OK(esp_request_wait(&request), context.world, "");
}

// The function is called before the operation reports its end, and never in the start.
struct Called {
  static void segment(void* self, const esp_segment* segment) {
    auto& called = *static_cast<Called*>(self);
    const bool inside = !called.may && std::this_thread::get_id() == called.starter;
    CHECK(!inside, "a function was called in a start");
    CHECK(!called.ended, "a segment after the end");
    called.ledger->note(*segment);
  }
  static void end(void* self, esp_status status) {
    auto& called = *static_cast<Called*>(self);
    called.status = status;
    called.ended = true;
  }
  Ledger* ledger = nullptr;
  std::thread::id starter = std::this_thread::get_id();
  std::atomic<bool> may{false}, ended{false};
  esp_status status = ESP_IN_PROGRESS;
};

void handed_to_a_function(const Context& context, Kind kind, std::size_t count) {
  Exchange exchange(context, kind, count);
  Ledger ledger(exchange, false, true);
  Called called;
  called.ledger = &ledger;
  esp_partial partial = wanted(ESP_PARTIAL_SEGMENTS);
  partial.function = Called::segment;
  partial.context = &called;
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.partial = &partial;
  const esp_notify notify = {Called::end, &called, nullptr};
  CHECK_OK(exchange.start(options, &notify, nullptr), context.world, "kind {}",
           static_cast<int>(kind));
  called.may = true;
  while (!called.ended) esp_progress(context.job);
  CHECK_STATUS(called.status, ESP_OK, context.world, "");
  ledger.check_all();
}

// While one thread drives progress, all take.
void taken_by_threads(const Context& context, Kind kind, std::size_t count) {
  Exchange exchange(context, kind, count);
  Ledger ledger(exchange, false, true);
  const esp_partial partial = wanted(ESP_PARTIAL_SEGMENTS);
  esp_coll_options options = ESP_COLL_OPTIONS_INIT;
  options.segment_bytes = 64;
  options.partial = &partial;
  esp_request* request = nullptr;
  CHECK_OK(exchange.start(options, nullptr, &request), context.world, "");
  if (request == nullptr) return;
  std::vector<std::thread> takers;
  for (int t = 0; t < 2; ++t) {
    takers.emplace_back([&, request] {
      for (;;) {
        esp_segment segment;
        int taken = 0;
        const esp_status status = esp_segment_take(request, &segment, &taken);
        if (taken != 0) ledger.note(segment);
        if (taken == 0 && status != ESP_IN_PROGRESS) return;
        if (taken == 0) std::this_thread::yield();
      }
    });
  }
  take_all(context, request, ledger);
  for (std::thread& taker : takers) taker.join();
  ledger.check_all();
  CHECK_OK(esp_request_wait(&request), context.world, "");
}

bool gets_blocks(Kind kind) {
  return kind == Kind::kAllgather || kind == Kind::kAlltoall || kind == Kind::kGather ||
         kind >= Kind::kAllgatherv;
}

}  // namespace
}  // namespace partial_cases

void partial(const Context& context) {
  using namespace partial_cases;
  for (const Kind kind : kKinds) {
    for (const std::size_t count : {std::size_t{3}, std::size_t{300}, std::size_t{40'000}}) {
      taken_one_by_one(context, kind, count, 0);
      taken_one_by_one(context, kind, count, ESP_PARTIAL_SEGMENTS);
      if (gets_blocks(kind) && kind != Kind::kScatterv) {
        taken_one_by_one(context, kind, count, ESP_PARTIAL_UNORDERED);
        taken_one_by_one(context, kind, count, ESP_PARTIAL_UNORDERED | ESP_PARTIAL_SEGMENTS);
      }
      handed_to_a_function(context, kind, count);
    }
    taken_by_threads(context, kind, 300);
  }
}

}  // namespace test
