/* one_state LIBRARY: what another part of the process has loaded by the library's own name has the
 * state that was initialised by the name of the ABI.
 */
#include <dlfcn.h>

#include "../conformance.h"

static void* other(void* library, const char* function) {
  void* found = dlsym(library, function);
  if (found == NULL) fprintf(stderr, "%s\n", dlerror());
  return found;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  CHECK(library != NULL);
  if (library != NULL) {
    int (*initialized)(int*) = (int (*)(int*))other(library, "MPI_Initialized");
    int (*set_name)(MPI_Comm, const char*) =
        (int (*)(MPI_Comm, const char*))other(library, "MPI_Comm_set_name");
    int flag = 0, length = 0;
    char name[MPI_MAX_OBJECT_NAME] = "";
    CHECK(initialized(&flag) == MPI_SUCCESS && flag == 1);
    CHECK(set_name(MPI_COMM_WORLD, "by the other name") == MPI_SUCCESS);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(strcmp(name, "by the other name") == 0);
    CHECK((void*)initialized == (void*)&MPI_Initialized);
  }
  MPI_Finalize();
  return failures != 0;
}
