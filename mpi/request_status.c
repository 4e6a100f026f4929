/* How requests stand, without taking them from the program. path: short */
#include "mpi/message.h"

static MPI_Status* entry(MPI_Status* statuses, int index) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

/* Idle ones count as ended, with an empty status. */
static int look(MPI_Request request, int* flag, MPI_Status* status) {
  status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  *flag = request_is_idle(request) || request_is_done(request);
  return *flag && !request_is_idle(request) ? request_report(request, status) : MPI_SUCCESS;
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  const int code = request_check_array(__func__, 1, &request, flag);
  return code == MPI_SUCCESS ? look(request, flag, status) : code;
}

int MPI_Request_get_status_all(int count, const MPI_Request requests[], int* flag,
                               MPI_Status statuses[]) {
  int code = request_check_array(__func__, count, requests, flag);
  if (code != MPI_SUCCESS) return code;
  *flag = 1;
  for (int i = 0; i < count; ++i) {
    if (!request_is_idle(requests[i]) && !request_is_done(requests[i])) *flag = 0;
  }
  for (int i = 0; i < count && *flag && code == MPI_SUCCESS; ++i) {
    int ended;
    code = look(requests[i], &ended, entry(statuses, i));
  }
  return code;
}

int MPI_Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                               MPI_Status* status) {
  const int code = request_check_array(__func__, count, requests, index);
  if (code != MPI_SUCCESS) return code;
  if (flag == NULL) return raise_error(__func__, NULL, MPI_ERR_ARG, "null result");
  int open = 0;
  *index = MPI_UNDEFINED;
  for (int i = 0; i < count; ++i) {
    if (request_is_idle(requests[i])) continue;
    ++open;
    if (!request_is_done(requests[i])) continue;
    *index = i;
    return look(requests[i], flag, status);
  }
  status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
  *flag = open == 0;
  return MPI_SUCCESS;
}

int MPI_Request_get_status_some(int incount, const MPI_Request requests[], int* outcount,
                                int indices[], MPI_Status statuses[]) {
  int code = request_check_array(__func__, incount, requests, outcount), open = 0;
  if (code != MPI_SUCCESS) return code;
  *outcount = 0;
  for (int i = 0; i < incount && code == MPI_SUCCESS; ++i) {
    if (request_is_idle(requests[i])) continue;
    ++open;
    if (!request_is_done(requests[i])) continue;
    int ended;
    code = look(requests[i], &ended, entry(statuses, *outcount));
    indices[(*outcount)++] = i;
  }
  if (open == 0) *outcount = MPI_UNDEFINED;
  return code;
}
