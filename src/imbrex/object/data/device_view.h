#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "imbrex/base/serialize.h"
#include "imbrex/comm/data/channel_end.h"
#include "imbrex/comm/data/channel_send.h"
#include "imbrex/device/buffer.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

namespace detail {
/// Tells the PE that offered data, when stream `s` comes here, that they have been read; or that nobody will read them.
void release_after(const remote_data& what, stream& s);
void release_unread(const remote_data& what) noexcept;
}  // namespace detail

/// Elements in a device's memory as an argument of an entry method: a GPU message (Choi et al. 2022, II-B).
///
/// The sender names memory and a stream:
///
///     ix::device_view<double> halo(buffer.view(), streams().pack);   // as it is when the stream comes here
///     auto sent = halo.lent();                                       // await it before the memory is written again
///     array()[left].send<&block::take>(iteration, std::move(halo));
///
/// The receiver's method runs when what is enqueued on `stream()` sees the data. Inside a process, and between
/// processes of a machine whose GPUs reach each other, the data are read where they are; otherwise they come to memory
/// of the runtime's, from the device's pool, or to where the receiver's post method says:
///
///     ix::buffer_view<double> post(ix::for_entry<&block::take>, int iteration, std::size_t size);
///
/// which stands behind the method in the class and is called with its other arguments. What a view gives stays valid
/// until the view ends, and what is enqueued on `stream()` by then has been read. GPU messages of different sizes may
/// overtake each other; a receiver that shall move or end does so when those that are arriving have come.
template <class T>
class device_view {
  static_assert(std::is_trivially_copyable_v<T>, "imbrex: a device_view carries trivially copyable elements");

 public:
  using element_type = T;

  device_view() = default;
  device_view(buffer_view<const T> elements, imbrex::stream& s) : stream_(&s), state_(lent_state::make()) {
    if (elements.kind != s.on().allocates()) {
      throw usage_error(std::string("a device_view of ") + to_string(elements.kind) + " memory on a stream of the " +
                        to_string(s.on().kind()) + " device: give it memory of the stream's device");
    }
    message_.element_bytes = sizeof(T);
    message_.lent = lent_buffer(reinterpret_cast<const std::byte*>(elements.data), elements.bytes(), state_);
    message_.lent.on = &s.on();
    message_.lent.ready = scheduler::current().gpus.size() > 1 ? s.record_for_others() : s.record();
  }
  device_view(device_view&& other) noexcept
      : message_(std::move(other.message_)),
        stream_(std::exchange(other.stream_, nullptr)),
        state_(std::exchange(other.state_, nullptr)),
        at_(std::exchange(other.at_, nullptr)),
        owes_answer_(std::exchange(other.owes_answer_, false)) {}
  device_view& operator=(device_view&& other) noexcept {
    device_view moved(std::move(other));
    std::swap(message_, moved.message_);
    std::swap(stream_, moved.stream_);
    std::swap(state_, moved.state_);
    std::swap(at_, moved.at_);
    std::swap(owes_answer_, moved.owes_answer_);
    return *this;
  }
  ~device_view() {
    if (at_ != nullptr) {
      try {
        if (message_.in_place.is_offered()) detail::release_after(*message_.remote, *stream_);
        message_.give_back(stream_);
      } catch (...) {  // the device has failed
        scheduler::current().fail_body("a GPU message", std::current_exception());
      }
    } else if (owes_answer_) {
      detail::release_unread(*message_.remote);
    }
    if (state_ != nullptr) state_->release();
  }

  /// Of a sender: `co_await` it to know that what is put into the stream from then on may write the memory again; the
  /// host may, or frees it, behind `done()` of the stream. At most once.
  channel_send lent() { return channel_send(std::exchange(state_, nullptr), *stream_); }

  /// \name Of a receiver
  ///@{
  const T* data() const { return reinterpret_cast<const T*>(at_); }
  std::size_t size() const { return message_.bytes() / sizeof(T); }
  imbrex::stream& stream() const { return *stream_; }
  ///@}

  template <class Archive>
  void serialize(Archive& ar) {
    message_.serialize(ar);
    if constexpr (Archive::is_loading) {
      owes_answer_ = static_cast<bool>(message_.remote);
    } else if constexpr (std::is_same_v<Archive, output_archive>) {
      owes_answer_ = false;  // whoever reads it does
    }
  }

  /// \name For the runtime
  ///@{
  channel_message& message() { return message_; }
  /// By its sender, on whose PE that must be said; then nobody asks for `lent` any more.
  void is_sent() {
    if (state_ != nullptr) std::exchange(state_, nullptr)->release();
  }
  imbrex::stream* sender_stream() const { return stream_; }
  /// Its data have been asked for, or are read where they are.
  void is_answered() { owes_answer_ = false; }
  /// What is enqueued on `s` from now on sees the data, at `where`.
  void has_arrived(imbrex::stream& s, const std::byte* where) {
    stream_ = &s;
    at_ = where;
  }
  ///@}

 private:
  channel_message message_;
  imbrex::stream* stream_ = nullptr;
  lent_state* state_ = nullptr;
  const std::byte* at_ = nullptr;
  bool owes_answer_ = false;  // whoever offered the data waits for word of it
};

/// Names an entry method in the overloads of a chare's `post`.
template <auto M>
struct for_entry {};

namespace detail {

template <class T>
struct is_device_view : std::false_type {};
template <class T>
struct is_device_view<device_view<T>> : std::true_type {};

template <class Args>
struct count_device_views;
template <class... A>
struct count_device_views<std::tuple<A...>>
    : std::integral_constant<int, (0 + ... + (is_device_view<A>::value ? 1 : 0))> {};

template <class Args>
constexpr bool has_device_views = count_device_views<Args>::value > 0;

/// Calls `f(view)` for every device_view among the arguments.
template <class Args, class F>
void for_each_device_view(Args& args, F&& f) {
  std::apply(
      [&](auto&... a) {
        const auto one = [&](auto& x) {
          if constexpr (is_device_view<std::remove_cvref_t<decltype(x)>>::value) f(x);
        };
        (one(a), ...);
      },
      args);
}

/// The arguments that are no device_views, as references.
template <class Args>
auto other_arguments(Args& args) {
  return std::apply(
      [](auto&... a) {
        const auto one = [](auto& x) {
          if constexpr (is_device_view<std::remove_cvref_t<decltype(x)>>::value) {
            return std::tuple<>();
          } else {
            return std::tuple<decltype(x)>(x);
          }
        };
        return std::tuple_cat(one(a)...);
      },
      args);
}

/// Asks the PE that offered data to send them here.
struct pull_data {
  std::uint64_t id = 0;
  rank_id rank = -1;
  pe_id pe = no_pe;

  void operator()(scheduler& at) { at.mover->serve(id, rank, pe); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & id & rank & pe;
  }
};

/// Tells the PE that offered data that they have been read.
struct release_data {
  std::uint64_t id = 0;

  void operator()(scheduler& at) { at.mover->release(id); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & id;
  }
};

/// Before a GPU message leaves the process: small data are copied to go along with it in the order of `s`; when that
/// has come, they do, and others are offered.
void prepare_departure(channel_message& m, stream& s);
void offer_data(channel_message& m, stream& s);

/// Brings the data of one view to stream `s`, to `place` if that is not null. `arrived(where)` is called on this PE, at
/// once or later.
void receive_data(channel_message& m, stream& s, std::byte* place, std::function<void(const std::byte*)> arrived);

}  // namespace detail

}  // namespace imbrex
