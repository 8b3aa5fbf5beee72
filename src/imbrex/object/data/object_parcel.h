#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "imbrex/base/ids.h"
#include "imbrex/base/memory/aligned_bytes.h"
#include "imbrex/base/serialize.h"

namespace imbrex {

struct hetero_data;

namespace detail {

/// A part of the right to read an object that its PE has lent. Where it ends it goes back there; when all parts are
/// back, the object may be written again. Of one process; any PE of it.
class loan_share {
 public:
  static constexpr std::uint64_t whole = std::uint64_t{1} << 62;

  loan_share() = default;
  loan_share(pe_id home, std::uint64_t loan, std::uint64_t weight) : home_(home), loan_(loan), weight_(weight) {}
  ~loan_share();
  loan_share(const loan_share&) = delete;
  loan_share& operator=(const loan_share&) = delete;

  pe_id home() const { return home_; }
  std::uint64_t loan() const { return loan_; }
  /// Takes a half of it away, for another process. Throws `comm_error` when nothing is left to halve: the message has
  /// been passed on 62 times.
  std::uint64_t split();

 private:
  const pe_id home_ = no_pe;
  const std::uint64_t loan_ = 0;
  std::atomic<std::uint64_t> weight_{0};
};

/// An object's data on their way in a message: the bytes themselves, or the right to read them where they are. Copies
/// share either.
class object_parcel {
 public:
  object_parcel() = default;
  /// The data as they are after all tasks submitted by now; tasks submitted later that write wait until they have been
  /// read. On the object's PE. Throws `usage_error` when it is another PE's, or nobody has written it.
  static object_parcel of(hetero_data& d);

  static object_parcel packing(const std::byte* data, std::uint64_t bytes) {
    object_parcel p;
    p.bytes_ = std::make_shared<const aligned_bytes>(data, data + bytes);
    return p;
  }

  bool is_packed() const { return bytes_ != nullptr; }
  const aligned_bytes& bytes() const { return *bytes_; }
  const loan_share* share() const { return share_.get(); }

  template <class Archive>
  void serialize(Archive& ar) {
    char packed = is_packed() ? 1 : 0;
    ar & packed;
    packed != 0 ? serialize_bytes(ar) : serialize_share(ar);
  }

 private:
  template <class Archive>
  void serialize_bytes(Archive& ar) {
    std::uint64_t n = is_packed() ? bytes_->size() : 0;
    ar & n;
    if constexpr (Archive::is_loading) {
      ar.check_count(n, 1);
      auto came = std::make_shared<aligned_bytes>(n);
      ar.bytes(came->data(), n);
      bytes_ = std::move(came);
    } else {
      ar.bytes(bytes_->data(), n);
    }
  }
  template <class Archive>
  void serialize_share(Archive& ar) {
    pe_id home = share_ != nullptr ? share_->home() : no_pe;
    std::uint64_t loan = share_ != nullptr ? share_->loan() : 0;
    std::uint64_t weight = 0;
    if constexpr (std::is_same_v<Archive, output_archive>) {
      if (share_ != nullptr) weight = share_->split();
    }
    ar & home & loan & weight;
    if constexpr (Archive::is_loading) {
      if (home != no_pe) share_ = std::make_shared<loan_share>(home, loan, weight);
    }
  }

  std::shared_ptr<const aligned_bytes> bytes_;
  std::shared_ptr<loan_share> share_;
};

}  // namespace detail
}  // namespace imbrex
