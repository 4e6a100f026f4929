#include "api/check.hpp"

#include <fmt/format.h>

#include <cstring>

#include "core/datatype.hpp"

namespace espalier::api {
namespace {

// No call can be that large; catches negative counts that became huge.
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 47;

esp_status bad(esp_team& handle, const Call& call, esp_status code, const std::string& what) {
  return fail(*handle.job, code, fmt::format("{}: {}", caller_of(call), what));
}

// ---- what the buffers hold ----

// Counts and displacements of the blocks of one buffer, as the caller names them.
struct Blocks {
  const std::size_t* counts;
  const std::size_t* displs;  // nullptr: one block after the other
  const char* counts_name;
  const char* displs_name;
};

// In elements.
struct Extents {
  std::uint64_t input = 0, output = 0;
  std::uint64_t own = 0;  // where the own block stands in the output
};

// Adds up `total` and, before the own block, `own`. One pass.
esp_status measure(esp_team& handle, const Call& call, const Blocks& blocks, std::uint64_t& total,
                   std::uint64_t& own) {
  if (blocks.counts == nullptr) {
    return bad(handle, call, ESP_ERR_ARGUMENT, fmt::format("{} is NULL", blocks.counts_name));
  }
  const std::uint64_t most = kBytesMax / call.element_bytes;
  const auto members = static_cast<std::size_t>(handle.team.size());
  const auto rank = static_cast<std::size_t>(handle.team.rank);
  for (std::size_t r = 0; r < members; ++r) {
    const std::uint64_t count = blocks.counts[r];
    if (count > most - total) [[unlikely]] {
      return bad(handle, call, ESP_ERR_ARGUMENT,
                 fmt::format("{}[{}] is {}, after {} elements (was it negative?)",
                             blocks.counts_name, r, count, total));
    }
    if (blocks.displs != nullptr && count > 0 && blocks.displs[r] > most - count) [[unlikely]] {
      return bad(
          handle, call, ESP_ERR_ARGUMENT,
          fmt::format("{}[{}] is {} (was it negative?)", blocks.displs_name, r, blocks.displs[r]));
    }
    if (r == rank) own = blocks.displs != nullptr ? blocks.displs[r] : total;
    total += count;
  }
  return ESP_OK;
}

esp_status measure_allgatherv(esp_team& handle, Call& call, Extents& extents) {
  const Blocks blocks = {call.out_counts, call.out_displs, "counts", "displs"};
  const esp_status status = measure(handle, call, blocks, extents.output, extents.own);
  if (status != ESP_OK) return status;
  extents.input = call.out_counts[handle.team.rank];
  call.count = extents.output;
  return ESP_OK;
}

esp_status measure_alltoallv(esp_team& handle, Call& call, Extents& extents) {
  const Blocks out = {call.out_counts, call.out_displs, "out_counts", "out_displs"};
  esp_status status = measure(handle, call, out, extents.output, extents.own);
  if (status != ESP_OK) return status;
  if (call.in_place) {
    call.in_counts = call.out_counts;
    call.in_displs = call.out_displs;
    extents.input = extents.output;
    return ESP_OK;
  }
  const Blocks in = {call.in_counts, call.in_displs, "in_counts", "in_displs"};
  std::uint64_t unused = 0;
  status = measure(handle, call, in, extents.input, unused);
  if (status != ESP_OK) return status;
  const int rank = handle.team.rank;
  if (call.in_counts[rank] == call.out_counts[rank]) return ESP_OK;
  return bad(handle, call, ESP_ERR_ARGUMENT,
             fmt::format("in_counts[{0}] is {1} and out_counts[{0}] is {2}, of this rank itself",
                         rank, call.in_counts[rank], call.out_counts[rank]));
}

std::uint64_t regular_extent(const Team& team, Extent extent, std::uint64_t count) noexcept {
  if (extent == Extent::kNone) return 0;
  return extent == Extent::kPerMember ? count * static_cast<std::uint64_t>(team.size()) : count;
}

// The buffers' lengths, once they are known to be possible.
esp_status measure_buffers(esp_team& handle, Call& call, Extents& extents) {
  if (call.collective == Collective::kAllgatherv) return measure_allgatherv(handle, call, extents);
  if (call.collective == Collective::kAlltoallv) return measure_alltoallv(handle, call, extents);
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool per_member = traits.output == Extent::kPerMember;
  const auto members = static_cast<std::uint64_t>(handle.team.size());
  if (call.count > kBytesMax / call.element_bytes / (per_member ? members : 1)) [[unlikely]] {
    return bad(handle, call, ESP_ERR_ARGUMENT,
               fmt::format("a count of {} elements{} (was it negative?)", call.count,
                           per_member ? " for each member" : ""));
  }
  extents.input = regular_extent(handle.team, traits.input, call.count);
  extents.output = regular_extent(handle.team, traits.output, call.count);
  if (per_member) extents.own = call.count * static_cast<std::uint64_t>(handle.team.rank);
  return ESP_OK;
}

// ---- the buffers ----

// Does this rank get anything? Then its buffer may be input and output in one.
bool gets_output(const Team& team, const Call& call) noexcept {
  return !traits_of(call.collective).root_gets || team.rank == call.root;
}

// What stands in the place of the input when the output holds it.
const void* input_in_place(const Call& call, const Extents& extents) noexcept {
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool own_block = traits.input == Extent::kOne && traits.output != Extent::kOne;
  if (!own_block || extents.input == 0) return call.output;
  return static_cast<const std::byte*>(call.output) + extents.own * call.element_bytes;
}

esp_status check_buffers(esp_team& handle, Call& call) {
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool gets = gets_output(handle.team, call);
  const bool has_input = traits.input != Extent::kNone;
  call.in_place = has_input && call.input == ESP_IN_PLACE;
  if (gets && call.output == ESP_IN_PLACE) [[unlikely]] {
    return bad(handle, call, ESP_ERR_ARGUMENT, "ESP_IN_PLACE stands for an input, not the output");
  }
  if (call.in_place && !gets) {
    return bad(handle, call, ESP_ERR_ARGUMENT, "ESP_IN_PLACE is for the root only");
  }
  Extents extents;
  const esp_status status = measure_buffers(handle, call, extents);
  if (status != ESP_OK) return status;
  // At rank 0 of an exscan there is nothing to write.
  const bool left_alone = call.collective == Collective::kExscan && handle.team.rank == 0;
  const bool needed = gets && extents.output > 0 && (!left_alone || call.in_place);
  if (needed && call.output == nullptr) {
    return bad(handle, call, ESP_ERR_ARGUMENT,
               has_input ? "the output is NULL" : "the buffer is NULL");
  }
  const void* in_place = input_in_place(call, extents);
  if (call.in_place) {
    call.input = in_place;
    return ESP_OK;
  }
  if (extents.input == 0) return ESP_OK;
  if (call.input == nullptr) return bad(handle, call, ESP_ERR_ARGUMENT, "the input is NULL");
  const bool same = call.input == call.output || call.input == in_place;
  if (same && gets && extents.output > 0) {
    return bad(handle, call, ESP_ERR_ARGUMENT, "input and output are the same: use ESP_IN_PLACE");
  }
  return ESP_OK;
}

// ---- options and operator ----

bool plain(const esp_coll_options& o) noexcept {
  return o.algorithm == ESP_ALGORITHM_AUTO && o.shape == ESP_SHAPE_AUTO && o.radix == 0 &&
         o.variant == ESP_VARIANT_EVENT;
}

void apply_defaults(const Config& config, esp_coll_options& options) noexcept {
  if (options.shape == ESP_SHAPE_AUTO) options.shape = config.shape;
  if (options.radix == 0) options.radix = config.radix;
  if (options.variant == ESP_VARIANT_EVENT) options.variant = config.variant;
}

esp_status bind_operator(esp_team& handle, Call& call) {
  if (call.op >= 0 && call.op < ESP_OP_BUILTIN_COUNT) [[likely]] {
    const CombineKernel kernel =
        handle.job->short_tables
            .kernels[static_cast<std::size_t>(call.op)][static_cast<std::size_t>(call.type)];
    if (kernel == nullptr) {
      return bad(handle, call, ESP_ERR_TYPE,
                 fmt::format("{} is not defined for {}", op_name(call.op), type_name(call.type)));
    }
    call.combiner = Combiner(
        kernel, call.type,
        handle.job->short_tables
            .past_kernels[static_cast<std::size_t>(call.op)][static_cast<std::size_t>(call.type)]);
    return ESP_OK;
  }
  const auto& table = handle.job->user_operators;
  const auto i = static_cast<std::size_t>(call.op - ESP_OP_BUILTIN_COUNT);
  if (call.op < 0 || i >= table.size() || !table[i].has_value()) {
    return bad(handle, call, ESP_ERR_ARGUMENT, fmt::format("there is no operator {}", call.op));
  }
  call.combiner = Combiner(*table[i], call.type);
  return ESP_OK;
}

}  // namespace

const char* caller_of(const Call& call) noexcept {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (call.purpose == Purpose::kPersistent) return traits.init_function;
  if (call.purpose != Purpose::kUser) return purpose_name(call.purpose);
  return call.blocking ? traits.function : traits.start_function;
}

esp_status check_call(esp_team& handle, Call& call, const esp_coll_options* options) {
  const std::size_t size = type_size(call.type);
  if (size == 0) [[unlikely]] {
    return bad(handle, call, ESP_ERR_TYPE,
               fmt::format("there is no type {}", static_cast<int>(call.type)));
  }
  call.element_bytes = static_cast<std::uint32_t>(size);
  if (call.root < 0 || call.root >= handle.team.size()) [[unlikely]] {
    return bad(handle, call, ESP_ERR_ARGUMENT,
               fmt::format("root {} in a team of {}", call.root, handle.team.size()));
  }
  if (options != nullptr && !leaves_all(*options)) {
    if (options->struct_size < sizeof(size_t) || options->struct_size > sizeof call.options) {
      return bad(handle, call, ESP_ERR_ARGUMENT,
                 fmt::format("esp_coll_options.struct_size is {}: begin with ESP_COLL_OPTIONS_INIT",
                             options->struct_size));
    }
    std::memcpy(static_cast<void*>(&call.options), options, options->struct_size);
    call.options.struct_size = sizeof call.options;
    if (const Outcome sound = check_options(call.options); !sound) {
      return bad(handle, call, sound.error().status.code(), sound.error().text);
    }
  }
  const Config& config = handle.job->config;
  if (!handle.job->plain_config) [[unlikely]]
    apply_defaults(config, call.options);
  call.choice_is_free = plain(call.options) && handle.job->plain_config;
  const esp_status status = check_buffers(handle, call);
  const bool reduces = traits_of(call.collective).reduces;
  return status == ESP_OK && reduces ? bind_operator(handle, call) : status;
}

}  // namespace espalier::api
