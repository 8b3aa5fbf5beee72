#include "chares/gpu_strategy.h"

#include <fmt/format.h>

namespace jacobi {

gpu_directory this_gpu_directory;

gpu_strategy gpu_strategy::of(const options& o, int num_ranks) {
  const gpu_options& g = o.gpu;
  gpu_strategy s;
  s.streams = g.streams.value_or(stream_design::chare);
  s.halos = g.halos.value_or(halo_path::device);
  const bool can_store = num_ranks == 1 && s.halos == halo_path::device && !g.streams;
  s.fusion = g.fusion.value_or(can_store ? fusion_strategy::d : fusion_strategy::c);
  s.graph = g.graph.value_or(s.fusion == fusion_strategy::d);
  if (s.fusion == fusion_strategy::d && num_ranks > 1)
    throw imbrex::usage_error(
        fmt::format("--fusion D needs all chares in one process, but there are {}: use --fusion C", num_ranks));
  if (s.graph && num_ranks > 1)
    throw imbrex::usage_error(
        fmt::format("--graph needs all chares in one process, but there are {}: leave it out", num_ranks));
  return s;
}

std::string gpu_strategy::text() const {
  std::string t = fmt::format("fusion {}", name(fusion));
  if (graph) t += ", graph";
  if (fusion != fusion_strategy::d) t += fmt::format(", streams {}", name(streams));
  return t + fmt::format(", comm {}", name(halos));
}

gpu_streams gpu_streams::of(stream_design how, imbrex::device& gpu, const std::string& owner) {
  gpu_streams s;
  if (how == stream_design::chare) {
    s.own_.push_back(gpu.make_stream(imbrex::stream_priority::low, "the compute stream of " + owner));
    s.own_.push_back(gpu.make_stream(imbrex::stream_priority::high, "the communication stream of " + owner));
    s.compute = s.own_[0].get();
    s.pack = s.unpack = s.to_host = s.to_device = s.own_[1].get();
    return s;
  }
  if (how == stream_design::split) {
    s.set_ = std::make_shared<imbrex::stream_set>(gpu, owner);
  } else {
    thread_local std::weak_ptr<imbrex::stream_set> of_this_pe;
    s.set_ = of_this_pe.lock();
    if (s.set_ == nullptr) {
      s.set_ = std::make_shared<imbrex::stream_set>(gpu, "the blocks of this PE");
      of_this_pe = s.set_;
    }
  }
  s.compute = &s.set_->compute;
  s.pack = &s.set_->pack;
  s.unpack = &s.set_->unpack;
  s.to_host = &s.set_->to_host;
  s.to_device = &s.set_->to_device;
  return s;
}

}  // namespace jacobi
