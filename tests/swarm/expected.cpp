#include "tests/swarm/expected.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/datatype.hpp"

namespace espalier::swarm {

std::uint64_t bytes_of(const OpSpec& op, const Blocks& blocks) noexcept {
  return blocks.extent() * type_size(op.type);
}

Expected::Expected(const Scenario& scenario, std::size_t op) : op_(scenario.ops[op]) {
  if (op_.reduces()) {
    reduce();
  } else if (op_.moves_blocks()) {
    for (std::int32_t member = 0; member < op_.members; ++member) {
      // What looks alike to all may have other counts at one.
      const OpSpec& theirs = scenario.call(op, member);
      add_contribution(theirs.collective == op_.collective ? theirs : op_, member);
    }
  } else {
    results_.emplace_back(bytes_of(op_, output_blocks(op_, op_.root)));
    contribute(results_.front(), op_.values, op_.root);
  }
}

void Expected::add_contribution(const OpSpec& theirs, std::int32_t member) {
  Contribution made;
  const bool in_place = theirs.in_place_at(member);
  made.blocks = in_place ? output_blocks(theirs, member) : input_blocks(theirs, member);
  made.bytes.resize(bytes_of(theirs, made.blocks));
  contribute(made.bytes, theirs.values, member);
  contributions_.push_back(std::move(made));
}

void Expected::reduce() {
  const Combiner combine = combiner(op_);
  std::vector<std::byte> scratch;
  for (std::int32_t member = 0; member < op_.members; ++member) {
    std::vector<std::byte> sum(op_.count * type_size(op_.type));
    contribute(sum, op_.values, member);
    if (member > 0 && op_.count > 0) {
      const void* operands[] = {results_.back().data(), sum.data()};
      combine.combine(sum.data(), operands, 2, op_.count, scratch);
    }
    results_.push_back(std::move(sum));
  }
}

// nullptr: it gets none.
const std::vector<std::byte>* Expected::result_of(std::int32_t member) const {
  const auto at = static_cast<std::size_t>(member);
  switch (op_.collective) {
    case Collective::kReduce:
      return member == op_.root ? &results_.back() : nullptr;
    case Collective::kScan:
      return &results_[at];
    case Collective::kExscan:
      return member > 0 ? &results_[at - 1] : nullptr;
    default:
      return &results_.back();
  }
}

std::string Expected::put_blocks(std::int32_t member, std::vector<std::byte>& bytes) const {
  const Blocks got = output_blocks(op_, member);
  const std::size_t element = type_size(op_.type);
  for (std::int32_t from = 0; from < op_.members; ++from) {
    const auto block = static_cast<std::size_t>(from);
    if (got.counts[block] == 0) continue;  // it cannot know that there is something
    const Contribution& theirs = contributions_[block];
    const std::size_t sent = block_for(op_, from, member);
    if (theirs.blocks.counts[sent] != got.counts[block]) {
      return fmt::format("member {} has {} elements for it instead of {}", from,
                         theirs.blocks.counts[sent], got.counts[block]);
    }
    std::copy_n(theirs.bytes.data() + theirs.blocks.begins[sent] * element,
                got.counts[block] * element, bytes.data() + got.begins[block] * element);
  }
  return {};
}

std::string Expected::complaint(std::int32_t member, const Buffer& output) const {
  std::vector<std::byte> bytes(bytes_of(op_, output_blocks(op_, member)), Buffer::kUntouched);
  if (op_.in_place_at(member) || op_.brings(member)) contribute(bytes, op_.values, member);
  if (op_.moves_blocks()) {
    std::string unequal = put_blocks(member, bytes);
    if (!unequal.empty()) return unequal;
  } else if (const std::vector<std::byte>* result = result_of(member)) {
    bytes = *result;
  }
  if (bytes.size() != output.bytes()) return "its output has another size";
  const auto wrong = std::mismatch(bytes.begin(), bytes.end(), output.data());
  if (wrong.first == bytes.end()) return {};
  return fmt::format("byte {} of {} of its output is {:#04x} instead of {:#04x}",
                     wrong.first - bytes.begin(), bytes.size(), std::to_integer<int>(*wrong.second),
                     std::to_integer<int>(*wrong.first));
}

}  // namespace espalier::swarm
