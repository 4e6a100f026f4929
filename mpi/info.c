/* MPI_Info. path: setup */
#define _POSIX_C_SOURCE 200809L
#include "mpi/info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- entries, under the lock ---- */

static size_t position(const Info* info, const char* key) {
  size_t i = 0;
  while (i < info->count && strcmp(info->entries[i].key, key) != 0) ++i;
  return i;
}

static int replace(Entry* entry, const char* value) {
  char* copy = strdup(value);
  if (copy == NULL) return 0;
  free(entry->value);
  entry->value = copy;
  return 1;
}

static int append(Info* info, const char* key, const char* value) {
  if (info->count == info->room) {
    const size_t room = 2 * info->room + 4;
    Entry* entries = realloc(info->entries, room * sizeof *entries);
    if (entries == NULL) return 0;
    info->entries = entries;
    info->room = room;
  }
  const Entry entry = {strdup(key), strdup(value)};
  if (entry.key == NULL || entry.value == NULL) {
    free(entry.key);
    free(entry.value);
    return 0;
  }
  info->entries[info->count++] = entry;
  return 1;
}

static int erase(Info* info, const char* key) {
  const size_t at = position(info, key);
  if (at == info->count) return 0;
  free(info->entries[at].key);
  free(info->entries[at].value);
  --info->count;
  memmove(&info->entries[at], &info->entries[at + 1], (info->count - at) * sizeof *info->entries);
  return 1;
}

/* ---- for the facade ---- */

Info* info_of(MPI_Info handle) {
  if (handle == MPI_INFO_ENV) return state_info_env();
  return handle == MPI_INFO_NULL ? NULL : handle;
}

Info* info_create(void) {
  Info* info = malloc(sizeof *info);
  if (info != NULL) *info = (Info){.lock = PTHREAD_MUTEX_INITIALIZER};
  return info;
}

void info_free(Info* info) {
  for (size_t i = 0; i < info->count; ++i) {
    free(info->entries[i].key);
    free(info->entries[i].value);
  }
  number_forget(&info->number);
  free(info->entries);
  pthread_mutex_destroy(&info->lock);
  free(info);
}

int info_set(Info* info, const char* key, const char* value) {
  pthread_mutex_lock(&info->lock);
  const size_t at = position(info, key);
  const int is_set =
      at < info->count ? replace(&info->entries[at], value) : append(info, key, value);
  pthread_mutex_unlock(&info->lock);
  return is_set;
}

int info_get(Info* info, const char* key, char* value, size_t bytes) {
  int length = -1;
  pthread_mutex_lock(&info->lock);
  const size_t at = position(info, key);
  if (at < info->count) {
    const char* found = info->entries[at].value;
    length = (int)strlen(found);
    if (bytes > 0) snprintf(value, bytes, "%s", found);
  }
  pthread_mutex_unlock(&info->lock);
  return length;
}

/* ---- arguments ---- */

/* Of MPI_INFO_ENV nothing can be changed. */
static int check_info(const char* function, MPI_Info handle, int writes, Info** info) {
  *info = info_of(handle);
  if (*info == NULL) return raise_error(function, NULL, MPI_ERR_INFO, "null info object");
  if (!writes || handle != MPI_INFO_ENV) return MPI_SUCCESS;
  return raise_error(function, NULL, MPI_ERR_INFO, "MPI_INFO_ENV can be read alone");
}

static int check_key(const char* function, const char* key) {
  const size_t length = key == NULL ? 0 : strnlen(key, MPI_MAX_INFO_KEY);
  if (length > 0 && length < MPI_MAX_INFO_KEY) return MPI_SUCCESS;
  return raise_error(function, NULL, MPI_ERR_INFO_KEY, "the key is null, empty or too long");
}

static int check_result(const char* function, const void* result) {
  if (result != NULL) return MPI_SUCCESS;
  return raise_error(function, NULL, MPI_ERR_ARG, "null result");
}

static int no_memory(const char* function) {
  return raise_error(function, NULL, MPI_ERR_NO_MEM, "no memory");
}

/* ---- the functions ---- */

int MPI_Info_create(MPI_Info* handle) {
  const int code = check_result(__func__, handle);
  if (code != MPI_SUCCESS) return code;
  Info* info = info_create();
  if (info == NULL) return no_memory(__func__);
  *handle = info;
  return MPI_SUCCESS;
}

int MPI_Info_create_env(int argc, char* argv[], MPI_Info* handle) {
  const int code = check_result(__func__, handle);
  if (code != MPI_SUCCESS) return code;
  Info* info = info_create();
  if (info == NULL) return no_memory(__func__);
  if (!info_fill_env(info, argc, argv)) {
    info_free(info);
    return no_memory(__func__);
  }
  *handle = info;
  return MPI_SUCCESS;
}

