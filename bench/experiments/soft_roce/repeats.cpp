// Does an adapter execute a write with immediate once, and with the right bytes?
//
//   esp-soft-roce-repeats [--seconds S] [--ack-timeout T] [--pairs N]
//
// Plain libibverbs, nothing of this library: queue pairs between the first two devices write
// numbered placements to each other, as fast as their completions and arrivals allow. What comes
// twice, behind a gap, or with other bytes than were posted is told. A queue pair that breaks is
// left alone. Exit code 1: something was not right.
//
// On Soft-RoCE, with acknowledgements that are late but not lost (docs/verbs.md):
//   tests/vm/rxe-run --netem 'delay 4ms limit 20000' -- build/bin/esp-soft-roce-repeats
#include <arpa/inet.h>
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <utility>
#include <vector>

namespace {

constexpr std::uint64_t kSlots = 32, kSlotBytes = 65536;
constexpr std::uint64_t kSizes[] = {8, 4096, 8000, 20000, 40960, 65536, 65536, 65536};
constexpr int kGidIndex = 1;  // of tests/vm/rxe-run

void must(bool holds, const char* what) {
  if (holds) return;
  fmt::print(stderr, "cannot {}: {}\n", what, std::strerror(errno));
  std::exit(2);
}

// The bytes of one placement: other ones for every number.
void fill(std::byte* out, std::uint64_t bytes, std::uint64_t number) {
  std::mt19937_64 words(number);
  for (std::uint64_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = words();
    std::memcpy(out + i, &word, sizeof word);
  }
}

struct Device {
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_cq* completions = nullptr;
  ibv_srq* receives = nullptr;
  ibv_mr* region = nullptr;
  ibv_gid gid = {};
  std::vector<std::byte> memory;

  void open(ibv_device* device, std::size_t pairs) {
    must((context = ibv_open_device(device)) != nullptr, "open the device");
    must((domain = ibv_alloc_pd(context)) != nullptr, "make a domain");
    must((completions = ibv_create_cq(context, 4096, nullptr, nullptr, 0)) != nullptr, "make a CQ");
    ibv_srq_init_attr shared = {};
    shared.attr = {.max_wr = 2048, .max_sge = 1, .srq_limit = 0};
    must((receives = ibv_create_srq(domain, &shared)) != nullptr, "make a shared receive queue");
    must(ibv_query_gid(context, 1, kGidIndex, &gid) == 0, "find GID 1");
    memory.resize(pairs * 2 * kSlots * kSlotBytes);
    region = ibv_reg_mr(domain, memory.data(), memory.size(),
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    must(region != nullptr, "register memory");
    for (int i = 0; i < 2000; ++i) post_receive();
  }
  void post_receive() {
    ibv_recv_wr request = {}, *refused = nullptr;
    must(ibv_post_srq_recv(receives, &request, &refused) == 0, "post a receive");
  }
};

// One end of a connection.
struct End {
  Device* device = nullptr;
  End* peer = nullptr;
  ibv_qp* queue_pair = nullptr;
  std::size_t index = 0;
  std::uint64_t sent = 0, completed = 0, taken = 0;  // placements
  std::array<std::uint64_t, kSlots> bytes = {};      // of those sent
  bool broken = false;

  std::byte* slot(std::uint64_t number, bool for_receiving) {
    const std::size_t block = index * 2 + (for_receiving ? 1 : 0);
    return device->memory.data() + (block * kSlots + number % kSlots) * kSlotBytes;
  }
  std::uint32_t first_psn() const { return static_cast<std::uint32_t>(index * 1000 + 77); }

  void make() {
    ibv_qp_init_attr wanted = {};
    wanted.send_cq = wanted.recv_cq = device->completions;
    wanted.srq = device->receives;
    wanted.cap.max_send_wr = 2 * kSlots;
    wanted.cap.max_send_sge = 1;
    wanted.qp_type = IBV_QPT_RC;
    wanted.sq_sig_all = 1;
    must((queue_pair = ibv_create_qp(device->domain, &wanted)) != nullptr, "make a queue pair");
  }
  void connect(int ack_timeout) {
    ibv_qp_attr state = {};
    state.qp_state = IBV_QPS_INIT;
    state.port_num = 1;
    state.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    must(ibv_modify_qp(queue_pair, &state, mask) == 0, "go to INIT");
    state = {};
    state.qp_state = IBV_QPS_RTR;
    state.path_mtu = IBV_MTU_4096;
    state.dest_qp_num = peer->queue_pair->qp_num;
    state.rq_psn = peer->first_psn();
    state.max_dest_rd_atomic = 1;
    state.min_rnr_timer = 12;
    state.ah_attr.is_global = 1;
    state.ah_attr.grh.dgid = peer->device->gid;
    state.ah_attr.grh.sgid_index = kGidIndex;
    state.ah_attr.grh.hop_limit = 64;
    state.ah_attr.port_num = 1;
    mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    must(ibv_modify_qp(queue_pair, &state, mask) == 0, "go to RTR");
    state = {};
    state.qp_state = IBV_QPS_RTS;
    state.timeout = static_cast<std::uint8_t>(ack_timeout);
    state.retry_cnt = state.rnr_retry = 7;
    state.sq_psn = first_psn();
    state.max_rd_atomic = 1;
    mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
           IBV_QP_MAX_QP_RD_ATOMIC;
    must(ibv_modify_qp(queue_pair, &state, mask) == 0, "go to RTS");
  }
  // A slot is used again when its placement is complete here and has been looked at there.
  bool may_send() const {
    return !broken && !peer->broken && sent - completed < kSlots && sent - peer->taken < kSlots;
  }
  void send(std::uint64_t length) {
    const std::uint64_t number = sent++;
    bytes[number % kSlots] = length;
    fill(slot(number, false), length, number << 8 | index);
    ibv_sge place = {.addr = reinterpret_cast<std::uint64_t>(slot(number, false)),
                     .length = static_cast<std::uint32_t>(length),
                     .lkey = device->region->lkey};
    ibv_send_wr request = {}, *refused = nullptr;
    request.sg_list = &place;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    request.imm_data = htonl(static_cast<std::uint32_t>(number));
    request.wr.rdma = {.remote_addr = reinterpret_cast<std::uint64_t>(peer->slot(number, true)),
                       .rkey = peer->device->region->rkey};
    must(ibv_post_send(queue_pair, &request, &refused) == 0, "post a write");
  }
};

struct Tally {
  std::uint64_t right = 0, twice = 0, gaps = 0, wrong = 0, broken = 0;

