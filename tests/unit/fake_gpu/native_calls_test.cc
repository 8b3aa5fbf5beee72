// Other libraries' calls in streams of GPUs, and streams and events that are not imbrex's.
#include <imbrex/interop.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "fake_gpu_fixture.h"
#include "imbrex/device/host/host_device.h"
#include "imbrex/hetero/submission/hetero_object.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "unit/object/job.h"

namespace native_calls_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

task<> wait_for(stream* s) { co_await s->done(); }

using flag = std::shared_ptr<std::atomic<bool>>;
flag unset() { return std::make_shared<std::atomic<bool>>(false); }

/// What a library puts into a stream: ends when `*go` is set, and then does something.
void library_call(cudaStream_t native, const flag& go, const std::function<void()>& then = [] {}) {
  fake_cuda::launch(native, [go, then] {
    while (!*go && !fake_cuda::stopping()) std::this_thread::yield();
    then();
  });
}
void library_call(cudaStream_t native, const std::function<void()>& what) { fake_cuda::launch(native, what); }

cudaStream_t foreign_stream(int of_gpu) {
  cudaStream_t s = nullptr;
  EXPECT_EQ(cudaSetDevice(of_gpu), cudaSuccess);
  EXPECT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
  return s;
}
cudaEvent_t foreign_event(int of_gpu) {
  cudaEvent_t e = nullptr;
  EXPECT_EQ(cudaSetDevice(of_gpu), cudaSuccess);
  EXPECT_EQ(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), cudaSuccess);
  return e;
}
int gpu_of(const void* memory) {
  cudaPointerAttributes a{};
  EXPECT_EQ(cudaPointerGetAttributes(&a, memory), cudaSuccess);
  return a.device;
}

template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

struct native_calls : fake_gpus, testing::WithParamInterface<completion_mode> {
  void SetUp() override { open({}, GetParam()); }
};

TEST_P(native_calls, run_in_order_and_are_awaited) {
  stream& s = make(0, "a stream");
  buffer<int> host(device(0), 1, memory_kind::pinned), there(device(0), 1);
  host.data()[0] = 3;
  const flag go = unset();
  s.copy(there.data(), host.data(), sizeof(int));
  enqueue_native(s, "multiply",
                 [&](cudaStream_t native) { library_call(native, go, [at = there.data()] { *at *= 5; }); });
  s.copy(host.data(), there.data(), sizeof(int));
  bool reached = false;
  if (GetParam() != completion_mode::sync) {  // that waits for the stream
    s.then("look", [&] { reached = true; });
    gpu->completion->ensure_noticed();
    gpu->completion->poll();
    EXPECT_FALSE(s.idle());
    EXPECT_FALSE(reached);
  }
  *go = true;
  gpu->run(wait_for(&s));
  EXPECT_EQ(host.data()[0], 15);
}

TEST_P(native_calls, alone_in_a_stream_are_waited_for) {
  stream& s = make(0, "a stream");
  const flag go = unset();
  int seen = 0;
  enqueue_native(s, "work", [&](cudaStream_t native) { library_call(native, go, [&] { seen = 1; }); });
  if (GetParam() != completion_mode::sync) {
    EXPECT_FALSE(s.idle());
  }
  EXPECT_EQ(gpu->pe.queue.operations, 1) << "quiescence waits for it";
  *go = true;
  gpu->run(wait_for(&s));
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(s.idle());
}

INSTANTIATE_TEST_SUITE_P(modes, native_calls,
                         testing::Values(completion_mode::flag, completion_mode::event, completion_mode::callback,
                                         completion_mode::sync),
                         [](const auto& mode) { return std::string(to_string(mode.param)); });

struct native_streams : fake_gpus {
  void SetUp() override { open(); }
};

TEST_F(native_streams, give_what_the_call_returns) {
  stream& s = make(0, "a stream");
  EXPECT_EQ(enqueue_native(s, "status", [](cudaStream_t) { return 7; }), 7);
  auto owned = enqueue_native(s, "status", [](cudaStream_t) { return std::make_unique<int>(8); });
  EXPECT_EQ(*owned, 8);
  gpu->run(wait_for(&s));
}

