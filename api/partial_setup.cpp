// Partial completion: from what a caller asks for (esp_partial) to what a request has. path: setup
#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "api/check.hpp"
#include "api/extents.hpp"
#include "api/partial.hpp"

namespace espalier::api {
namespace {

constexpr unsigned kFlags = ESP_PARTIAL_DELIVER | ESP_PARTIAL_SEGMENTS | ESP_PARTIAL_UNORDERED |
                            ESP_PARTIAL_AWAIT | ESP_PARTIAL_SEPARATE;
constexpr int kPartsMax = 1 << 30;

Error bad(const char* what) {
  return error(ESP_ERR_ARGUMENT, fmt::format("esp_partial: {}", what));
}
Error unsupported(const char* what) {
  return error(ESP_ERR_UNSUPPORTED, fmt::format("esp_partial: {}", what));
}

bool has(const esp_partial& wanted, unsigned flag) noexcept {
  return (wanted.flags & flag) != 0;
}

// Are the blocks of the output members', or neighbours'?
bool gets_blocks(const Call& call) noexcept {
  const Extent output = traits_of(call.collective).output;
  return output == Extent::kPerMember || output == Extent::kCounts;
}

Outcome check_flags(const Call& call, const esp_partial& wanted, bool reports) {
  const bool delivers = has(wanted, ESP_PARTIAL_DELIVER);
  if ((wanted.flags & ~kFlags) != 0) return bad("an unknown flag");
  if (!delivers &&
      (wanted.function != nullptr || has(wanted, ESP_PARTIAL_SEGMENTS | ESP_PARTIAL_UNORDERED))) {
    return bad("a function, SEGMENTS and UNORDERED are for DELIVER");
  }
  if (delivers && reports && wanted.function == nullptr && call.purpose != Purpose::kPersistent) {
    return bad("without a function there must be a request to take from, not a notify");
  }
  const bool awaits = has(wanted, ESP_PARTIAL_AWAIT);
  if (awaits && reports && wanted.after == nullptr && call.purpose != Purpose::kPersistent) {
    return bad("without after there must be a request to make partitions ready of, not a notify");
  }
  if (wanted.blocks < 0 || wanted.blocks > kPartsMax) return bad("blocks is out of range");
  if (wanted.partitions < 0 || wanted.partitions > kPartsMax) {
    return bad("partitions is out of range");
  }
  if (!has(wanted, ESP_PARTIAL_AWAIT) && wanted.after != nullptr) return bad("after is for AWAIT");
  return Unit{};
}

Outcome check_placement(const Call& call, const esp_partial& wanted) {
  if (!has(wanted, ESP_PARTIAL_UNORDERED)) return Unit{};
  if (!gets_blocks(call)) {
    return bad("UNORDERED is for operations in which a member gets blocks of several");
  }
  if (call.in_place) return unsupported("UNORDERED is not for operations in place");
  if (call.packs_input || call.packs_output || call.types != nullptr) {
    return unsupported("UNORDERED is for elements without gaps, of one type, on the host");
  }
  return Unit{};
}

Outcome check_separate(const Call& call, const esp_partial& wanted) {
  if (!has(wanted, ESP_PARTIAL_SEPARATE)) return Unit{};
  const bool exchanges = call.collective == Collective::kNeighborAlltoall ||
                         call.collective == Collective::kNeighborAlltoallv;
  if (!exchanges || call.purpose != Purpose::kPersistent) {
    return unsupported("SEPARATE is for persistent neighbor_alltoall and neighbor_alltoallv");
  }
  if (!has(wanted, ESP_PARTIAL_AWAIT)) return bad("SEPARATE is for AWAIT");
  if (has(wanted, ESP_PARTIAL_UNORDERED)) return unsupported("SEPARATE is not for UNORDERED");
  return Unit{};
}

Outcome check_awaiting(const Call& call, const esp_partial& wanted) {
  if (!has(wanted, ESP_PARTIAL_AWAIT) || !call.in_place) return Unit{};
  const CollectiveTraits& traits = traits_of(call.collective);
  const bool exchanges = replaces_blocks(call.collective) && !traits.root_sends && !traits.reduces;
  if (exchanges || call.collective == Collective::kExscan) {
    return unsupported("AWAIT is not for exchanges and exscans in place");
  }
  return Unit{};
}

// ---- delivery ----

std::vector<int> sources_of(const Team& team, const Call& call) {
  const CollectiveTraits& traits = traits_of(call.collective);
  if (traits.neighbors) return {call.neighbors->sources.begin(), call.neighbors->sources.end()};
  if (gets_blocks(call)) {
    std::vector<int> members(static_cast<std::size_t>(team.size()));
    std::iota(members.begin(), members.end(), 0);
    return members;
  }
  return {traits.rooted && !traits.reduces ? call.root : -1};
}

// Of elements that lie apart or travel in another form, where blocks begin.
void set_addresses(UserBlocks& user, const Call& call, const BlockMap& map) {
  if (call.form != nullptr) {
    user.user_bytes = type_size(call.type);
    user.form_bytes = call.form->bytes;
  }
  auto* output = static_cast<std::byte*>(call.output);
  for (std::size_t b = 0; b + 1 < map.begins.size(); ++b) {
    const Pattern& pattern =
        call.types != nullptr ? *call.types->find(call.out_types[b]) : *call.pattern;
    user.apart = user.apart || !pattern.is_plain();
    const std::uint64_t extent = call.types != nullptr ? 1 : pattern.extent_bytes();
    const std::uint64_t before =
        call.out_displs != nullptr ? call.out_displs[b] : map.begins[b] / unit_of(call);
    user.begins.push_back(output + before * extent);
  }
}

void add_arrivals(Partial& partial, const Call& call, const esp_partial& wanted, BlockMap map) {
  if (map.blocks() == 0) return;
  UserBlocks user;
  user.sources = sources_of(*partial.team, call);
  if (call.packs_output) set_addresses(user, call, map);
  partial.arrivals = std::make_unique<Arrivals>(std::move(map), std::move(user),
                                                has(wanted, ESP_PARTIAL_SEGMENTS));
}

bool consume(void* context, const Portion& portion) noexcept {
  auto& partial = *static_cast<Partial*>(context);
  partial.arrivals->land(portion);
  if (partial.function != nullptr) partial.job->partials.add_due(partial);
  return true;
}

Consumer consumer_of(Partial& partial) noexcept {
  const auto expect = [](void* context, std::uint64_t portions) noexcept {
    return static_cast<Partial*>(context)->arrivals->reserve(portions);
  };
  return {consume, expect, &partial};
}

// ---- readiness ----

// How many parts each block of the input has.
Result<std::vector<int>> parts_of(const BlockMap& map, const esp_partial& wanted, const int* each) {
  std::vector<int> parts(static_cast<std::size_t>(map.blocks()), std::max(wanted.partitions, 1));
  std::int64_t all = 0;
  for (std::size_t b = 0; b < parts.size(); ++b) {
    if (each != nullptr) parts[b] = each[b];
    if (parts[b] < 1) return bad("each block has at least one partition");
    all += parts[b];
  }
  if (all > kPartsMax) return bad("too many partitions");
  return parts;
}

// Elements without gaps that a mover packs are one run all the same.
bool lie_apart(const Call& call, bool packed) noexcept {
  const bool plain = call.mover != nullptr && call.form == nullptr && call.pattern != nullptr &&
                     call.pattern->is_plain();
  return packed && !plain;
}

// Where the input lies in one run; nullptr: nowhere.
const std::byte* run_of_input(const Call& call) noexcept {
  const void* input = traits_of(call.collective).input == Extent::kNone ? call.output : call.input;
  const bool packed = call.packs_input || (input == call.output && call.packs_output);
  const bool apart = call.in_displs != nullptr || call.types != nullptr;
  return lie_apart(call, packed) || apart ? nullptr : static_cast<const std::byte*>(input);
}

Outcome check_leader(const Partial& partial, const Call& call, const esp_partial& wanted) {
  if (wanted.after == nullptr) return Unit{};
  const esp_request& after = *wanted.after;
  if (call.purpose == Purpose::kPersistent && !after.persistent) {
    return bad("a persistent request follows a persistent one");
  }
  if (after.job != partial.job || after.partial == nullptr || !after.partial->delivers ||
      after.partial->function != nullptr) {
    return bad("after is an operation of this job that delivers, and to no function");
  }
  const bool apart = after.partial->arrivals != nullptr && after.partial->arrivals->lies_apart();
  if (apart || (partial.partitions != nullptr && partial.partitions->has_gaps())) {
    return unsupported("after is for elements without gaps, in one run");
  }
  return Unit{};
}

// `in`: of the blocks that come, for those whose partitions are messages.
Outcome separate_parts(Partial& partial, Call& call, const esp_partial& wanted,
                       const std::vector<int>& parts, BlockMap& out, BlockMap& in) {
  auto coming = parts_of(in, wanted, wanted.source_partitions);
  if (!coming) return coming.error();
  out.plan_begins = cut(out, parts, unit_of(call)).begins;
  in.plan_begins = cut(in, *coming, unit_of(call)).begins;
  partial.separate = std::make_unique<Separate>();
  if (separate(call, parts, *coming, ++partial.job->graph_count, *partial.separate)) return Unit{};
  return bad("more than 256 messages between two");
}

Outcome add_partitions(Partial& partial, Call& call, const esp_partial& wanted, BlockMap& coming) {
  BlockMap map = map_blocks(*partial.team, call, Buffer::kInput, 1);
  const bool separates = has(wanted, ESP_PARTIAL_SEPARATE);
  if (map.blocks() > 0 || separates) {
    auto parts = parts_of(map, wanted, wanted.block_partitions);
    if (!parts) return parts.error();
    const std::uint64_t unit = call.types != nullptr ? 1 : unit_of(call);
    BlockMap pieces = cut(map, *parts, unit);
    if (separates) {
      const Outcome made = separate_parts(partial, call, wanted, *parts, map, coming);
      if (!made) return made;
    }
    if (map.blocks() > 0) {
      partial.partitions =
          std::make_unique<Partitions>(std::move(map), std::move(pieces), run_of_input(call));
    }
  }
  if (const Outcome sound = check_leader(partial, call, wanted); !sound) return sound;
  partial.after = wanted.after;
  return Unit{};
}

Gate gate_of(Partial& partial) noexcept {
  partial.partitions->context = &partial;
  partial.partitions->notice = [](void* context) noexcept {
    auto& self = *static_cast<Partial*>(context);
    self.job->engine->look_at_gates(*self.team);
  };
  const auto is_open = [](void* context, const Portion& portion) noexcept {
    const Partitions& partitions = *static_cast<Partial*>(context)->partitions;
    return portion.bytes == Portion::kAll ? partitions.all_open() : partitions.is_open(portion);
  };
  const auto first_closed = [](void* context) noexcept {
    const Partitions& partitions = *static_cast<Partial*>(context)->partitions;
    return partitions.all_open() ? -1 : partitions.first_closed();
  };
  return {is_open, first_closed, &partial};
}

Outcome fill(Partial& partial, Call& call, const esp_partial& wanted) {
  partial.delivers = has(wanted, ESP_PARTIAL_DELIVER);
  partial.awaits = has(wanted, ESP_PARTIAL_AWAIT);
  partial.function = wanted.function;
  partial.context = wanted.context;
  // On a device, what is handed out or waited for bit by bit is packed so, and combined by the
  // host.
  call.shares = call.direct = false;
  call.reduction = nullptr;
  call.places = has(wanted, ESP_PARTIAL_UNORDERED);
  if (call.places) call.out_displs = nullptr;
  BlockMap coming = map_blocks(*partial.team, call, Buffer::kOutput, std::max(wanted.blocks, 1));
  const Call asked = call;
  if (partial.awaits) {
    if (const Outcome added = add_partitions(partial, call, wanted, coming); !added) return added;
  }
  if (partial.delivers) add_arrivals(partial, asked, wanted, std::move(coming));
  if (partial.arrivals != nullptr) call.consumer = consumer_of(partial);
  if (partial.partitions != nullptr) call.gate = gate_of(partial);
  return Unit{};
}

Partial* allocate(esp_team& handle) noexcept {
  Partial* partial = handle.job->partial_pool.allocate();
  if (partial == nullptr) return nullptr;
  partial->job = handle.job;
  partial->team = &handle.team;
  return partial;
}

Error no_memory() {
  return error(ESP_ERR_NO_MEMORY, "no memory for what is delivered or awaited");
}

}  // namespace

Result<Partial*> make_partial(esp_team& handle, Call& call, const esp_partial& given,
                              bool reports) {
  esp_partial wanted = ESP_PARTIAL_INIT;
  if (given.struct_size < sizeof(size_t) || given.struct_size > sizeof wanted) {
    return bad("struct_size is wrong: begin with ESP_PARTIAL_INIT");
  }
  std::memcpy(static_cast<void*>(&wanted), &given, given.struct_size);
  for (const Outcome& sound : {check_flags(call, wanted, reports), check_placement(call, wanted),
                               check_awaiting(call, wanted), check_separate(call, wanted)}) {
    if (!sound) return sound.error();
  }
  Partial* partial = allocate(handle);
  if (partial == nullptr) return no_memory();
  if (const Outcome filled = fill(*partial, call, wanted); !filled) {
    release_partial(*handle.job, partial);
    return filled.error();
  }
  return partial;
}

Result<Partial*> make_partial(esp_team& handle, StreamOrder& order) {
  Partial* partial = allocate(handle);
  if (partial != nullptr) {
    partial->order = &order;
    return partial;
  }
  StreamOrders::give_back(order);
  return error(ESP_ERR_NO_MEMORY, "no memory for the order of a stream");
}

Result<Partial*> make_partial(esp_team& handle, Engine::Flow& flow, int partitions) {
  if (partitions < 1 || partitions > kPartsMax) {
    return error(ESP_ERR_ARGUMENT,
                 fmt::format("{} partitions are not in 1..{}", partitions, kPartsMax));
  }
  Partial* partial = allocate(handle);
  if (partial == nullptr) return no_memory();
  BlockMap parts = map_bytes(flow.bytes, partitions);
  if (flow.direction == Engine::Direction::kReceive) {
    partial->delivers = true;
    UserBlocks user;
    user.sources = {flow.peer};
    // What is packed is known by its place in the buffer alone.
    for (std::size_t b = 0; flow.mover != nullptr && b + 1 < parts.begins.size(); ++b) {
      user.begins.push_back(static_cast<std::byte*>(flow.buffer) + parts.begins[b]);
    }
    partial->arrivals = std::make_unique<Arrivals>(std::move(parts), std::move(user), false);
    flow.consumer = consumer_of(*partial);
  } else {
    partial->awaits = true;
    partial->partitions = std::make_unique<Partitions>(map_bytes(flow.bytes, 1), std::move(parts),
                                                       static_cast<const std::byte*>(flow.buffer));
    flow.gate = gate_of(*partial);
  }
  return partial;
}

}  // namespace espalier::api
