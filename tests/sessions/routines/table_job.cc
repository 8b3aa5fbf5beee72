// Calls every routine of routines.def with device memory for each buffer, table_spy.cc in the MPI's place: it is
// staged, or the process ends with its name. Each in a process of its own. 1 rank. Prints what is refused.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <dlfcn.h>
#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sessions/driver/fake_cuda.h"
#include "table_spy.h"

namespace {

constexpr std::size_t buffer_bytes = 4096;

void* device_memory() {
  device_pointer made = 0;
  use_device(0);
  cuMemAlloc_v2(&made, buffer_bytes);
  return reinterpret_cast<void*>(made);
}

long first_word(const void* device) {
  long value = 0;
  cuMemcpyDtoH_v2(&value, reinterpret_cast<device_pointer>(device), sizeof value);
  return value;
}

/// An array of any type, of `value` for each peer.
template <int value>
struct any_array {
  template <class T>
  operator const T*() const {  // NOLINT: it stands for arguments
    static const T values[4] = {value, value, value, value};
    return values;
  }
};
struct any_position {
  template <class T>
  operator T*() const {  // NOLINT: it stands for arguments
    static T value;
    value = 0;
    return &value;
  }
};

// What the arguments of the table are called.
MPI_Comm comm;
MPI_Win win = MPI_WIN_NULL;
MPI_File file = MPI_FILE_NULL;
MPI_Info info = MPI_INFO_NULL;
MPI_Op op = MPI_SUM;
MPI_Datatype type = MPI_LONG, sendtype = type, recvtype = type, target_type = type, result_type = type;
MPI_Datatype one_type_each[4] = {type, type, type, type};
const MPI_Datatype *sendtypes = one_type_each, *recvtypes = one_type_each;
MPI_Request own_request, *request = &own_request;
MPI_Status own_status, *status = &own_status;
MPI_Message own_message, *message = &own_message;
const int dest = 0, source = 0, root = 0, rank = 0, tag = 1, sendtag = 1, recvtag = 1, partitions = 1;
const int count = 1, sendcount = 1, recvcount = 1, target_count = 1, result_count = 1, incount = 1, outcount = 1;
const int insize = 64, outsize = 64, size = 64, disp = 0, offset = 0;
const any_array<1> sendcounts{}, recvcounts{};
const any_array<0> sdispls{}, displs{};
const any_position position{};
const char* representation = "external32";
void *buf, *sendbuf, *recvbuf, *origin, *result, *compare, *base, *inbuf, *outbuf;

void make_buffers() {
  for (void** b : {&buf, &sendbuf, &recvbuf, &origin, &result, &compare, &base, &inbuf, &outbuf}) {
    *b = device_memory();
    cuMemcpyHtoD_v2(reinterpret_cast<device_pointer>(*b), &spied_sent, sizeof spied_sent);
  }
}

/// The buffers among the arguments that a call may write to.
std::vector<const void*> writable;
template <class Param, class Arg>
Param passed(const Arg& arg) {
  if constexpr (std::is_same_v<Param, void*>) writable.push_back(arg);
  return Param(arg);
}

template <class... Params, class... Args>
int call(void* routine, int (*)(Params...), const Args&... args) {
  return reinterpret_cast<int (*)(Params...)>(routine)(passed<Params>(args)...);
}

bool ends(const std::string& name, const char* end) {
  const std::string e = end;
  return name.size() >= e.size() && name.compare(name.size() - e.size(), e.size(), e) == 0;
}

void finish(const std::string& name, bool has_request) {
  const std::string plain = ends(name, "_c") ? name.substr(0, name.size() - 2) : name;
  if (ends(plain, "_begin")) {
    const std::string end = "MPI_" + plain.substr(0, plain.size() - 5) + "end";
    reinterpret_cast<int (*)(MPI_File, void*, MPI_Status*)>(dlsym(RTLD_DEFAULT, end.c_str()))(file, buf, status);
  }
  if (ends(plain, "_init")) MPI_Start(request);
  if (plain == "Psend_init")
    reinterpret_cast<int (*)(int, MPI_Request)>(dlsym(RTLD_DEFAULT, "MPI_Pready"))(0, *request);
  if (has_request) MPI_Wait(request, status);
  if (!has_request) MPI_Win_flush(rank, win);
}

int judge(const std::string& name) {
  const spied& s = *table_spied();
  int wrong = 0;
  const auto expect = [&](bool holds, const char* what) {
    if (!holds) std::printf("MPI_%s: %s\n", name.c_str(), what);
    wrong += holds ? 0 : 1;
  };
  expect(s.num_on_device == 0, "device memory came through to the MPI");
  expect(s.num_pinned == s.num_buffers && s.num_buffers > 0, "a buffer is not in pinned memory");
  expect(s.num_operations == 1, "the operation was not done once");
  expect(s.num_other == 0, "the MPI saw other contents than the device has");
  const bool sends_all = name.find("cast") != std::string::npos;  // of the root
  for (const void* w : writable) {
    expect(first_word(w) == (sends_all ? spied_sent : spied_received), "the device has not what the MPI wrote");
  }
  std::fflush(stdout);
  return wrong == 0 ? 0 : 1;
}

template <class Call>
int judged_in_child(const char* name, bool has_request, int errors, Call make_call) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(errors, STDERR_FILENO);
    const std::string symbol = std::string("MPI_") + name;
    make_buffers();
    make_call(dlsym(RTLD_DEFAULT, symbol.c_str()));
    finish(name, has_request);
    _exit(judge(name));
  }
  int how = 0;
  waitpid(child, &how, 0);
  return how;
}

int num_staged = 0, num_wrong = 0;
std::string refused;

/// A refused routine has ended its process, with its name on stderr.
bool is_refusal(const char* name, int how, int errors) {
  char text[4096];
  lseek(errors, 0, SEEK_SET);
  const ssize_t length = read(errors, text, sizeof text);
  const std::string said(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  const bool named = said.find("MPI_" + std::string(name) + ": stage does not cover this routine") != std::string::npos;
  return !WIFEXITED(how) && named;
}

template <class Call>
void try_routine(const char* name, bool has_request, Call make_call) {
  char path[] = "/tmp/table_jobXXXXXX";
  const int errors = mkstemp(path);
  unlink(path);
  const int how = judged_in_child(name, has_request, errors, make_call);
  if (WIFEXITED(how) && WEXITSTATUS(how) == 0) {
    ++num_staged;
  } else if (is_refusal(name, how, errors)) {
    refused += std::string(" MPI_") + name;
  } else {
    std::printf("MPI_%s: neither staged nor refused (%d)\n", name, how);
    ++num_wrong;
  }
  close(errors);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int dims = 1, periodic = 1;
  MPI_Cart_create(MPI_COMM_SELF, 1, &dims, &periodic, 0, &comm);
  std::fflush(stdout);
#define IX_UNPACK(...) __VA_ARGS__
#define IX_ROUTINE(name, params, args, ...) IX_TRY(name, params, args)
#define IX_TRY(name, params, args)                                             \
  try_routine(#name, std::string(#args).find("request)") != std::string::npos, \
              [](void* r) { call(r, static_cast<int(*) params>(nullptr), IX_UNPACK args); });
#include "routines/both_counts.def"
#undef IX_TRY
#undef IX_ROUTINE
  std::printf("%d staged\nrefused:%s\n", num_staged, refused.c_str());
  MPI_Finalize();
  return num_wrong == 0 ? 0 : 1;
}
