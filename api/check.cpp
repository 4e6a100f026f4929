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

bool significant_output(const Team& team, const Call& call) noexcept {
  return !traits_of(call.collective).root_gets || team.rank == call.root;
}

esp_status check_buffers(esp_team& handle, Call& call) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (traits.output == Extent::kNone) return ESP_OK;
  const bool gets = significant_output(handle.team, call);
  const bool has_input = traits.input != Extent::kNone;
  call.in_place = has_input && call.input == ESP_IN_PLACE;
  if (call.in_place) {
    if (!gets) return bad(handle, call, ESP_ERR_ARGUMENT, "ESP_IN_PLACE is for the root only");
    call.input = call.output;
  }
  if (call.count == 0) return ESP_OK;
  if (gets && call.output == nullptr) {
    return bad(handle, call, ESP_ERR_ARGUMENT, "the buffer is NULL");
  }
  if (has_input && call.input == nullptr) {
    return bad(handle, call, ESP_ERR_ARGUMENT, "the input is NULL");
  }
  if (has_input && !call.in_place && gets && call.input == call.output) {
    return bad(handle, call, ESP_ERR_ARGUMENT, "input and output are the same: use ESP_IN_PLACE");
  }
  return ESP_OK;
}

bool plain(const esp_coll_options& o) noexcept {
  return o.algorithm == ESP_ALGORITHM_AUTO && o.shape == ESP_SHAPE_AUTO && o.radix == 0 &&
         o.variant == ESP_VARIANT_EVENT;
}

void apply_defaults(const Config& config, esp_coll_options& options) noexcept {
  if (options.shape == ESP_SHAPE_AUTO) options.shape = config.shape;
  if (options.radix == 0) options.radix = config.radix;
  if (options.variant == ESP_VARIANT_EVENT) options.variant = config.variant;
}

}  // namespace

const char* caller_of(const Call& call) noexcept {
  if (call.purpose != Purpose::kUser) return purpose_name(call.purpose);
  const CollectiveTraits& traits = traits_of(call.collective);
  return call.blocking ? traits.function : traits.start_function;
}

esp_status complete_call(esp_team& handle, Call& call, const esp_coll_options* options) {
  const std::size_t size = type_size(call.type);
  if (size == 0) [[unlikely]] {
    return bad(handle, call, ESP_ERR_TYPE,
               fmt::format("there is no type {}", static_cast<int>(call.type)));
  }
  call.element_bytes = static_cast<std::uint32_t>(size);
  if (call.count > kBytesMax / size) [[unlikely]] {
    return bad(handle, call, ESP_ERR_ARGUMENT,
               fmt::format("a count of {} elements (was it negative?)", call.count));
  }
  if (call.root < 0 || call.root >= handle.team.size()) [[unlikely]] {
    return bad(handle, call, ESP_ERR_ARGUMENT,
               fmt::format("root {} in a team of {}", call.root, handle.team.size()));
  }
  if (options != nullptr) {
    if (options->struct_size < sizeof(size_t) || options->struct_size > sizeof call.options) {
      return bad(handle, call, ESP_ERR_ARGUMENT,
                 fmt::format("esp_coll_options.struct_size is {}: begin with ESP_COLL_OPTIONS_INIT",
                             options->struct_size));
    }
    std::memcpy(static_cast<void*>(&call.options), options, options->struct_size);
    call.options.struct_size = sizeof call.options;
  }
  const Config& config = handle.job->config;
  if (!handle.job->plain_config) [[unlikely]]
    apply_defaults(config, call.options);
  call.choice_is_free = plain(call.options) && handle.job->plain_config;
  return check_buffers(handle, call);
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

}  // namespace espalier::api
