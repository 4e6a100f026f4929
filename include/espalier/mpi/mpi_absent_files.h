/* mpi_absent_files.h: the functions of files, as a list for mpi_absent.h, which says what becomes
 * of each.
 */
#ifndef ESPALIER_MPI_MPI_ABSENT_FILES_H
#define ESPALIER_MPI_MPI_ABSENT_FILES_H

#include "mpi_absent.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ESP_MPI_NO_FILES(function, arguments) ESP_MPI_ABSENT(int, function, files, arguments)

ESP_MPI_NO_FILES(MPI_File_call_errhandler, (MPI_File file, int errorcode));
ESP_MPI_NO_FILES(MPI_File_create_errhandler,
                 (MPI_File_errhandler_function * file_errhandler_fn, MPI_Errhandler* errhandler));
ESP_MPI_NO_FILES(MPI_File_get_errhandler, (MPI_File file, MPI_Errhandler* errhandler));
ESP_MPI_NO_FILES(MPI_File_set_errhandler, (MPI_File file, MPI_Errhandler errhandler));
ESP_MPI_NO_FILES(MPI_File_open,
                 (MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* file));
ESP_MPI_NO_FILES(MPI_File_close, (MPI_File * file));
ESP_MPI_NO_FILES(MPI_File_delete, (const char* filename, MPI_Info info));
ESP_MPI_NO_FILES(MPI_File_set_size, (MPI_File file, MPI_Offset size));
ESP_MPI_NO_FILES(MPI_File_preallocate, (MPI_File file, MPI_Offset size));
ESP_MPI_NO_FILES(MPI_File_get_size, (MPI_File file, MPI_Offset* size));
ESP_MPI_NO_FILES(MPI_File_get_group, (MPI_File file, MPI_Group* group));
ESP_MPI_NO_FILES(MPI_File_get_amode, (MPI_File file, int* amode));
ESP_MPI_NO_FILES(MPI_File_set_info, (MPI_File file, MPI_Info info));
ESP_MPI_NO_FILES(MPI_File_get_info, (MPI_File file, MPI_Info* info_used));
ESP_MPI_NO_FILES(MPI_File_set_view, (MPI_File file, MPI_Offset disp, MPI_Datatype etype,
                                     MPI_Datatype filetype, const char* datarep, MPI_Info info));
ESP_MPI_NO_FILES(MPI_File_get_view, (MPI_File file, MPI_Offset* disp, MPI_Datatype* etype,
                                     MPI_Datatype* filetype, char* datarep));
