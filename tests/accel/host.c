/* host PLUGIN ARGUMENTS: a program without MPI whose plugin has one, as of languages that load it.
 * The plugin's `main` is called. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  int (*run)(int, char**) = (int (*)(int, char**))dlsym(plugin, "main");
  return run(argc - 1, argv + 1);
}
