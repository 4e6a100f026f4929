#include "api/devices.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <utility>

#include "api/api.hpp"
#include "api/check.hpp"
#include "api/extents.hpp"

namespace espalier {

Devices::Devices(esp_job& job) : job_(job), drivers_(job.config, &job.log), kinds_(drivers_) {}
Devices::~Devices() {
  if (shares_ != nullptr) offer(nullptr);
}

// Memory of devices, to wires.
void Devices::offer(AwayMemory* away) noexcept {
  if (job_.shm_wire != nullptr) job_.shm_wire->set_away(away);
  if (job_.network != nullptr) job_.network->set_away(away);
}

namespace {

// A driver that answers nothing any more has no say in memory of the host.
bool is_readable(const void* at) noexcept {
  std::byte byte;
  const iovec into = {&byte, 1}, from = {const_cast<void*>(at), 1};
  return ::process_vm_readv(::getpid(), &into, 1, &from, 1, 0) == 1;
}

}  // namespace

// Of memory that the processor may not touch. The lock is held.
Result<std::optional<device::Home>> Devices::home_of(const void* buffer) {
  using Home = std::optional<device::Home>;
  if (buffer == nullptr) return Home();
  auto place = kinds_.of(buffer);
  if (place.ok()) {
    const bool here = device::host_may_touch(place->kind);
    if (!here && mover_ == nullptr) home_ = place->home;
    return here ? Home() : Home(place->home);
  }
  if (is_readable(buffer)) return Home();
  return error(ESP_ERR_DEVICE, place.error().text);
}

Devices::Found Devices::look(const void* input, const void* output) {
  const std::lock_guard lock(mutex_);
  Found found;
  if (drivers_.loaded() == nullptr) return found;
  auto in = home_of(input), out = home_of(output);
  if (!in || !out) {
    found.refused = (in.ok() ? out.error() : in.error()).text;
  } else {
    found.input = *in;
    found.output = *out;
  }
  return found;
}

// Made at the first call that needs it.
StagedCopies& Devices::copies() {
  bool made = false;
  {
    const std::lock_guard lock(mutex_);
    if (mover_ == nullptr) {
      made = true;
      mover_ = std::make_unique<DeviceMover>(DeviceMover::Context{drivers_, *drivers_.loaded(),
                                                                  job_.worker->timers(), job_.clock,
                                                                  job_.counters, job_.rank, home_});
      shares_ = std::make_unique<DeviceShares>(
          DeviceShares::Context{drivers_, *drivers_.loaded(), *mover_, job_.log});
      copies_.emplace(*mover_);
      accesses_.emplace(job_, *copies_);
      messages_.emplace(job_, *copies_);
      reductions_ = std::make_unique<DeviceReductions>(*drivers_.loaded(), job_.log,
                                                       job_.config.device_reduce_bytes);
    }
  }
  // Its owner may run callbacks, which call.
  if (made) {
    api::on_owner(job_, [&] {
      job_.worker->attach(*mover_);
      offer(shares_.get());
      job_.worker->attach(*copies_);
    });
  }
  return *copies_;
}

StagedAccesses& Devices::accesses() {
  (void)copies();
  return *accesses_;
}

StagedMessages& Devices::messages() {
  (void)copies();
  return *messages_;
}

StagedMessages* Devices::staged_messages() {
  const std::lock_guard lock(mutex_);
  return messages_ ? &*messages_ : nullptr;
}

namespace {

// Who waits for a copy.
struct Awaited {
  const Mover& mover;
  Status status;
  std::string why;
  Latch ended;