TEST_F(native_streams, nest_for_a_call_into_several) {
  cuda_stream &s = make(0, "zero"), &t = make(1, "one");
  const flag go = unset();
  std::atomic<int> ended{0};
  enqueue_native(s, "both", [&](cudaStream_t a) {
    enqueue_native(t, "both", [&](cudaStream_t b) {
      for (cudaStream_t native : {a, b}) library_call(native, go, [&] { ++ended; });
    });
  });
  void* const own = device(0).allocate_unpooled(100);
  EXPECT_EQ(gpu_of(own), 0);
  EXPECT_FALSE(s.idle());
  EXPECT_FALSE(t.idle());
  *go = true;
  gpu->run(wait_for(&s));
  gpu->run(wait_for(&t));
  EXPECT_EQ(ended, 2);
}

TEST_F(native_streams, are_waited_for_by_others_behind_a_call) {
  cuda_stream &s = make(0, "first"), &t = make(1, "second");
  const flag go = unset();
  std::atomic<int> order{0};
  int first = 0, second = 0;
  const event before = s.record();
  enqueue_native(s, "first", [&](cudaStream_t n) { library_call(n, go, [&] { first = ++order; }); });
  t.after(s);
  enqueue_native(t, "second", [&](cudaStream_t n) { library_call(n, [&] { second = ++order; }); });
  gpu->run_until([&] { return before.complete(); });  // the point of before is another one
  *go = true;
  gpu->run(wait_for(&t));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
  gpu->run(wait_for(&s));
}

TEST_F(native_streams, name_the_call_that_left_an_error_behind) {
  stream& s = make(0, "the stream of a test");
  const auto fails = [&] { enqueue_native(s, "dgemm", [](cudaStream_t) { static_cast<void>(cudaSetDevice(99)); }); };
  const std::string what = message_of<device_error>(fails);
  EXPECT_THAT(what, testing::HasSubstr("'dgemm'"));
  EXPECT_THAT(what, testing::HasSubstr("the stream of a test"));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "nobody else is blamed";
  gpu->run(wait_for(&s));
}

TEST_F(native_streams, do_not_blame_a_call_for_what_was_there_or_for_asking) {
  stream& s = make(0, "a stream");
  static_cast<void>(cudaSetDevice(99));
  const cudaError_t left = cudaPeekAtLastError();
  ASSERT_NE(left, cudaSuccess);
  const flag go = unset();
  enqueue_native(s, "innocent", [&](cudaStream_t n) { library_call(n, go); });
  EXPECT_EQ(cudaGetLastError(), left) << "it is its owner's to find";
  enqueue_native(s, "asks", [](cudaStream_t n) { EXPECT_EQ(cudaStreamQuery(n), cudaErrorNotReady); });
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  *go = true;
  gpu->run(wait_for(&s));
}

TEST_F(native_streams, pass_exceptions_on_and_keep_what_was_enqueued) {
  stream& s = make(0, "a stream");
  const flag go = unset();
  int seen = 0;
  EXPECT_THROW(enqueue_native(s, "half",
                              [&](cudaStream_t n) {
                                library_call(n, go, [&] { seen = 1; });
                                throw std::domain_error("the matrix is singular");
                              }),
               std::domain_error);
  EXPECT_FALSE(s.idle());
  *go = true;
  gpu->run(wait_for(&s));
  EXPECT_EQ(seen, 1);
}

TEST_F(native_streams, have_their_gpu_current_whatever_others_chose) {
  stream &s = make(0, "zero"), &t = make(1, "one");
  void *first = nullptr, *second = nullptr, *own = nullptr;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);  // behind the library's back
  enqueue_native(s, "library", [&](cudaStream_t) {
    EXPECT_EQ(cudaMalloc(&first, 100), cudaSuccess);
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&second, 100), cudaSuccess);
  });
  own = device(0).allocate_unpooled(100);
  EXPECT_EQ(gpu_of(first), 0);
  EXPECT_EQ(gpu_of(second), 1);
  EXPECT_EQ(gpu_of(own), 0);
  gpu->run(wait_for(&s));
  gpu->run(wait_for(&t));
}

