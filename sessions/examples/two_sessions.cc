// Two sessions of one program: halos of a solver between GPUs, and everything else on the host, as HDF5 would use it.
//
//   mpirun -n 4 two_sessions FILE [--gpu]
//
// A ring of ranks smooths a field that is cut into one piece per rank. Faces go from neighbour to neighbour over the
// solver's session; norms and the output file go over the host's. With --gpu the faces lie in device memory (of
// libcuda.so.1) and the session says so: an MPI that knows GPUs sends them as they are, any other with
// LD_PRELOAD=libimbrex_sessions.so IMBREX_SESSIONS=stage. Without --gpu they lie on the host.
#include <dlfcn.h>
#include <imbrex/sessions.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int num_cells = 64;  // of a rank
constexpr int num_steps = 50;

/// What the example needs of the GPU's driver.
class gpu {
 public:
  gpu() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ == nullptr) throw std::runtime_error("--gpu: there is no libcuda.so.1; leave --gpu out");
    void* context = nullptr;
    expect(function<int(unsigned)>("cuInit")(0), "cuInit");
    expect(function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0), "cuDevicePrimaryCtxRetain");
    expect(function<int(void*)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
  }
  double* allocate(std::size_t count) {
    std::uint64_t made = 0;
    expect(function<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2")(&made, count * sizeof(double)), "cuMemAlloc");
    return reinterpret_cast<double*>(made);
  }
  void free(double* memory) { function<int(std::uint64_t)>("cuMemFree_v2")(reinterpret_cast<std::uint64_t>(memory)); }
  void put(double* to, double value) {
    const auto device = reinterpret_cast<std::uint64_t>(to);
    expect(function<int(std::uint64_t, const void*, std::size_t)>("cuMemcpyHtoD_v2")(device, &value, sizeof value),
           "copy");
  }
  double get(const double* from) {
    double value = 0;
    const auto device = reinterpret_cast<std::uint64_t>(from);
    expect(function<int(void*, std::uint64_t, std::size_t)>("cuMemcpyDtoH_v2")(&value, device, sizeof value), "copy");
    return value;
  }

 private:
  template <class Type>
  Type* function(const char* name) {
    void* found = dlsym(library_, name);
    if (found == nullptr) throw std::runtime_error(std::string("libcuda.so.1 has no ") + name);
    return reinterpret_cast<Type*>(found);
  }
  static void expect(int result, const char* what) {
    if (result != 0) throw std::runtime_error(std::string(what) + " failed: " + std::to_string(result));
  }
  void* library_;
};

/// Four faces: two that are sent, two that are received; on a GPU or on the host.
class faces {
 public:
  explicit faces(gpu* device) : device_(device), host_(4) {
    data_ = device == nullptr ? host_.data() : device->allocate(4);
  }
  ~faces() {
    if (device_ != nullptr) device_->free(data_);
  }
  faces(const faces&) = delete;
  faces& operator=(const faces&) = delete;
  double* at(int i) { return data_ + i; }
  void put(int i, double value) { device_ == nullptr ? void(data_[i] = value) : device_->put(data_ + i, value); }
  double get(int i) { return device_ == nullptr ? data_[i] : device_->get(data_ + i); }

 private:
  gpu* device_;
  std::vector<double> host_;
  double* data_;
};

/// A solver writes its faces on the GPU by a kernel; this one computes on the host and copies them there.
void exchange(faces& f, std::vector<double>& u, MPI_Comm ring, int rank, int size) {
  const int left = (rank + size - 1) % size;
  const int right = (rank + 1) % size;
  MPI_Request requests[4];
  f.put(0, u[1]);
  f.put(1, u[num_cells]);
  MPI_Irecv(f.at(2), 1, MPI_DOUBLE, left, 1, ring, &requests[0]);
  MPI_Irecv(f.at(3), 1, MPI_DOUBLE, right, 0, ring, &requests[1]);
  MPI_Isend(f.at(0), 1, MPI_DOUBLE, left, 0, ring, &requests[2]);
  MPI_Isend(f.at(1), 1, MPI_DOUBLE, right, 1, ring, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  u.front() = f.get(2);
  u.back() = f.get(3);
}

void smooth(std::vector<double>& u) {
  std::vector<double> next = u;
  for (std::size_t i = 1; i + 1 < u.size(); ++i) next[i] = 0.25 * u[i - 1] + 0.5 * u[i] + 0.25 * u[i + 1];
  u = next;
}

void write_field(const char* path, const std::vector<double>& u, MPI_Comm host, int rank) {
  MPI_File file;
  if (MPI_File_open(host, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
    throw std::runtime_error(std::string("cannot write ") + path);
  }
  const MPI_Offset start = rank * MPI_Offset{num_cells} * static_cast<MPI_Offset>(sizeof(double));
  MPI_File_write_at_all(file, start, u.data() + 1, num_cells, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

void solve(const char* path, gpu* device) {
  using pattern = imbrex::communication_pattern;
  const imbrex::mpi_session solver(device == nullptr ? pattern::cpu_to_cpu : pattern::gpu_to_gpu, "solver");
  const imbrex::mpi_session bookkeeping(pattern::cpu_to_cpu, "bookkeeping");
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(solver.comm(), &rank);
  MPI_Comm_size(solver.comm(), &size);

  std::vector<double> u(num_cells + 2);
  for (int i = 1; i <= num_cells; ++i) {
    u[static_cast<std::size_t>(i)] = std::cos(2 * M_PI * (rank * num_cells + i - 1) / (size * num_cells));
  }
  faces f(device);
  for (int step = 0; step < num_steps; ++step) {
    exchange(f, u, solver.comm(), rank, size);
    smooth(u);
  }
  const double own = std::inner_product(u.begin() + 1, u.end() - 1, u.begin() + 1, 0.0);
  double norm = 0;
  MPI_Allreduce(&own, &norm, 1, MPI_DOUBLE, MPI_SUM, bookkeeping.comm());
  write_field(path, u, bookkeeping.comm(), rank);

  // Each step multiplies a cosine by this factor.
  const double factor = 0.5 + 0.5 * std::cos(2 * M_PI / (size * num_cells));
  const double expected = 0.5 * size * num_cells * std::pow(factor, 2 * num_steps);
  if (rank == 0) std::printf("norm %.9f, expected %.9f\n", norm, expected);
  if (std::abs(norm / expected - 1) > 1e-12) throw std::runtime_error("the field is not what it should be");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || (argc == 3 && std::strcmp(argv[2], "--gpu") != 0)) {
    std::fprintf(stderr, "usage: mpirun -n 4 %s FILE [--gpu]\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  try {
    if (argc == 3) {
      gpu device;
      solve(argv[1], &device);
    } else {
      solve(argv[1], nullptr);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "two_sessions: %s\n", e.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