  void arrived(End& at, const ibv_wc& completion) {
    at.device->post_receive();
    const std::uint64_t number = ntohl(completion.imm_data);
    if (number != at.taken) {
      ++(number < at.taken ? twice : gaps);
      fmt::print("queue pair {}: placement {} instead of {}; {} sent, {} completed\n",
                 completion.qp_num, number, at.taken, at.peer->sent, at.peer->completed);
      if (number < at.taken) return;
    }
    const std::uint64_t bytes = at.peer->bytes[number % kSlots];
    std::vector<std::byte> expected(kSlotBytes);
    fill(expected.data(), bytes, number << 8 | at.peer->index);
    const std::byte* found = at.slot(number, true);
    at.taken = number + 1;
    if (std::memcmp(found, expected.data(), bytes) == 0) {
      ++right;
      return;
    }
    ++wrong;
    std::uint64_t first = 0, end = bytes;
    while (found[first] == expected[first]) ++first;
    while (found[end - 1] == expected[end - 1]) --end;
    fmt::print("queue pair {}: placement {} of {} bytes is wrong in [{}, {})\n", completion.qp_num,
               number, bytes, first, end);
  }
  void finished(End& at, const ibv_wc& completion) {
    if (completion.status == IBV_WC_SUCCESS) {
      ++at.completed;
    } else if (!std::exchange(at.broken, true)) {
      ++broken;
      fmt::print("queue pair {} broke: {}\n", completion.qp_num,
                 ibv_wc_status_str(completion.status));
    }
  }
};

class Experiment {
 public:
  Experiment(ibv_device** list, std::size_t pairs, int ack_timeout) {
    for (std::size_t d = 0; d < 2; ++d) {
      devices_[d].open(list[d], pairs);
      ends_[d].resize(pairs);
    }
    each_end([&](End& end, std::size_t d, std::size_t index) {
      end.device = &devices_[d];
      end.peer = &ends_[1 - d][index];
      end.index = index;
      end.make();
    });
    each_end([&](End& end, std::size_t, std::size_t) { end.connect(ack_timeout); });
  }

  void step(Tally& tally) {
    each_end([&](End& end, std::size_t, std::size_t) {
      for (std::uint64_t k = draw_() % 12; k > 0 && end.may_send(); --k) {
        end.send(kSizes[draw_() % std::size(kSizes)]);
      }
    });
    for (std::size_t d = 0; d < 2; ++d) {
      std::array<ibv_wc, 16> completions;
      const int got = ibv_poll_cq(devices_[d].completions, 16, completions.data());
      for (int i = 0; i < got; ++i) take(completions[static_cast<std::size_t>(i)], ends_[d], tally);
    }
  }

 private:
  template <typename Visit>
  void each_end(Visit&& visit) {
    for (std::size_t d = 0; d < 2; ++d) {
      for (std::size_t i = 0; i < ends_[d].size(); ++i) visit(ends_[d][i], d, i);
    }
  }
  static void take(const ibv_wc& completion, std::vector<End>& ends, Tally& tally) {
    for (End& end : ends) {
      if (end.queue_pair->qp_num != completion.qp_num) continue;
      const bool arrival =
          completion.status == IBV_WC_SUCCESS && completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
      arrival ? tally.arrived(end, completion) : tally.finished(end, completion);
    }
  }

  std::array<Device, 2> devices_;
  std::array<std::vector<End>, 2> ends_;
  std::mt19937_64 draw_{1};
};

int measure(double seconds, int ack_timeout, std::size_t pairs) {
  int count = 0;
  ibv_device** list = ibv_get_device_list(&count);
  must(list != nullptr && count >= 2, "find two devices");
  Experiment experiment(list, pairs, ack_timeout);
  Tally tally;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) experiment.step(tally);
  fmt::print(
      "{} placements right, {} twice, {} behind a gap, {} with wrong bytes; {} queue pairs of {} "
      "broke\n",
      tally.right, tally.twice, tally.gaps, tally.wrong, tally.broken, 2 * pairs);
  return tally.twice + tally.gaps + tally.wrong + tally.broken > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) try {
  double seconds = 60;
  int ack_timeout = 6;
  std::size_t pairs = 8;
  CLI::App app("Does an adapter execute a write with immediate once, and with the right bytes?");
  app.add_option("--seconds", seconds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--ack-timeout", ack_timeout, "4.096 us times 2 to this power")
      ->check(CLI::Range(1, 31))
      ->capture_default_str();
  app.add_option("--pairs", pairs, "of queue pairs")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem);
  }
  return measure(seconds, ack_timeout, pairs);
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 2;
}
