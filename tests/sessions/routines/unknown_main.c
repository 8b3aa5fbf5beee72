/* A program of an MPI that libimbrex_sessions.so does not know: its calls must arrive as they were made. */
int MPI_Init(int* argc, char*** argv);
int MPI_Send(const void* buf, int count, long type, int dest, int tag, long comm);
int MPI_Finalize(void);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int result = MPI_Send(argv, 8, 11, 12, 13, 14);
  MPI_Finalize();
  return result;
}
