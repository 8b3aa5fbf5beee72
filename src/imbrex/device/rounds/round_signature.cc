#include "imbrex/device/rounds/round_signature.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "imbrex/device/device.h"
#include "imbrex/device/stream.h"

namespace imbrex {

namespace {

class signature {
 public:
  explicit signature(const recorded_rounds& r) : rounds_(r), places_(r.streams().size()), order_(r.streams().size()) {
    // Streams are numbered as they came, from any threads.
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, {}, [&r](std::size_t i) { return r.streams()[i]->of; });
    for (std::size_t i = 0; i < order_.size(); ++i) places_[order_[i]] = i;
  }

  std::vector<std::byte> make() {
    for (const std::size_t number : order_) {
      const stream_rounds& s = *rounds_.streams()[number];
      add(s.of);
      add(&s.of->on());
      for (std::size_t r = s.num_rounds() - 2; r < s.num_rounds(); ++r) {
        add(s.end_of(r) - s.begin_of(r));
        for (std::size_t i = s.begin_of(r); i < s.end_of(r); ++i) add(s, r, s.operations[i]);
      }
    }
    return std::move(bytes_);
  }

 private:
  void add(const stream_rounds& s, std::size_t round, const kept_operation& o) {
    add(o.what);
    switch (o.what) {
      case kept_operation::kind::kernel: return add_kernel(s, o);
      case kept_operation::kind::copy:
        add(o.to);
        add(o.from);
        return add(o.bytes);
      case kept_operation::kind::fill:
        add(o.to);
        add(o.bytes);
        return add(o.value);
      case kept_operation::kind::wait: {
        const stream_rounds& other = *rounds_.streams()[o.stream];
        const std::size_t theirs = other.round_of(o.place);
        add(places_[o.stream]);
        add(static_cast<std::ptrdiff_t>(theirs) - static_cast<std::ptrdiff_t>(round));
        return add(o.place - other.begin_of(theirs));
      }
    }
  }
  void add_kernel(const stream_rounds& s, const kept_operation& o) {
    add(o.function);
    for (const extent3& e : {o.shape.groups, o.shape.group}) {
      add(e.x);
      add(e.y);
      add(e.z);
    }
    add(o.shape.shared_bytes);
    add(o.batch_bytes);
    add(o.num_arguments);
    for (std::size_t i = 0; i < o.num_arguments; ++i) {
      const kept_argument& a = s.arguments[o.first_argument + i];
      add(a.bytes);
      bytes_.insert(bytes_.end(), s.bytes.begin() + static_cast<std::ptrdiff_t>(a.at),
                    s.bytes.begin() + static_cast<std::ptrdiff_t>(a.at + a.bytes));
    }
  }
  template <class T>
  void add(const T& value) {
    const auto all = std::as_bytes(std::span(&value, 1));
    bytes_.insert(bytes_.end(), all.begin(), all.end());
  }

  const recorded_rounds& rounds_;
  std::vector<std::size_t> places_, order_;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> signature_of(const recorded_rounds& r) { return signature(r).make(); }

}  // namespace imbrex
