/* libespalier_accel.so: where its jumps go. It needs nothing but libc, so that it may be preloaded
 * into any program (launchers, shells). In the first call of a function of MPI it looks which MPI
 * the process has, and loads the accelerator that was compiled for that one's ABI; without one, and
 * for functions that it does not have, the MPI's own functions are called.
 *
 * Threads: any; what several find at once is the same. path: setup
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel/preload/table.h"

extern __attribute__((visibility("hidden"))) void* esp_accel_slots[];
__attribute__((visibility("hidden"))) void esp_accel_resolve(void);

#define FUNCTION(name) #name,
#define FUNCTION4(name) #name,
#define FORTRAN(name) #name,
static const char* const kNames[] = {
#include "accel/preload/functions.def"
};
#undef FUNCTION
#undef FUNCTION4
#undef FORTRAN
enum { kFunctions = sizeof kNames / sizeof kNames[0] };

/* Libraries of MPI by their names, and the accelerator for each. */
static const struct {
  const char* library;
  const char* abi;
} kAbis[] = {{"libmpi.so.40", "openmpi"},
             {"libmpich.so.12", "mpich"},
             {"libmpi.so.12", "mpich"},
             {"libmpi_abi.so.0", "abi"}};

struct Found {
  const char* abi;
  char path[4096];
};

static int look_at(struct dl_phdr_info* info, size_t size, void* context) {
  (void)size;
  struct Found* found = context;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash != NULL ? slash + 1 : info->dlpi_name;
  for (size_t i = 0; i < sizeof kAbis / sizeof kAbis[0]; ++i) {
    const size_t length = strlen(kAbis[i].library);
    /* libmpi.so.40.30.4 is one, libmpi.so.400 is not. */
    if (strncmp(name, kAbis[i].library, length) != 0) continue;
    if (name[length] != '\0' && name[length] != '.') continue;
    found->abi = kAbis[i].abi;
    snprintf(found->path, sizeof found->path, "%s", info->dlpi_name);
    return 1;
  }
  return 0;
}

/* The accelerator's functions; NULL: there is none. */
static const struct AccelFunction* load(void) {
  struct Found found = {NULL, ""};
  dl_iterate_phdr(look_at, &found);
  if (found.abi == NULL) return NULL;
  /* A program's plugin may have loaded its MPI for itself alone: without this nobody finds it. */
  (void)dlopen(found.path, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  const char* off = getenv("ESPALIER_ACCEL");
  if (off != NULL && strcmp(off, "off") == 0) return NULL;
  Dl_info self;
  char path[4096];
  if (dladdr(&esp_accel_slots, &self) == 0) return NULL;
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash != NULL ? (int)(slash - self.dli_fname) : 1;
  snprintf(path, sizeof path, "%.*s/libespalier_accel_%s.so", folder,
           slash != NULL ? self.dli_fname : ".", found.abi);
  void* accelerator = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (accelerator == NULL) {
    fprintf(stderr, "espalier: collectives are not accelerated: %s\n", dlerror());
    return NULL;
  }
  return dlsym(accelerator, "esp_accel_functions");
}

static void is_missing(void) {
  fprintf(stderr, "espalier: a function of MPI was called that this program's MPI does not have\n");
  abort();
}

static void* find(const struct AccelFunction* functions, const char* name) {
  for (; functions != NULL && functions->name != NULL; ++functions) {
    if (strcmp(functions->name, name) == 0) return functions->function;
  }
  void* next = dlsym(RTLD_NEXT, name);
  if (next != NULL) return next;
  /* Of an MPI that was loaded later than this library: its other name is not ours. */
  char other[128];
  const int fortran = strncmp(name, "mpi_", 4) == 0;
  snprintf(other, sizeof other, "%s%s", fortran ? "p" : "P", name);
  next = dlsym(RTLD_DEFAULT, other);
  return next != NULL ? next : (void*)&is_missing;
}

void esp_accel_resolve(void) {
  const struct AccelFunction* functions = load();
  for (int i = 0; i < kFunctions; ++i) {
    __atomic_store_n(&esp_accel_slots[i], find(functions, kNames[i]), __ATOMIC_RELEASE);
  }
}
