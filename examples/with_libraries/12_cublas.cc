// cuBLAS: calls of another library enqueued into streams of imbrex.
//
// Each chare works through a chain of matrix products, X <- A X, on its own stream. `enqueue_native` gives cuBLAS that
// stream's cudaStream_t; what it enqueues there is a part of the stream like any kernel, so chains of several chares
// overlap on the GPU, and nobody waits but by `co_await s.done()`. All numbers are integers below 2^53: whatever the
// order of sums, the products are exact, and each element is compared with a plain product on the CPU.
//
//   build/default/bin/12_cublas                         on the host, by a plain product
//   build/default/bin/12_cublas --imbrex-device=auto    by cuBLAS on a GPU where there is one
//   build/default/bin/12_cublas 16 2048 4               16 chains of 4 products of 2048 x 2048 matrices; slow to check
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/core.h>
#include <imbrex/imbrex.h>
#include <imbrex/interop.h>

#include <string>
#include <vector>

namespace ix = imbrex;

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw ix::device_error(fmt::format("{}: {}", what, cublasGetStatusString(status)));
}

// c = a b, n by n, column after column.
void plain_product(std::size_t n, const double* a, const double* b, double* c) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = 0; i < n; ++i) c[i + j * n] = 0;
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < n; ++i) c[i + j * n] += a[i + k * n] * b[k + j * n];
    }
  }
}

// What a PE has of cuBLAS: a group, so there is one on each PE, and it ends before the PE's devices do. Making a handle
// may wait for the GPU, so it is made before anything is enqueued.
class blas : public ix::chare<blas, ix::index1d> {
 public:
  blas() {
    if (on_device().kind() != ix::device_kind::cuda) return;
    if (cudaSetDevice(on_device().number()) != cudaSuccess) throw ix::device_error("cannot choose the PE's GPU");
    check(cublasCreate(&handle_), "making a handle of cuBLAS");
  }
  blas(const blas&) = delete;
  ~blas() {
    if (handle_ != nullptr) cublasDestroy(handle_);
  }

  // c = a b in the order of `s`. The workspace is of that stream alone: calls in other streams run at the same time.
  void product(ix::stream& s, std::size_t n, const double* a, const double* b, double* c,
               const ix::buffer<char>& workspace) const {
    if (s.on().kind() != ix::device_kind::cuda) return s.call("product", [=] { plain_product(n, a, b, c); });
    const int size = static_cast<int>(n);
    const double one = 1, zero = 0;
    ix::enqueue_native(s, "cublasDgemm", [&](cudaStream_t native) {
      check(cublasSetStream(handle_, native), "choosing a stream");
      check(cublasSetWorkspace(handle_, workspace.data(), workspace.size()), "giving cuBLAS its workspace");
      check(cublasDgemm(handle_, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, a, size, b, size, &zero, c, size),
            "a product by cuBLAS");
    });
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

class chain : public ix::chare<chain, ix::index1d> {
 public:
  chain(ix::array_proxy<blas> library, std::size_t n) : library_(library), n_(n) {}

  ix::task<> run(int num_products) {
    ix::device& d = on_device();
    ix::stream& s = streams().compute;  // this chare's own
    const std::size_t size = n_ * n_;
    ix::buffer<double> a(d, size), x(d, size), next(d, size);
    ix::buffer<double> a_on_host(d, size, ix::memory_kind::pinned), x_on_host(d, size, ix::memory_kind::pinned);
    ix::buffer<char> workspace(d, d.kind() == ix::device_kind::cuda ? std::size_t{4} << 20 : 0);
    for (std::size_t i = 0; i < size; ++i) {
      a_on_host.data()[i] = static_cast<double>((i * 7 + static_cast<std::size_t>(index().x)) % 3) - 1;
      x_on_host.data()[i] = static_cast<double>(i % 5) - 2;
    }
    std::vector<double> expected(x_on_host.data(), x_on_host.data() + size), scratch(size);

    ix::copy<double>(a, a_on_host, s);
    ix::copy<double>(x, x_on_host, s);
    for (int i = 0; i < num_products; ++i) {
      library_.local_branch()->product(s, n_, a.data(), x.data(), next.data(), workspace);
      std::swap(x, next);
    }
    ix::copy<double>(x_on_host, x, s);
    for (int i = 0; i < num_products; ++i) {  // while the GPU is at it
      plain_product(n_, a_on_host.data(), expected.data(), scratch.data());
      std::swap(expected, scratch);
    }
    co_await s.done();

    long right = 0;
    for (std::size_t i = 0; i < size; ++i) right += x_on_host.data()[i] == expected[i] ? 1 : 0;
    contribute(right, ix::sum);
  }

 private:
  ix::array_proxy<blas> library_;
  std::size_t n_;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int num_chains = !arguments.empty() ? std::stoi(arguments[0]) : 8;
  const std::size_t n = arguments.size() > 1 ? std::stoul(arguments[1]) : 96;
  const int num_products = arguments.size() > 2 ? std::stoi(arguments[2]) : 4;

  if (rt.kind_of_device() == ix::device_kind::opencl) throw ix::usage_error("cuBLAS knows no devices of OpenCL");

  const auto library = rt.create_group<blas>();
  co_await rt.quiescence();  // all PEs have theirs
  const auto chains = rt.create_array<chain>(num_chains, library, n);
  chains.broadcast<&chain::run>(num_products);
  const long right = co_await chains.reduction<long>();

  const long all = static_cast<long>(n * n) * num_chains;
  fmt::print("{} chains of {} products of {} x {} matrices: {} of {} elements are right\n", num_chains, num_products, n,
             n, right, all);
  co_return right == all ? 0 : 1;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