TEST_F(native_streams, of_other_devices_are_refused_in_words) {
  host_memory memory;
  host_device host(gpu->pe.queue, 0, memory);
  auto s = host.make_stream(stream_priority::low, "the stream of a test");
  const std::string what = message_of<usage_error>([&] { enqueue_native(*s, "dgemm", [](cudaStream_t) {}); });
  EXPECT_THAT(what, testing::HasSubstr("'dgemm'"));
  EXPECT_THAT(what, testing::HasSubstr("the stream of a test"));
  EXPECT_THAT(what, testing::HasSubstr("host"));
  EXPECT_THROW(after_native(*s, nullptr), usage_error);
  EXPECT_THROW(native_after(nullptr, *s), usage_error);
  EXPECT_THROW(wait_for(*s, nullptr), usage_error);
  EXPECT_THROW(record_into(*s, nullptr), usage_error);
}

TEST_F(native_streams, wait_for_events_of_others) {
  cuda_stream& s = make(0, "a stream");
  for (const int gpu_of_event : {0, 1}) {
    cudaStream_t theirs = foreign_stream(gpu_of_event);
    cudaEvent_t e = foreign_event(gpu_of_event);
    const flag go = unset();
    int value = 0, seen = 0;
    library_call(theirs, go, [&] { value = 5; });
    ASSERT_EQ(cudaEventRecord(e, theirs), cudaSuccess);
    wait_for(s, e);
    enqueue_native(s, "read", [&](cudaStream_t n) { library_call(n, [&] { seen = value; }); });
    EXPECT_FALSE(s.idle());
    *go = true;
    gpu->run(wait_for(&s));
    EXPECT_EQ(seen, 5);
    cudaEventDestroy(e);
    cudaStreamDestroy(theirs);
  }
}

TEST_F(native_streams, record_into_events_of_others) {
  cuda_stream& s = make(1, "a stream");
  cudaStream_t theirs = foreign_stream(0);
  cudaEvent_t e = foreign_event(1);
  const flag go = unset();
  int value = 0, seen = 0;
  run_until_set(s, go, [&] { value = 6; });
  record_into(s, e);
  ASSERT_EQ(cudaStreamWaitEvent(theirs, e, 0), cudaSuccess);
  library_call(theirs, [&] { seen = value; });
  EXPECT_EQ(cudaStreamQuery(theirs), cudaErrorNotReady);
  *go = true;
  ASSERT_EQ(cudaStreamSynchronize(theirs), cudaSuccess);
  EXPECT_EQ(seen, 6);
  gpu->run(wait_for(&s));
  cudaEventDestroy(e);
  cudaStreamDestroy(theirs);
}

TEST_F(native_streams, refuse_events_of_other_gpus_in_words) {
  cuda_stream& s = make(0, "the stream of a test");
  cudaEvent_t e = foreign_event(1);
  const std::string what = message_of<usage_error>([&] { record_into(s, e); });
  EXPECT_THAT(what, testing::HasSubstr("the stream of a test"));
  EXPECT_THAT(what, testing::HasSubstr("GPU 0"));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  cudaEventDestroy(e);
}

