#include "api/check.hpp"

#include <fmt/format.h>

#include <cstring>

#include "api/extents.hpp"
#include "core/datatype.hpp"
#include "core/reproducible_sum.hpp"

namespace espalier::api {
namespace {

esp_status bad(esp_team& handle, const Call& call, esp_status code, const std::string& what) {
  return fail(*handle.job, code, fmt::format("{}: {}", caller_of(call), what));
}

// ---- the buffers ----

// What stands in the place of the input when the output holds it.
const void* input_in_place(const Call& call, const Extents& extents) noexcept {
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool own_block =
      traits.input == Extent::kOne && traits.output != Extent::kOne && !traits.neighbors;
  if (!own_block || extents.input == 0) return call.output;
  return static_cast<const std::byte*>(call.output) + extents.own_bytes;
}

// ESP_IN_PLACE, where it may stand. A scatter's is the output.
esp_status check_in_place(esp_team& handle, Call& call) {
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool root_keeps = traits.root_sends && traits.input != Extent::kNone;
  const bool gets = gets_output(handle.team, call);
  const auto refuse = [&](const char* why) { return bad(handle, call, ESP_ERR_ARGUMENT, why); };
  if (root_keeps) {
    call.in_place = call.output == ESP_IN_PLACE;
    const bool is_root = handle.team.rank == call.root;
    if (call.in_place && !is_root) return refuse("ESP_IN_PLACE is for the root only");
    if (is_root && call.input == ESP_IN_PLACE) {
      return refuse("ESP_IN_PLACE stands for the root's output, not the input");
    }
    return ESP_OK;
  }
  call.in_place = traits.input != Extent::kNone && call.input == ESP_IN_PLACE;
  if (gets && call.output == ESP_IN_PLACE) [[unlikely]] {
    return refuse("ESP_IN_PLACE stands for an input, not the output");
  }
  if (call.in_place && traits.neighbors) return refuse("neighbours exchange nothing in place");
  if (call.in_place && !gets) return refuse("ESP_IN_PLACE is for the root only");
  return ESP_OK;
}

esp_status check_pointers(esp_team& handle, Call& call, const Extents& extents) {
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool gets = gets_output(handle.team, call);
  const bool gives = traits.input != Extent::kNone && gives_input(handle.team, call);
  const bool root_keeps = call.in_place && traits.root_sends;
  // At rank 0 of an exscan there is nothing to write.
  const bool left_alone = call.collective == Collective::kExscan && handle.team.rank == 0;
  const bool needed = gets && !root_keeps && extents.output > 0 && (!left_alone || call.in_place);
  if (needed && call.output == nullptr) {
    return bad(handle, call, ESP_ERR_ARGUMENT,
               traits.input != Extent::kNone ? "the output is NULL" : "the buffer is NULL");
  }
  if (call.in_place && !root_keeps) {
    call.input = input_in_place(call, extents);
    // All blocks are read there, though one is written.
    const bool reads = extents.input > 0 && call.output == nullptr;
    return reads ? bad(handle, call, ESP_ERR_ARGUMENT, "the output is NULL") : ESP_OK;
  }
  if (root_keeps) call.output = nullptr;
  if (!gives || extents.input == 0) return ESP_OK;
  if (call.input == nullptr) return bad(handle, call, ESP_ERR_ARGUMENT, "the input is NULL");
  const void* own = traits.output == Extent::kOne && traits.root_sends
                        ? static_cast<const std::byte*>(call.input) + extents.own_bytes
                        : call.input;
  // Blocks of neighbours may have places of their own in one array: a halo.
  if (traits.neighbors && is_irregular(call.collective)) return ESP_OK;
  const bool same = call.input == call.output || own == call.output ||
                    (traits.input == Extent::kOne && call.input == input_in_place(call, extents));
  if (same && gets && extents.output > 0) {
    return bad(handle, call, ESP_ERR_ARGUMENT,
               traits.neighbors ? "input and output are the same"
                                : "input and output are the same: use ESP_IN_PLACE");
  }
  return ESP_OK;
}

esp_status check_buffers(esp_team& handle, Call& call) {
  esp_status status = check_in_place(handle, call);
  if (status != ESP_OK) return status;
  Extents extents;
  status = measure_buffers(handle, call, extents);
  return status == ESP_OK ? check_pointers(handle, call, extents) : status;
}

// One that was made: the call is one of the built-in type that it is made of.
esp_status check_type(esp_team& handle, Call& call) {
  const std::size_t size = type_size(call.type);
  if (size == 0) [[unlikely]] {
    call.pattern = handle.job->types.find(call.type);
    if (call.pattern == nullptr) {
      return bad(handle, call, ESP_ERR_TYPE,
                 fmt::format("there is no type {}", static_cast<int>(call.type)));
    }
    call.type = call.pattern->type();
    call.element_bytes = static_cast<std::uint32_t>(type_size(call.type));
    return ESP_OK;
  }
  call.element_bytes = static_cast<std::uint32_t>(size);
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

// The form of a sum that must be reproducible; nullptr: there is none, or need be none.
const ElementForm* form_of(const esp_job& job, const Call& call) noexcept {
  const bool sums =
      call.op == ESP_SUM_REPRODUCIBLE || (call.op == ESP_SUM && job.config.reproducible);
  return sums ? reproducible_form(call.type) : nullptr;
}

// All elements are brought into it before the operation, as those that lie apart are packed.
void set_form(const esp_team& handle, Call& call, const ElementForm& form) noexcept {
  const auto& plain = handle.job->short_tables.plain_patterns;
  if (call.pattern == nullptr) call.pattern = &plain[static_cast<std::size_t>(call.type)];
  call.form = &form;
  call.element_bytes = form.bytes;
  call.packs_input = true;
  call.packs_output = gets_output(handle.team, call);
  call.combiner = Combiner(form.combine, call.type);
}

esp_status bind_operator(esp_team& handle, Call& call) {
  if (const ElementForm* form = form_of(*handle.job, call); form != nullptr) [[unlikely]] {
    set_form(handle, call, *form);
    return ESP_OK;
  }
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
  esp_status status = check_type(handle, call);
  if (status != ESP_OK) return status;
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
    if (call.options.stream != nullptr || call.options.event != nullptr) {
      status = handle.job->devices->check_stream(call);
      if (status != ESP_OK) return status;
    }
  }
  const Config& config = handle.job->config;
  if (!handle.job->plain_config) [[unlikely]]
    apply_defaults(config, call.options);
  call.choice_is_free = plain(call.options) && handle.job->plain_config;
  status = check_buffers(handle, call);
  const bool reduces = traits_of(call.collective).reduces;
  if (status == ESP_OK && reduces) status = bind_operator(handle, call);
  return status == ESP_OK && handle.job->devices->may_be()
             ? handle.job->devices->look_at(handle, call)
             : status;
}

}  // namespace espalier::api
