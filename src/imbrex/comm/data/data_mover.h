#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/base/serialize.h"
#include "imbrex/comm/data/lent_buffer.h"
#include "imbrex/comm/data/memory_sharing.h"
#include "imbrex/comm/data/protocol.h"
#include "imbrex/comm/data/remote_data.h"
#include "imbrex/comm/transport.h"
#include "imbrex/device/buffer.h"

namespace imbrex {

class data_fetch;

/// Moves the data of messages between processes for one PE: what the two ends of a channel, or sender and receiver of a
/// GPU message, agree on in the message itself (`remote_data`). All members are for the PE's thread.
class data_mover {
 public:
  /// `pe_in_rank` < 4096. `sharing` stays where it is for as long as this lives.
  data_mover(executor& pe, transport& t, pe_id id, int pe_in_rank, const memory_sharing& sharing,
             const protocol_table& protocols)
      : pe_(pe),
        transport_(t),
        id_(id),
        first_id_(static_cast<std::uint64_t>(pe_in_rank) << (counter_bits + 1)),
        sharing_(sharing),
        protocols_(protocols) {}
  ~data_mover();
  data_mover(const data_mover&) = delete;
  data_mover& operator=(const data_mover&) = delete;

  transport& network() const { return transport_; }
  /// The devices of this process are of a kind that no transport knows (OpenCL): their memory goes through pinned
  /// memory even where a transport moves that of GPUs. Before anything is sent.
  void stage_device_memory() { network_reaches_devices_ = false; }
  /// Whether the transport moves data of this kind without help.
  bool network_reaches(memory_kind kind) const {
    return (kind != memory_kind::device || network_reaches_devices_) && transport_.reaches(kind);
  }
  /// Whether the transport has one-sided movement of data of this kind.
  bool has_one_sided(memory_kind kind) const {
    return (kind != memory_kind::device || network_reaches_devices_) && transport_.has_one_sided(kind);
  }
  const protocol_table& protocols() const { return protocols_; }
  /// Sends go by this table from now on; what is on its way or offered already is not touched. The other processes need
  /// not have the same: the receiver learns the way from the message.
  void use(const protocol_table& protocols) { protocols_ = protocols; }
  /// How `bytes` of that kind go to `to`, whose memory is of kind `there`. `none`: inside the message.
  remote_data::path choose(memory_kind here, std::uint64_t bytes, rank_id to, memory_kind there) const;

  /// As chosen, unless memory of the device of `s` is none that a network may read where it is.
  static remote_data::path within_reach(remote_data::path chosen, const stream& s, const void* data) {
    return chosen == remote_data::path::whole && s.on().is_staged(data) ? remote_data::path::chunks : chosen;
  }

  /// Whether data whose receiver is not known yet go inside their message.
  bool travels_packed(memory_kind here, std::uint64_t bytes) const;

  /// Arrays in the arguments of a message travel inside it up to so many bytes, larger ones beside it.
  std::uint64_t largest_inside() const {
    return protocols_.forced == protocol_table::way::packed ? any_size : packed_array_bytes;
  }
  /// Ids for `transport::send_data`, `count` in a row, that no other data from this rank have. `to_host`: they go from
  /// memory of the host to memory of the host.
  std::uint64_t take_ids(std::uint64_t count, bool to_host);

  /// \name The sending side. `held` is given back when its memory has been read.
  ///@{
  /// From memory that the transport reaches and that is ready. `to_host`: the receiver's is known to be the host's.
  remote_data send_whole(rank_id to, pe_id to_pe, const data_view& from, lent_buffer held, bool to_host = false);
  /// From a device's memory, as it is when `s` comes here, through pinned memory in pieces, of which `staged_bytes` are
  /// under way at a time: `held` goes back as soon as the last piece has been copied there.
  remote_data send_chunks(rank_id to, pe_id to_pe, stream& s, lent_buffer held, bool to_host = false);
  /// Lets a process of this machine read memory of a device where it is, as it is when `s` comes to this point. False,
  /// and nothing done, when that is not possible.
  bool share(rank_id to, stream& s, lent_buffer& held, remote_data& as);
  /// Data of memory of `s.on()`, ready, for whoever asks for them (`serve`) or reads them (`release`): their reader is
  /// not known yet. `s` lives until `held` has been given back.
  remote_data offer(stream& s, lent_buffer held);
  /// The same for a whole buffer, on which nothing is under way: it is kept until it has been read. `on`: this PE's
  /// handle of its device.
  remote_data offer(device& on, buffer<std::byte> kept);
  /// Sends what was offered to a PE that asks.
  void serve(std::uint64_t id, rank_id to, pe_id to_pe);
  /// What was offered has been read.
  void release(std::uint64_t id) { offered_.erase(id); }
  ///@}

