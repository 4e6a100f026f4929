#include "core/counters.hpp"

namespace espalier {
namespace {

constexpr CounterInfo kTable[] = {
    {"operations", "collectives and point-to-point operations started, but for short ones",
     &Counters::operations},
    {"short_operations", "operations that took the short path (single cache lines, no plan)",
     &Counters::short_operations},
    {"plans_built", "plans computed because none in the cache fitted", &Counters::plans_built},
    {"plans_reused", "operations that found their plan in the cache", &Counters::plans_reused},
    {"callbacks", "completion callbacks of the user run", &Counters::callbacks},
    {"segments_sent", "segments handed to a peer", &Counters::segments_sent},
    {"segments_received", "segments taken from a peer", &Counters::segments_received},
    {"bytes_sent", "payload bytes of the segments sent", &Counters::bytes_sent},
    {"bytes_received", "payload bytes of the segments received", &Counters::bytes_received},
    {"inline_sends", "segments whose payload travelled inside the descriptor's cache line",
     &Counters::inline_sends},
    {"copy_in_bytes", "bytes copied from a user buffer into shared memory",
     &Counters::copy_in_bytes},
    {"copy_out_bytes", "bytes copied from shared memory into a user buffer",
     &Counters::copy_out_bytes},
    {"direct_bytes", "bytes copied straight from a peer's esp_alloc memory",
     &Counters::direct_bytes},
    {"cma_calls", "process_vm_readv and process_vm_writev calls", &Counters::cma_calls},
    {"cma_bytes", "bytes moved by these calls", &Counters::cma_bytes},
    {"publishes", "segments published once for several readers", &Counters::publishes},
    {"combines", "reductions of a segment (one per k-input call)", &Counters::combines},
    {"combine_bytes", "bytes read by reductions, of all operands", &Counters::combine_bytes},
    {"past_cache_bytes", "bytes of results of reductions stored past the caches",
     &Counters::past_cache_bytes},
    {"grants", "receive credits given to peers", &Counters::grants},
    {"retries", "posts answered \"retry\" because a resource was missing", &Counters::retries},
    {"unexpected", "segments that arrived before their receive was posted", &Counters::unexpected},
    {"evacuations", "unexpected segments moved aside so that others could pass",
     &Counters::evacuations},
    {"puts", "one-sided writes to regions, whole operations", &Counters::puts},
    {"gets", "one-sided reads of regions, whole operations", &Counters::gets},
    {"atomics", "fetch-add and compare-swap operations on regions", &Counters::atomics},
    {"region_bytes", "bytes copied between buffers and regions of the own node",
     &Counters::region_bytes},
    {"remote_bytes_sent",
     "payload bytes of puts, gets, atomics and active messages sent to other nodes, answers too",
     &Counters::remote_bytes_sent},
    {"remote_bytes_received", "the same that came from other nodes",
     &Counters::remote_bytes_received},
    {"messages_sent", "active messages handed to a carrier", &Counters::messages_sent},
    {"messages_received", "active messages whose function was called",
     &Counters::messages_received},
    {"messages_refused", "active messages that came for ids without a function",
     &Counters::messages_refused},
    {"connections", "TCP connections made with other ranks, by either side",
     &Counters::connections},
    {"queue_pairs", "ends of RDMA connections made with other ranks, those made again too",
     &Counters::queue_pairs},
    {"frames_sent", "frames handed to the links between machines", &Counters::frames_sent},
    {"socket_calls", "system calls made to read, write and watch sockets", &Counters::socket_calls},
    {"strangers", "connections refused because they did not prove to belong to the job",
     &Counters::strangers},
    {"yields", "times the processor was yielded while waiting", &Counters::yields},
    {"naps", "times it slept for a moment instead, its processor being owed to others",
     &Counters::naps},
    {"parks", "times the owner thread went to sleep while waiting", &Counters::parks},
    {"wakeups_sent", "wake-up calls made for sleeping peers", &Counters::wakeups_sent},
    {"timers_fired", "timers that expired", &Counters::timers_fired},
};
static_assert(sizeof(kTable) / sizeof(kTable[0]) == sizeof(Counters) / sizeof(Counter),
              "every counter has a line in the table");

}  // namespace

std::span<const CounterInfo> counter_table() noexcept {
  return kTable;
}

}  // namespace espalier
