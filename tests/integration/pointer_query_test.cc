// No driver is asked about a pointer on the way of a message: this program defines the functions that would be asked,
// counts calls to them, and passes them on to the driver where there is one. Usage: mpirun -n 2 pointer_query_test
//
// Where UCX reaches no GPU it has no reason to ask, and the count says little; the control at the end tells. Large data
// of memory that nobody registered are asked about once by UCX itself, which registers them as it goes; only with its
// cache of memory types switched off, as here.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/comm/ucx/ucx_transport.h"
#include "imbrex/comm/ucx/ucx_worker.h"

namespace {

std::atomic<int> num_queries{0};

template <class Function>
Function* of_driver(const char* library, const char* name) {
  ++num_queries;
  void* driver = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(driver, name));
}

constexpr int not_initialised = 3;  // CUDA_ERROR_NOT_INITIALIZED, cudaErrorInitializationError

}  // namespace

// The executable's symbols come before those of libraries.
extern "C" {
int cuPointerGetAttribute(void* data, int attribute, unsigned long long pointer) {
  auto* f = of_driver<int(void*, int, unsigned long long)>("libcuda.so.1", "cuPointerGetAttribute");
  return f == nullptr ? not_initialised : f(data, attribute, pointer);
}
int cuPointerGetAttributes(unsigned count, int* attributes, void** data, unsigned long long pointer) {
  auto* f = of_driver<int(unsigned, int*, void**, unsigned long long)>("libcuda.so.1", "cuPointerGetAttributes");
  return f == nullptr ? not_initialised : f(count, attributes, data, pointer);
}
int cudaPointerGetAttributes(void* attributes, const void* pointer) {
  auto* f = of_driver<int(void*, const void*)>("libcudart.so", "cudaPointerGetAttributes");
  return f == nullptr ? not_initialised : f(attributes, pointer);
}
}

namespace {

using namespace imbrex;  // NOLINT: a test program

void check(bool holds, const std::string& what) {
  if (!holds) throw comm_error("expected " + what);
}

/// Calls the three as a library would, by name.
void check_that_calls_are_counted() {
  for (const char* name : {"cuPointerGetAttribute", "cuPointerGetAttributes", "cudaPointerGetAttributes"}) {
    check(dlsym(RTLD_DEFAULT, name) != nullptr, fmt::format("{} to be visible to libraries", name));
  }
  using query = int(void*, int, unsigned long long);
  int on_stack = 0;
  int type = 0;
  num_queries = 0;
  reinterpret_cast<query*>(dlsym(RTLD_DEFAULT, "cuPointerGetAttribute"))(
      &type, 2, reinterpret_cast<unsigned long long>(&on_stack));
  check(num_queries == 1, "a call by name to be counted");
}

struct movement : transfer {
  std::vector<std::byte> memory;
  bool over = false;
  movement(executor& home, std::size_t size) : memory(size) {
    pe = &home;
    act = [](work* w, work_action) { static_cast<movement*>(w)->over = true; };
  }
  data_view view() { return {.data = memory.data(), .bytes = memory.size()}; }
};

/// Messages and data of these sizes there and back, from memory of their own, or from memory that the transport has
/// been told of; how many queries they cost. `id` numbers the data.
struct traffic {
  ucx_transport& comm;
  executor& inbox;
  int& num_received;
  int num_sent = 0;
  std::uint64_t id = 0;

  int queries(const std::vector<std::size_t>& sizes, bool messages, bool registered) {
    const rank_id other = 1 - comm.rank();
    std::vector<std::byte> known_out(4'000'000);
    std::vector<std::byte> known_in(4'000'000);
    for (auto* memory : {&known_out, &known_in}) {
      if (registered) comm.add_memory({memory->data(), memory->size(), memory_kind::pinned, -1});
    }
    num_queries = 0;
    for (int round = 0; round < 20; ++round) {
      for (const std::size_t size : sizes) {
        if (messages) {
          wire_message* m = wire_message::make(size);
          m->header.from = comm.rank();
          m->header.to = other;
          comm.send(other, m);
          ++num_sent;
        }
        movement out(inbox, size);
        movement in(inbox, size);
        const auto view = [&](std::vector<std::byte>& known, movement& own) {
          return registered ? data_view{known.data(), size, memory_kind::pinned, -1} : own.view();
        };
        comm.recv_data(other, ++id, view(known_in, in), &in);
        comm.send_data(other, other, id, view(known_out, out), &out);
        while (num_received < num_sent || !in.over || !out.over) run_posted();
      }
    }
    const int queries = num_queries;
    for (auto* memory : {&known_out, &known_in}) {
      if (registered) comm.forget_memory(memory->data());
    }
    return queries;
  }

