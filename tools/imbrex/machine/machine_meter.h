#pragma once

#include <imbrex/imbrex.h>

#include <string>
#include <vector>

namespace machine_meter {

/// What was measured several times.
struct samples {
  std::vector<double> values;

  void add(double v) { values.push_back(v); }
  /// 0 <= q <= 1; of nothing: 0.
  double quantile(double q) const;
  double median() const { return quantile(0.5); }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & values;
  }
};

/// Of a PE's GPU. `reaction_us`: from a launch to an idle GPU until the PE knows that the kernel has ended, without the
/// kernel.
struct gpu_facts {
  std::string name;
  double memory_gb = 0;
  samples launch_us, kernel_us, copy_us, event_us, copy_start_us, reaction_us, memory_gbs, host_gbs, peer_gbs, peer_us,
      graph_launch_us, graph_node_us, tflops, filling_threads;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & name & memory_gb & launch_us & kernel_us & copy_us & event_us & copy_start_us & reaction_us & memory_gbs &
        host_gbs & peer_gbs & peer_us & graph_launch_us & graph_node_us & tflops & filling_threads;
  }
};

/// Of a conversation between two PEs. `one_way_us` is from one small message to the next one back.
struct network_facts {
  samples one_way_us, send_us, gbs;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & one_way_us & send_us & gbs;
  }
};

/// One on the first PE and one on the last. All times are `imbrex::clock`'s.
class meter : public imbrex::chare<meter, imbrex::index1d> {
 public:
  /// Microseconds of a message to itself.
  imbrex::task<samples> dispatch(int repeats);
  imbrex::task<gpu_facts> gpu(int repeats);
  imbrex::task<network_facts> talk(int other, int repeats);

  void bounce(int partner, int left);
  int take(std::vector<double> values) { return static_cast<int>(values.size()); }
  void ignore(int) {}
  imbrex::when<int> over;

 private:
  imbrex::task<double> transfer_us(int other, std::size_t bytes);
};

}  // namespace machine_meter
