// opencl_job [options] [--must-fail]: chares on devices of OpenCL, in jobs of any shape and over any transport. Skipped
// where there is no device; with --must-fail where there is one.
#include <cstdio>
#include <string>

#include "imbrex/device/opencl/opencl_machine.h"
#include "unit/opencl/opencl_jobs.h"

namespace {

imbrex::task<int> start(imbrex::runtime& rt) {
  const int of_ring = co_await imbrex_test::opencl_jobs::ring(rt);
  const int of_smoothing = co_await imbrex_test::opencl_jobs::smoothing(rt);
  std::printf("ring %s, smoothing %s, over %s\n", of_ring == 0 ? "right" : "wrong",
              of_smoothing == 0 ? "right" : "wrong", rt.transport_name().c_str());
  co_return of_ring + of_smoothing;
}

}  // namespace

int main(int argc, char** argv) {
  std::string why;
  const bool must_fail = argc > 1 && std::string(argv[argc - 1]) == "--must-fail";
  const bool is_there = imbrex::opencl_machine::count(&why) > 0;
  if (must_fail && is_there) why = "this loader of OpenCL finds devices though OCL_ICD_VENDORS names none";
  if (is_there == must_fail) {
    std::printf("skipped: %s\n", why.c_str());
    return 0;
  }
  return imbrex::run(argc, argv, &start);
}
