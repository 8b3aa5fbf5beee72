#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "imbrex/device/host/host_device.h"
#include "imbrex/hetero/submission/tasks.h"
#include "imbrex/hetero/windows/task_window.h"
#include "unit/async/bare_pe.h"

namespace imbrex_test {

/// The calling thread as a PE with a domain of the host and so many devices of so many bytes, which are host devices.
struct hetero_pe {
  explicit hetero_pe(int num_devices = 0, std::uint64_t bytes = 1 << 20, imbrex::hetero_options options = {}) {
    options.device_bytes = bytes;
    std::vector<imbrex::device*> all;
    for (int i = 0; i < num_devices; ++i) {
      devices.push_back(std::make_unique<imbrex::host_device>(pe.queue, i, memory));
      all.push_back(devices.back().get());
    }
    domain = std::make_unique<imbrex::hetero_domain>(pe.queue, host, all, options);
  }

  void run(imbrex::task<> t) {
    started s(std::move(t));
    pe.run();
    EXPECT_TRUE(s.ended()) << "it waits for something that does not happen";
    if (s.ended() && s.failure()) std::rethrow_exception(s.failure());
  }
  template <class T>
  imbrex::hetero_object<T> object(std::size_t size) {
    return imbrex::hetero_object<T>(*domain, size);
  }
  /// Starts what can start. A turn of `dispatch` starts one task at least, and on a slow machine may be over then.
  void dispatch(int num_tasks) {
    for (int turn = 0; turn < num_tasks; ++turn) domain->dispatch();
  }
  const imbrex::hetero_counts& counts() const { return domain->counts(); }

  bare_pe pe;
  imbrex::host_memory memory;
  imbrex::host_device host{pe.queue, 0, memory};
  std::vector<std::unique_ptr<imbrex::host_device>> devices;
  std::unique_ptr<imbrex::hetero_domain> domain;
};

/// On a device: adds `term` to each element.
inline auto add_on_device(double term) {
  return [term](imbrex::stream& s, std::span<double> x) {
    s.call("add", [x, term] {
      for (double& v : x) v += term;
    });
  };
}

}  // namespace imbrex_test
