/* Knows no MPI; a plugin brings it, visible to nobody else. Usage: late_main PLUGIN */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (plugin == NULL) {
    fprintf(stderr, "late_main: %s\n", argc == 2 ? dlerror() : "usage: late_main PLUGIN");
    return 1;
  }
  int (*run)(void) = (int (*)(void))dlsym(plugin, "run_plugin");
  return run();
}
