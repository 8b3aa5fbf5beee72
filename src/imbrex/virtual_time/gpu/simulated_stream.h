#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/device/stream.h"
#include "imbrex/virtual_time/gpu/simulated_device.h"
#include "imbrex/virtual_time/gpu/simulated_queue.h"

namespace imbrex {

/// A stream of a simulated GPU: what is put in costs the PE what its driver would take, and goes into a queue that the
/// device works off in virtual time.
class simulated_stream final : public stream {
 public:
  simulated_stream(simulated_device& d, stream_priority p, std::string label);
  ~simulated_stream() override;

  device& on() const override { return *device_; }
  stream_priority urgency() const override { return priority_; }
  bool is_simulated() const override { return true; }
  void launched(const char* name, const launch_shape& shape, stream_operation* body) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void fill(void* to, unsigned char value, std::size_t bytes) override;
  event record() override;
  void wait(const event& e) override;
  bool record_shared(shared_point& p) override;
  bool idle() const override { return queue_->idle(); }
  void arrive(device& here) override;
  std::unique_ptr<graph> capture(const std::function<void()>& enqueue) override;
  bool recapture(graph& g, const std::function<void()>& enqueue) override;
  void run(graph& g) override;

 protected:
  void enqueue(stream_operation* op) override;

 private:
  using step = simulated_queue::step;
  std::shared_ptr<simulated_point> point();
  void put(step* s, double host_us);
  std::vector<graph_node> captured(const std::function<void()>& enqueue);
  bool is_captured() const;
  void add_node(graph_node node);
  void draw();

  simulated_device* device_;
  const stream_priority priority_;
  simulated_queue* queue_;
  std::shared_ptr<simulated_point> last_point_;  // while nothing was put in after it
};

}  // namespace imbrex
