#include "micro_options.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_SIZE (1L << 30)

static int same_name(const char* text, size_t length, const char* name) {
  if (strlen(name) != length) return 0;
  for (size_t i = 0; i < length; ++i) {
    if (tolower((unsigned char)text[i]) != tolower((unsigned char)name[i])) return 0;
  }
  return 1;
}

void complain(struct options* o, const char* what, const char* text, int length, const char* remedy) {
  if (o->complaint[0] == '\0') snprintf(o->complaint, sizeof o->complaint, "%s %.*s: %s", what, length, text, remedy);
}

static void read_routines(struct options* o, const char* text) {
  memset(o->chosen, 0, sizeof o->chosen);
  for (;;) {
    const size_t length = strcspn(text, ",");
    int known = 0;
    for (int i = 0; i < NUM_BENCHMARKS; ++i) {
      if (same_name(text, length, benchmarks[i].name)) known = o->chosen[i] = 1;
    }
    if (!known) {
      complain(o, "unknown routine", text, (int)length,
               "use Alltoall, Allreduce, Allgather, Bcast, Gather, Reduce, Scatter, PingPing, PingPong");
    }
    if (text[length] == '\0') return;
    text += length + 1;
  }
}

/* Reads 64, 4K or 1M; -1 for anything else or above LARGEST_SIZE. Sets *rest to what follows. */
static long read_size(const char* text, const char** rest) {
  char* end;
  *rest = text;
  if (!isdigit((unsigned char)*text)) return -1;
  long size = strtol(text, &end, 10);
  const long unit = *end == 'K' ? 1L << 10 : *end == 'M' ? 1L << 20 : 1;
  *rest = end + (unit > 1);
  return size > LARGEST_SIZE / unit ? -1 : size * unit;
}

static void add_size(struct options* o, long size, const char* text) {
  if (o->num_sizes == MAX_SIZES) {
    complain(o, "--sizes", text, (int)strcspn(text, ","), "too many sizes from here; give at most 64");
  } else {
    o->sizes[o->num_sizes++] = size;
  }
}

static void read_sizes(struct options* o, const char* text) {
  o->num_sizes = 0;
  for (;;) {
    const char* rest;
    const long first = read_size(text, &rest);
    long last = first;
    if (strncmp(rest, "..", 2) == 0) last = read_size(rest + 2, &rest);
    if (first < 0 || last < first || (first == 0 && last > 0) || (*rest != ',' && *rest != '\0')) {
      complain(o, "size", text, (int)strcspn(text, ","),
               "give bytes up to 1024M, as 0,8,4K,1M, or powers of two, as 1..4M");
      return;
    }
    for (long size = first; size <= last; size = size == 0 ? 1 : 2 * size) add_size(o, size, text);
    if (*rest == '\0') return;
    text = rest + 1;
  }
}

static void read_repeats(struct options* o, const char* text) {
  char* end;
  o->repeats = strtol(text, &end, 10);
  if (end == text || *end != '\0' || o->repeats < 1 || o->repeats > INT_MAX) {
    complain(o, "--repeats", text, (int)strlen(text), "give a whole number of at least 1");
  }
}

static void read_memory(struct options* o, const char* text) {
  static const char* const names[] = {"host", "device", "by-hand"}; /* in the order of memory_kind */
  for (int i = 0; i < 3; ++i) {
    if (strcmp(text, names[i]) != 0) continue;
    o->memory = (enum memory_kind)i;
    return;
  }
  complain(o, "--memory", text, (int)strlen(text), "use host, device or by-hand");
}

void read_options(struct options* o, int argc, char** argv) {
  memset(o, 0, sizeof *o);
  o->repeats = 1000;
  for (int i = 0; i < NUM_BENCHMARKS; ++i) o->chosen[i] = 1;
  read_sizes(o, "0,1..4M");
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    const int takes_value = strcmp(word, "--routines") == 0 || strcmp(word, "--sizes") == 0 ||
                            strcmp(word, "--repeats") == 0 || strcmp(word, "--memory") == 0;
    if (strcmp(word, "--help") == 0) {
      o->help = 1;
    } else if (strcmp(word, "--sync") == 0) {
      o->synchronized = 1;
    } else if (!takes_value) {
      complain(o, "unknown option", word, (int)strlen(word), "see --help");
    } else if (++i == argc) {
      complain(o, "no value for", word, (int)strlen(word), "see --help");
    } else if (word[2] == 'r' && word[3] == 'o') {
      read_routines(o, argv[i]);
    } else if (word[2] == 'm') {
      read_memory(o, argv[i]);
    } else {
      word[2] == 's' ? read_sizes(o, argv[i]) : read_repeats(o, argv[i]);
    }
  }
}

void print_help(void) {
  printf(
      "mpirun -n RANKS sessions_micro_<mpi> [options]     at least 2 ranks; one line of JSON per measurement\n"
      "  --routines LIST  of Alltoall, Allreduce, Allgather, Bcast, Gather, Reduce, Scatter, PingPing, PingPong (all)\n"
      "  --sizes LIST     bytes, as 0,8,4K,1M; FIRST..LAST are powers of two (default 0,1..4M)\n"
      "  --repeats N      repetitions for small messages (default 1000); fewer above 40 MB in all, at least 5\n"
      "  --memory KIND    of the buffers: host; device: the MPI gets device pointers (CUDA-aware, or with this library's\n"
      "                   mode stage); by-hand: data on the device, copied by the program to and from pinned memory\n"
      "  --sync           a barrier before every repetition, not counted\n"
      "exit code: 1 when received data was wrong, 2 for a wrong command line\n");
}