int MPI_Info_dup(MPI_Info handle, MPI_Info* newinfo) {
  Info* info;
  int code = check_info(__func__, handle, 0, &info);
  if (code == MPI_SUCCESS) code = check_result(__func__, newinfo);
  if (code != MPI_SUCCESS) return code;
  Info* copy = info_create();
  if (copy == NULL) return no_memory(__func__);
  int is_whole = 1;
  pthread_mutex_lock(&info->lock);
  for (size_t i = 0; i < info->count && is_whole; ++i) {
    is_whole = append(copy, info->entries[i].key, info->entries[i].value);
  }
  pthread_mutex_unlock(&info->lock);
  if (!is_whole) {
    info_free(copy);
    return no_memory(__func__);
  }
  *newinfo = copy;
  return MPI_SUCCESS;
}

int MPI_Info_free(MPI_Info* handle) {
  Info* info;
  int code = check_result(__func__, handle);
  if (code == MPI_SUCCESS) code = check_info(__func__, *handle, 1, &info);
  if (code != MPI_SUCCESS) return code;
  info_free(info);
  *handle = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

int MPI_Info_set(MPI_Info handle, const char* key, const char* value) {
  Info* info;
  int code = check_info(__func__, handle, 1, &info);
  if (code == MPI_SUCCESS) code = check_key(__func__, key);
  if (code != MPI_SUCCESS) return code;
  if (value == NULL || strnlen(value, MPI_MAX_INFO_VAL) == MPI_MAX_INFO_VAL) {
    return raise_error(__func__, NULL, MPI_ERR_INFO_VALUE, "the value is null or too long");
  }
  return info_set(info, key, value) ? MPI_SUCCESS : no_memory(__func__);
}

int MPI_Info_delete(MPI_Info handle, const char* key) {
  Info* info;
  int code = check_info(__func__, handle, 1, &info);
  if (code == MPI_SUCCESS) code = check_key(__func__, key);
  if (code != MPI_SUCCESS) return code;
  pthread_mutex_lock(&info->lock);
  const int was_there = erase(info, key);
  pthread_mutex_unlock(&info->lock);
  if (was_there) return MPI_SUCCESS;
  return raise_error(__func__, NULL, MPI_ERR_INFO_NOKEY, "there is no such key");
}

/* `result` is what all three functions that ask for a value have besides. */
static int check_get(const char* function, MPI_Info handle, const char* key, const void* result,
                     const int* flag, Info** info) {
  int code = check_info(function, handle, 0, info);
  if (code == MPI_SUCCESS) code = check_key(function, key);
  if (code == MPI_SUCCESS) code = check_result(function, result);
  return code == MPI_SUCCESS ? check_result(function, flag) : code;
}

/* `valuelen` does not count the end of the string. */
int MPI_Info_get(MPI_Info handle, const char* key, int valuelen, char* value, int* flag) {
  Info* info;
  const int code = check_get(__func__, handle, key, value, flag, &info);
  if (code != MPI_SUCCESS) return code;
  if (valuelen < 0) return raise_error(__func__, NULL, MPI_ERR_ARG, "negative length");
  *flag = info_get(info, key, value, (size_t)valuelen + 1) >= 0;
  return MPI_SUCCESS;
}

/* `buflen` counts the end of the string. */
int MPI_Info_get_string(MPI_Info handle, const char* key, int* buflen, char* value, int* flag) {
  Info* info;
  int code = check_get(__func__, handle, key, buflen, flag, &info);
  if (code == MPI_SUCCESS && *buflen > 0) code = check_result(__func__, value);
  if (code != MPI_SUCCESS) return code;
  if (*buflen < 0) return raise_error(__func__, NULL, MPI_ERR_ARG, "negative length");
  const int length = info_get(info, key, value, (size_t)*buflen);
  *flag = length >= 0;
  if (*flag) *buflen = length + 1;
  return MPI_SUCCESS;
}

int MPI_Info_get_valuelen(MPI_Info handle, const char* key, int* valuelen, int* flag) {
  Info* info;
  const int code = check_get(__func__, handle, key, valuelen, flag, &info);
  if (code != MPI_SUCCESS) return code;
  const int length = info_get(info, key, NULL, 0);
  *flag = length >= 0;
  if (*flag) *valuelen = length;
  return MPI_SUCCESS;
}

int MPI_Info_get_nkeys(MPI_Info handle, int* nkeys) {
  Info* info;
  int code = check_info(__func__, handle, 0, &info);
  if (code == MPI_SUCCESS) code = check_result(__func__, nkeys);
  if (code != MPI_SUCCESS) return code;
  pthread_mutex_lock(&info->lock);
  *nkeys = (int)info->count;
  pthread_mutex_unlock(&info->lock);
  return MPI_SUCCESS;
}

int MPI_Info_get_nthkey(MPI_Info handle, int n, char* key) {
  Info* info;
  int code = check_info(__func__, handle, 0, &info);
  if (code == MPI_SUCCESS) code = check_result(__func__, key);
  if (code != MPI_SUCCESS) return code;
  pthread_mutex_lock(&info->lock);
  const int is_there = n >= 0 && (size_t)n < info->count;
  if (is_there) snprintf(key, MPI_MAX_INFO_KEY, "%s", info->entries[n].key);
  pthread_mutex_unlock(&info->lock);
  if (is_there) return MPI_SUCCESS;
  return raise_error(__func__, NULL, MPI_ERR_ARG, "there are not so many keys");
}
