// Puts and gets by the adapters, and segments whose receives are late.
#include <algorithm>
#include <utility>
#include <vector>

#include "esp-bench/statistics.hpp"
#include "verbs/talk.hpp"

namespace espalier::bench {
namespace {

struct Access : Noted<Completion> {
  std::uint64_t begin_ns = 0;
};

// Rank 0's side of a stream of puts or gets, `window` at a time.
class Reach {
 public:
  Reach(End& end, const Task& task, bool put, const net::RemoteMemory& there)
      : end_(end),
        task_(task),
        put_(put),
        there_(there),
        here_(end, task.bytes * task.window, Memory::kRegistered),
        ops_(task.window) {}

  // Numbers `first` and on; returns how long each took, in us.
  std::vector<double> run(std::uint32_t first, std::uint32_t count) {
    times_.clear();
    for (std::uint32_t i = first; i < first + count; ++i) {
      finish(i);
      begin(i);
    }
    for (std::uint32_t i = first + count; i < first + count + task_.window; ++i) finish(i);
    return times_;
  }

 private:
  std::uint64_t place(std::uint32_t number) const noexcept {
    return number % task_.window * task_.bytes;
  }
  void begin(std::uint32_t number) {
    Access& op = ops_[number % task_.window];
    std::byte* local = here_.at(place(number));
    const net::RemoteMemory remote = {there_.address + place(number), there_.key};
    op.done = false;
    stamp(local, task_.bytes, put_ ? number : ~std::uint64_t{0});
    op.begin_ns = end_.now_ns();
    const auto begun = [&] {
      return put_ ? end_.link().put(end_.peer(), local, task_.bytes, remote, op)
                  : end_.link().get(end_.peer(), local, task_.bytes, remote, op);
    };
    while (!begun()) (void)end_.wire().progress();
  }
  // The one before in this number's place.
  void finish(std::uint32_t number) {
    Access& op = ops_[number % task_.window];
    if (op.begin_ns == 0) return;
    while (!op.done) (void)end_.wire().progress();
    times_.push_back(static_cast<double>(end_.now_ns() - op.begin_ns) * 1e-3);
    require(!op.failed, "a put or get has failed");
    require(put_ || stamped(here_.at(place(number)), task_.bytes, number % task_.window),
            "a get has brought something else");
    op.begin_ns = 0;
  }

  End& end_;
  const Task& task_;
  const bool put_;
  const net::RemoteMemory there_;
  Buffer here_;
  std::vector<Access> ops_;
  std::vector<double> times_;
};

// Rank 1 has answered for its adapter's packets alone. Each place has the last number put there.
void look_at_puts(const Task& task, Buffer& memory, std::uint32_t count) {
  for (std::uint32_t number = count - std::min(count, task.window); number < count; ++number) {
    require(stamped(memory.at(number % task.window * task.bytes), task.bytes, number),
            "a put is missing");
  }
}

}  // namespace

nlohmann::json measure_access(End& end, const Task& task, bool put) {
  require(end.connections() != nullptr, "puts and gets are for connections");
  Talk talk(end);
  talk.connect();
  Buffer memory(end, task.bytes * task.window, Memory::kUnregistered);  // but for expose()
  for (std::uint32_t slot = 0; !put && slot < task.window; ++slot) {
    stamp(memory.at(slot * task.bytes), task.bytes, slot);
  }
  const net::RemoteMemory mine = end.link().expose(memory.at(0), task.bytes * task.window);
  require(mine.address != 0, "memory cannot be exposed");
  const net::RemoteMemory there = talk.tell(kReady, mine);
  const std::uint32_t warm_up = 4 * task.window;
  Tally before, after;
  std::vector<double> times;
  double seconds = 0;
  if (end.rank() == 0) {
    Reach reach(end, task, put, there);
    (void)reach.run(0, warm_up);
    before = end.tally();
    const std::uint64_t begin_ns = end.now_ns();
    times = reach.run(warm_up, task.iterations);
    seconds = static_cast<double>(end.now_ns() - begin_ns) * 1e-9;
    after = end.tally();
  }
  (void)talk.say(kReady, 0);
  if (end.rank() == 1 && put) look_at_puts(task, memory, warm_up + task.iterations);
  (void)talk.tell(kReady, 0);
  end.link().conceal(memory.at(0));
  const char* one = put ? "put" : "get";
  const char* stream = put ? "put-stream" : "get-stream";
  nlohmann::json result = begin_row(end, task, task.window == 1 ? one : stream);
  if (end.rank() == 1) return result;
  const Summary summary = summarize(std::move(times));
  result["window"] = task.window;
  result["median_us"] = summary.median;
  result["min_us"] = summary.min;
  result["mib_per_s"] = static_cast<double>(task.bytes) * task.iterations / seconds / (1 << 20);
  result["per_segment"] = counted(before, after, task.iterations);
  return result;
}

// Each message is followed by a note, and its receive is posted when the note has come.
nlohmann::json measure_late(End& end, const Task& task) {
  Talk talk(end);
  talk.connect();
  Buffer memory(end, task.bytes, task.memory);
  const std::uint32_t warm_up = 4;
  std::uint64_t begin_ns = 0;
  Tally before;
  for (std::uint32_t i = 0; i < task.iterations + warm_up; ++i) {
    if (i == warm_up) {
      before = end.tally();
      begin_ns = end.now_ns();
    }
    const SegmentId message = talk.segment(Talk::next_flow(), kData);
    const SegmentId note = talk.segment(Talk::next_flow(), kReady);
    std::uint32_t number = i;
    auto* small = reinterpret_cast<std::byte*>(&number);
    if (end.rank() == 0) {
      Sending large, told;
      stamp(memory.at(0), task.bytes, i);
      talk.send(message, large, memory.at(0), task.bytes);
      talk.send(note, told, small, sizeof number);
      talk.wait(told);
      talk.wait(large);
    } else {
      Receive large, told;
      talk.receive(note, 1, told, small, sizeof number);
      talk.wait(told);
      talk.receive(message, 1, large, memory.at(0), task.bytes);
      talk.wait(large);
      require(number == i && stamped(memory.at(0), task.bytes, i), "a late message is damaged");
    }
    (void)talk.tell(kReady, 0);
  }
  const double seconds = static_cast<double>(end.now_ns() - begin_ns) * 1e-9;
  nlohmann::json result = begin_row(end, task, "late");
  result["read"] = end.reads();
  result["mib_per_s"] = static_cast<double>(task.bytes) * task.iterations / seconds / (1 << 20);
  result["per_segment"] = counted(before, end.tally(), task.iterations);
  return result;
}

}  // namespace espalier::bench
