/* Control variables: the settings of the library, as texts. path: setup */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/tool.h"

static const char kPrefix[] = "ESPALIER_";
enum { kPrefixLength = sizeof kPrefix - 1, kNameMost = 64, kSettingsMost = 128, kDocMost = 1024 };

struct MPI_ABI_T_cvar_handle {
  size_t setting;
  size_t room; /* for the text and its end, as the program was told */
};

/* 0: there is no such setting. */
static int find(int index, esp_setting* setting) {
  esp_setting all[kSettingsMost];
  const size_t count = esp_settings(all, kSettingsMost);
  if (index < 0 || (size_t)index >= count || index >= kSettingsMost) return 0;
  *setting = all[index];
  return 1;
}

int tool_cvar_count(void) {
  const size_t count = esp_settings(NULL, 0);
  return count < kSettingsMost ? (int)count : kSettingsMost;
}

int MPI_T_cvar_get_num(int* num_cvar) {
  TOOL_REQUIRES(num_cvar != NULL, MPI_T_ERR_INVALID);
  *num_cvar = tool_cvar_count();
  return MPI_SUCCESS;
}

int MPI_T_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity,
                        MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                        int* bind, int* scope) {
  esp_setting setting;
  TOOL_REQUIRES(find(cvar_index, &setting), MPI_T_ERR_INVALID_INDEX);
  char text[kDocMost];
  snprintf(text, sizeof text, "%s%s", kPrefix, setting.name);
  tool_put_text(text, name, name_len);
  snprintf(text, sizeof text, setting.unit[0] != '\0' ? "%s (%s)" : "%s", setting.doc,
           setting.unit);
  tool_put_text(text, desc, desc_len);
  tool_put(verbosity, MPI_T_VERBOSITY_USER_BASIC);
  tool_put(bind, MPI_T_BIND_NO_OBJECT);
  tool_put(scope, MPI_T_SCOPE_READONLY);
  if (datatype != NULL) *datatype = MPI_CHAR;
  if (enumtype != NULL) *enumtype = MPI_T_ENUM_NULL;
  return MPI_SUCCESS;
}

int MPI_T_cvar_get_index(const char* name, int* cvar_index) {
  TOOL_REQUIRES(name != NULL && cvar_index != NULL, MPI_T_ERR_INVALID);
  esp_setting all[kSettingsMost];
  (void)esp_settings(all, kSettingsMost);
  for (int i = 0; i < tool_cvar_count(); ++i) {
    if (strncmp(name, kPrefix, kPrefixLength) != 0) break;
    if (strcmp(name + kPrefixLength, all[i].name) != 0) continue;
    *cvar_index = i;
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int MPI_T_cvar_handle_alloc(int cvar_index, void* obj_handle, MPI_T_cvar_handle* handle,
                            int* count) {
  (void)obj_handle;
  TOOL_REQUIRES(cvar_index >= 0 && cvar_index < tool_cvar_count(), MPI_T_ERR_INVALID_INDEX);
  if (handle == NULL || count == NULL) return MPI_T_ERR_INVALID;
  MPI_T_cvar_handle made = malloc(sizeof *made);
  if (made == NULL) return MPI_T_ERR_MEMORY;
  made->setting = (size_t)cvar_index;
  made->room = esp_setting_value(tool_job(), made->setting, NULL, 0);
  *handle = made;
  *count = (int)made->room;
  return MPI_SUCCESS;
}

int MPI_T_cvar_handle_free(MPI_T_cvar_handle* handle) {
  TOOL_REQUIRES(handle != NULL && *handle != MPI_T_CVAR_HANDLE_NULL, MPI_T_ERR_INVALID_HANDLE);
  free(*handle);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int MPI_T_cvar_read(MPI_T_cvar_handle handle, void* buf) {
  TOOL_REQUIRES(handle != MPI_T_CVAR_HANDLE_NULL, MPI_T_ERR_INVALID_HANDLE);
  if (buf == NULL) return MPI_T_ERR_INVALID;
  (void)esp_setting_value(tool_job(), handle->setting, buf, handle->room);
  return MPI_SUCCESS;
}

int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
  (void)buf;
  TOOL_REQUIRES(handle != MPI_T_CVAR_HANDLE_NULL, MPI_T_ERR_INVALID_HANDLE);
  return MPI_T_ERR_CVAR_SET_NEVER;
}
