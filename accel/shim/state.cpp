#include "accel/shim/state.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "accel/shim/communicator.hpp"
#include "accel/shim/profile.hpp"
#include "accel/shim/report.hpp"
#include "accel/shim/started.hpp"
#include "accel/shim/types.hpp"

namespace espalier::accel {
namespace {

State g_state;

int gather(void*, const void* mine, std::size_t bytes, void* all) {
  if (bytes > INT_MAX) return 1;
  const int n = static_cast<int>(bytes);
  return PMPI_Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, g_state.own) == MPI_SUCCESS ? 0 : 1;
}

[[noreturn]] void abort_all(void*, int exit_code, const char* message) {
  std::fprintf(stderr, "espalier: %s\n", message);
  PMPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

// Alike on all: where they are told different things nothing is presumed.
Mode agreed_mode() {
  const char* text = std::getenv("ESPALIER_ACCEL");
  int rank = 0;
  PMPI_Comm_rank(g_state.own, &rank);
  const bool always = text != nullptr && std::strcmp(text, "always") == 0;
  if (text != nullptr && !always && std::strcmp(text, "auto") != 0 && *text != '\0' && rank == 0) {
    std::fprintf(stderr, "espalier: ESPALIER_ACCEL is auto, always or off, not '%s'\n", text);
  }
  int mine = always ? 1 : 0, all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, g_state.own);
  return all != 0 ? Mode::kAlways : Mode::kAuto;
}

// Looks for a message that nobody sends: that is all an MPI needs to go on with others.
int drive_mpi(void*) {
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, g_state.own, &found, MPI_STATUS_IGNORE);
  return 0;
}

// The program's processes may compute for hours before they come: that is nobody's fault, as far as
// the MPI is concerned. What the user has set holds.
struct Quiet {
  std::array<const char*, 3> list = {};
  Quiet() noexcept {
    std::size_t n = 0;
    if (std::getenv("ESPALIER_TIMEOUT") == nullptr) list[n++] = "TIMEOUT=0";
    if (std::getenv("ESPALIER_STALL_WARNING") == nullptr) list[n++] = "STALL_WARNING=0";
  }
};

bool open_job(std::array<char, 512>& why) {
  esp_bootstrap bootstrap = {nullptr, 0, 0, &gather, &abort_all};
  PMPI_Comm_rank(g_state.own, &bootstrap.rank);
  PMPI_Comm_size(g_state.own, &bootstrap.size);
  const Quiet settings;
  esp_job_options options = ESP_JOB_OPTIONS_INIT;
  options.bootstrap = &bootstrap;
  options.thread_mode = g_state.threaded ? ESP_THREAD_PROGRESS : ESP_THREAD_OWNER;
  options.settings = settings.list.data();
  options.error_text = why.data();
  options.error_text_bytes = why.size();
  int works = esp_job_init(&options, &g_state.job) == ESP_OK ? 1 : 0, all = 0;
  PMPI_Allreduce(&works, &all, 1, MPI_INT, MPI_MIN, g_state.own);
  if (all == 0 && works == 0) {
    std::fprintf(stderr, "espalier: rank %d: %s; collectives are not accelerated\n", bootstrap.rank,
                 why.data());
  }
  return all != 0;
}

// What the MPI has to send for others that are not as far goes on, and so does the job.
void wait_for_all() {
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(g_state.own, &request) != MPI_SUCCESS) return;
  int flag = 0;
  while (PMPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 0) {
    if (g_state.threaded) {
      std::this_thread::yield();
    } else {
      const Turn turn;
      if (esp_progress(g_state.job) == 0) std::this_thread::yield();
    }
  }
}

// Not all MPIs print what a code that was added means.
void say_if_fatal(MPI_Comm comm, const char* text) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return;
  if (handler == MPI_ERRORS_ARE_FATAL) std::fprintf(stderr, "%s\n", text);
  PMPI_Errhandler_free(&handler);
}

}  // namespace

State& state() noexcept {
  return g_state;
}

void begin(int thread_level) {
  const char* report = std::getenv("ESPALIER_ACCEL_REPORT");
  g_state.reports = report != nullptr && std::strcmp(report, "0") != 0 && *report != '\0';
  g_state.saves = std::getenv("ESPALIER_ACCEL_SAVE") != nullptr;
  g_state.threaded = thread_level == MPI_THREAD_MULTIPLE;
  PMPI_Comm_dup(MPI_COMM_WORLD, &g_state.own);
  // What goes wrong is told to the program on its own communicators.
  PMPI_Comm_set_errhandler(g_state.own, MPI_ERRORS_RETURN);
  g_state.mode = agreed_mode();
  std::array<char, 512> why = {};
  if (!open_job(why)) {
    if (g_state.job != nullptr) esp_job_finalize(g_state.job);
    g_state.job = nullptr;
    return;
  }
  // MPICH 4.0 forgets the texts of codes that are added to its own classes.
  if (PMPI_Add_error_class(&g_state.error_class) == MPI_SUCCESS) {
    PMPI_Add_error_string(g_state.error_class, "espalier: an accelerated collective has failed");
  }
  (void)esp_job_set_idle(g_state.job, &drive_mpi, nullptr);
  PMPI_Comm_group(MPI_COMM_WORLD, &g_state.everybody);
  learn_types();
  load_profile();
  open_communicators();
}

void end() {
  if (g_state.job == nullptr) return;
  wait_for_all();
  if (g_state.reports) print_report();
  save_profile();
  end_started();
  close_communicators();
  (void)esp_job_finalize(g_state.job);
  g_state.job = nullptr;
  PMPI_Group_free(&g_state.everybody);
  PMPI_Comm_free(&g_state.own);
}

int conclude(MPI_Comm comm, esp_team* team, esp_status status) {
  if (status == ESP_OK) [[likely]]
    return MPI_SUCCESS;
  int code = MPI_ERR_OTHER;
  if (PMPI_Add_error_code(g_state.error_class, &code) == MPI_SUCCESS) {
    std::array<char, MPI_MAX_ERROR_STRING> text = {};
    std::snprintf(text.data(), text.size(), "espalier: %s: %s", esp_status_text(status),
                  team != nullptr ? esp_team_error(team) : esp_job_error(g_state.job));
    PMPI_Add_error_string(code, text.data());
    say_if_fatal(comm, text.data());
  }
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace espalier::accel
