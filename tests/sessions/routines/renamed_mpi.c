/* Preloaded, it lets an MPI call itself what RENAMED_MPI says, and have the ABI of MPI 5 where RENAMED_MPI_ABI is set. */
#include <stdlib.h>
#include <string.h>

int PMPI_Get_library_version(char* version, int* length) {
  const char* name = getenv("RENAMED_MPI");
  strcpy(version, name == NULL ? "nameless" : name);
  *length = (int)strlen(version);
  return 0;
}

int PMPI_Abi_get_version(int* major, int* minor) {
  const int standard = getenv("RENAMED_MPI_ABI") != NULL;
  *major = standard ? 1 : -1;
  *minor = standard ? 0 : -1;
  return 0;
}
