// The table of settings: how values are written, and a line for each. path: setup
#include <fmt/format.h>

#include <type_traits>

#include "core/active_message.hpp"
#include "core/config.hpp"
#include "core/config_value.hpp"

namespace espalier {
namespace {

// The values of an enumeration by name, in the order of its enumerators from 0.
template <typename Enum>
constexpr std::string_view kNames[] = {""};
template <>
constexpr std::string_view kNames<LogLevel>[] = {"error", "warn", "info", "debug", "trace"};
template <>
constexpr std::string_view kNames<CmaMode>[] = {"auto", "on", "off"};
template <>
constexpr std::string_view kNames<MulticastMode>[] = {"auto", "on", "off"};
template <>
constexpr std::string_view kNames<MulticastLeaders>[] = {"auto", "node", "socket", "adapter"};
template <>
constexpr std::string_view kNames<DevicesMode>[] = {"auto", "off"};
template <>
constexpr std::string_view kNames<Isa>[] = {"auto", "generic", "sse2", "neon", "avx2", "avx512"};
template <>
constexpr std::string_view kNames<BootstrapKind>[] = {"auto", "pmix", "singleton"};
template <>
constexpr std::string_view kNames<NodeRule>[] = {"launcher", "machine"};
template <>
constexpr std::string_view kNames<Path>[] = {"auto", "copy", "pull", "push"};
template <>
constexpr std::string_view kNames<LevelRule>[] = {"auto",   "on",   "off",  "board",
                                                  "socket", "numa", "cache"};
template <>
constexpr std::string_view kNames<esp_algorithm>[] = {"auto",       "short", "tree",    "publish",
                                                      "spread",     "ring",  "bruck",   "doubling",
                                                      "one-factor", "xor",   "halving", "linear"};
template <>
constexpr std::string_view kNames<esp_shape>[] = {
    "auto", "flat", "chain", "binary", "binomial", "kary", "knomial", "two-tree", "double-leader"};
template <>
constexpr std::string_view kNames<esp_variant>[] = {"event", "waitall", "blocking"};
static_assert(std::size(kNames<esp_algorithm>) == ESP_ALGORITHM_COUNT);
static_assert(std::size(kNames<esp_shape>) == ESP_SHAPE_COUNT);
static_assert(std::size(kNames<esp_variant>) == ESP_VARIANT_COUNT);

template <auto Field>
using FieldType = std::remove_cvref_t<decltype(std::declval<Config>().*Field)>;

bool in_range(const Knob& knob, double value) noexcept {
  return knob.min <= value && value <= knob.max;
}

template <auto Field>
bool parse(const Knob& knob, std::string_view text, Config& config) {
  using T = FieldType<Field>;
  if constexpr (std::is_enum_v<T>) {
    const auto index = parse_name(text, kNames<T>);
    if (index) config.*Field = static_cast<T>(*index);
    return index.has_value();
  } else if constexpr (std::is_same_v<T, std::string>) {
    config.*Field = text;
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    const auto value = parse_bool(text);
    if (value) config.*Field = *value;
    return value.has_value();
  } else if constexpr (std::is_same_v<T, TraceSetting>) {
    const auto value = parse_trace(text);
    if (value) config.*Field = *value;
    return value.has_value();
  } else {
    const auto value = [text] {
      if constexpr (std::is_same_v<T, double>) return parse_number(text);
      if constexpr (std::is_same_v<T, int>) return parse_integer(text);
      if constexpr (std::is_same_v<T, std::uint64_t>) return parse_size(text);
    }();
    if (!value || !in_range(knob, static_cast<double>(*value))) return false;
    config.*Field = static_cast<T>(*value);
    return true;
  }
}

template <auto Field>
std::string print(const Config& config) {
  using T = FieldType<Field>;
  const T& value = config.*Field;
  if constexpr (std::is_enum_v<T>) {
    return std::string(kNames<T>[static_cast<std::size_t>(value)]);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "on" : "off";
  } else if constexpr (std::is_same_v<T, TraceSetting>) {
    return !value.file.empty() ? value.file : value.on ? "on" : "off";
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return format_size(value);
  } else {
    return fmt::format("{}", value);
  }
}

template <auto Field>
std::string allowed(const Knob& knob) {
  using T = FieldType<Field>;
  if constexpr (std::is_enum_v<T>) {
    return join_or(kNames<T>);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "any text";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "on or off (1 or 0)";
  } else if constexpr (std::is_same_v<T, TraceSetting>) {
    return "on or off (1 or 0), or a file";
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return fmt::format("a size such as 4096, 64K or 4MiB, from {} to {}",
                       format_size(static_cast<std::uint64_t>(knob.min)),
                       format_size(static_cast<std::uint64_t>(knob.max)));
  } else {
    return fmt::format("{} from {} to {}", std::is_same_v<T, int> ? "an integer" : "a number",
                       knob.min, knob.max);
  }
}

struct Range {
  double min = 0.0;
  double max = 0.0;
};

template <auto Field>
constexpr Knob knob(std::string_view name, std::string_view unit, std::string_view doc,
                    Range range = {}) noexcept {
  Knob made{name, unit, doc, &allowed<Field>, &print<Field>, &parse<Field>, range.min, range.max};
  if constexpr (std::is_enum_v<FieldType<Field>>) made.names = kNames<FieldType<Field>>;
  return made;
}

constexpr double kKiB = 1024.0;
constexpr double kMiB = kKiB * kKiB;
constexpr double kTiB = kMiB * kMiB;
constexpr double kYear = 365.0 * 86400.0;
constexpr double kMinute = 60e6;  // microseconds

constexpr Knob kKnobs[] = {
    knob<&Config::log_level>("LOG_LEVEL", "", "Least important messages that are still written."),
    knob<&Config::bootstrap>("BOOTSTRAP", "",
                             "How ranks find each other; auto takes PMIx when a launcher offers "
                             "it and a job of one rank otherwise."),
    knob<&Config::topology>("TOPOLOGY", "",
                            "Machine to plan for: empty is this machine, a path is an hwloc XML "
                            "file, anything else an hwloc synthetic description. With another "
                            "machine than this one sockets are emulated: the ranks of a node are "
                            "taken for bound to its cores, one after the other."),
    knob<&Config::nodes>("NODES", "",
                         "Which ranks of a machine share memory: those on a node of the same name "
                         "by the launcher, or all of the machine. Without shm in WIRES every rank "
                         "is a node of its own."),
    knob<&Config::node_name>("NODE_NAME", "",
                             "Name of this rank's node, instead of the launcher's; ranks of one "
                             "machine and one name share memory. For all ranks or none."),
    knob<&Config::levels>(
        "LEVELS", "",
        "Whether trees follow the boards, sockets, NUMA nodes and outer caches to which ranks are "
        "bound; auto does where a node has more than 8 ranks of a team, and above 16 KiB leaves "
        "out what shares a memory controller. One of them by name: that one alone, always, so "
        "there is a leader for each (off: one for a node). Boards are seen in TOPOLOGY only."),
    knob<&Config::level_shapes>(
        "LEVEL_SHAPES", "",
        "Shapes of the levels of trees that follow nodes, such as "
        "switch:binary,node:chain,board:flat,socket:binary,numa:flat,"
        "cache:flat,core:knomial/4; the rest is chosen. leaders:N among them: N "
        "ranks of each node send and receive between nodes, a part of the "
        "segments each."),
    knob<&Config::switches>("SWITCHES", "",
                            "Which nodes are behind which switch: the path of a map, or its text, "
                            "with lines of the form SwitchName=leaf0 Nodes=n[0-15],n20 or "
                            "SwitchName=pod0 Switches=leaf[0-3], as in Slurm's topology.conf. The "
                            "same on all ranks. Empty: nothing is known of switches."),
    knob<&Config::adapter_numa>("ADAPTER_NUMA", "",
                                "NUMA node of the network adapter, by the kernel's number or that "
                                "in TOPOLOGY: of equally good leaders the nearest to it is taken. "
                                "-1: as the system says, on an emulated machine unknown.",
                                {-1, 65535}),
    knob<&Config::multicast>(
        "MULTICAST", "",
        "Whether what one node has for all others is sent to the network's group, once, where all "
        "ranks have one: on: of three nodes or more by every broadcast, allreduce, barrier and "
        "allgather whose call names nothing else and that does not take the short path; auto: "
        "by RDMA, where each rank has a core and that is expected to be faster; never over UDP. "
        "The "
        "same on all ranks."),
    knob<&Config::multicast_groups>(
        "MULTICAST_GROUPS", "",
        "Groups of the network that a rank is in at a time, each with packets of its own: a team "
        "that finds no room gets that of the group that was used least lately, whose team goes on "
        "by messages. The same on all ranks.",
        {1, 1024}),
    knob<&Config::multicast_leaders>(
        "MULTICAST_LEADERS", "",
        "Ranks of a node that are in a team's group of the network, each for a part of the node: "
        "one for each adapter that the node's ranks use (auto does so, too), for each socket to "
        "which they are bound, or one for the node. The same on all ranks."),
    knob<&Config::multicast_place_bytes>(
        "MULTICAST_PLACE_BYTES", "bytes",
        "Segments from this size on that are sent to the network's group by RDMA are sent from and "
        "received into the memory they belong to, without a copy. 0: none is. The same on all "
        "ranks.",
        {0, kTiB}),
    knob<&Config::wires>("WIRES", "",
                         "What may connect two ranks, best first: shm (ranks of a node, always "
                         "first), rc and ud (RDMA by connections and by datagrams), tcp. What is "
                         "not listed is not used. A list of names with commas; without shm every "
                         "rank is a node of its own."),
    knob<&Config::tcp_interface>("TCP_INTERFACE", "",
                                 "Interfaces, addresses or networks (10.1.0.0/16) that tcp uses, "
                                 "best first, separated by commas. Empty: all but loopback."),
    knob<&Config::timeout>("TIMEOUT", "s",
                           "A wait that lasts longer ends with an error that names the missing "
                           "rank. Time in which the waiting rank was stopped does not count. "
                           "esp_job_finalize waits no longer for ranks that live. 0: never.",
                           {0, kYear}),
    knob<&Config::stall_warning>("STALL_WARNING", "s",
                                 "A wait that lasts longer is reported once, with the ranks it "
                                 "waits for. Time counts as for TIMEOUT. 0: never.",
                                 {0, kYear}),
    knob<&Config::progress_thread>("PROGRESS_THREAD", "",
                                   "A thread of the library drives progress, asleep when idle, "
                                   "as with ESP_THREAD_PROGRESS."),
    knob<&Config::progress_cpus>(
        "PROGRESS_CPUS", "",
        "Where that thread may run. auto: the other hardware threads of the core to which the "
        "thread is bound that makes the job, else what that may use of its NUMA node, but its "
        "processor where there are two for each rank; sibling: the other hardware threads of its "
        "core in any case; off: wherever that may run; or a list of processors (3,8-11)."),
    knob<&Config::spin_us>("SPIN_US", "us",
                           "How long a waiting thread spins before it yields or sleeps. -1: "
                           "automatic, from the number of ranks and cores.",
                           {-1, kMinute}),
    knob<&Config::yield_us>("YIELD_US", "us",
                            "How long it yields the processor after that before it sleeps. -1: "
                            "automatic.",
                            {-1, kMinute}),
    knob<&Config::tuning>("TUNING", "",
                          "Profile with choices that were measured (esp-tune makes one): a file, "
                          "or off. Empty: espalier/profile in XDG_CONFIG_HOME or ~/.config, then "
                          "/etc/espalier/profile, if there is one. Used where all ranks have read "
                          "the same."),
    knob<&Config::explain>("EXPLAIN", "",
                           "The first member of a team says on the standard error, once for each "
                           "collective and size, what was chosen and why, and what comes next."),
    knob<&Config::algorithm>("ALGORITHM", "",
                             "Algorithm of collectives whose call does not name one, where it "
                             "exists for them."),
    knob<&Config::shape>("SHAPE", "", "Tree shape of collectives whose call does not name one."),
    knob<&Config::radix>("RADIX", "", "Radix of the k-ary and k-nomial shapes. 0: automatic.",
                         {0, 1024}),
    knob<&Config::variant>("VARIANT", "",
                           "Synchronisation of trees, and of the steps of alltoalls: event-driven, "
                           "or the two controls with more dependencies (for experiments). An error "
                           "of calls whose algorithm has the first alone."),
    knob<&Config::short_bytes>("SHORT_BYTES", "bytes",
                               "Largest message for the short path within a node.", {0, 64 * kKiB}),
    knob<&Config::segment_bytes>(
        "SEGMENT_BYTES", "bytes",
        "Segment size of collectives, and largest one of messages. 0: automatic.", {0, kTiB}),
    knob<&Config::transfer>(
        "TRANSFER", "",
        "How segments of collectives travel inside a node: copied through shared memory, read by "
        "their receivers, or written by their senders; what is not possible is copied. auto takes "
        "what was measured to be faster, and writes large blocks of a gather."),
    knob<&Config::readers>("READERS", "",
                           "How many read in one segment of another process at once, the rest one "
                           "after the other. 0: all.",
                           {0, 1024}),
    knob<&Config::window_send>("WINDOW_SEND", "segments",
                               "Segments in flight to each child (N). 0: automatic.", {0, 64}),
    knob<&Config::window_recv>("WINDOW_RECV", "segments",
                               "Segments granted to the parent (M), more than N by default. 0: "
                               "automatic.",
                               {0, 64}),
    knob<&Config::isa>(
        "ISA", "",
        "Instruction set of the reduction kernels; auto takes the widest that the "
        "processor has, one that it lacks is an error (generic: the one of processors "
        "that are neither x86-64 nor AArch64). All give the same bits."),
    knob<&Config::reproducible>(
        "REPRODUCIBLE", "",
        "Sums of floating-point numbers are the same bits for the same values, whatever the "
        "number and places of ranks, algorithm and segments: every ESP_SUM is "
        "ESP_SUM_REPRODUCIBLE, of 32 bytes an element on the way."),
    knob<&Config::past_cache_bytes>(
        "PAST_CACHE_BYTES", "bytes",
        "Results of reductions from this size on are stored past the caches. 0: never.", {0, kTiB}),
    knob<&Config::cma>("CMA", "",
                       "Copying straight between processes (process_vm_readv). auto probes each "
                       "peer, on makes a failing probe an error."),
    knob<&Config::cma_quantum_bytes>("CMA_QUANTUM_BYTES", "bytes",
                                     "Most bytes copied between processes in one go, so that a "
                                     "big copy does not stop progress.",
                                     {4 * kKiB, kTiB}),
    knob<&Config::cma_threshold_bytes>("CMA_THRESHOLD_BYTES", "bytes",
                                       "Flows of at least this size are copied straight between "
                                       "processes, where that is allowed. 0: measured on the "
                                       "machine; 1: always.",
                                       {0, kTiB}),
    knob<&Config::shm_arena_bytes>("SHM_ARENA_BYTES", "bytes",
                                   "Shared memory of each rank for segments on their way, at least "
                                   "64 KiB; 0 for a size that suits the number of ranks.",
                                   {0, kTiB}),
    knob<&Config::heap_bytes>(
        "HEAP_BYTES", "bytes",
        "Address range of each rank for esp_alloc; memory is taken when touched.", {0, kTiB}),
    knob<&Config::tag_eager_bytes>("TAG_EAGER_BYTES", "bytes",
                                   "Messages matched by tag of up to this size await no receive.",
                                   {0, kMessageBytes}),
    knob<&Config::tag_window_bytes>(
        "TAG_WINDOW_BYTES", "bytes",
        "What of them may wait at one receiver; more waits at its sender.", {0, kTiB}),
    knob<&Config::tag_unexpected_bytes>(
        "TAG_UNEXPECTED_BYTES", "bytes",
        "When more waits at a rank, senders' windows for it do not open again.", {0, kTiB}),
    knob<&Config::device>(
        "DEVICE", "",
        "RDMA devices to use, as name[:port],...; empty: the nearest of the fastest."),
    knob<&Config::gid_index>("GID_INDEX", "",
                             "GID of the RDMA port. -1: for RoCE the first of version 2, those of "
                             "IPv4 addresses before others.",
                             {-1, 255}),
    knob<&Config::rdma_mtu_bytes>(
        "RDMA_MTU", "bytes",
        "Largest RDMA packet, down to 256, 512, ..., 4096. 0: what the link has.", {0, 4 * kKiB}),
    knob<&Config::service_level>("SERVICE_LEVEL", "", "InfiniBand service level.", {0, 15}),
    knob<&Config::traffic_class>("TRAFFIC_CLASS", "",
                                 "Traffic class of RDMA packets; on RoCE the DSCP in its upper "
                                 "6 bits.",
                                 {0, 255}),
    knob<&Config::rdma_ack_timeout>("RDMA_ACK_TIMEOUT", "",
                                    "An RDMA connection sends again what is not acknowledged "
                                    "within 4.096 us times 2 to this power (up to four times that, "
                                    "by the adapter). 0: 14, on Soft-RoCE 18.",
                                    {0, 24}),
    knob<&Config::rdma_retries>("RDMA_RETRIES", "",
                                "How often it does so before the connection breaks.", {0, 6}),
    knob<&Config::rdma_not_ready_retries>("RDMA_NOT_READY_RETRIES", "",
                                          "How often a sender is put off by a receiver without a "
                                          "free packet before the connection breaks.",
                                          {0, 6}),
    knob<&Config::rdma_connections>("RDMA_CONNECTIONS", "",
                                    "Peers that get an RDMA connection from this rank: neighbours "
                                    "in trees, and for half of them whom it sends messages to or "
                                    "reaches over to; the others get datagrams. Without ud in "
                                    "WIRES all get one.",
                                    {1, 65536}),
    knob<&Config::rdma_cache_bytes>("RDMA_CACHE_BYTES", "bytes",
                                    "User memory that stays registered for RDMA between "
                                    "operations, at most; the kernel tells when it is freed, "
                                    "unmapped or moved, to a thread of the library. 0: none, "
                                    "memory that esp_alloc did not give is copied.",
                                    {0, kTiB}),
    knob<&Config::rdma_pull_bytes>("RDMA_PULL_BYTES", "bytes",
                                   "Segments from this size on that lie in registered memory and "
                                   "come before their receive are read by the receiver's adapter "
                                   "when that is posted; their sender waits. 0: none, they are "
                                   "copied.",
                                   {0, kTiB}),
    knob<&Config::rdma_silence>("RDMA_SILENCE", "s",
                                "A peer that answers no datagram for so long is given up. One "
                                "with which nothing is under way is asked first when as long "
                                "(10 s at most) has passed, so that takes up to twice as long. "
                                "A rank that computes and calls "
                                "nothing of the library does not answer. 0: 120 s, or TIMEOUT if "
                                "that is longer (never, if TIMEOUT is 0).",
                                {0, kYear}),
    knob<&Config::devices>("DEVICES", "",
                           "Whether buffers may be memory of devices (GPUs). auto: where the "
                           "program has loaded the driver of devices; a program that has not has "
                           "no such memory, and pays nothing. off: nobody asks, and a program "
                           "that passes memory of a device crashes."),
    knob<&Config::cuda_driver>(
        "CUDA_DRIVER", "", "The library of CUDA's driver, by name or path. Empty: libcuda.so.1."),
    knob<&Config::device_share_bytes>(
        "DEVICE_SHARE_BYTES", "bytes",
        "From this size on, of a block or a message, members of a node read each other's memory of "
        "devices where it lies; smaller ones go through memory of the host. 0: all do.",
        {0, kTiB}),
    knob<&Config::device_direct_bytes>(
        "DEVICE_DIRECT_BYTES", "bytes",
        "From this size on, of a block or a message, adapters read and write memory of devices of "
        "other nodes themselves (GPUDirect RDMA), where driver and adapter offer it; else it goes "
        "through memory of the host. 0: all does.",
        {0, kTiB}),
    knob<&Config::device_reduce_bytes>(
        "DEVICE_REDUCE_BYTES", "bytes",
        "Reductions of blocks from this size on whose buffers are memory of a device are carried "
        "out by kernels there, where the library has some for operator and type. 0: none is, the "
        "processor reduces.",
        {0, kTiB}),
    knob<&Config::counters>("COUNTERS", "",
                            "Write this rank's counters that are not 0 to the standard error when "
                            "it has left the job."),
    knob<&Config::trace>(
        "TRACE", "",
        "Record events for esp_trace_write. A file: each rank writes FILE.RANK when "
        "it leaves the job; esp-run joins them to FILE."),
    knob<&Config::trace_events>("TRACE_EVENTS", "events",
                                "Events kept, 32 bytes each, rounded up to a power of two; the "
                                "oldest are overwritten.",
                                {64, 1 << 28}),
};
static_assert(std::size(kKnobs) <= Config::kKnobsMax);

}  // namespace

std::span<const Knob> knobs() noexcept {
  return kKnobs;
}

}  // namespace espalier
