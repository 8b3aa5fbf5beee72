/* Has its MPI inside: what a program that is linked with a static MPI looks like. */
#include <stdio.h>

int PMPI_Init(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
  return 0;
}

int main(int argc, char** argv) {
  const int failed = PMPI_Init(&argc, &argv);
  puts("done");
  return failed;
}
