// MPI's non-blocking collectives as Fortran calls them. Functions that complete requests are in
// fortran_waits.cpp. path: data
#include "accel/shim/fortran_names.hpp"
#include "accel/shim/make_calls.hpp"
#include "accel/shim/run.hpp"

namespace a = espalier::accel;

namespace {

template <typename Call>
void start(Call call, MPI_Fint* request, MPI_Fint* code) {
  MPI_Request made = MPI_REQUEST_NULL;
  *code = a::run_started(call, &made);
  if (*code == MPI_SUCCESS) *request = PMPI_Request_c2f(made);
}

}  // namespace

extern "C" {

void accel_mpi_ibarrier_(const MPI_Fint* comm, MPI_Fint* request, MPI_Fint* code) {
  start(a::barrier(PMPI_Comm_f2c(*comm)), request, code);
}

void accel_mpi_ibcast_(void* buffer, const MPI_Fint* count, const MPI_Fint* type,
                       const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* request,
                       MPI_Fint* code) {
  start(a::bcast(a::output(buffer), *count, PMPI_Type_f2c(*type), *root, PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_ireduce_(const void* in, void* out, const MPI_Fint* count, const MPI_Fint* type,
                        const MPI_Fint* op, const MPI_Fint* root, const MPI_Fint* comm,
                        MPI_Fint* request, MPI_Fint* code) {
  start(a::reduce(a::input(in), a::output(out), *count, PMPI_Type_f2c(*type), PMPI_Op_f2c(*op),
                  *root, PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_iallreduce_(const void* in, void* out, const MPI_Fint* count, const MPI_Fint* type,
                           const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* request,
                           MPI_Fint* code) {
  start(a::reduction<a::AllreduceCall>(a::input(in), a::output(out), *count, PMPI_Type_f2c(*type),
                                       PMPI_Op_f2c(*op), PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_iscan_(const void* in, void* out, const MPI_Fint* count, const MPI_Fint* type,
                      const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* request, MPI_Fint* code) {
  start(a::reduction<a::ScanCall>(a::input(in), a::output(out), *count, PMPI_Type_f2c(*type),
                                  PMPI_Op_f2c(*op), PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_iexscan_(const void* in, void* out, const MPI_Fint* count, const MPI_Fint* type,
                        const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* request,
                        MPI_Fint* code) {
  start(a::reduction<a::ExscanCall>(a::input(in), a::output(out), *count, PMPI_Type_f2c(*type),
                                    PMPI_Op_f2c(*op), PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_ireduce_scatter_block_(const void* in, void* out, const MPI_Fint* count,
                                      const MPI_Fint* type, const MPI_Fint* op,
                                      const MPI_Fint* comm, MPI_Fint* request, MPI_Fint* code) {
  start(a::reduction<a::ReduceScatterBlockCall>(a::input(in), a::output(out), *count,
                                                PMPI_Type_f2c(*type), PMPI_Op_f2c(*op),
                                                PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_ireduce_scatter_(const void* in, void* out, const MPI_Fint* counts,
                                const MPI_Fint* type, const MPI_Fint* op, const MPI_Fint* comm,
                                MPI_Fint* request, MPI_Fint* code) {
  start(a::reduce_scatter(a::input(in), a::output(out), counts, PMPI_Type_f2c(*type),
                          PMPI_Op_f2c(*op), PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_iallgather_(const void* in, const MPI_Fint* in_count, const MPI_Fint* in_type,
                           void* out, const MPI_Fint* out_count, const MPI_Fint* out_type,
                           const MPI_Fint* comm, MPI_Fint* request, MPI_Fint* code) {
  start(a::move<a::AllgatherCall>(a::input(in), *in_count, PMPI_Type_f2c(*in_type), a::output(out),
                                  *out_count, PMPI_Type_f2c(*out_type), PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_ialltoall_(const void* in, const MPI_Fint* in_count, const MPI_Fint* in_type,
                          void* out, const MPI_Fint* out_count, const MPI_Fint* out_type,
                          const MPI_Fint* comm, MPI_Fint* request, MPI_Fint* code) {
  start(a::move<a::AlltoallCall>(a::input(in), *in_count, PMPI_Type_f2c(*in_type), a::output(out),
                                 *out_count, PMPI_Type_f2c(*out_type), PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_igather_(const void* in, const MPI_Fint* in_count, const MPI_Fint* in_type,
                        void* out, const MPI_Fint* out_count, const MPI_Fint* out_type,
                        const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* request,
                        MPI_Fint* code) {
  start(a::rooted<a::GatherCall>(a::input(in), *in_count, PMPI_Type_f2c(*in_type), a::output(out),
                                 *out_count, PMPI_Type_f2c(*out_type), *root, PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_iscatter_(const void* in, const MPI_Fint* in_count, const MPI_Fint* in_type,
                         void* out, const MPI_Fint* out_count, const MPI_Fint* out_type,
                         const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* request,
                         MPI_Fint* code) {
  start(
      a::rooted<a::ScatterCall>(a::input(in), *in_count, PMPI_Type_f2c(*in_type), a::output(out),
                                *out_count, PMPI_Type_f2c(*out_type), *root, PMPI_Comm_f2c(*comm)),
      request, code);
}

void accel_mpi_iallgatherv_(const void* in, const MPI_Fint* count, const MPI_Fint* type, void* out,
                            const MPI_Fint* counts, const MPI_Fint* displs,
                            const MPI_Fint* out_type, const MPI_Fint* comm, MPI_Fint* request,
                            MPI_Fint* code) {
  start(a::allgatherv(a::input(in), *count, PMPI_Type_f2c(*type), a::output(out), counts, displs,
                      PMPI_Type_f2c(*out_type), PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_igatherv_(const void* in, const MPI_Fint* count, const MPI_Fint* type, void* out,
                         const MPI_Fint* counts, const MPI_Fint* displs, const MPI_Fint* out_type,
                         const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* request,
                         MPI_Fint* code) {
  start(a::gatherv(a::input(in), *count, PMPI_Type_f2c(*type), a::output(out), counts, displs,
                   PMPI_Type_f2c(*out_type), *root, PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_iscatterv_(const void* in, const MPI_Fint* counts, const MPI_Fint* displs,
                          const MPI_Fint* in_type, void* out, const MPI_Fint* count,
                          const MPI_Fint* type, const MPI_Fint* root, const MPI_Fint* comm,
                          MPI_Fint* request, MPI_Fint* code) {
  start(a::scatterv(a::input(in), counts, displs, PMPI_Type_f2c(*in_type), a::output(out), *count,
                    PMPI_Type_f2c(*type), *root, PMPI_Comm_f2c(*comm)),
        request, code);
}

void accel_mpi_ialltoallv_(const void* in, const MPI_Fint* in_counts, const MPI_Fint* in_displs,
                           const MPI_Fint* in_type, void* out, const MPI_Fint* out_counts,
                           const MPI_Fint* out_displs, const MPI_Fint* out_type,
                           const MPI_Fint* comm, MPI_Fint* request, MPI_Fint* code) {
  start(a::alltoallv(a::input(in), in_counts, in_displs, PMPI_Type_f2c(*in_type), a::output(out),
                     out_counts, out_displs, PMPI_Type_f2c(*out_type), PMPI_Comm_f2c(*comm)),
        request, code);
}

}  // extern "C"
