// MPI's functions that complete requests: they drive what is under way in the library, too. Without
// anything they are the MPI's. path: data
#include "accel/shim/started.hpp"

namespace a = espalier::accel;

extern "C" {

int accel_MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (!a::are_under_way()) return PMPI_Wait(request, status);
  return a::wait_driven([&](int* flag) { return PMPI_Test(request, flag, status); });
}

int accel_MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (!a::are_under_way()) return PMPI_Waitall(count, requests, statuses);
  return a::wait_driven([&](int* flag) { return PMPI_Testall(count, requests, flag, statuses); });
}

int accel_MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  if (!a::are_under_way()) return PMPI_Waitany(count, requests, index, status);
  return a::wait_driven(
      [&](int* flag) { return PMPI_Testany(count, requests, index, flag, status); });
}

int accel_MPI_Waitsome(int count, MPI_Request requests[], int* done, int indices[],
                       MPI_Status statuses[]) {
  if (!a::are_under_way()) return PMPI_Waitsome(count, requests, done, indices, statuses);
  return a::wait_driven([&](int* flag) {
    const int code = PMPI_Testsome(count, requests, done, indices, statuses);
    *flag = *done != 0;  // MPI_UNDEFINED: none is active
    return code;
  });
}

int accel_MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  a::drive_started();
  return PMPI_Test(request, flag, status);
}

int accel_MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  a::drive_started();
  return PMPI_Testall(count, requests, flag, statuses);
}

int accel_MPI_Testany(int count, MPI_Request requests[], int* index, int* flag,
                      MPI_Status* status) {
  a::drive_started();
  return PMPI_Testany(count, requests, index, flag, status);
}

int accel_MPI_Testsome(int count, MPI_Request requests[], int* done, int indices[],
                       MPI_Status statuses[]) {
  a::drive_started();
  return PMPI_Testsome(count, requests, done, indices, statuses);
}

int accel_MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  a::drive_started();
  return PMPI_Request_get_status(request, flag, status);
}

}  // extern "C"
