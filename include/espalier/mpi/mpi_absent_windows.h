/* mpi_absent_windows.h: the functions of RMA windows, as a list for mpi_absent.h, which says what
 * becomes of each.
 */
#ifndef ESPALIER_MPI_MPI_ABSENT_WINDOWS_H
#define ESPALIER_MPI_MPI_ABSENT_WINDOWS_H

#include "mpi_absent.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ESP_MPI_NO_WINDOWS(function, arguments) \
  ESP_MPI_ABSENT(int, function, RMA_windows, arguments)

ESP_MPI_NO_WINDOWS(MPI_Win_create_keyval, (MPI_Win_copy_attr_function * win_copy_attr_fn,
                                           MPI_Win_delete_attr_function* win_delete_attr_fn,
                                           int* win_keyval, void* extra_state));
ESP_MPI_NO_WINDOWS(MPI_Win_delete_attr, (MPI_Win win, int win_keyval));
ESP_MPI_NO_WINDOWS(MPI_Win_free_keyval, (int* win_keyval));
ESP_MPI_NO_WINDOWS(MPI_Win_get_attr, (MPI_Win win, int win_keyval, void* attribute_val, int* flag));
ESP_MPI_NO_WINDOWS(MPI_Win_set_attr, (MPI_Win win, int win_keyval, void* attribute_val));
ESP_MPI_NO_WINDOWS(MPI_Win_call_errhandler, (MPI_Win win, int errorcode));
ESP_MPI_NO_WINDOWS(MPI_Win_create_errhandler,
                   (MPI_Win_errhandler_function * win_errhandler_fn, MPI_Errhandler* errhandler));
ESP_MPI_NO_WINDOWS(MPI_Win_get_errhandler, (MPI_Win win, MPI_Errhandler* errhandler));
ESP_MPI_NO_WINDOWS(MPI_Win_set_errhandler, (MPI_Win win, MPI_Errhandler errhandler));
ESP_MPI_NO_WINDOWS(MPI_Accumulate,
                   (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                    int target_rank, MPI_Aint target_disp, int target_count,
                    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Accumulate_c,
                   (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Compare_and_swap,
                   (const void* origin_addr, const void* compare_addr, void* result_addr,
                    MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Fetch_and_op,
                   (const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Get, (void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                             int target_rank, MPI_Aint target_disp, int target_count,
                             MPI_Datatype target_datatype, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Get_c, (void* origin_addr, MPI_Count origin_count,
                               MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                               MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Get_accumulate,
                   (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                    void* result_addr, int result_count, MPI_Datatype result_datatype,
                    int target_rank, MPI_Aint target_disp, int target_count,
                    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Get_accumulate_c,
                   (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                    void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Put, (const void* origin_addr, int origin_count,
                             MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                             int target_count, MPI_Datatype target_datatype, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Put_c, (const void* origin_addr, MPI_Count origin_count,
                               MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                               MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Raccumulate,
                   (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                    int target_rank, MPI_Aint target_disp, int target_count,
                    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request));
ESP_MPI_NO_WINDOWS(MPI_Raccumulate_c,
                   (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request));
ESP_MPI_NO_WINDOWS(MPI_Rget, (void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                              int target_rank, MPI_Aint target_disp, int target_count,
                              MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request));
ESP_MPI_NO_WINDOWS(MPI_Rget_c,
                   (void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                    MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request));
ESP_MPI_NO_WINDOWS(MPI_Rget_accumulate,
                   (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                    void* result_addr, int result_count, MPI_Datatype result_datatype,
                    int target_rank, MPI_Aint target_disp, int target_count,
                    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request));
ESP_MPI_NO_WINDOWS(MPI_Rget_accumulate_c,
                   (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                    void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                    MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request));
ESP_MPI_NO_WINDOWS(MPI_Rput,
                   (const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                    int target_rank, MPI_Aint target_disp, int target_count,
                    MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request));
ESP_MPI_NO_WINDOWS(MPI_Rput_c,
                   (const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                    MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request));
ESP_MPI_NO_WINDOWS(MPI_Win_allocate, (MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                                      void* baseptr, MPI_Win* win));
ESP_MPI_NO_WINDOWS(MPI_Win_allocate_c, (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                                        MPI_Comm comm, void* baseptr, MPI_Win* win));
ESP_MPI_NO_WINDOWS(MPI_Win_allocate_shared, (MPI_Aint size, int disp_unit, MPI_Info info,
                                             MPI_Comm comm, void* baseptr, MPI_Win* win));
ESP_MPI_NO_WINDOWS(MPI_Win_allocate_shared_c, (MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                                               MPI_Comm comm, void* baseptr, MPI_Win* win));
ESP_MPI_NO_WINDOWS(MPI_Win_attach, (MPI_Win win, void* base, MPI_Aint size));
ESP_MPI_NO_WINDOWS(MPI_Win_complete, (MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_create, (void* base, MPI_Aint size, int disp_unit, MPI_Info info,
                                    MPI_Comm comm, MPI_Win* win));
ESP_MPI_NO_WINDOWS(MPI_Win_create_c, (void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                                      MPI_Comm comm, MPI_Win* win));
ESP_MPI_NO_WINDOWS(MPI_Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win));
ESP_MPI_NO_WINDOWS(MPI_Win_detach, (MPI_Win win, const void* base));
ESP_MPI_NO_WINDOWS(MPI_Win_fence, (int assertion, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_flush, (int rank, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_flush_all, (MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_flush_local, (int rank, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_flush_local_all, (MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_free, (MPI_Win * win));
ESP_MPI_NO_WINDOWS(MPI_Win_get_group, (MPI_Win win, MPI_Group* group));
ESP_MPI_NO_WINDOWS(MPI_Win_get_info, (MPI_Win win, MPI_Info* info_used));
ESP_MPI_NO_WINDOWS(MPI_Win_get_name, (MPI_Win win, char* win_name, int* resultlen));
ESP_MPI_NO_WINDOWS(MPI_Win_lock, (int lock_type, int rank, int assertion, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_lock_all, (int assertion, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_post, (MPI_Group group, int assertion, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_set_info, (MPI_Win win, MPI_Info info));
ESP_MPI_NO_WINDOWS(MPI_Win_set_name, (MPI_Win win, const char* win_name));
ESP_MPI_NO_WINDOWS(MPI_Win_shared_query,
                   (MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr));
ESP_MPI_NO_WINDOWS(MPI_Win_shared_query_c,
                   (MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit, void* baseptr));
ESP_MPI_NO_WINDOWS(MPI_Win_start, (MPI_Group group, int assertion, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_sync, (MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_test, (MPI_Win win, int* flag));
ESP_MPI_NO_WINDOWS(MPI_Win_unlock, (int rank, MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_unlock_all, (MPI_Win win));
ESP_MPI_NO_WINDOWS(MPI_Win_wait, (MPI_Win win));

/* As integers of Fortran, which are those of C. */
ESP_MPI_ABSENT(int, MPI_Win_c2f, RMA_windows, (MPI_Win win));
ESP_MPI_ABSENT(MPI_Win, MPI_Win_f2c, RMA_windows, (int win));

#undef ESP_MPI_NO_WINDOWS

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_ABSENT_WINDOWS_H */
