#include "micro_memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The driver's functions, found when they are first needed: the program runs, and is built, where there is none. */
static int (*init)(unsigned);
static int (*get_device_count)(int*);
static int (*retain_primary_context)(void**, int);
static int (*set_context)(void*);
static int (*allocate)(unsigned long long*, size_t);
static int (*free_memory)(unsigned long long);
static int (*allocate_pinned)(void**, size_t);
static int (*free_pinned)(void*);
static int (*to_host)(void*, unsigned long long, size_t);
static int (*to_device)(unsigned long long, const void*, size_t);

static int find(void* driver, const char* name, void* function) {
  void* const found = dlsym(driver, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

const char* open_device(int rank_of_node) {
  int num_devices = 0;
  void* context = NULL;
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == NULL) return "there is no libcuda.so.1 here: run it where NVIDIA's driver is, or with --memory host";
  if (!find(driver, "cuInit", &init) || !find(driver, "cuDeviceGetCount", &get_device_count) ||
      !find(driver, "cuDevicePrimaryCtxRetain", &retain_primary_context) ||
      !find(driver, "cuCtxSetCurrent", &set_context) || !find(driver, "cuMemAlloc_v2", &allocate) ||
      !find(driver, "cuMemFree_v2", &free_memory) || !find(driver, "cuMemAllocHost_v2", &allocate_pinned) ||
      !find(driver, "cuMemFreeHost", &free_pinned) || !find(driver, "cuMemcpyDtoH_v2", &to_host) ||
      !find(driver, "cuMemcpyHtoD_v2", &to_device)) {
    return "libcuda.so.1 lacks functions that are needed: it is none of NVIDIA's, or older than CUDA 7";
  }
  if (init(0) != 0 || get_device_count(&num_devices) != 0 || num_devices == 0) {
    return "the driver shows no GPU (see CUDA_VISIBLE_DEVICES): use --memory host";
  }
  if (retain_primary_context(&context, rank_of_node % num_devices) != 0 || set_context(context) != 0) {
    return "the GPU cannot be used: it may be exclusive to another process";
  }
  return NULL;
}

int make_buffer(struct buffer* b, enum memory_kind kind, size_t bytes) {
  memset(b, 0, sizeof *b);
  b->kind = kind;
  b->bytes = bytes;
  if (kind == in_host_memory) {
    b->given = b->contents = calloc(bytes + 1, 1);
    return b->given != NULL;
  }
  void* pinned = NULL;
  if (allocate_pinned(&pinned, bytes + 1) != 0) return 0;
  b->contents = pinned;
  memset(pinned, 0, bytes + 1);
  if (allocate(&b->device, bytes + 1) != 0) return 0;
  b->given = kind == in_device_memory ? (unsigned char*)(size_t)b->device : b->contents;
  put_contents(b);
  return 1;
}

void free_buffer(struct buffer* b) {
  if (b->kind == in_host_memory) {
    free(b->contents);
  } else {
    if (b->device != 0) free_memory(b->device);
    if (b->contents != NULL) free_pinned(b->contents);
  }
  memset(b, 0, sizeof *b);
}

static void check(int result, const char* what, size_t bytes) {
  if (result == 0) return;
  fprintf(stderr, "sessions_micro: %s of %zu bytes failed with error %d of the driver\n", what, bytes, result);
  abort();
}

void put_contents(const struct buffer* b) {
  if (b->kind != in_host_memory && b->bytes > 0) check(to_device(b->device, b->contents, b->bytes), "a copy to the device", b->bytes);
}

void get_contents(const struct buffer* b) {
  if (b->kind != in_host_memory && b->bytes > 0) check(to_host(b->contents, b->device, b->bytes), "a copy to the host", b->bytes);
}

void before_send(const struct buffer* b) {
  if (b->kind == staged_by_hand) get_contents(b);
}

void after_receive(const struct buffer* b) {
  if (b->kind == staged_by_hand) put_contents(b);
}
