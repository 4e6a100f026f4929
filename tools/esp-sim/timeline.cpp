#include "tools/esp-sim/timeline.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "tools/esp-sim/explain.hpp"

namespace esp_sim {
namespace {

using espalier::sim::Detour;
using espalier::sim::TransferRecord;

// Threads of a rank.
constexpr int kProcessor = 0, kNoise = 1, kSent = 2, kReceived = 3;

double us(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out) { out_ << "{\"traceEvents\":["; }
  void finish() { out_ << "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"simulated\":true}}\n"; }

  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    out_ << (is_first_ ? "\n" : ",\n");
    is_first_ = false;
    fmt::print(out_, format, std::forward<Args>(args)...);
  }

 private:
  std::ostream& out_;
  bool is_first_ = true;
};

void name_threads(Writer& writer, std::uint32_t rank) {
  writer.add(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"rank {}"}}}})", rank,
             rank);
  const char* const names[] = {"processor", "noise", "sent", "received"};
  for (int thread = kProcessor; thread <= kReceived; ++thread) {
    writer.add(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
               rank, thread, names[thread]);
  }
}

// Transfers of one rank overlap, so they are asynchronous slices, which viewers stack.
void write_transfer(Writer& writer, const TransferRecord& t, std::size_t number,
                    const std::string& level) {
  const auto slice = [&](int rank, int thread, const std::string& name, std::uint64_t begin,
                         std::uint64_t end) {
    const auto edge = [&](char phase, std::uint64_t time) {
      writer.add(R"({{"ph":"{}","cat":"{}","name":"{}","id":"{}.{}","pid":{},"tid":{},"ts":{:.3f})"
                 R"(,"args":{{"bytes":{},"segment":{}}}}})",
                 phase, level, name, number, thread, rank, thread, us(time), t.bytes, t.ordinal);
    };
    edge('b', begin);
    edge('e', end);
  };
  if (t.started_ns > t.posted_ns) slice(t.from, kSent, "waiting", t.posted_ns, t.started_ns);
  slice(t.from, kSent, fmt::format("to {} #{}", t.to, t.ordinal), t.started_ns, t.arrived_ns);
  slice(t.to, kReceived, fmt::format("from {} #{}", t.from, t.ordinal), t.arrived_ns, t.taken_ns);
}

void write_slice(Writer& writer, const char* name, int thread, std::int64_t rank,
                 const Detour& slice) {
  writer.add(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})", name, rank,
             thread, us(slice.begin_ns), us(slice.length_ns));
}

void write_detours(Writer& writer, const Timeline& timeline, std::uint32_t rank) {
  for (const Detour& detour :
       espalier::sim::Noise::list(timeline.noise, timeline.seed, rank, timeline.end_ns)) {
    write_slice(writer, "detour", kNoise, rank, detour);
  }
}

}  // namespace

void write_timeline(const Timeline& timeline, std::ostream& out) {
  Writer writer(out);
  for (std::uint32_t rank = 0; rank < timeline.ranks; ++rank) {
    name_threads(writer, rank);
    if (rank % timeline.noise_every == 0) write_detours(writer, timeline, rank);
  }
  for (const auto& work : timeline.work) {
    write_slice(writer, "work", kProcessor, work.rank,
                {work.begin_ns, work.end_ns - work.begin_ns});
  }
  for (std::size_t i = 0; i < timeline.transfers.size(); ++i) {
    const TransferRecord& transfer = timeline.transfers[i];
    if (!has_ended(transfer)) continue;
    write_transfer(writer, transfer, i, timeline.machine.levels.at(transfer.level).name);
  }
  writer.finish();
}

}  // namespace esp_sim
