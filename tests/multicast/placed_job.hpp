// PlacedJob: a source of large segments and its receivers in virtual time, drawn from a seed: what
// is sent, what the network does, whose memory cannot be registered, who cancels or dies; and
// whether every byte is right, once, and nothing is written beside it or afterwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "net/multicast/placed_sink.hpp"
#include "tests/multicast/placed_network.hpp"

namespace espalier::multicast::played {

struct PlacedReport {
  std::string failure;  // empty: all was right
  std::uint64_t segments = 0, packets = 0, placed = 0, misplaced = 0, dropped = 0, repairs = 0;
  std::uint64_t flushes = 0, whole = 0, lost = 0, deaths = 0, redirects = 0, virtual_ns = 0;
  std::uint64_t strayed = 0, patches = 0;
  void add(const PlacedReport& other);
};

struct PlacedScenario {
  LaneOptions network;
  PlacedOptions placed;
  std::vector<std::uint64_t> segments;  // bytes
  std::uint32_t deaths = 0;
  bool source_dies = false, adapter_fails = false;
  double unregistered = 0, hesitates = 0, redirects = 0;  // of each segment of each member
  double away = 0;                                        // likewise: in memory of a device
  std::uint64_t patch_ns = 0;                             // that a copy there takes, at most
  std::uint64_t span_ns = 1'000'000;                      // in which members die
  // Nothing goes wrong: nothing is copied, either.
  bool faultless() const noexcept;
};
PlacedScenario draw_placed(std::uint64_t seed);

class PlacedJob {
 public:
  PlacedJob(const PlacedScenario& scenario, std::uint64_t seed);
  ~PlacedJob();
  PlacedReport run();

 private:
  struct Buffer;
  struct Source;
  struct Receiver;
  struct Fate {
    std::uint64_t at = 0;
    std::uint32_t member = 0;
    std::uint32_t tells = PlacedNetwork::kNone;  // this one is told; none: the member dies
    bool adapter = false;                        // it is its adapter alone
  };
  static constexpr std::uint64_t kEnd = 4'000'000'000;  // virtual

  void draw_fates();
  void meet(const Fate& fate);
  void tell(std::uint32_t member, std::uint32_t of);
  void turn(std::uint32_t member);
  void turn_source();
  void turn_receiver(Receiver& receiver);
  bool done() const;
  void check_end();
  void fail(std::string what) { net_.fail(std::move(what)); }

  const PlacedScenario scenario_;
  Prng prng_;
  PlacedNetwork net_;
  std::vector<Rank> ranks_;
  std::unique_ptr<Source> source_;
  std::vector<std::unique_ptr<Receiver>> receivers_;  // by member; the source's place is empty
  std::vector<std::uint64_t> wake_ns_;
  std::vector<Fate> fates_;  // the first at the back
  PlacedReport report_;
};

}  // namespace espalier::multicast::played
