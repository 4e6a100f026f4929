// MPI's blocking collectives as Fortran calls them (mpif.h and `use mpi`): by reference, with the
// code as the last argument. Those of the MPI call its inner functions, so C's are not enough.
// path: data
#include "accel/shim/fortran_names.hpp"
#include "accel/shim/make_calls.hpp"
#include "accel/shim/run.hpp"

static_assert(sizeof(MPI_Fint) == sizeof(int));
namespace a = espalier::accel;

extern "C" {

void accel_mpi_barrier_(const MPI_Fint* comm, MPI_Fint* code) {
  *code = a::run(a::barrier(PMPI_Comm_f2c(*comm)));
}

void accel_mpi_bcast_(void* buffer, const MPI_Fint* count, const MPI_Fint* type,
                      const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* code) {
  *code = a::run(
      a::bcast(a::output(buffer), *count, PMPI_Type_f2c(*type), *root, PMPI_Comm_f2c(*comm)));
}

void accel_mpi_reduce_(const void* in, void* out, const MPI_Fint* count, const MPI_Fint* type,
                       const MPI_Fint* op, const MPI_Fint* root, const MPI_Fint* comm,
                       MPI_Fint* code) {
  *code = a::run(a::reduce(a::input(in), a::output(out), *count, PMPI_Type_f2c(*type),
                           PMPI_Op_f2c(*op), *root, PMPI_Comm_f2c(*comm)));
}

void accel_mpi_allreduce_(const void* in, void* out, const MPI_Fint* count, const MPI_Fint* type,
                          const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* code) {
  *code = a::run(a::reduction<a::AllreduceCall>(a::input(in), a::output(out), *count,
                                                PMPI_Type_f2c(*type), PMPI_Op_f2c(*op),
                                                PMPI_Comm_f2c(*comm)));
}

void accel_mpi_scan_(const void* in, void* out, const MPI_Fint* count, const MPI_Fint* type,
                     const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* code) {
  *code =
      a::run(a::reduction<a::ScanCall>(a::input(in), a::output(out), *count, PMPI_Type_f2c(*type),
                                       PMPI_Op_f2c(*op), PMPI_Comm_f2c(*comm)));
}

void accel_mpi_exscan_(const void* in, void* out, const MPI_Fint* count, const MPI_Fint* type,
                       const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* code) {
  *code =
      a::run(a::reduction<a::ExscanCall>(a::input(in), a::output(out), *count, PMPI_Type_f2c(*type),
                                         PMPI_Op_f2c(*op), PMPI_Comm_f2c(*comm)));
}

void accel_mpi_reduce_scatter_block_(const void* in, void* out, const MPI_Fint* count,
                                     const MPI_Fint* type, const MPI_Fint* op, const MPI_Fint* comm,
                                     MPI_Fint* code) {
  *code = a::run(a::reduction<a::ReduceScatterBlockCall>(a::input(in), a::output(out), *count,
                                                         PMPI_Type_f2c(*type), PMPI_Op_f2c(*op),
                                                         PMPI_Comm_f2c(*comm)));
}

void accel_mpi_reduce_scatter_(const void* in, void* out, const MPI_Fint* counts,
                               const MPI_Fint* type, const MPI_Fint* op, const MPI_Fint* comm,
                               MPI_Fint* code) {
  *code = a::run(a::reduce_scatter(a::input(in), a::output(out), counts, PMPI_Type_f2c(*type),
                                   PMPI_Op_f2c(*op), PMPI_Comm_f2c(*comm)));
}

void accel_mpi_allgather_(const void* in, const MPI_Fint* in_count, const MPI_Fint* in_type,
                          void* out, const MPI_Fint* out_count, const MPI_Fint* out_type,
                          const MPI_Fint* comm, MPI_Fint* code) {
  *code = a::run(a::move<a::AllgatherCall>(a::input(in), *in_count, PMPI_Type_f2c(*in_type),
                                           a::output(out), *out_count, PMPI_Type_f2c(*out_type),
                                           PMPI_Comm_f2c(*comm)));
}

void accel_mpi_alltoall_(const void* in, const MPI_Fint* in_count, const MPI_Fint* in_type,
                         void* out, const MPI_Fint* out_count, const MPI_Fint* out_type,
                         const MPI_Fint* comm, MPI_Fint* code) {
  *code = a::run(a::move<a::AlltoallCall>(a::input(in), *in_count, PMPI_Type_f2c(*in_type),
                                          a::output(out), *out_count, PMPI_Type_f2c(*out_type),
                                          PMPI_Comm_f2c(*comm)));
}

void accel_mpi_gather_(const void* in, const MPI_Fint* in_count, const MPI_Fint* in_type, void* out,
                       const MPI_Fint* out_count, const MPI_Fint* out_type, const MPI_Fint* root,
                       const MPI_Fint* comm, MPI_Fint* code) {
  *code = a::run(a::rooted<a::GatherCall>(a::input(in), *in_count, PMPI_Type_f2c(*in_type),
                                          a::output(out), *out_count, PMPI_Type_f2c(*out_type),
                                          *root, PMPI_Comm_f2c(*comm)));
}

void accel_mpi_scatter_(const void* in, const MPI_Fint* in_count, const MPI_Fint* in_type,
                        void* out, const MPI_Fint* out_count, const MPI_Fint* out_type,
                        const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* code) {
  *code = a::run(a::rooted<a::ScatterCall>(a::input(in), *in_count, PMPI_Type_f2c(*in_type),
                                           a::output(out), *out_count, PMPI_Type_f2c(*out_type),
                                           *root, PMPI_Comm_f2c(*comm)));
}

void accel_mpi_allgatherv_(const void* in, const MPI_Fint* count, const MPI_Fint* type, void* out,
                           const MPI_Fint* counts, const MPI_Fint* displs, const MPI_Fint* out_type,
                           const MPI_Fint* comm, MPI_Fint* code) {
  *code = a::run(a::allgatherv(a::input(in), *count, PMPI_Type_f2c(*type), a::output(out), counts,
                               displs, PMPI_Type_f2c(*out_type), PMPI_Comm_f2c(*comm)));
}

void accel_mpi_gatherv_(const void* in, const MPI_Fint* count, const MPI_Fint* type, void* out,
                        const MPI_Fint* counts, const MPI_Fint* displs, const MPI_Fint* out_type,
                        const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* code) {
  *code = a::run(a::gatherv(a::input(in), *count, PMPI_Type_f2c(*type), a::output(out), counts,
                            displs, PMPI_Type_f2c(*out_type), *root, PMPI_Comm_f2c(*comm)));
}

void accel_mpi_scatterv_(const void* in, const MPI_Fint* counts, const MPI_Fint* displs,
                         const MPI_Fint* in_type, void* out, const MPI_Fint* count,
                         const MPI_Fint* type, const MPI_Fint* root, const MPI_Fint* comm,
                         MPI_Fint* code) {
  *code = a::run(a::scatterv(a::input(in), counts, displs, PMPI_Type_f2c(*in_type), a::output(out),
                             *count, PMPI_Type_f2c(*type), *root, PMPI_Comm_f2c(*comm)));
}

void accel_mpi_alltoallv_(const void* in, const MPI_Fint* in_counts, const MPI_Fint* in_displs,
                          const MPI_Fint* in_type, void* out, const MPI_Fint* out_counts,
                          const MPI_Fint* out_displs, const MPI_Fint* out_type,
                          const MPI_Fint* comm, MPI_Fint* code) {
  *code = a::run(a::alltoallv(a::input(in), in_counts, in_displs, PMPI_Type_f2c(*in_type),
                              a::output(out), out_counts, out_displs, PMPI_Type_f2c(*out_type),
                              PMPI_Comm_f2c(*comm)));
}

}  // extern "C"
