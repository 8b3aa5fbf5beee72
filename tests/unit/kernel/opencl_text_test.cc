// The text of kernels, built and run by whatever OpenCL there is: the same bits as on the CPU.
#include <gmock/gmock.h>

#include <optional>

#include "imbrex/device/kernel/kernel_dialect.h"
#include "imbrex/device/kernel/kernel_text.h"
#include "unit/kernel/kernel_cases.h"
// After the dialect.
#include "unit/kernel/cases.hk"

#if defined(IMBREX_TEST_OPENCL)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

using namespace imbrex;
using namespace imbrex_test;

IX_INLINE_KERNEL(add_up, (int n, IX_GLOBAL double* x, IX_GLOBAL const double* y), if (i < n) x[i] += y[i] * y[i]);
IX_INLINE_KERNEL_BELOW(add_up_below, (int n, IX_GLOBAL double* x, IX_GLOBAL const double* y), n - 3, double a = y[i];
                       x[i] += a * a);
IX_INLINE_KERNEL(faulty, (IX_GLOBAL double* x), x[i] = 1);
constexpr int line_of_faulty = __LINE__ - 1;

namespace {

/// The first device of the machine; none: the tests are skipped.
struct opencl : testing::Test {
  void SetUp() override {
    cl_platform_id platform = nullptr;
    if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS)
      GTEST_SKIP() << "no OpenCL device: install pocl-opencl-icd";
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    queue = clCreateCommandQueue(context, device, 0, nullptr);
  }
  void TearDown() override {
    if (queue != nullptr) clReleaseCommandQueue(queue);
    if (context != nullptr) clReleaseContext(context);
  }

  cl_program build(const char* of_dialect, std::string* log = nullptr) {
    const std::string source = with_first_parameters(of_dialect);
    const char* text = source.c_str();
    cl_program p = clCreateProgramWithSource(context, 1, &text, nullptr, nullptr);
    const cl_int status = clBuildProgram(p, 1, &device, kernel_source::opencl_options, nullptr, nullptr);
    std::string said(20000, '\0');
    clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, said.size(), said.data(), nullptr);
    if (log != nullptr) *log = with_named_lines(said.c_str(), source);
    EXPECT_EQ(status == CL_SUCCESS, log == nullptr) << said.c_str();
    return p;
  }

  std::vector<given> run(const kernel_case& c) {
    cl_program p = build(c.kernel->opencl_text);
    cl_kernel k = clCreateKernel(p, c.kernel->name, nullptr);
    EXPECT_EQ(clSetKernelArg(k, 0, kernel_source::opencl_local_bytes(c.shape), nullptr), CL_SUCCESS);
    std::vector<given> results = c.arguments;
    std::vector<cl_mem> memory(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      std::vector<std::byte>& b = results[i].bytes;
      if (results[i].is_memory)
        memory[i] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, b.size(), b.data(), nullptr);
      EXPECT_EQ(clSetKernelArg(k, static_cast<cl_uint>(i + 1), results[i].is_memory ? sizeof(cl_mem) : b.size(),
                               results[i].is_memory ? static_cast<void*>(&memory[i]) : b.data()),
                CL_SUCCESS);
    }
    std::size_t local[3], global[3];
    for (std::size_t d = 0; d < 3; ++d) local[d] = c.shape.group[d], global[d] = c.shape.groups[d] * local[d];
    EXPECT_EQ(clEnqueueNDRangeKernel(queue, k, 3, nullptr, global, local, 0, nullptr, nullptr), CL_SUCCESS);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].is_memory) continue;
      clEnqueueReadBuffer(queue, memory[i], CL_TRUE, 0, results[i].bytes.size(), results[i].bytes.data(), 0, nullptr,
                          nullptr);
      clReleaseMemObject(memory[i]);
    }
    clReleaseKernel(k);
    clReleaseProgram(p);
    return results;
  }

  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
};

TEST_F(opencl, gives_the_bits_of_the_cpu) {
  for (const kernel_case& c : all_cases()) {
    const auto here = run_case_on_cpu(c), there = run(c);
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_EQ(here[i].bytes, there[i].bytes) << name_of(c) << ' ' << i;
  }
}

TEST_F(opencl, runs_inline_kernels) {
  for (const kernel_source* k :
       {static_cast<const kernel_source*>(&add_up), static_cast<const kernel_source*>(&add_up_below)}) {
    const kernel_case c{k,
                        launch_shape::over(100, 16),
                        {given::value(100), given::memory(std::vector<double>(100, 0.1)),
                         given::memory(std::vector<double>(100, 0.7))}};
    const auto x = run(c)[1];
    EXPECT_EQ(x.bytes, run_case_on_cpu(c)[1].bytes);
    EXPECT_EQ(x.as<double>()[97] == 0.1, k == &add_up_below);
  }
}

TEST_F(opencl, build_errors_name_the_line_of_an_inline_kernel) {
  std::string text = faulty.opencl_text, log;
  text.replace(text.rfind("x[i]"), 4, "z[i]");
  clReleaseProgram(build(text.c_str(), &log));
  EXPECT_THAT(log, testing::HasSubstr("opencl_text_test.cc:" + std::to_string(line_of_faulty) + ":"));
}

TEST_F(opencl, build_errors_name_the_lines_of_a_file) {
  std::string text = saxpy.opencl_text, log;
  text.replace(text.find("a * x[i]"), 8, "a * q[i]");
  clReleaseProgram(build(text.c_str(), &log));
  EXPECT_THAT(log, testing::HasSubstr("tests/unit/kernel/cases.hk:37:"));
}

}  // namespace
#endif
