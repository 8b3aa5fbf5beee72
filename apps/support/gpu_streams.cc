#include "support/gpu_streams.h"

namespace apps {

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
      s.set_ = std::make_shared<imbrex::stream_set>(gpu, "the chares of this PE");
      s.set_->follows_nobody();
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

}  // namespace apps
