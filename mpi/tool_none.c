/* Enumerations, events and sources: there are none, so that no index and no handle is valid.
 * path: setup */
#include "mpi/tool.h"

static int nothing(int code) {
  return tool_is_ready() ? code : MPI_T_ERR_NOT_INITIALIZED;
}

int MPI_T_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) {
  (void)enumtype, (void)num, (void)name, (void)name_len;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_enum_get_item(MPI_T_enum enumtype, int item, int* value, char* name, int* name_len) {
  (void)enumtype, (void)item, (void)value, (void)name, (void)name_len;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_get_num(int* num_events) {
  TOOL_REQUIRES(num_events != NULL, MPI_T_ERR_INVALID);
  *num_events = 0;
  return MPI_SUCCESS;
}

int MPI_T_event_get_info(int event_index, char* name, int* name_len, int* verbosity,
                         MPI_Datatype datatypes[], MPI_Aint displacements[], int* num_elements,
                         MPI_T_enum* enumtype, MPI_Info* info, char* desc, int* desc_len,
                         int* bind) {
  (void)event_index, (void)name, (void)name_len, (void)verbosity, (void)datatypes,
      (void)displacements, (void)num_elements, (void)enumtype, (void)info, (void)desc,
      (void)desc_len, (void)bind;
  return nothing(MPI_T_ERR_INVALID_INDEX);
}

int MPI_T_event_get_index(const char* name, int* event_index) {
  (void)name, (void)event_index;
  return nothing(MPI_T_ERR_INVALID_NAME);
}

int MPI_T_event_handle_alloc(int event_index, void* obj_handle, MPI_Info info,
                             MPI_T_event_registration* event_registration) {
  (void)event_index, (void)obj_handle, (void)info, (void)event_registration;
  return nothing(MPI_T_ERR_INVALID_INDEX);
}

int MPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info) {
  (void)event_registration, (void)info;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info* info_used) {
  (void)event_registration, (void)info_used;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_register_callback(MPI_T_event_registration event_registration,
                                  MPI_T_cb_safety cb_safety, MPI_Info info, void* user_data,
                                  MPI_T_event_cb_function event_cb_function) {
  (void)event_registration, (void)cb_safety, (void)info, (void)user_data, (void)event_cb_function;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_callback_set_info(MPI_T_event_registration event_registration,
                                  MPI_T_cb_safety cb_safety, MPI_Info info) {
  (void)event_registration, (void)cb_safety, (void)info;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_callback_get_info(MPI_T_event_registration event_registration,
                                  MPI_T_cb_safety cb_safety, MPI_Info* info_used) {
  (void)event_registration, (void)cb_safety, (void)info_used;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_handle_free(MPI_T_event_registration event_registration, void* user_data,
                            MPI_T_event_free_cb_function free_cb_function) {
  (void)event_registration, (void)user_data, (void)free_cb_function;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                    MPI_T_event_dropped_cb_function dropped_cb_function) {
  (void)event_registration, (void)dropped_cb_function;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void* buffer) {
  (void)event_instance, (void)element_index, (void)buffer;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_copy(MPI_T_event_instance event_instance, void* buffer) {
  (void)event_instance, (void)buffer;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count* event_timestamp) {
  (void)event_instance, (void)event_timestamp;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_event_get_source(MPI_T_event_instance event_instance, int* source_index) {
  (void)event_instance, (void)source_index;
  return nothing(MPI_T_ERR_INVALID_HANDLE);
}

int MPI_T_source_get_num(int* num_sources) {
  TOOL_REQUIRES(num_sources != NULL, MPI_T_ERR_INVALID);
  *num_sources = 0;
  return MPI_SUCCESS;
}

int MPI_T_source_get_info(int source_index, char* name, int* name_len, char* desc, int* desc_len,
                          MPI_T_source_order* ordering, MPI_Count* ticks_per_second,
                          MPI_Count* max_ticks, MPI_Info* info) {
  (void)source_index, (void)name, (void)name_len, (void)desc, (void)desc_len, (void)ordering,
      (void)ticks_per_second, (void)max_ticks, (void)info;
  return nothing(MPI_T_ERR_INVALID_INDEX);
}

int MPI_T_source_get_timestamp(int source_index, MPI_Count* timestamp) {
  (void)source_index, (void)timestamp;
  return nothing(MPI_T_ERR_INVALID_INDEX);
}