  /// \name The receiving side
  ///@{
  /// Brings data that came by `whole` or `chunks` to `to`, which has room for them. With a stream they are written in
  /// its order, and what is enqueued there after `done` sees them; memory of a device needs one. `done` is called on
  /// this PE, later; it may be called off with `data_fetch::abandon`, but the memory stays in use.
  data_fetch* fetch(const remote_data& what, const data_view& to, stream* in_order_of, std::function<void()> done);
  /// `s` waits for what is shared; gives where it is. Tell by `has_been_read` when it has been read.
  static const std::byte* open(const remote_data& what, stream& s);
  /// Copies what is shared in the order of `s`. Tell the same way.
  static void copy_shared(const remote_data& what, stream& s, void* to);
  /// What was shared has been read.
  void has_been_read(const remote_data& what);
  /// Nobody wants what came by `whole`, `chunks` or `shared`: its sender gets its memory back all the same.
  void drop(const remote_data& what);
  /// Whether a device of this PE is to read offered data where they are.
  bool reads_in_place(const remote_data& what) const;
  ///@}

  /// A stream of this PE for data that move in nobody's order.
  stream& aside(device& d);

  /// How many messages' data went each way, by `remote_data::path`; those inside messages (`none`) are not counted.
  const std::array<std::uint64_t, 4>& num_sent() const { return num_sent_; }

 private:
  friend class data_fetch;
  /// Of one movement of data, on each side.
  static constexpr std::uint64_t staged_bytes = 16 << 20;
  static std::uint64_t window(std::uint64_t chunk_bytes) {
    return std::max<std::uint64_t>(2, staged_bytes / chunk_bytes);
  }
  struct outgoing;
  struct answer;
  struct read_note;
  struct offered {
    lent_buffer held;
    stream* in_order_of;
    remote_data as;
    buffer<std::byte> kept;
    const std::byte* data() const { return held.holds() ? held.data() : kept.data(); }
  };

  static constexpr int counter_bits = 30;  // above it transport::between_hosts, then the PE
  static constexpr std::uint64_t packed_array_bytes = 16 << 10;
  static constexpr std::uint64_t answer_bit = std::uint64_t{1} << 43;

  struct staged_send;
  void send_pieces(rank_id to, pe_id to_pe, stream& s, const remote_data& d, lent_buffer held,
                   buffer<std::byte> kept = {});
  remote_data describe_offer(device& on, const std::byte* data, std::uint64_t bytes);
  remote_data describe(remote_data::path by, std::uint64_t id, std::uint64_t bytes);

  executor& pe_;
  transport& transport_;
  const pe_id id_;
  const std::uint64_t first_id_;
  std::uint64_t next_id_ = 0;
  const memory_sharing& sharing_;
  protocol_table protocols_;
  bool network_reaches_devices_ = true;
  std::unordered_map<std::uint64_t, lent_buffer> shared_;
  std::unordered_map<std::uint64_t, offered> offered_;
  std::array<std::uint64_t, 4> num_sent_{};
  std::vector<std::unique_ptr<stream>> aside_;  // one for each device
};

/// Data on their way to this PE.
class data_fetch {
 public:
  /// Nobody waits any more.
  void abandon() { done_ = nullptr; }

 private:
  friend class data_mover;
  /// One transport operation of it.
  struct piece : transfer {
    data_fetch* of = nullptr;
    std::uint64_t at = 0, size = 0;
    buffer<std::byte> staged;

    static void arrive(work* w, work_action action);
  };

  data_fetch(data_mover& mover, const remote_data& what, const data_view& to, stream* s, std::function<void()> done)
      : mover_(mover), what_(what), to_(to), stream_(s), done_(std::move(done)) {}
  void start(bool staged);
  void start_piece(std::size_t i);
  void arrived(piece& p);
  void give_up();
  void one_is_over();

  data_mover& mover_;
  const remote_data what_;
  const data_view to_;
  stream* const stream_;
  std::function<void()> done_;
  std::vector<piece> pieces_;
  bool staged_ = false;
  std::size_t next_ = 0;  ///< the first that has not been asked for
  std::size_t num_left_ = 0;
};

}  // namespace imbrex
