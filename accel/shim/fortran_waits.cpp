// MPI's functions that complete requests, as Fortran calls them: what C has started may be
// completed there. They ask the MPI's own of Fortran, which know its statuses and indices. path:
// data
#include <dlfcn.h>

#include "accel/shim/started.hpp"

namespace a = espalier::accel;

namespace {

using Fint = MPI_Fint;

// What called us comes from an MPI that has these.
template <typename... Arguments>
void by_mpi(const char* name, Arguments... arguments) {
  using Function = void(Arguments...);
  reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name))(arguments...);
}

// `test(flag)`: the MPI's test with its code in *code. LOGICAL: 0 is false.
template <typename Test>
void wait_driven(const Fint* code, Test&& test) {
  (void)a::wait_driven([&](int* flag) {
    test(flag);
    return *code;
  });
}

}  // namespace

extern "C" {

void accel_mpi_wait_(Fint* request, Fint* status, Fint* code) {
  if (!a::are_under_way()) return by_mpi("pmpi_wait_", request, status, code);
  wait_driven(code, [&](Fint* flag) { by_mpi("pmpi_test_", request, flag, status, code); });
}

void accel_mpi_waitall_(Fint* count, Fint* requests, Fint* statuses, Fint* code) {
  if (!a::are_under_way()) return by_mpi("pmpi_waitall_", count, requests, statuses, code);
  wait_driven(code,
              [&](Fint* flag) { by_mpi("pmpi_testall_", count, requests, flag, statuses, code); });
}

void accel_mpi_waitany_(Fint* count, Fint* requests, Fint* index, Fint* status, Fint* code) {
  if (!a::are_under_way()) return by_mpi("pmpi_waitany_", count, requests, index, status, code);
  wait_driven(code, [&](Fint* flag) {
    by_mpi("pmpi_testany_", count, requests, index, flag, status, code);
  });
}

void accel_mpi_waitsome_(Fint* count, Fint* requests, Fint* done, Fint* indices, Fint* statuses,
                         Fint* code) {
  if (!a::are_under_way()) {
    return by_mpi("pmpi_waitsome_", count, requests, done, indices, statuses, code);
  }
  wait_driven(code, [&](Fint* flag) {
    by_mpi("pmpi_testsome_", count, requests, done, indices, statuses, code);
    *flag = *done != 0;  // MPI_UNDEFINED: none is active
  });
}

void accel_mpi_test_(Fint* request, Fint* flag, Fint* status, Fint* code) {
  a::drive_started();
  by_mpi("pmpi_test_", request, flag, status, code);
}

void accel_mpi_testall_(Fint* count, Fint* requests, Fint* flag, Fint* statuses, Fint* code) {
  a::drive_started();
  by_mpi("pmpi_testall_", count, requests, flag, statuses, code);
}

void accel_mpi_testany_(Fint* count, Fint* requests, Fint* index, Fint* flag, Fint* status,
                        Fint* code) {
  a::drive_started();
  by_mpi("pmpi_testany_", count, requests, index, flag, status, code);
}

void accel_mpi_testsome_(Fint* count, Fint* requests, Fint* done, Fint* indices, Fint* statuses,
                         Fint* code) {
  a::drive_started();
  by_mpi("pmpi_testsome_", count, requests, done, indices, statuses, code);
}

}  // extern "C"
