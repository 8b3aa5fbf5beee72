#include "imbrex/device/cuda/cuda_gpu.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"
#include "imbrex/base/log.h"
#include "imbrex/base/topology.h"
#include "imbrex/device/cuda/api/cuda_driver.h"
#include "imbrex/device/cuda/api/cuda_error.h"
#include "imbrex/device/cuda/api/cuda_heaps.h"

namespace imbrex {

namespace {

thread_local int current_gpu = -1;

/// Giving memory back waits for the GPUs.
std::string wait_for_functions(const cuda_gates& gates) {
  std::string first = gates.first();
  if (first.empty()) return first;
  return fmt::format("the GPUs would have to be idle, but {} waits to be run by its PE: await it before", first);
}

class gpu_memory final : public memory_source {
 public:
  explicit gpu_memory(cuda_gpu& gpu) : gpu_(gpu) {}
  void* get(std::size_t bytes) override {
    gpu_.make_current();
    void* memory = nullptr;
    if (cudaMalloc(&memory, bytes) == cudaSuccess) {
      cuda_heaps::add(memory, bytes);
      return memory;
    }
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  void give(void* memory, std::size_t) override {
    cuda_heaps::remove(memory);
    gpu_.forget(memory);
    static_cast<void>(cudaFree(memory));
  }
  std::string why_kept() override { return wait_for_functions(gpu_.gates()); }
  std::uint64_t free_bytes() override { return gpu_.memory().free; }
  std::string name() override { return fmt::format("GPU {} ({})", gpu_.number(), gpu_.name()); }
  void hands_out(void* part, std::size_t bytes) override { cuda_heaps::hand_out(part, bytes); }
  void takes_back(void* part) noexcept override { cuda_heaps::take_back(part); }

 private:
  cuda_gpu& gpu_;
};

class pinned_memory final : public memory_source {
 public:
  explicit pinned_memory(const cuda_gates& gates) : gates_(gates) {}
  void* get(std::size_t bytes) override {
    void* memory = nullptr;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped) == cudaSuccess) return memory;
    static_cast<void>(cudaGetLastError());
    return nullptr;
  }
  void give(void* memory, std::size_t) override { static_cast<void>(cudaFreeHost(memory)); }
  std::string why_kept() override { return wait_for_functions(gates_); }
  std::uint64_t free_bytes() override { return available_host_memory(); }
  std::string name() override { return "pinned host memory"; }

 private:
  const cuda_gates& gates_;
};

}  // namespace

namespace {

/// Of the GPU's memory: two transfers a clock. 0 where the driver does not tell.
double bandwidth_of(int gpu) {
  int kilohertz = 0, bits = 0;
  if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, gpu) != cudaSuccess ||
      cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, gpu) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return 2e3 * kilohertz * bits / 8;
}

}  // namespace

cuda_gpu::cuda_gpu(int number, int place, cuda_gates& gates, std::shared_ptr<adopted_memory> adopted)
    : number_(number), place_(place), gates_(gates), adopted_(std::move(adopted)) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, number), "asking a GPU for its properties");
  name_ = properties.name;
  identity_ = hash_bytes({properties.uuid.bytes, sizeof properties.uuid.bytes});
  bytes_per_second_ = bandwidth_of(number);
  check_cuda(cudaSetDevice(number), fmt::format("using GPU {} ({})", number, name_).c_str());
  current_gpu = number;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least_urgent_, &most_urgent_), "asking for stream priorities");
  waiting_blocks_left_ = std::max(properties.multiProcessorCount / 2, 1);
  source_ = std::make_unique<gpu_memory>(*this);
  pool_ = std::make_unique<slab_pool>(*source_);
  shared_ = std::make_unique<cuda_shared_memory>(*this);
}

cuda_gpu::~cuda_gpu() {
  if (cudaSetDevice(number_) == cudaSuccess) {
    for (cudaEvent_t e : spare_events_) static_cast<void>(cudaEventDestroy(e));
    for (void* memory : freed_later_) static_cast<void>(cudaFree(memory));
  }
  current_gpu = -1;
}

std::string cuda_gpu::bus_id_of(int number) {
  std::array<char, 32> text{};
  check_cuda(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), number), "asking for a PCI address");
  return text.data();
}

memory_info cuda_gpu::memory() const {
  make_current();
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "asking for a GPU's free memory");
  return {total, free, bytes_per_second_};
}

void cuda_gpu::make_current() const {
  if (current_gpu == number_) [[likely]]
    return;
  check_cuda(cudaSetDevice(number_), "choosing a GPU");
  current_gpu = number_;
}

void cuda_gpu::make_current_again() const {
  current_gpu = -1;
  make_current();
}

int cuda_gpu::native_priority(stream_priority p) const {
  return p == stream_priority::high ? most_urgent_ : least_urgent_;
}

cudaEvent_t cuda_gpu::take_event() {
  {
    const std::lock_guard lock(events_mutex_);
    if (!spare_events_.empty()) {
      cudaEvent_t e = spare_events_.back();
      spare_events_.pop_back();
      return e;
    }
    ++events_created_;
  }
  make_current();
  cudaEvent_t e = nullptr;
  check_cuda(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "creating an event");
  return e;
}

