#include "imbrex/device/cuda/text/cuda_nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/device/cuda/api/cuda_error.h"
#include "imbrex/device/cuda/cuda_launch.h"
#include "imbrex/device/kernel/dialect_files.h"

namespace imbrex::detail {

namespace {

// As nvrtc.h declares them, which comes in a package of its own.
struct nvrtc_program;
using program = nvrtc_program*;
struct library {
  int (*create)(program*, const char* text, const char* name, int num_headers, const char* const* headers,
                const char* const* header_names) = nullptr;
  int (*destroy)(program*) = nullptr;
  int (*compile)(program, int num_options, const char* const* options) = nullptr;
  int (*log_size)(program, std::size_t*) = nullptr;
  int (*log)(program, char*) = nullptr;
  int (*cubin_size)(program, std::size_t*) = nullptr;
  int (*cubin)(program, char*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  bool is_there = false;
};

template <class F>
bool find(void* handle, const char* name, F& f) {
  f = reinterpret_cast<F>(dlsym(handle, name));
  return f != nullptr;
}

library load() {
  library l;
  const std::string version = std::to_string(CUDART_VERSION / 1000);
  void* handle = nullptr;
  for (const std::string& name : {"libnvrtc.so." + version, "/usr/local/cuda/lib64/libnvrtc.so." + version}) {
    if ((handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
  }
  l.is_there = handle != nullptr && find(handle, "nvrtcCreateProgram", l.create) &&
               find(handle, "nvrtcDestroyProgram", l.destroy) && find(handle, "nvrtcCompileProgram", l.compile) &&
               find(handle, "nvrtcGetProgramLogSize", l.log_size) && find(handle, "nvrtcGetProgramLog", l.log) &&
               find(handle, "nvrtcGetCUBINSize", l.cubin_size) && find(handle, "nvrtcGetCUBIN", l.cubin) &&
               find(handle, "nvrtcGetErrorString", l.error_text);
  return l;
}

const library& loaded() {
  static const library l = load();
  return l;
}

/// "90" of a GPU of compute capability 9.0.
int architecture_of(int gpu) {
  int major = 0, minor = 0;
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu), "asking a GPU what it is");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu), "asking a GPU what it is");
  return 10 * major + minor;
}

std::string compiled(const std::string& text, const std::string& shown, int architecture) {
  const library& l = loaded();
  const std::string all =
      fmt::format("#include \"imbrex/device/kernel/kernel_dialect.h\"\n#line 1 \"{}\"\n{}\n", shown, text);
  std::vector<const char*> headers, names;
  for (const dialect_file& f : dialect_files()) {
    headers.push_back(f.text);
    names.push_back(f.name);
  }
  program p = nullptr;
  if (const int failed =
          l.create(&p, all.c_str(), shown.c_str(), static_cast<int>(names.size()), headers.data(), names.data());
      failed != 0)
    throw device_error(fmt::format("NVRTC refuses {}: {}", shown, l.error_text(failed)));
  const std::string target = fmt::format("--gpu-architecture=sm_{}", architecture);
  // Without contraction to FMA, so that all devices give the same bits.
  const char* const options[] = {"--std=c++20", "--fmad=false", "--generate-line-info", target.c_str()};
  const int failed = l.compile(p, static_cast<int>(std::size(options)), options);
  std::size_t size = 0;
  std::string result;
  if (failed != 0) {
    l.log_size(p, &size);
    result.resize(size);
    l.log(p, result.data());
    l.destroy(&p);
    throw usage_error(
        fmt::format("{} cannot be compiled for CUDA by NVRTC ({}):\n{}", shown, l.error_text(failed), result.c_str()));
  }
  l.cubin_size(p, &size);
  result.resize(size);
  l.cubin(p, result.data());
  l.destroy(&p);
  return result;
}

/// While one lives, this thread may load and allocate though a stream is captured.
class relaxed_capture {
 public:
  relaxed_capture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~relaxed_capture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  relaxed_capture(const relaxed_capture&) = delete;
  relaxed_capture& operator=(const relaxed_capture&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// What one launch needs, for one kind of GPU.
struct made_kernel {
  const void* function = nullptr;
  std::vector<std::size_t> bytes;  ///< of its arguments
};

/// All that was made: for texts by their place, kinds of GPUs, and kernels.
class made_kernels {
 public:
  const made_kernel& get(const kernel_source& k, const std::string& text, const std::string& shown, int gpu) {
    const std::lock_guard alone(mutex_);
    int& architecture = architectures_[gpu];
    if (architecture == 0) architecture = architecture_of(gpu);
    made_kernel& m = kernels_[{&k, architecture}];
    if (m.function == nullptr) make(m, k, text, shown, architecture);
    return m;
  }

 private:
  void make(made_kernel& m, const kernel_source& k, const std::string& text, const std::string& shown,
            int architecture) {
#if CUDART_VERSION >= 12080
    const relaxed_capture may_load;
    cudaLibrary_t& of = libraries_[{&text, architecture}];
    if (of == nullptr) {
      const std::string code = compiled(text, shown, architecture);
      check_cuda(cudaLibraryLoadData(&of, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
                 "loading a kernel from a string");
    }
    cudaKernel_t found = nullptr;
    check_cuda(cudaLibraryGetKernel(&found, of, k.name), "looking for a kernel from a string");
    for (const kernel_argument& a : k.arguments) m.bytes.push_back(a.value_bytes());
    m.function = found;
#else
    static_cast<void>(m), static_cast<void>(text), static_cast<void>(architecture);
    throw not_built(
        fmt::format("{}: kernel '{}' from a string needs CUDA 12.8 at least, and this imbrex was built with {}.{}",
                    shown, k.name, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10));
#endif
  }

  std::mutex mutex_;
  std::map<int, int> architectures_;
#if CUDART_VERSION >= 12080
  std::map<std::pair<const std::string*, int>, cudaLibrary_t> libraries_;
#endif
  std::map<std::pair<const kernel_source*, int>, made_kernel> kernels_;
};

}  // namespace

bool nvrtc::is_there() { return CUDART_VERSION >= 12080 && loaded().is_there; }

void nvrtc::launch(stream& s, const kernel_source& k, const std::string& text, const std::string& shown,
                   const launch_shape& shape, void* const* arguments) {
  if (!is_there()) {
    throw not_built(
        fmt::format("kernel '{}' from a string cannot run on CUDA: libnvrtc.so.{} was not found; it comes with "
                    "the CUDA toolkit, and as nvidia-cuda-nvrtc on PyPI: let LD_LIBRARY_PATH name its folder",
                    k.name, CUDART_VERSION / 1000));
  }
  static auto& made = *new made_kernels();
  cuda_launch at(s, k.name);
  const made_kernel& m = made.get(k, text, shown, at.make_gpu_current());
  at.run(m.function, dim3(shape.groups[0], shape.groups[1], shape.groups[2]),
         dim3(shape.group[0], shape.group[1], shape.group[2]), shape.shared_bytes,
         {const_cast<void**>(arguments), m.bytes.data(), m.bytes.size()});
}

}  // namespace imbrex::detail
