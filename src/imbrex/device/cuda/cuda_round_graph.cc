#include "imbrex/device/cuda/cuda_round_graph.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "imbrex/device/cuda/api/cuda_error.h"
#include "imbrex/device/cuda/cuda_gpu.h"
#include "imbrex/device/cuda/cuda_stream.h"
#include "imbrex/device/cuda/kernel_batch.h"
#include "imbrex/device/rounds/round_nodes.h"

namespace imbrex {

namespace {

/// Launches of more threads than this fill a GPU: as one they would only wait for each other.
constexpr std::size_t most_threads_of_one = 500'000;
constexpr std::size_t most_blocks_in_z = 65535;

cuda_gpu& gpu_of(const round_nodes::node& n) { return static_cast<const cuda_stream*>(n.in->of)->gpu(); }

bool may_be_one(const kept_operation& o) {
  return o.batch_bytes > 0 && o.shape.num_groups() * o.shape.items_of_group() <= most_threads_of_one;
}

dim3 as_dim3(const extent3& e) { return {e.x, e.y, e.z}; }

/// The beginning of every `kernel_batch`.
struct batch_head {
  const void* many;
  unsigned depth, unused;
};
constexpr std::size_t batch_arguments_at = 16;
static_assert(offsetof(kernel_batch<int>, one) == batch_arguments_at && sizeof(batch_head) == batch_arguments_at);

/// Makes nodes of a CUDA graph.
class graph_maker {
 public:
  graph_maker(const round_nodes& nodes) : nodes_(nodes), made_(nodes.all().size()) {
    cudaGraph_t g = nullptr;
    check_cuda(cudaGraphCreate(&g, 0), "making a graph");
    graph_.reset(g);
  }
  ~graph_maker() {
    for (const auto& a : memory_) a.gpu->pool().free(a.at);
  }

  std::unique_ptr<cuda_round_graph> make() {
    for (const group& g : groups()) g.numbers.size() > 1 ? add_one_for_many(g.numbers) : add(g.numbers.front());
    return std::make_unique<cuda_round_graph>(graph_.release(), std::exchange(memory_, {}));
  }

 private:
  struct group {
    std::vector<std::uint32_t> numbers;
  };

  /// In an order in which none comes after a later one: by depth.
  std::vector<group> groups() const {
    std::vector<std::uint32_t> order = nodes_.sorted();
    std::ranges::sort(order, {}, [this](std::uint32_t n) { return std::pair(nodes_.all()[n].depth, n); });
    using key = std::tuple<std::uint32_t, const void*, const void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, std::size_t>;
    std::map<key, std::size_t> of_kind;
    std::vector<group> all;
    for (const std::uint32_t n : order) {
      const round_nodes::node& one = nodes_.all()[n];
      if (!may_be_one(*one.what)) {
        all.push_back({{n}});
        continue;
      }
      const launch_shape& s = one.what->shape;
      const key k{one.depth,  &gpu_of(one), one.what->function, s.groups.x, s.groups.y,
                  s.groups.z, s.group.x,    s.group.y,          s.group.z,  s.shared_bytes};
      const auto [at, is_new] = of_kind.emplace(k, all.size());
      const bool is_full = !is_new && (all[at->second].numbers.size() + 1) * s.groups.z > most_blocks_in_z;
      if (is_full) at->second = all.size();
      if (is_new || is_full) {
        all.push_back({{n}});
      } else {
        all[at->second].numbers.push_back(n);
      }
    }
    return all;
  }

  /// Those of the same GPU first: CUDA then goes on where the first of them ended.
  std::vector<cudaGraphNode_t> after(const std::vector<std::uint32_t>& numbers) const {
    std::vector<cudaGraphNode_t> all;
    const cuda_gpu& here = gpu_of(nodes_.all()[numbers.front()]);
    for (const bool elsewhere : {false, true}) {
      for (const std::uint32_t n : numbers) {
        for (const std::uint32_t a : nodes_.all()[n].after) {
          if ((&gpu_of(nodes_.all()[a]) != &here) != elsewhere) continue;
          if (std::ranges::find(all, made_[a]) == all.end()) all.push_back(made_[a]);
        }
      }
    }
    return all;
  }

