#include "device_calls.h"

#include <array>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "checked_device.h"

namespace ix = imbrex;

namespace {

// Two of these send to each other from a buffer of the device, which lies in an array member as users put it there.
class pair_member : public ix::chare<pair_member, ix::index1d> {
 public:
  explicit pair_member(std::size_t n)
      : halos_{ix::buffer<double>(on_device(), n), ix::buffer<double>(on_device(), n)},
        staging_(on_device(), n, ix::memory_kind::pinned),
        peer_(*this, array()[1 - index().x], 0, 0, halos_[0].kind()) {}

  ix::task<> exchange() {
    ix::stream_set& s = streams();
    std::iota(staging_.data(), staging_.data() + staging_.size(), 100.0 * index().x);
    s.to_device.copy(halos_[0].data(), staging_.data(), staging_.size() * sizeof(double));
    s.to_device.fill(halos_[1].data(), 0xff, halos_[1].size() * sizeof(double));
    s.pack.after(s.to_device);
    const auto sent = peer_.send(halos_[0], s.pack);
    const std::size_t n = co_await peer_.recv(halos_[1], s.unpack);
    co_await sent;
    co_await s.unpack.done();
    const double* const got = halos_[1].data();
    const double first = 100.0 * (1 - index().x);
    bool right = n == halos_[1].size();
    for (std::size_t i = 0; i < n; ++i) right = right && got[i] == first + static_cast<double>(i);
    contribute(right ? 0 : 1, ix::sum);
  }

  // On the memory itself: what one call returned goes straight into the next.
  int usage_errors() {
    ix::device& d = on_device();
    const std::size_t n = staging_.size() * sizeof(double);
    int errors = d.used(d.allocates()).in_use == 4 * n ? 0 : 1;  // two halos each
    errors += d.used(ix::memory_kind::pinned).in_use == 2 * n ? 0 : 1;
    errors += d.kind() == ix::device_kind::cuda ? 0 : 1;
    errors += d.make_stream(streams().compute.urgency(), "another")->urgency() == ix::stream_priority::low ? 0 : 1;
    errors += d.make_stream(streams().pack.urgency(), "another")->urgency() == ix::stream_priority::high ? 0 : 1;
    return errors;
  }

 private:
  std::array<ix::buffer<double>, 2> halos_;
  ix::buffer<double> staging_;
  ix::channel<double> peer_;
};

// The device of all chares, for as long as this lives.
class device_of_this_pe {
 public:
  explicit device_of_this_pe(ix::device& d) : before_(ix::scheduler::current().default_device) {
    ix::scheduler::current().default_device = &d;
  }
  device_of_this_pe(const device_of_this_pe&) = delete;
  ~device_of_this_pe() { ix::scheduler::current().default_device = before_; }

 private:
  ix::device* before_;
};

std::string wrong_values(const checked_values& v) {
  std::string wrong;
  if (!v.is_yes(v.yes())) wrong += "a bool changed on its way; ";
  if (!v.is_byte(v.byte())) wrong += "a byte changed on its way; ";
  if (!v.is_negative_byte(v.negative_byte())) wrong += "a negative byte changed on its way; ";
  if (!v.is_half_word(v.half_word())) wrong += "16 bits changed on their way; ";
  return wrong;
}

}  // namespace

ix::task<std::string> check_device_calls(ix::runtime& rt) {
  const auto values = std::make_unique<checked_values>();
  std::string wrong = wrong_values(*values);
  checked_device device;
  {
    const device_of_this_pe all(device);
    const auto pair = rt.create_array<pair_member>(2, std::size_t{1000});
    pair.broadcast<&pair_member::exchange>();
    if (co_await pair.reduction<int>() != 0) wrong += "a channel delivered other data; ";
    if (co_await pair[0].call<&pair_member::usage_errors>() != 0) wrong += "kinds changed on their way; ";
    pair.broadcast<&pair_member::destroy>();
    co_await rt.quiescence();
  }
  for (const std::string& complaint : device.complaints()) wrong += complaint + "; ";
  if (device.num_allocated() != 0) wrong += std::to_string(device.num_allocated()) + " buffers were not freed; ";
  if (device.num_streams(ix::stream_priority::low) != 3) wrong += "streams for kernels are not of low priority; ";
  co_return wrong;
}
