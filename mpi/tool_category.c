/* Categories: one of all settings, one of all counters. path: setup */
#include <string.h>

#include "mpi/tool.h"

enum { kSettings, kCounters, kCategories };

static const char* const kNames[] = {"settings", "counters"};
static const char* const kDocs[] = {"The settings of the library",
                                    "What the library has done so far, counted"};

static int is_category(int index) {
  return index >= 0 && index < kCategories;
}

int MPI_T_category_get_num(int* num_cat) {
  TOOL_REQUIRES(num_cat != NULL, MPI_T_ERR_INVALID);
  *num_cat = kCategories;
  return MPI_SUCCESS;
}

int MPI_T_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                            int* num_cvars, int* num_pvars, int* num_categories) {
  TOOL_REQUIRES(is_category(cat_index), MPI_T_ERR_INVALID_INDEX);
  tool_put_text(kNames[cat_index], name, name_len);
  tool_put_text(kDocs[cat_index], desc, desc_len);
  tool_put(num_cvars, cat_index == kSettings ? tool_cvar_count() : 0);
  tool_put(num_pvars, cat_index == kCounters ? tool_pvar_count() : 0);
  tool_put(num_categories, 0);
  return MPI_SUCCESS;
}

int MPI_T_category_get_num_events(int cat_index, int* num_events) {
  TOOL_REQUIRES(is_category(cat_index), MPI_T_ERR_INVALID_INDEX);
  tool_put(num_events, 0);
  return MPI_SUCCESS;
}

int MPI_T_category_get_index(const char* name, int* cat_index) {
  TOOL_REQUIRES(name != NULL && cat_index != NULL, MPI_T_ERR_INVALID);
  for (int i = 0; i < kCategories; ++i) {
    if (strcmp(name, kNames[i]) != 0) continue;
    *cat_index = i;
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

/* All of them, from the first on. */
static int list(int cat_index, int count, int len, int* indices) {
  TOOL_REQUIRES(is_category(cat_index), MPI_T_ERR_INVALID_INDEX);
  if (len < 0 || (len > 0 && count > 0 && indices == NULL)) return MPI_T_ERR_INVALID;
  for (int i = 0; i < len && i < count; ++i) indices[i] = i;
  return MPI_SUCCESS;
}

int MPI_T_category_get_cvars(int cat_index, int len, int indices[]) {
  return list(cat_index, cat_index == kSettings ? tool_cvar_count() : 0, len, indices);
}

int MPI_T_category_get_pvars(int cat_index, int len, int indices[]) {
  return list(cat_index, cat_index == kCounters ? tool_pvar_count() : 0, len, indices);
}

int MPI_T_category_get_events(int cat_index, int len, int indices[]) {
  return list(cat_index, 0, len, indices);
}

int MPI_T_category_get_categories(int cat_index, int len, int indices[]) {
  return list(cat_index, 0, len, indices);
}

int MPI_T_category_changed(int* update_number) {
  TOOL_REQUIRES(update_number != NULL, MPI_T_ERR_INVALID);
  *update_number = 0;
  return MPI_SUCCESS;
}
