// NCCL beside imbrex: collectives of GPUs in the order of streams.
//
// One element of an array for each GPU, on a PE of its own, has a communicator of NCCL. Its calls go into a stream by
// `enqueue_native`; the data then are where channels and kernels see them. Two rules. All members enqueue the same
// collectives in the same order. And a kernel of NCCL keeps a part of its GPU from the moment it runs until the others'
// run, too: nothing that it waits for may stand behind it.
//
//   build/default/bin/14_nccl                                  on the host, by a reduction of imbrex
//   build/default/bin/14_nccl --imbrex-device=auto             on all GPUs of the machine, a PE for each (and more)
//
// In one process. docs/interoperation.md says what else there is to see to among several.
#include <cuda_runtime_api.h>
#include <fmt/core.h>
#include <imbrex/imbrex.h>
#include <imbrex/interop.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace ix = imbrex;

constexpr std::size_t length = 4096;
constexpr int num_contributions = 1000;

void check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) throw ix::device_error(fmt::format("{}: {}", what, ncclGetErrorString(status)));
}

struct team_id {
  std::array<char, sizeof(ncclUniqueId)> bytes{};
};

// Where element i lives.
struct on_these {
  std::vector<int> pes;
  int operator()(const ix::index1d& i, const ix::index1d&, int) const { return pes[static_cast<std::size_t>(i.x)]; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & pes;
  }
};

class member : public ix::chare<member, ix::index1d> {
 public:
  explicit member(team_id team) : team_(team) {}
  member(const member&) = delete;
  ~member() {
    if (team_of_gpus_ != nullptr) ncclCommDestroy(team_of_gpus_);
  }

  // Waits for the others, each on its PE's thread. Before anything of this GPU waits for another one.
  void join() {
    if (on_device().kind() == ix::device_kind::cuda) {
      if (cudaSetDevice(on_device().number()) != cudaSuccess) throw ix::device_error("cannot choose the PE's GPU");
      ncclUniqueId id{};
      std::memcpy(id.internal, team_.bytes.data(), team_.bytes.size());
      check(ncclCommInitRank(&team_of_gpus_, extent().x, id, index().x), "joining the communicator");
    }
    contribute(1, ix::sum);
  }

  // Element j of the sum over all i of i * (j + 1); this member has every so many-th i.
  ix::task<> add() {
    ix::device& d = on_device();
    ix::stream& s = streams().compute;
    ix::buffer<double> mine(d, length), on_host(d, length, ix::memory_kind::pinned);
    for (std::size_t j = 0; j < length; ++j) {
      on_host.data()[j] = 0;
      for (int i = index().x; i < num_contributions; i += extent().x)
        on_host.data()[j] += static_cast<double>(i) * static_cast<double>(j + 1);
    }
    if (d.kind() == ix::device_kind::cuda) {
      ix::copy<double>(mine, on_host, s);
      ix::enqueue_native(s, "ncclAllReduce", [&](cudaStream_t native) {
        check(ncclAllReduce(mine.data(), mine.data(), length, ncclDouble, ncclSum, team_of_gpus_, native),
              "an allreduce");
      });
      ix::copy<double>(on_host, mine, s);
      co_await s.done();
    } else {
      const std::vector<double> part(on_host.data(), on_host.data() + length);
      const std::vector<double> sum = co_await allreduce(part, ix::sum);
      std::copy(sum.begin(), sum.end(), on_host.data());
    }
    const double all = num_contributions * (num_contributions - 1) / 2.0;
    long right = 0;
    for (std::size_t j = 0; j < length; ++j) right += on_host.data()[j] == all * static_cast<double>(j + 1) ? 1 : 0;
    contribute(right, ix::min);
  }

 private:
  team_id team_;
  ncclComm_t team_of_gpus_ = nullptr;
};

ix::task<int> start(ix::runtime& rt) {
  if (rt.num_ranks() != 1) throw ix::usage_error("this example runs in one process: start one rank");
  if (rt.kind_of_device() == ix::device_kind::opencl) throw ix::usage_error("NCCL knows no devices of OpenCL");
  const bool on_gpus = rt.kind_of_device() == ix::device_kind::cuda;
  std::vector<int> where;  // the first PE of each GPU; all PEs without
  std::vector<int> gpus;
  for (int pe = 0; pe < rt.num_pes(); ++pe) {
    const int gpu = on_gpus ? rt.gpu_of(pe) : pe;
    if (std::find(gpus.begin(), gpus.end(), gpu) != gpus.end()) continue;
    gpus.push_back(gpu);
    where.push_back(pe);
  }
  team_id team;
  if (on_gpus) {
    ncclUniqueId id{};
    check(ncclGetUniqueId(&id), "making an id");
    std::memcpy(team.bytes.data(), id.internal, team.bytes.size());
  }

  const int num_members = static_cast<int>(where.size());
  const auto members = rt.create_array<member>(ix::placed(ix::index1d(num_members), on_these{where}), team);
  members.broadcast<&member::join>();
  co_await members.reduction<int>();
  members.broadcast<&member::add>();
  const long right = co_await members.reduction<long>();
  fmt::print("the sum of {} contributions is right in {} of {} elements\n", num_contributions, right, length);
  co_return right == static_cast<long>(length) ? 0 : 1;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