TEST_F(native_streams, go_before_and_after_streams_of_others) {
  cuda_stream& s = make(0, "a stream");
  for (const int gpu_of_theirs : {0, 1}) {
    cudaStream_t theirs = foreign_stream(gpu_of_theirs);
    const flag go = unset();
    std::vector<int> order;  // the streams take turns
    library_call(theirs, go, [&] { order.push_back(1); });
    after_native(s, theirs);
    enqueue_native(s, "between", [&](cudaStream_t n) { library_call(n, [&] { order.push_back(2); }); });
    native_after(theirs, s);
    library_call(theirs, [&] { order.push_back(3); });
    EXPECT_FALSE(s.idle());
    *go = true;
    ASSERT_EQ(cudaStreamSynchronize(theirs), cudaSuccess);
    gpu->run(wait_for(&s));
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
    void* const own = device(0).allocate_unpooled(100);
    EXPECT_EQ(gpu_of(own), 0) << "the GPU of the stream is current again";
    cudaStreamDestroy(theirs);
  }
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

TEST_F(native_streams, of_others_are_awaited_behind_a_wait_for_them) {
  cuda_stream& s = make(0, "a stream");
  cudaStream_t theirs = foreign_stream(0);
  const flag go = unset();
  bool ended = false;
  library_call(theirs, go, [&] { ended = true; });
  after_native(s, theirs);
  EXPECT_FALSE(s.idle());
  *go = true;
  gpu->run(wait_for(&s));
  EXPECT_TRUE(ended);
  cudaStreamDestroy(theirs);
}

TEST_F(native_streams, serve_in_functions_of_tasks) {
  host_memory memory;
  host_device host(gpu->pe.queue, 0, memory);
  std::vector<imbrex::device*> devices{&device(0), &device(1)};
  hetero_domain domain(gpu->pe.queue, host, devices);
  {
    hetero_object<int> a(domain, 100), b(domain, 100);
    const flag go = unset();
    const auto fill = [go](stream& s, int* at) {
      enqueue_native(s, "fill", [go, at](cudaStream_t n) { library_call(n, go, [at] { std::fill_n(at, 100, 4); }); });
    };
    const auto twice = [](stream& s, const int* from, int* to) {
      enqueue_native(s, "twice", [from, to](cudaStream_t n) {
        library_call(n, [from, to] { std::transform(from, from + 100, to, [](int x) { return 2 * x; }); });
      });
    };
    const task_options on_gpu{.on = device_kind::cuda};
    submit(domain, on_gpu, fill, write(a));
    submit(domain, on_gpu, twice, a, write(b));
    int seen = 0;
    submit(domain, {}, [&seen](std::span<const int> v) { seen = v[99]; }, b);
    for (int i = 0; i < 100; ++i) {
      gpu->pe.run();
      gpu->completion->ensure_noticed();
      gpu->completion->poll();
    }
    EXPECT_EQ(seen, 0);
    *go = true;
    gpu->run_until([&] { return domain.num_outstanding() == 0; });
    EXPECT_EQ(seen, 8);
  }
  gpu->completion->drain(now_ns() + 1'000'000'000);
}

struct caller : chare<caller, index1d> {
  task<> call() {
    stream& s = streams().compute;
    const flag go = unset();
    enqueue_native(s, "a call of a library", [&](cudaStream_t n) { library_call(n, go); });
    *go = true;
    co_await s.done();
  }
  void call_in_vain() {
    enqueue_native(streams().compute, "a call in vain",
                   [](cudaStream_t) { throw std::domain_error("it is singular"); });
  }
};

task<int> calls(runtime& rt) {
  const auto all = rt.create_array<caller>(index1d(3));
  all.broadcast<&caller::call>();
  co_await rt.quiescence();
  co_return 0;
}

task<int> calls_in_vain(runtime& rt) {
  rt.create_array<caller>(index1d(3))[1].send<&caller::call_in_vain>();
  co_await rt.quiescence();
  co_return 0;
}

TEST(native_calls_in_jobs, stand_in_traces) {
  fake_cuda::start();
  const std::string file = testing::TempDir() + "native_calls_trace.json";
  command_line line({2, 1}, {"--imbrex-device=cuda", "--imbrex-trace=" + file, "--imbrex-trace-gpu=events"});
  EXPECT_EQ(run(line.count(), line.values(), calls), 0);
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, testing::HasSubstr("\"a call of a library\""));
  std::remove(file.c_str());
}

TEST(native_calls_in_jobs, report_exceptions_by_chare_and_method) {
  fake_cuda::start();
  command_line line({1, 1}, {"--imbrex-device=cuda"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(line.count(), line.values(), calls_in_vain), 70);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("caller(1)"), testing::HasSubstr("call_in_vain"),
                             testing::HasSubstr("it is singular")));
}

}  // namespace

}  // namespace native_calls_test