ESP_MPI_NO_FILES(MPI_File_read_at, (MPI_File file, MPI_Offset offset, void* buf, int count,
                                    MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_read_at_c, (MPI_File file, MPI_Offset offset, void* buf, MPI_Count count,
                                      MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_read_at_all, (MPI_File file, MPI_Offset offset, void* buf, int count,
                                        MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_read_at_all_c,
                 (MPI_File file, MPI_Offset offset, void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_at, (MPI_File file, MPI_Offset offset, const void* buf, int count,
                                     MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_at_c, (MPI_File file, MPI_Offset offset, const void* buf,
                                       MPI_Count count, MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_at_all, (MPI_File file, MPI_Offset offset, const void* buf,
                                         int count, MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_at_all_c,
                 (MPI_File file, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_iread_at, (MPI_File file, MPI_Offset offset, void* buf, int count,
                                     MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iread_at_c, (MPI_File file, MPI_Offset offset, void* buf, MPI_Count count,
                                       MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iwrite_at, (MPI_File file, MPI_Offset offset, const void* buf, int count,
                                      MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iwrite_at_c,
                 (MPI_File file, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_read,
                 (MPI_File file, void* buf, int count, MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_read_c, (MPI_File file, void* buf, MPI_Count count, MPI_Datatype datatype,
                                   MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_read_all,
                 (MPI_File file, void* buf, int count, MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_read_all_c, (MPI_File file, void* buf, MPI_Count count,
                                       MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write, (MPI_File file, const void* buf, int count, MPI_Datatype datatype,
                                  MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_c, (MPI_File file, const void* buf, MPI_Count count,
                                    MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_all, (MPI_File file, const void* buf, int count,
                                      MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_all_c, (MPI_File file, const void* buf, MPI_Count count,
                                        MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_iread, (MPI_File file, void* buf, int count, MPI_Datatype datatype,
                                  MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iread_c, (MPI_File file, void* buf, MPI_Count count,
                                    MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iwrite, (MPI_File file, const void* buf, int count, MPI_Datatype datatype,
                                   MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iwrite_c, (MPI_File file, const void* buf, MPI_Count count,
                                     MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_seek, (MPI_File file, MPI_Offset offset, int whence));
ESP_MPI_NO_FILES(MPI_File_get_position, (MPI_File file, MPI_Offset* offset));
ESP_MPI_NO_FILES(MPI_File_get_byte_offset, (MPI_File file, MPI_Offset offset, MPI_Offset* disp));
ESP_MPI_NO_FILES(MPI_File_read_shared,
                 (MPI_File file, void* buf, int count, MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_read_shared_c, (MPI_File file, void* buf, MPI_Count count,
                                          MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_shared, (MPI_File file, const void* buf, int count,
                                         MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_shared_c, (MPI_File file, const void* buf, MPI_Count count,
                                           MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_iread_shared, (MPI_File file, void* buf, int count, MPI_Datatype datatype,
                                         MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iread_shared_c, (MPI_File file, void* buf, MPI_Count count,
                                           MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iwrite_shared, (MPI_File file, const void* buf, int count,
                                          MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iwrite_shared_c, (MPI_File file, const void* buf, MPI_Count count,
                                            MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_read_ordered,
                 (MPI_File file, void* buf, int count, MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_read_ordered_c, (MPI_File file, void* buf, MPI_Count count,
                                           MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_ordered, (MPI_File file, const void* buf, int count,
                                          MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_ordered_c, (MPI_File file, const void* buf, MPI_Count count,
                                            MPI_Datatype datatype, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_seek_shared, (MPI_File file, MPI_Offset offset, int whence));
ESP_MPI_NO_FILES(MPI_File_get_position_shared, (MPI_File file, MPI_Offset* offset));
ESP_MPI_NO_FILES(MPI_File_read_at_all_begin,
                 (MPI_File file, MPI_Offset offset, void* buf, int count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_read_at_all_begin_c, (MPI_File file, MPI_Offset offset, void* buf,
                                                MPI_Count count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_read_at_all_end, (MPI_File file, void* buf, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_at_all_begin, (MPI_File file, MPI_Offset offset, const void* buf,
                                               int count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_write_at_all_begin_c, (MPI_File file, MPI_Offset offset, const void* buf,
                                                 MPI_Count count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_write_at_all_end, (MPI_File file, const void* buf, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_read_all_begin,
                 (MPI_File file, void* buf, int count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_read_all_begin_c,
                 (MPI_File file, void* buf, MPI_Count count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_read_all_end, (MPI_File file, void* buf, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_all_begin,
                 (MPI_File file, const void* buf, int count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_write_all_begin_c,
                 (MPI_File file, const void* buf, MPI_Count count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_write_all_end, (MPI_File file, const void* buf, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_read_ordered_begin,
                 (MPI_File file, void* buf, int count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_read_ordered_begin_c,
                 (MPI_File file, void* buf, MPI_Count count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_read_ordered_end, (MPI_File file, void* buf, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_write_ordered_begin,
                 (MPI_File file, const void* buf, int count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_write_ordered_begin_c,
                 (MPI_File file, const void* buf, MPI_Count count, MPI_Datatype datatype));
ESP_MPI_NO_FILES(MPI_File_write_ordered_end, (MPI_File file, const void* buf, MPI_Status* status));
ESP_MPI_NO_FILES(MPI_File_get_type_extent,
                 (MPI_File file, MPI_Datatype datatype, MPI_Aint* extent));
ESP_MPI_NO_FILES(MPI_File_get_type_extent_c,
                 (MPI_File file, MPI_Datatype datatype, MPI_Count* extent));
ESP_MPI_NO_FILES(MPI_Register_datarep,
                 (const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                  MPI_Datarep_conversion_function* write_conversion_fn,
                  MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state));
ESP_MPI_NO_FILES(MPI_Register_datarep_c,
                 (const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,
                  MPI_Datarep_conversion_function_c* write_conversion_fn,
                  MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state));
ESP_MPI_NO_FILES(MPI_File_set_atomicity, (MPI_File file, int flag));
ESP_MPI_NO_FILES(MPI_File_get_atomicity, (MPI_File file, int* flag));
ESP_MPI_NO_FILES(MPI_File_sync, (MPI_File file));
ESP_MPI_NO_FILES(MPI_File_iread_at_all, (MPI_File file, MPI_Offset offset, void* buf, int count,
                                         MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iread_at_all_c,
                 (MPI_File file, MPI_Offset offset, void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iwrite_at_all, (MPI_File file, MPI_Offset offset, const void* buf,
                                          int count, MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iwrite_at_all_c,
                 (MPI_File file, MPI_Offset offset, const void* buf, MPI_Count count,
                  MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iread_all, (MPI_File file, void* buf, int count, MPI_Datatype datatype,
                                      MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iread_all_c, (MPI_File file, void* buf, MPI_Count count,
                                        MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iwrite_all, (MPI_File file, const void* buf, int count,
                                       MPI_Datatype datatype, MPI_Request* request));
ESP_MPI_NO_FILES(MPI_File_iwrite_all_c, (MPI_File file, const void* buf, MPI_Count count,
                                         MPI_Datatype datatype, MPI_Request* request));

/* As integers of Fortran, which are those of C. */
ESP_MPI_ABSENT(int, MPI_File_c2f, files, (MPI_File file));
ESP_MPI_ABSENT(MPI_File, MPI_File_f2c, files, (int file));

#undef ESP_MPI_NO_FILES

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_MPI_MPI_ABSENT_FILES_H */
