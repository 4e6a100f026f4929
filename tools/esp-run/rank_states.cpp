#include "rank_states.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <new>

#include "core/process_state.hpp"
#include "process_group.hpp"

namespace esp_run {
namespace {

using espalier::RankPhase;
using espalier::RankStateHeader;
using espalier::RankStatePage;
using espalier::RankStatePlace;

constexpr std::uint64_t kMillisecond = 1'000'000;
// Who waits is given so long: only a callback, or a machine that is overrun, keeps it from looking.
constexpr std::uint64_t kAnswerNs = 5'000 * kMillisecond;
// Who does not seem to wait may just begin to.
constexpr std::uint64_t kGraceNs = 300 * kMillisecond;
// Who polls does so more often than that.
constexpr std::uint64_t kPollNs = 1'000 * kMillisecond;

std::uint64_t now_ns() {
  return espalier::SteadyClock().now_ns();
}

RankPhase phase_of(const RankStatePage& page) {
  return static_cast<RankPhase>(page.phase.load(std::memory_order_relaxed));
}

// 0: nothing is written there.
std::uint64_t elapsed_since(const RankStatePage& page) {
  const std::uint64_t since_ns = page.since_ns.load(std::memory_order_relaxed);
  return since_ns == 0 ? 0 : espalier::elapsed_ns(since_ns, now_ns());
}

// As ps shows it. 0: there is no such process, or /proc does not tell.
char letter_of(pid_t pid) {
  const auto state = espalier::process_state(espalier::VisiblePid(pid));
  return state ? state->letter : '\0';
}
bool is_stopped(char letter) {
  return letter == 'T' || letter == 't';
}
bool is_there(char letter) {
  return letter != 0 && letter != 'Z' && letter != 'X';
}

// Of a process that is not in the library.
const char* outside_text(char letter) {
  if (letter == 'R') return "computing (not in Espalier)";
  return letter == 'D' ? "in a system call that cannot be interrupted (not in Espalier)"
                       : "sleeping in a system call (not in Espalier)";
}

}  // namespace

RankStates::RankStates(std::size_t ranks) : ranks_(ranks) {
  unsetenv(RankStatePlace::kVariable);  // Ours may be a rank of another launcher.
  page_bytes_ = std::max(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), sizeof(RankStatePage));
  const std::size_t bytes = page_bytes_ * (ranks + 1);
  espalier::Descriptor file(memfd_create("esp-run-states", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open() || ftruncate(file.fd(), static_cast<off_t>(bytes)) != 0) return;
  if (fcntl(file.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return;
  if (getrandom(&nonce_, sizeof(nonce_), 0) != sizeof(nonce_)) return;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<std::byte*>(memory);
  auto* header = new (memory_) RankStateHeader;
  header->nonce = nonce_;
  header->page_bytes = page_bytes_;
  header->ranks = ranks;
  file_ = std::move(file);
}

RankStates::~RankStates() {
  if (memory_ != nullptr) munmap(memory_, page_bytes_ * (ranks_ + 1));
}

std::string RankStates::variable(std::size_t index, int descriptor) const {
  return fmt::format("{}={}:{}:{:x}", RankStatePlace::kVariable, descriptor, index, nonce_);
}

// Pages are zero until a rank writes, which is what an empty one is.
const RankStatePage* RankStates::page(std::size_t index) const {
  if (memory_ == nullptr) return nullptr;
  return reinterpret_cast<const RankStatePage*>(memory_ + page_bytes_ * (index + 1));
}

void RankStates::ask(std::vector<Process> processes) {
  asked_ = std::move(processes);
  find_namespaced();
  asked_ns_ = now_ns();
  is_asking_ = true;
  if (memory_ == nullptr) return;
  ++question_;
  reinterpret_cast<RankStateHeader*>(memory_)->question.store(question_, std::memory_order_relaxed);
}

Deadline RankStates::next_look() const {
  if (!is_asking_) return {};
  return Clock::now() + std::chrono::milliseconds(10);
}

bool RankStates::is_over() {
  return std::all_of(asked_.begin(), asked_.end(),
                     [this](const Process& process) { return is_settled(process); });
}

bool RankStates::has_answered(const RankStatePage& page) const {
  return page.answered.load(std::memory_order_acquire) == question_;
}

// Looks have been made since the last wait, and lately: nobody else makes them.
bool RankStates::polls(const RankStatePage& page) const {
  const std::uint64_t looked_ns = page.looked_ns.load(std::memory_order_relaxed);
  return looked_ns > page.since_ns.load(std::memory_order_relaxed) &&
         looked_ns + kPollNs > asked_ns_;
}

// Nothing more is to be expected of it.
bool RankStates::is_settled(const Process& process) const {
  const RankStatePage* const state = page(process.index);
  if (state == nullptr || has_answered(*state)) return true;
  const RankPhase phase = phase_of(*state);
  if (phase != RankPhase::kJoined && phase != RankPhase::kLeaving) return true;
  const char letter = letter_of(process_of(process));
  if (!is_there(letter) || is_stopped(letter)) return true;
  const bool waits = state->waits.load(std::memory_order_relaxed) != 0 || polls(*state);
  return espalier::elapsed_ns(asked_ns_, now_ns()) > (waits ? kAnswerNs : kGraceNs);
}

// The number that the rank has written down may be of another namespace: it is taken only where it
// names a process of the rank's own group here.
pid_t RankStates::process_of(const Process& process) const {
  const RankStatePage* const state = page(process.index);
  if (state == nullptr) return process.pid;
  const pid_t told = state->process.load(std::memory_order_relaxed);
  if (told > 0 && getpgid(told) == process.pid) return told;
  return process.inside > 0 ? process.inside : process.pid;
}

void RankStates::find_namespaced() {
  for (Process& process : asked_) {
    const RankStatePage* const state = page(process.index);
    if (state == nullptr) continue;
    const pid_t told = state->process.load(std::memory_order_relaxed);
    if (told > 0 && getpgid(told) != process.pid) {
      process.inside = find_in_group(process.pid, told);
    }
  }
}

std::vector<pid_t> RankStates::asked_processes() const {
  std::vector<pid_t> processes;
  for (const Process& process : asked_) processes.push_back(process_of(process));
  return processes;
}

std::vector<RankReport> RankStates::take() {
  is_asking_ = false;
  std::vector<RankReport> reports;
  for (const Process& process : std::exchange(asked_, {})) reports.push_back(report(process));
  return reports;
}

RankReport RankStates::report(const Process& process) const {
  RankReport report{.rank = process.rank};
  const char letter = letter_of(process_of(process));
  const RankStatePage* const state = page(process.index);
  if (!is_there(letter)) {
    report.state = "ending";
  } else if (state == nullptr) {
    report.state = is_stopped(letter) ? "stopped" : letter == 'R' ? "running" : "sleeping";
  } else if (has_answered(*state)) {
    add_answer(report, *state);
  } else {
    describe_silent(report, *state, letter);
  }
  return report;
}

// See api/state_report.hpp.
void RankStates::add_answer(RankReport& report, const RankStatePage& page) const {
  const std::size_t bytes = page.text_bytes.load(std::memory_order_relaxed);
  std::string_view text(page.text.data(), std::min(bytes, page.text.size()));
  const std::string_view how = text.substr(0, text.find('\n'));
  const bool in_call = page.waits.load(std::memory_order_relaxed) != 0;
  report.state = how == "asleep"  ? "asleep in a wait"
                 : how == "awake" ? "spinning in a wait"
                 : how == "polls" ? "polling"
                 : in_call        ? "in a wait, for its progress thread"
                                  : "outside Espalier, with a progress thread";
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n')) {
    text.remove_prefix(at + 1);
    const std::string_view line = text.substr(0, text.find('\n'));
    RankReport::Waited waited;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), waited.ns);
    const auto begin = static_cast<std::size_t>(read.ptr - line.data()) + 1;
    if (begin < line.size()) waited.text = line.substr(begin);
    report.waited.push_back(std::move(waited));
  }
  if (report.waited.empty()) report.since_ns = elapsed_since(page);
}

void RankStates::describe_silent(RankReport& report, const RankStatePage& page, char letter) const {
  const bool waits = page.waits.load(std::memory_order_relaxed) != 0;
  const RankPhase phase = phase_of(page);
  report.since_ns = elapsed_since(page);
  if (phase == RankPhase::kNotJoined) {
    report.state = "has not called esp_job_init (or is no program of Espalier's)";
  } else if (phase == RankPhase::kJoining) {
    report.state = "in esp_job_init, which waits for all ranks";
  } else if (phase == RankPhase::kLeft) {
    report.state = "has left the job";
  } else if (phase == RankPhase::kLeaving) {
    report.state = "in esp_job_finalize";
  } else if (waits || polls(page)) {
    report.state =
        is_stopped(letter) ? "in a wait" : "in a wait, but not looking around (in a callback?)";
  } else {
    report.state = is_stopped(letter) ? "not in Espalier" : outside_text(letter);
  }
  if (is_stopped(letter)) report.state = "stopped (SIGSTOP, or a debugger); " + report.state;
}

}  // namespace esp_run
