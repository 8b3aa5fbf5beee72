#include "imbrex/device/opencl/opencl_widening.h"

#include <algorithm>
#include <charconv>
#include <mutex>

namespace imbrex {

bool opencl_widening::is_needed(std::string_view platform, std::string_view driver) {
  int major = 0;
  std::from_chars(driver.data(), driver.data() + driver.size(), major);
  return platform == "Portable Computing Language" && (major == 4 || major == 5);
}

void opencl_widening::add(cl_command_queue q) {
  const std::unique_lock lock(mutex_);
  queues_.push_back(q);
}

void opencl_widening::remove(cl_command_queue q) {
  const std::unique_lock lock(mutex_);
  std::erase(queues_, q);
}

cl_int opencl_widening::launch(cl_command_queue q, const opencl_kernel& k, cl_kernel native,
                               const std::size_t (&all)[3], const std::size_t (&each)[3], cl_event* end) {
  const std::size_t width = std::max({all[0], all[1], each[2] * each[2]});  // as PoCL counts it
  const key of{k.program, k.name, {each[0], each[1], each[2]}};
  const auto enqueue = [&] { return clEnqueueNDRangeKernel(q, native, 3, nullptr, all, each, 0, nullptr, end); };
  {
    const std::shared_lock lock(mutex_);
    if (const auto known = widest_.find(of); known != widest_.end() && width <= known->second) return enqueue();
  }
  const std::unique_lock lock(mutex_);
  // Queues wait for each other at most, never for a thread.
  for (cl_command_queue other : queues_) clFinish(other);  // what fails there, its stream finds
  if (const cl_int status = enqueue(); status != CL_SUCCESS) return status;
  ++num_widened_;
  std::size_t& widest = widest_[of];
  widest = std::max(widest, width);
  return clFinish(q);
}

int opencl_widening::num_widened() const {
  const std::shared_lock lock(mutex_);
  return num_widened_;
}

}  // namespace imbrex
