// The same ping-pong of several threads over an MPI library, with MPI_THREAD_MULTIPLE or one
// thread:
//   mpirun -n 2 esp-threads-openmpi latency [options]
//
// Each thread has a communicator of its own: libraries that keep apart what threads do know them by
// that. path: setup
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "threads/latency_of.hpp"

namespace {

using namespace espalier::bench;

class MpiLine : public Line {
 public:
  MpiLine(MPI_Comm comm, int peer) : comm_(comm), peer_(peer) {}

  void send(const void* buffer, std::size_t bytes) override {
    MPI_Send(buffer, static_cast<int>(bytes), MPI_BYTE, peer_, 0, comm_);
  }
  void recv(void* buffer, std::size_t bytes) override {
    MPI_Recv(buffer, static_cast<int>(bytes), MPI_BYTE, peer_, 0, comm_, MPI_STATUS_IGNORE);
  }
  void exchange(const void* out, void* in, std::size_t bytes) override {
    MPI_Request requests[2];
    const int count = static_cast<int>(bytes);
    MPI_Irecv(in, count, MPI_BYTE, peer_, 0, comm_, &requests[0]);
    MPI_Isend(out, count, MPI_BYTE, peer_, 0, comm_, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }

 private:
  const MPI_Comm comm_;
  const int peer_;
};

Setting setting() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  Setting setting;
  setting.library = version;
  const std::string first = setting.library.substr(0, setting.library.find_first_of(",\n"));
  const auto number = first.find_last_of("\t ");  // "Open MPI v4.1.4", "MPICH Version:\t4.0.2"
  setting.library = (first.starts_with("MPICH") ? "MPICH" : "Open MPI") + first.substr(number);
  std::replace(setting.library.begin(), setting.library.end(), '\t', ' ');
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &setting.ranks_on_machine);
  MPI_Comm_free(&machine);
  MPI_Comm_rank(MPI_COMM_WORLD, &setting.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &setting.ranks);
  setting.path = setting.ranks == setting.ranks_on_machine ? "shm" : "a network";
  setting.sum_over_ranks = [](double value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return value;
  };
  return setting;
}

int measure(const Options& options) {
  const Setting here = setting();
  if (here.ranks != 2) {
    std::fprintf(stderr, "esp-threads: latency is between two ranks\n");
    return 1;
  }
  const int most = *std::max_element(options.threads.begin(), options.threads.end());
  std::vector<MPI_Comm> comms(static_cast<std::size_t>(most));
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  Report report(options, here);
  report.note("latency", kLatencyNote);
  LatencyWay way;
  way.name = options.ways.front();
  way.asks = here.rank == 0;
  way.one_thread = way.name == "single";
  way.make_line = [&](int thread, int) {
    return std::make_unique<MpiLine>(comms[static_cast<std::size_t>(thread)], 1 - here.rank);
  };
  way.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  measure_latency_of(way, options, report);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return report.finish();
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(Library::kMpi, argc, argv);
  const bool is_single = options.ways.front() == "single";
  const int wanted = is_single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  int result = 1;
  try {
    if (provided < wanted) {
      std::fprintf(stderr, "esp-threads: this MPI has no MPI_THREAD_MULTIPLE\n");
    } else {
      result = measure(options);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "esp-threads: %s\n", error.what());
  }
  MPI_Finalize();
  return result;
}
