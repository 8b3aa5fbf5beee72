#pragma once

#include <imbrex/imbrex.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "chares/shared_model.h"
#include "gpu/gpu_around.h"
#include "gpu/gpu_room.h"
#include "support/gpu_streams.h"

namespace md {

/// Messages of one kind between a box on a GPU and those around: what was packed goes to each, and what they packed
/// comes. Directly the receiver reads the sender's memory; by way of the host there are copies in pinned memory (2020
/// paper, IV-B2, steps 2b and 2d). Both sides know how many elements go; of none there is no message.
template <class T>
class gpu_halo {
 public:
  /// `self`: the chare, whose ports from `first_port` on, one for each box around, are this halo's at both ends.
  template <class Chare>
  gpu_halo(Chare& self, const decomposition& boxes, const box_index& where, const gpu_around& around, int first_port,
           apps::halo_path path, const apps::gpu_streams& streams)
      : path_(path), streams_(streams), several_ranks_(self.rt().num_ranks() > 1) {
    const auto kind = through_host() ? imbrex::memory_kind::host : imbrex::memory_kind::device;
    for (std::size_t p = 0; p < around.boxes.size(); ++p) {
      const box_index& b = around.boxes[p];
      channels_.emplace_back(self, self.array()[index_of(b)], first_port + static_cast<int>(p),
                             first_port + gpu_around(boxes, b).place_of(where), kind);
    }
    if (through_host() && several_ranks_ && !channels_.empty())
      arrivals_ = self.on_host().make_stream(imbrex::stream_priority::high, "arriving halos");
  }

  /// So many elements go to each box around, and so many come, from now on.
  void expect(std::vector<std::uint32_t> out, std::vector<std::uint32_t> in) {
    out_ = std::move(out);
    in_ = std::move(in);
  }

  /// Where the next messages are to be packed, box after box, in the order of the pack stream: once the memory has been
  /// given back by those who read what was there.
  imbrex::task<T*> room() {
    half& h = halves_[parity_];
    for (imbrex::channel_send& s : h.sent) co_await s;
    h.sent.clear();
    const std::size_t num_out = sum(out_), num_in = sum(in_);
    imbrex::device& d = streams_.compute->on();
    make_room(h.out, d, num_out, retired_);
    if (through_host()) {
      make_room(h.out_on_host, d, num_out, retired_, imbrex::memory_kind::pinned);
      make_room(h.in, d, num_in, retired_);
      if (several_ranks_) make_room(h.in_on_host, d, num_in, retired_, imbrex::memory_kind::pinned);
    }
    co_return h.out.data();
  }

  /// Sends what was packed, and waits until messages have come, or word of them; `unpack(m)` enqueues what reads them
  /// into the unpack stream.
  template <class Unpack>
  imbrex::task<> exchange(Unpack unpack) {
    through_host() ? send_through_host() : send_directly();
    gpu_messages<T> m;
    if (through_host()) {
      auto come = receive_through_host();
      m = co_await come;
      streams_.unpack->after(*streams_.to_device);
      unpack(m);
    } else {
      std::vector<imbrex::received<T>> theirs;
      for (std::size_t p = 0; p < channels_.size(); ++p) {
        if (in_[p] == 0) continue;
        theirs.push_back(co_await channels_[p].borrow(*streams_.unpack));
        m.add(theirs.back().data(), static_cast<std::uint32_t>(theirs.back().size()));
      }
      unpack(m);
    }
    parity_ ^= 1;
  }

  /// After the streams have been waited for.
  void release() { retired_.release(); }

 private:
  struct half {
    imbrex::buffer<T> out, out_on_host, in, in_on_host;
    std::vector<imbrex::channel_send> sent;
  };

  bool through_host() const { return path_ == apps::halo_path::host; }
  static std::size_t sum(const std::vector<std::uint32_t>& all) {
    std::size_t n = 0;
    for (const std::uint32_t k : all) n += k;
    return n;
  }

  void send_directly() {
    half& h = halves_[parity_];
    std::size_t first = 0;
    for (std::size_t p = 0; p < channels_.size(); first += out_[p++])
      if (out_[p] > 0) h.sent.push_back(channels_[p].send(h.out.view().slice(first, out_[p]), *streams_.pack));
  }

  // One copy takes all; each message goes when it is there.
  void send_through_host() {
    half& h = halves_[parity_];
    const std::size_t all = sum(out_);
    if (all == 0) return;
    imbrex::stream& s = *streams_.to_host;
    s.after(*streams_.pack);
    s.transfer(h.out_on_host.data(), h.out.data(), all * sizeof(T));
    std::size_t first = 0;
    for (std::size_t p = 0; p < channels_.size(); first += out_[p++])
      if (out_[p] > 0) h.sent.push_back(channels_[p].send(h.out_on_host.view().slice(first, out_[p]), s));
  }

  imbrex::task<gpu_messages<T>> receive_through_host() {
    half& h = halves_[parity_];
    gpu_messages<T> m;
    imbrex::stream& s = *streams_.to_device;
    s.after(*streams_.unpack);  // which has read what came before the last
    std::size_t first = 0;
    for (std::size_t p = 0; p < channels_.size(); first += in_[p++]) {
      if (in_[p] == 0) continue;
      T* const to = h.in.data() + first;
      const std::size_t bytes = in_[p] * sizeof(T);
      m.add(to, in_[p]);
      if (several_ranks_) {  // pinned, which what the runtime receives into need not be
        const auto here = h.in_on_host.view().slice(first, in_[p]);
        co_await channels_[p].recv(here, *arrivals_);
        s.transfer(to, here.data, bytes);
        continue;
      }
      imbrex::received<T> theirs = co_await channels_[p].borrow();
      s.transfer(to, theirs.data(), bytes);
      s.then("halo copied", [held = std::move(theirs)] {});  // theirs may be overwritten from then on
    }
    co_return m;
  }

  const apps::halo_path path_;
  const apps::gpu_streams& streams_;
  const bool several_ranks_;
  std::vector<imbrex::channel<T>> channels_;
  std::vector<std::uint32_t> out_, in_;
  std::array<half, 2> halves_;
  std::size_t parity_ = 0;
  std::unique_ptr<imbrex::stream> arrivals_;  ///< orders what comes there; of the host
  gpu_retired retired_;
};

}  // namespace md