void cuda_gpu::give_back_event(cudaEvent_t e) noexcept {
  const std::lock_guard lock(events_mutex_);
  spare_events_.push_back(e);
}

cuda_word cuda_gpu::take_word() {
  constexpr std::size_t page_bytes = 4096, word_bytes = 64;  // a cache line each
  const std::lock_guard lock(words_mutex_);
  if (spare_words_.empty()) {
    make_current();
    auto* page = static_cast<std::byte*>(pool_->allocate(page_bytes, "words of streams"));  // for as long as the GPU
    check_cuda(cudaMemsetAsync(page, 0, page_bytes, cudaStreamPerThread), "setting the words of streams");
    check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "setting the words of streams");
    for (std::size_t at = 0; at < page_bytes; at += word_bytes)
      spare_words_.push_back({reinterpret_cast<unsigned long long*>(page + at), 0});
  }
  const cuda_word w = spare_words_.back();
  spare_words_.pop_back();
  return w;
}

void cuda_gpu::give_back_word(cuda_word w) noexcept {
  const std::lock_guard lock(words_mutex_);
  spare_words_.push_back(w);
}

unsigned long long cuda_gpu::read_word(const unsigned long long* word) const {
  make_current();
  unsigned long long value = 0;
  check_cuda(cudaMemcpyAsync(&value, word, sizeof value, cudaMemcpyDefault, cudaStreamPerThread), "reading a word");
  check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "reading a word");
  return value;
}

void cuda_gpu::forget(const void* memory) noexcept {
  if (shared_ != nullptr) shared_->forget(memory);
}

void cuda_gpu::free_native(void* memory) noexcept {
  const std::lock_guard lock(freed_mutex_);
  freed_later_.push_back(memory);
  if (gates_.any()) return;
  for (void* m : std::exchange(freed_later_, {})) static_cast<void>(cudaFree(m));
}

// Where the system says that a GPU is in reach, but does not let it be (a container, a partition of a GPU), it is not.
bool cuda_gpu::enable_access_to(cuda_gpu& other) {
  if (&other == this) return true;
  int possible = 0;
  cudaError_t status = cudaDeviceCanAccessPeer(&possible, number_, other.number_);
  if (status == cudaSuccess && possible != 0) {
    make_current();
    status = cudaDeviceEnablePeerAccess(other.number_, 0);
    if (status == cudaSuccess || status == cudaErrorPeerAccessAlreadyEnabled) {
      if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
      reached_.push_back(&other);
      return true;
    }
  }
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    log_info(fmt::format("GPU {} cannot be let reach GPU {} ({}): their data go through the host", number_,
                         other.number_, cuda_error_text(status)));
  }
  other.is_reached_by_all_ = false;
  return false;
}

bool cuda_gpu::reaches(const cuda_gpu& other) const {
  return &other == this || std::ranges::find(reached_, &other) != reached_.end();
}

int cuda_gpu::take_waiting_blocks(int wanted) {
  constexpr int least = 8;
  int left = waiting_blocks_left_.load(std::memory_order_relaxed);
  for (;;) {
    const int taken = std::min(wanted, left);
    if (taken < std::min(wanted, least)) return 0;
    if (waiting_blocks_left_.compare_exchange_weak(left, left - taken, std::memory_order_relaxed)) return taken;
  }
}

int cuda_machine::count(std::string* why_none) {
  cuda_driver::ask_to_load_kernels_early();
  int n = 0;
  const cudaError_t status = cudaGetDeviceCount(&n);
  if (status == cudaSuccess && n > 0) return n;
  static_cast<void>(cudaGetLastError());
  if (why_none != nullptr) {
    if (status == cudaErrorInsufficientDriver) {
      int driver = 0, built = 0;
      static_cast<void>(cudaDriverGetVersion(&driver));
      static_cast<void>(cudaRuntimeGetVersion(&built));
      *why_none = driver == 0 ? "no NVIDIA driver is installed"
                              : fmt::format(
                                    "the NVIDIA driver knows CUDA {}.{}, but this build needs {}.{}: install a "
                                    "newer driver, or build with an older CUDA",
                                    driver / 1000, driver % 1000 / 10, built / 1000, built % 1000 / 10);
    } else if (status == cudaSuccess || status == cudaErrorNoDevice) {
      *why_none = "this machine shows no NVIDIA GPU (CUDA_VISIBLE_DEVICES hides some)";
    } else {
      *why_none = cuda_error_text(status);
    }
  }
  return 0;
}

cuda_machine::cuda_machine(const std::vector<int>& numbers) {
  for (const int n : numbers) gpus_.push_back(std::make_unique<cuda_gpu>(n, num_gpus(), gates_, adopted_));
  for (auto& from : gpus_) {
    for (auto& to : gpus_) peers_.push_back(from->enable_access_to(*to));
  }
  gpus_[0]->make_current();
  pinned_source_ = std::make_unique<pinned_memory>(gates_);
  pinned_ = std::make_unique<slab_pool>(*pinned_source_, std::size_t{16} << 20);
}

cuda_machine::~cuda_machine() = default;

}  // namespace imbrex