 private:
  void run_posted() {
    if (!comm.poll()) sched_yield();
    inbox.collect();
    while (work* w = inbox.next()) w->act(w, work_action::run);
  }
};

struct counts {
  int small = 0;       ///< of messages and data that are sent at once
  int registered = 0;  ///< of large data of memory that the transport knows
  int others = 0;      ///< of large ones of other memory, which UCX registers as it goes
};

counts queries_of_traffic() {
  ucx_transport comm;
  check(comm.num_ranks() == 2, "two ranks");
  executor inbox;
  executor::set_current(&inbox);
  int num_received = 0;
  static int* counter = nullptr;
  counter = &num_received;
  comm.start({.first_pe = comm.rank(), .pes = {&inbox}, .act = [](work* w, work_action) {
                wire_message::destroy(static_cast<wire_message*>(w));
                ++*counter;
              }});
  traffic between{comm, inbox, num_received};
  counts found;
  found.small = between.queries({8, 1000, 4096}, true, false);
  found.registered = between.queries({100'000, 3'000'000}, false, true);
  found.others = between.queries({100'000, 3'000'000}, true, false);
  comm.stop({});
  executor::set_current(nullptr);
  return found;
}

/// UCX without a memory type, to this process itself.
int queries_of_control(bool* reaches_gpus) {
  const ucx_context context(0, 1, 1);
  *reaches_gpus = context.reaches_gpus();
  ucx_worker worker(context);
  ucx_addresses self{.all = {worker.address()}, .per_rank = 1};
  worker.know(self, nullptr);
  std::vector<std::byte> from(1000);
  std::vector<std::byte> to(1000);
  num_queries = 0;
  ucp_request_param_t param{};
  void* requests[] = {ucp_tag_recv_nbx(worker.get(), to.data(), to.size(), 1, ~ucp_tag_t{0}, &param),
                      ucp_tag_send_nbx(worker.reach(0).endpoint, from.data(), from.size(), 1, &param)};
  for (void* request : requests) {
    if (!UCS_PTR_IS_PTR(request)) continue;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) worker.progress();
    ucp_request_free(request);
  }
  const int queries = num_queries;
  worker.begin_close(false);
  while (!worker.closed()) worker.progress();
  return queries;
}

}  // namespace

int main(int, char** argv) {
  // UCX remembers what memory it has seen allocated, and asks only about the rest; here it shall ask about all. It
  // reads that before main.
  if (std::getenv("UCX_MEMTYPE_CACHE") == nullptr) {
    setenv("UCX_MEMTYPE_CACHE", "n", 1);
    execv("/proc/self/exe", argv);
  }
  try {
    check_that_calls_are_counted();
    bool reaches_gpus = false;
    const int control = queries_of_control(&reaches_gpus);
    const counts ours = queries_of_traffic();
    fmt::print(
        "pointer queries: {} by 60 small messages and 120 small data, {} by 80 large data of registered memory, {} by "
        "40 "
        "large messages and 80 large data of other memory; {} by one small send and receive without memory types{}\n",
        ours.small, ours.registered, ours.others, control,
        reaches_gpus ? "" : " (this UCX reaches no GPU, so none was to be expected)");
    check(ours.small == 0, fmt::format("no pointer to be queried, not {}", ours.small));
    check(ours.registered == 0, fmt::format("no pointer of registered memory to be queried, not {}", ours.registered));
    check(!reaches_gpus || control > 0, "the control to query pointers: UCX asks in another way than this test counts");
  } catch (const error& e) {
    fmt::print(stderr, "pointer_query_test: {}\n", e.what());
    return 1;
  }
  return 0;
}