  void add(std::uint32_t number) {
    const round_nodes::node& n = nodes_.all()[number];
    const kept_operation& o = *n.what;
    const std::vector<cudaGraphNode_t> before = after({number});
    gpu_of(n).make_current();
    cudaGraphNode_t* const made = &made_[number];
    switch (o.what) {
      case kept_operation::kind::kernel: {
        std::vector<void*> arguments;
        arguments.reserve(o.num_arguments);
        for (std::size_t i = 0; i < o.num_arguments; ++i)
          arguments.push_back(const_cast<std::byte*>(n.in->bytes.data() + n.in->arguments[o.first_argument + i].at));
        add_kernel(made, before, o, as_dim3(o.shape.groups), arguments.data());
        return;
      }
      case kept_operation::kind::copy:
        check_cuda(cudaGraphAddMemcpyNode1D(made, graph_.get(), before.data(), before.size(), o.to, o.from, o.bytes,
                                            cudaMemcpyDefault),
                   "adding a copy to a graph");
        return;
      case kept_operation::kind::fill: {
        cudaMemsetParams p{};
        p.dst = o.to;
        p.value = o.value;
        p.elementSize = 1;
        p.width = o.bytes;
        p.height = 1;
        check_cuda(cudaGraphAddMemsetNode(made, graph_.get(), before.data(), before.size(), &p),
                   "adding a fill to a graph");
        return;
      }
      case kept_operation::kind::wait: return;  // is no node
    }
  }

  void add_kernel(cudaGraphNode_t* made, const std::vector<cudaGraphNode_t>& before, const kept_operation& o,
                  dim3 blocks, void** arguments) {
    cudaKernelNodeParams p{};
    p.func = const_cast<void*>(o.function);
    p.gridDim = blocks;
    p.blockDim = as_dim3(o.shape.group);
    p.sharedMemBytes = static_cast<unsigned>(o.shape.shared_bytes);
    p.kernelParams = arguments;
    check_cuda(cudaGraphAddKernelNode(made, graph_.get(), before.data(), before.size(), &p), o.name);
  }

  /// Their arguments side by side in the GPU's memory.
  void add_one_for_many(const std::vector<std::uint32_t>& numbers) {
    const round_nodes::node& first = nodes_.all()[numbers.front()];
    const kept_operation& o = *first.what;
    cuda_gpu& gpu = gpu_of(first);
    gpu.make_current();
    std::vector<std::byte> all;
    for (const std::uint32_t n : numbers) {
      const round_nodes::node& one = nodes_.all()[n];
      const std::byte* const batch = one.in->bytes.data() + one.in->arguments[one.what->first_argument].at;
      all.insert(all.end(), batch + batch_arguments_at, batch + batch_arguments_at + o.batch_bytes);
    }
    void* const on_gpu = gpu.pool().allocate(all.size(), "arguments of repeated rounds");
    memory_.push_back({&gpu, on_gpu});
    check_cuda(cudaMemcpyAsync(on_gpu, all.data(), all.size(), cudaMemcpyHostToDevice, cudaStreamPerThread),
               "copying arguments");
    check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "copying arguments");

    const kept_argument& given = first.in->arguments[o.first_argument];
    std::vector<std::max_align_t> batch(given.bytes / sizeof(std::max_align_t) + 1);
    std::memcpy(batch.data(), first.in->bytes.data() + given.at, given.bytes);
    const batch_head head{on_gpu, o.shape.groups.z, 0};
    std::memcpy(batch.data(), &head, sizeof(head));
    void* arguments[] = {batch.data()};
    dim3 blocks = as_dim3(o.shape.groups);
    blocks.z *= static_cast<unsigned>(numbers.size());
    cudaGraphNode_t made = nullptr;
    add_kernel(&made, after(numbers), o, blocks, arguments);
    for (const std::uint32_t n : numbers) made_[n] = made;
  }

  const round_nodes& nodes_;
  owned_cuda_graph graph_;
  std::vector<cudaGraphNode_t> made_;
  std::vector<cuda_round_graph::argument_memory> memory_;
};

}  // namespace

std::unique_ptr<cuda_round_graph> cuda_round_graph::of(const recorded_rounds& r,
                                                       const std::vector<std::size_t>& order) {
  const round_nodes nodes(r, order);
  return graph_maker(nodes).make();
}

cuda_round_graph::~cuda_round_graph() {
  for (const argument_memory& a : arguments_) a.gpu->pool().free(a.at);
}

}  // namespace imbrex
