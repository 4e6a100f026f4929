#include "tests/swarm/expected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/datatype.hpp"

namespace espalier::swarm {

std::uint64_t bytes_of(const OpSpec& op, std::int32_t member, const Blocks& blocks) noexcept {
  return blocks.extent() * op.step_bytes(member);
}

namespace {

// A block of a member's memory in one piece, and back.
std::vector<std::byte> packed(const OpSpec& op, std::int32_t member, const Blocks& blocks,
                              std::size_t block, const std::vector<std::byte>& memory) {
  std::vector<std::byte> bytes(blocks.counts[block] * op.packed_bytes(member));
  if (bytes.empty()) return bytes;
  const std::byte* from = memory.data() + blocks.begins[block] * op.step_bytes(member);
  if (op.packs_at(member)) {
    op.pattern->pack(bytes.data(), from, 0, bytes.size());
  } else {
    std::copy_n(from, bytes.size(), bytes.data());
  }
  return bytes;
}

void unpack(const OpSpec& op, std::int32_t member, const Blocks& blocks, std::size_t block,
            std::span<const std::byte> bytes, std::vector<std::byte>& memory) {
  if (bytes.empty()) return;
  std::byte* to = memory.data() + blocks.begins[block] * op.step_bytes(member);
  if (op.packs_at(member)) {
    op.pattern->unpack(to, bytes.data(), 0, bytes.size());
  } else {
    std::copy_n(bytes.data(), bytes.size(), to);
  }
}

}  // namespace

Expected::Expected(const Scenario& scenario, std::size_t op) : op_(scenario.ops[op]) {
  if (op_.reduces()) {
    reduce();
  } else if (op_.moves_blocks() || op_.moves_parts()) {
    for (std::int32_t member = 0; member < op_.members; ++member) {
      // What looks alike to all may have other counts at one.
      const OpSpec& theirs = scenario.call(op, member);
      add_contribution(theirs.collective == op_.collective ? theirs : op_, member);
    }
  } else {
    const Blocks blocks = output_blocks(op_, op_.root);
    std::vector<std::byte> memory(bytes_of(op_, op_.root, blocks));
    contribute(memory, op_.values, op_.root);
    // A barrier has none.
    results_.emplace_back();
    if (!blocks.counts.empty()) {
      results_.back() = packed(op_, op_.root, blocks, 0, memory);
    }
  }
}

void Expected::add_contribution(const OpSpec& theirs, std::int32_t member) {
  Contribution made;
  const Blocks blocks = theirs.in_place_at(member) && !theirs.keeps_block_at(member)
                            ? output_blocks(theirs, member)
                            : input_blocks(theirs, member);
  std::vector<std::byte> memory(bytes_of(theirs, member, blocks));
  contribute(memory, theirs.values, member);
  for (std::size_t b = 0; b < blocks.counts.size(); ++b) {
    made.push_back(packed(theirs, member, blocks, b, memory));
  }
  contributions_.push_back(std::move(made));
}

void Expected::reduce() {
  const Combiner combine = combiner(op_);
  std::vector<std::byte> scratch;
  for (std::int32_t member = 0; member < op_.members; ++member) {
    const Blocks blocks = input_blocks(op_, member);
    std::vector<std::byte> memory(bytes_of(op_, member, blocks)), sum;
    contribute(memory, op_.values, member);
    for (std::size_t b = 0; b < blocks.counts.size(); ++b) {
      const std::vector<std::byte> block = packed(op_, member, blocks, b, memory);
      sum.insert(sum.end(), block.begin(), block.end());
    }
    if (member > 0 && !sum.empty()) {
      const void* operands[] = {results_.back().data(), sum.data()};
      combine.combine(sum.data(), operands, 2, sum.size() / type_size(op_.type), scratch);
    }
    results_.push_back(std::move(sum));
  }
}

// Where in the sum a member's block stands.
std::span<const std::byte> Expected::share_of(std::int32_t member) const {
  const Blocks blocks = input_blocks(op_, 0);
  const auto me = static_cast<std::size_t>(member);
  const std::size_t unit = op_.packed_bytes(0);
  const std::size_t before =
      std::accumulate(blocks.counts.begin(), blocks.counts.begin() + member, std::size_t{0});
  return std::span(results_.back()).subspan(before * unit, blocks.counts[me] * unit);
}

// None: it gets nothing.
std::optional<std::span<const std::byte>> Expected::result_of(std::int32_t member) const {
  const auto at = static_cast<std::size_t>(member);
  switch (op_.collective) {
    case Collective::kReduce:
      if (member != op_.root) return std::nullopt;
      return results_.back();
    case Collective::kScan:
      return results_[at];
    case Collective::kExscan:
      if (member == 0) return std::nullopt;
      return results_[at - 1];
    case Collective::kReduceScatterBlock:
    case Collective::kReduceScatter:
      return share_of(member);
    default:
      return results_.back();
  }
}

// Who sends a block of a member's output, and which of its own it is.
std::optional<std::pair<std::int32_t, std::size_t>> Expected::origin_of(std::int32_t member,
                                                                        std::size_t block) const {
  if (!op_.graph.empty()) {
    auto end = other_end(op_, member, block);
    if (end && op_.traits().input == Extent::kOne) end->second = 0;
    return end;
  }
  const bool scatters = op_.has_root_blocks() && op_.traits().root_sends;
  const std::int32_t from = scatters ? op_.root : static_cast<std::int32_t>(block);
  return std::pair(from, block_for(op_, from, member));
}

std::string Expected::put_blocks(std::int32_t member, std::vector<std::byte>& memory) const {
  if (op_.keeps_block_at(member)) return {};
  const Blocks got = output_blocks(op_, member);
  for (std::size_t block = 0; block < got.counts.size(); ++block) {
    if (got.counts[block] == 0) continue;  // it cannot know that there is something
    const auto origin = origin_of(member, block);
    if (!origin) continue;
    const std::vector<std::byte>& sent =
        contributions_[static_cast<std::size_t>(origin->first)][origin->second];
    const std::size_t bytes = got.counts[block] * op_.packed_bytes(member);
    if (sent.size() != bytes) {
      return fmt::format("member {} has {} bytes for it instead of {}", origin->first, sent.size(),
                         bytes);
    }
    unpack(op_, member, got, block, sent, memory);
  }
  return {};
}

std::string Expected::complaint(std::int32_t member, const Buffer& output) const {
  std::vector<std::byte> bytes(bytes_of(op_, member, output_memory(op_, member)),
                               Buffer::kUntouched);
  if (op_.in_place_at(member) || op_.brings(member)) contribute(bytes, op_.values, member);
  if (!op_.reduces() && (op_.moves_blocks() || op_.moves_parts())) {
    std::string unequal = put_blocks(member, bytes);
    if (!unequal.empty()) return unequal;
  } else if (const auto result = result_of(member); result && !result->empty()) {
    unpack(op_, member, output_blocks(op_, member), 0, *result, bytes);
  }
  if (bytes.size() != output.bytes()) return "its output has another size";
  const auto wrong = std::mismatch(bytes.begin(), bytes.end(), output.data());
  if (wrong.first == bytes.end()) return {};
  return fmt::format("byte {} of {} of its output is {:#04x} instead of {:#04x}",
                     wrong.first - bytes.begin(), bytes.size(), std::to_integer<int>(*wrong.second),
                     std::to_integer<int>(*wrong.first));
}

}  // namespace espalier::swarm