  void end(Status how) {
    status = how;
    if (how.code() == ESP_ERR_DEVICE) why = mover.why();
    ended.open();
  }
};

}  // namespace

Outcome Devices::copy(const Repack& what) {
  StagedCopies& by = copies();
  Awaited copy{by.mover(), {}, {}, {}};
  const auto tell = [](void* context, Status status) noexcept {
    static_cast<Awaited*>(context)->end(status);
  };
  api::on_owner(job_, [&] {
    const Engine::Started started = by.start(what, {tell, &copy});
    if (started.done) copy.end(started.status);
  });
  api::wait_until(
      job_, [&] { return copy.ended.is_open(); },
      [&](std::uint64_t limit_ns) { copy.ended.sleep(limit_ns); });
  if (copy.status.ok()) return Unit{};
  if (copy.why.empty()) copy.why = esp_status_text(copy.status.code());
  return error(copy.status.code(), std::move(copy.why), copy.status.rank());
}

void Devices::close() noexcept {
  if (!copies_) return;
  copies_->close();
  (void)mover_->progress();  // What was taken back is forgotten there.
}

// Once all do it stays so: flags of those who open such memory are not taken back.
bool Devices::shares(Team& team, std::uint64_t bytes) const {
  if (job_.config.device_share_bytes == 0 || bytes < job_.config.device_share_bytes) return false;
  if (team.near_opens) return true;
  const TeamNodes* const nodes = team.nodes();
  const std::int32_t node = nodes != nullptr ? nodes->node_of(team.rank) : 0;
  const std::int32_t begin = nodes != nullptr ? nodes->begin[static_cast<std::size_t>(node)] : 0;
  const std::int32_t end =
      nodes != nullptr ? nodes->begin[static_cast<std::size_t>(node) + 1] : team.size();
  for (std::int32_t at = begin; at < end; ++at) {
    const std::int32_t member = nodes != nullptr ? nodes->member_at(at) : at;
    if (member == team.rank) continue;
    const auto number = static_cast<std::size_t>(member);
    if (!team.wire_to(number).caps(team.members[number]).away) return false;
  }
  team.near_opens = true;
  return true;
}

// One member of another node stands for all: this rank's adapter is asked for. Callers of any
// thread ask.
bool Devices::goes_directly(const Team& team, std::uint64_t bytes) const {
  const TeamNodes* const nodes = team.nodes();
  const std::uint64_t least = job_.config.device_direct_bytes;
  if (nodes == nullptr || least == 0 || bytes < least || job_.network == nullptr) return false;
  const std::int32_t node = nodes->node_of(team.rank);
  const std::int32_t other = nodes->member_at(nodes->begin[node == 0 ? 1 : 0]);
  return job_.network->takes_away(team.members[static_cast<std::size_t>(other)]);
}

esp_status Devices::fail(const char* caller, esp_team& team, const std::string& why) {
  const Status status(ESP_ERR_DEVICE, job_.rank);
  const std::string text = fmt::format("{}, rank {}: {}", caller, job_.rank, why);
  api::on_owner(job_, [&] { job_.engine->fail(team.team, status, text); });
  return api::fail_team(team, status);
}

const Reduction* Devices::reduction_of(const Call& call, device::Home home) {
  const std::lock_guard lock(mutex_);
  return reductions_->find({call.op, call.type, call.bytes(), home});
}

esp_status Devices::look_at(esp_team& team, Call& call) {
  const CollectiveTraits& traits = traits_of(call.collective);
  const api::Sides sides = api::sides_of(team.team, call);
  const Found found = look(sides.gives ? call.input : nullptr, sides.gets ? call.output : nullptr);
  if (!found.refused.empty()) return fail(api::caller_of(call), team, found.refused);
  // The mover waits for a stream, wherever buffers are.
  const bool ordered = call.options.stream != nullptr;
  const bool in = found.input || (ordered && sides.gives && call.input != nullptr);
  const bool out = found.output || (ordered && sides.gets && call.output != nullptr);
  if (!in && !out) return ESP_OK;
  call.mover = &mover();
  const bool any_there = found.input || found.output;
  const bool all_there = any_there && (found.input || !sides.gives) &&
                         (found.output || !sides.gets) &&
                         (!found.input || !found.output || *found.input == *found.output);
  if (traits.reduces && all_there && call.pattern == nullptr) {
    call.reduction = reduction_of(call, found.input ? *found.input : *found.output);
  }
  if (call.pattern == nullptr && !traits.types) {
    call.pattern = &job_.short_tables.plain_patterns[static_cast<std::size_t>(call.type)];
  }
  call.packs_input = call.packs_input || in;
  call.packs_output = call.packs_output || out;
  const bool plain = call.pattern != nullptr && call.pattern->is_plain() && call.form == nullptr;
  const bool lies_so = plain && any_there && !ordered;
  const bool apart = !call.in_place || call.reduction != nullptr;
  call.shares = lies_so && apart && shares(team.team, call.bytes());
  call.direct =
      lies_so && !call.in_place && !traits.reduces && goes_directly(team.team, call.bytes());
  return ESP_OK;
}

// Streams -----------------------------------------------------------------------------------------

esp_status Devices::check_stream(const Call& call) {
  const auto bad = [&](esp_status code, const char* what) {
    return api::fail(job_, code, fmt::format("{}: {}", api::caller_of(call), what));
  };
  const esp_coll_options& options = call.options;
  if (options.stream == nullptr) {
    return bad(ESP_ERR_ARGUMENT, "the options have an event, and no stream to record it in");
  }
  if (options.partial != nullptr) {
    return bad(ESP_ERR_UNSUPPORTED, "partial completion is not ordered with a stream");
  }
  if (call.collective == Collective::kBarrier) {
    return bad(ESP_ERR_UNSUPPORTED, "a barrier has no buffers to be ordered with a stream");
  }
  const std::lock_guard lock(mutex_);
  if (drivers_.loaded() != nullptr) return ESP_OK;
  if (job_.config.devices == DevicesMode::kOff) {
    return bad(ESP_ERR_ARGUMENT, "the options have a stream, and the setting DEVICES is off");
  }
  const std::string& why = drivers_.why_not();
  return bad(ESP_ERR_ARGUMENT,
             why.empty()
                 ? "the options have a stream, and the program has loaded no driver of devices"
                 : fmt::format("the options have a stream: {}", why).c_str());
}

// What the caller gave may be wrong: that is its own affair. A driver that fails is everybody's.
esp_status Devices::refuse_stream(esp_team& team, const Call& call, const Error& why) {
  const char* const caller = api::caller_of(call);
  const std::string text = fmt::format("the stream or event of the options: {}", why.text);
  const esp_status code = why.status.code();
  if (code != ESP_ERR_ARGUMENT && code != ESP_ERR_UNSUPPORTED) return fail(caller, team, text);
  return api::fail(job_, code, fmt::format("{}: {}", caller, text));
}

esp_status Devices::order(esp_team& team, Call& call) {
  Result<StreamOrder*> taken = static_cast<StreamOrder*>(nullptr);
  {
    const std::lock_guard lock(mutex_);
    if (orders_ == nullptr) {
      orders_ = std::make_unique<StreamOrders>(*drivers_.loaded(), job_.clock, job_.log);
    }
    taken = orders_->take(call.options.stream, call.options.event);
  }
  if (!taken) return refuse_stream(team, call, taken.error());
  call.order = taken.value();
  return ESP_OK;
}

esp_status Devices::enter(esp_team& team, Call& call) {
  const Outcome entered = call.order->enter();
  if (entered) return ESP_OK;
  StreamOrders::give_back(*std::exchange(call.order, nullptr));
  return refuse_stream(team, call, entered.error());
}

void Devices::enter(esp_team& team, const char* caller, StreamOrder& order) {
  const Outcome entered = order.enter();
  if (!entered) (void)fail(caller, team, entered.error().text);
}

// -------------------------------------------------------------------------------------------------

esp_status Devices::look_at(const char* caller, esp_team& team, const void* buffer,
                            Mover*& reaches) {
  bool on_device = false;
  const esp_status status = look_at(caller, team, buffer, on_device);
  if (on_device) reaches = &mover();
  return status;
}

esp_status Devices::look_at(const char* caller, esp_team& team, const void* buffer,
                            bool& on_device) {
  const Found found = look(buffer, nullptr);
  if (!found.refused.empty()) return fail(caller, team, found.refused);
  on_device = found.input.has_value();
  return ESP_OK;
}

bool Devices::is_out_of_reach(const void* buffer) {
  const Found found = look(buffer, nullptr);
  return found.input || !found.refused.empty();
}

esp_status Devices::locate(const char* caller, const void* buffer, std::uint64_t bytes,
                           bool& on_device) {
  const Found found = look(bytes > 0 ? buffer : nullptr, nullptr);
  on_device = found.input.has_value();
  if (found.refused.empty()) return ESP_OK;
  return api::fail(job_, ESP_ERR_DEVICE,
                   fmt::format("{}, rank {}: {}", caller, job_.rank, found.refused));
}

std::string Devices::describe() const {
  const std::lock_guard lock(mutex_);
  device::Driver* const driver = drivers_.loaded();
  if (driver == nullptr) return drivers_.why_not();
  auto info = driver->describe();
  if (!info.ok()) return info.error().text;
  const DeviceReductions none(*driver, job_.log, job_.config.device_reduce_bytes);
  std::string between;
  if (mover_ != nullptr && job_.network != nullptr) {
    between = fmt::format("; between nodes it goes {}", job_.network->describe_away());
  }
  return fmt::format("buffers may be memory of {} {}{}, {}{}", info->name, info->version,
                     info->played ? ", played" : "",
                     (reductions_ != nullptr ? *reductions_ : none).describe(), between);
}

std::string Devices::explain(const Call& call, bool is_short) const {
  if (call.mover == nullptr) return {};
  if (is_short) return "; on a device, copied before and after";
  if (call.order != nullptr) return "; behind what is in its stream, staged in memory of the host";
  const char* const passed = call.shares && call.direct
                                 ? "read there by the others of its node, and by adapters"
                             : call.shares ? "read there by the others of its node"
                             : call.direct ? "read there by adapters"
                                           : "staged in memory of the host";
  if (!traits_of(call.collective).reduces) return fmt::format("; on a device, {}", passed);
  if (call.reduction != nullptr) return fmt::format("; on a device, which combines, {}", passed);
  const std::lock_guard lock(mutex_);
  return fmt::format("; on a device, {}, combined by the host ({})", passed,
                     reductions_->describe());
}

}  // namespace espalier
