#pragma once

#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "imbrex/device/kernel/late_kernel.h"
#include "imbrex/device/kernel/text/kernel_declaration.h"

namespace imbrex::detail {

/// A text with its kernels. All of it is compiled at once, for each kind of device when a kernel of it is needed there.
class kernel_unit {
 public:
  class member final : public late_kernel {
   public:
    member(kernel_unit& of, std::size_t number) : unit_(of), number_(number) {}
    bool has_cpu() const override;
    bool has_cuda() const override;
    cpu_function on_cpu() override { return unit_.on_cpu(number_); }
    void launch_on_cuda(stream& s, const launch_shape& shape, void* const* arguments) override;

   private:
    kernel_unit& unit_;
    std::size_t number_;
  };

  kernel_unit(std::string text, std::string shown);
  kernel_unit(const kernel_unit&) = delete;
  kernel_unit& operator=(const kernel_unit&) = delete;

  const std::string& text() const { return text_; }
  const std::string& shown() const { return shown_; }
  const std::vector<kernel_declaration>& declared() const { return declared_; }
  const kernel_source& kernel(std::size_t i) const { return kernels_[i]; }
  /// Throws `usage_error` when there is none of that name.
  std::size_t number_of(std::string_view name) const;

 private:
  cpu_function on_cpu(std::size_t i);

  const std::string text_, shown_, opencl_text_;
  std::vector<kernel_declaration> declared_;
  std::deque<member> members_;
  std::deque<kernel_source> kernels_;
  std::mutex mutex_;
  std::vector<cpu_function> on_cpu_;  // empty: not compiled yet
  std::exception_ptr cpu_failure_;    // it cannot be
};

}  // namespace imbrex::detail
