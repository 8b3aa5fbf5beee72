/* Where the buffers of sessions_micro lie. */
#ifndef IMBREX_SESSIONS_BENCH_MICRO_MEMORY_H
#define IMBREX_SESSIONS_BENCH_MICRO_MEMORY_H

#include <stddef.h>

enum memory_kind {
  in_host_memory,
  in_device_memory, /* the MPI is given device pointers */
  staged_by_hand /* data lies on the device; the program copies it to and from pinned memory, which the MPI is given */
};

/* One buffer. `given` is what the MPI gets; `contents` is for the program's own eyes, and as long. */
struct buffer {
  unsigned char *given, *contents;
  unsigned long long device; /* 0 in host memory */
  size_t bytes;
  enum memory_kind kind;
};

/* Makes the GPU ready that is this process's turn among those of its node. NULL, or why that cannot be: static text. */
const char* open_device(int rank_of_node);

/* Zeroed. 0 where there is no room. */
int make_buffer(struct buffer* b, enum memory_kind kind, size_t bytes);
void free_buffer(struct buffer* b);

/* Between `contents` and where the data lies; the caller waits. */
void put_contents(const struct buffer* b);
void get_contents(const struct buffer* b);

/* What a program that stages by hand does before the MPI reads a buffer, and after it has filled one; else nothing. */
void before_send(const struct buffer* b);
void after_receive(const struct buffer* b);

#endif
