/* As much of an MPI as unknown_main needs. */
#include <stdio.h>
#include <string.h>

int PMPI_Get_library_version(char* version, int* length) {
  strcpy(version, "Some MPI 9.9");
  *length = (int)strlen(version);
  return 0;
}

int PMPI_Init(int* argc, char*** argv) {
  (void)argc;
  (void)argv;
  return 0;
}

int PMPI_Send(const void* buf, int count, long type, int dest, int tag, long comm) {
  (void)buf;
  printf("sent %d values\n", count);
  return type == 11 && dest == 12 && tag == 13 && comm == 14 ? 4 : 5;
}

int PMPI_Finalize(void) { return 0; }

int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
int MPI_Send(const void* buf, int count, long type, int dest, int tag, long comm) {
  return PMPI_Send(buf, count, type, dest, tag, comm);
}
int MPI_Finalize(void) { return PMPI_Finalize(); }
