// Graphs that are made node by node, and kernels that run on the CPU.
#include <algorithm>
#include <cstring>
#include <random>

#include "fake_machine.h"

using namespace fake_cuda;

namespace {

struct fake_node {
  std::function<void()> work;
  std::vector<std::size_t> after;
};
struct fake_graph {
  std::vector<fake_node> nodes;
};

fake_graph& of_graph(cudaGraph_t g) { return *reinterpret_cast<fake_graph*>(g); }
std::size_t number_of(cudaGraphNode_t n) { return reinterpret_cast<std::uintptr_t>(n) - 1; }

cudaError_t add(cudaGraphNode_t* made, cudaGraph_t g, const cudaGraphNode_t* after, std::size_t num_after,
                std::function<void()> work) {
  fake_node n{std::move(work), {}};
  for (std::size_t i = 0; i < num_after; ++i) {
    n.after.push_back(number_of(after[i]));
    if (n.after.back() >= of_graph(g).nodes.size()) return result(cudaErrorInvalidValue);
  }
  of_graph(g).nodes.push_back(std::move(n));
  *made = reinterpret_cast<cudaGraphNode_t>(of_graph(g).nodes.size());
  return cudaSuccess;
}

/// The nodes one by one, each when those before it are over: any of these next, as a GPU might.
void run_in_some_order(const fake_graph& g) {
  static std::atomic<unsigned> runs{0};
  std::mt19937 random(++runs);
  std::vector<std::size_t> missing, ready;
  std::vector<std::vector<std::size_t>> following(g.nodes.size());
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    missing.push_back(g.nodes[i].after.size());
    for (const std::size_t a : g.nodes[i].after) following[a].push_back(i);
    if (missing[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const std::size_t i = ready.back();
    ready.pop_back();
    g.nodes[i].work();
    for (const std::size_t f : following[i]) {
      if (--missing[f] == 0) ready.push_back(f);
    }
  }
}

struct fake_kernel {
  std::vector<std::size_t> arguments;
  kernel_function run;
};
std::map<const void*, fake_kernel>& kernels() {
  static std::map<const void*, fake_kernel> all;
  return all;
}

/// How much dynamic shared memory kernels may have beyond what all may, each on each GPU.
constexpr std::size_t shared_of_all = std::size_t{48} << 10, most_shared = std::size_t{227} << 10;
std::map<std::pair<const void*, int>, std::size_t>& allowed_shared() {
  static std::map<std::pair<const void*, int>, std::size_t> all;
  return all;
}
std::mutex allowed_shared_mutex;

/// With its own copy of the arguments.
std::function<void()> launch_of(const void* function, dim3 grid, dim3 block, void* const* arguments) {
  const auto at = kernels().find(function);
  if (at == kernels().end()) return [] {};
  auto values = std::make_shared<std::vector<std::vector<std::max_align_t>>>();
  for (std::size_t i = 0; i < at->second.arguments.size(); ++i) {
    const std::size_t bytes = at->second.arguments[i];
    values->emplace_back((bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
    std::memcpy(values->back().data(), arguments[i], bytes);
  }
  return [values, grid, block, &run = at->second.run] {
    std::vector<void*> places;
    for (auto& v : *values) places.push_back(v.data());
    run(grid, block, places.data());
  };
}

}  // namespace

void fake_cuda::define_kernel(const void* function, std::vector<std::size_t> arguments, kernel_function run) {
  kernels()[function] = {std::move(arguments), std::move(run)};
}

extern "C" {

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t s) {
  count_call("cudaLaunchKernel");
  if (shared > shared_of_all) {
    const std::lock_guard hold(allowed_shared_mutex);
    const auto allowed = allowed_shared().find({function, current_gpu});
    if (allowed == allowed_shared().end() || allowed->second < shared) return cudaErrorInvalidValue;
  }
  if (kernels().contains(function)) fake_cuda::launch(s, launch_of(function, grid, block, arguments));
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute, int bytes) {
  if (static_cast<std::size_t>(bytes) > most_shared) return cudaErrorInvalidValue;
  const std::lock_guard hold(allowed_shared_mutex);
  allowed_shared()[{function, current_gpu}] = static_cast<std::size_t>(bytes);
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* of, const void*) {
  *of = {};
  of->ptxVersion = 90;
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* made, unsigned) {
  *made = reinterpret_cast<cudaGraph_t>(new fake_graph);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
  delete &of_graph(g);
  return cudaSuccess;
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* made, cudaGraph_t g, const cudaGraphNode_t* after,
                                   std::size_t num_after, const cudaKernelNodeParams* p) {
  count_call("cudaGraphAddKernelNode");
  return add(made, g, after, num_after, launch_of(p->func, p->gridDim, p->blockDim, p->kernelParams));
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* made, cudaGraph_t g, const cudaGraphNode_t* after,
                                     std::size_t num_after, void* to, const void* from, std::size_t bytes,
                                     cudaMemcpyKind) {
  return add(made, g, after, num_after, [=] { std::memcpy(to, from, bytes); });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* made, cudaGraph_t g, const cudaGraphNode_t* after,
                                   std::size_t num_after, const cudaMemsetParams* p) {
  return add(made, g, after, num_after,
             [p = *p] { std::memset(p.dst, static_cast<int>(p.value), p.elementSize * p.width); });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t*, std::size_t* n) {
  *n = of_graph(g).nodes.size();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t g, unsigned long long) {
  count_call("cudaGraphInstantiateWithFlags");
  *made = reinterpret_cast<cudaGraphExec_t>(new fake_graph(of_graph(g)));
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
  delete reinterpret_cast<fake_graph*>(e);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
  count_call("cudaGraphLaunch");
  fake_cuda::launch(s, [g = reinterpret_cast<const fake_graph*>(e)] { run_in_some_order(*g); });
  return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t, cudaGraph_t, cudaGraphExecUpdateResultInfo*) {
  return result(cudaErrorNotSupported);
}

}  // extern "C"
