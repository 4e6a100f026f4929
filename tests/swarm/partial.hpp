// PartialUse: what a member asks of a call besides (Call::gate, Call::consumer), and whether it
// gets that: inputs whose bytes come to be there by and by, in any order, and a consumer that
// refuses now and then and remembers what it was handed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "coll/engine/gate.hpp"
#include "tests/swarm/scenario.hpp"
#include "tests/swarm/values.hpp"

namespace espalier::swarm {

class PartialUse {
 public:
  // As the member's part in the call is: does it await, does it get deliveries?
  void choose(const OpSpec& spec, std::int32_t member);
  bool awaits() const noexcept { return awaits_; }
  bool delivers() const noexcept { return delivers_; }

  // From the entry on, at which the input's bytes are taken away, but where they are packed.
  void begin(const OpSpec& spec, std::int32_t member, Buffer& input, Buffer& output,
             std::uint64_t now_ns);
  void entered() noexcept { starting_ = false; }
  // When all of the input is there.
  std::uint64_t open_ns() const noexcept { return begun_ns_ + kLatestNs; }
  void set_now(std::uint64_t now_ns) noexcept { now_ns_ = now_ns; }
  // Since the last question: then there must be another turn.
  bool has_refused() noexcept { return std::exchange(refused_, false); }
  Gate gate() noexcept;
  Consumer consumer() noexcept;

  // What no block holds comes back, too.
  void end() noexcept;
  // What was handed out wrongly; "": nothing. After an end without failure: has all been handed
  // out, and is it what stands there?
  std::string complaint(bool ended_well) const;

 private:
  static constexpr std::uint64_t kLatestNs = 3000;
  static constexpr std::uint64_t kChunk = 24;
  struct Handed {
    const std::byte* at;
    std::vector<std::byte> bytes;
  };

  static bool is_open(void* self, const Portion& portion) noexcept;
  static bool consume(void* self, const Portion& portion) noexcept;
  bool arrives(const Portion& portion) noexcept;
  std::uint64_t opens_ns(std::uint64_t chunk) const noexcept;
  std::uint64_t expected_bytes(const OpSpec& spec, std::int32_t member) const;

  bool awaits_ = false, delivers_ = false, packs_input_ = false, packs_output_ = false;
  bool starting_ = true, refused_ = false;
  std::uint64_t seed_ = 0, begun_ns_ = 0, now_ns_ = 0, asked_ = 0;
  std::byte* memory_ = nullptr;  // of the input
  std::vector<std::byte> truth_;
  std::vector<bool> there_;
  std::vector<Handed> handed_;
  std::uint64_t handed_bytes_ = 0, wanted_bytes_ = 0;
  std::string wrong_;
};

}  // namespace espalier::swarm
