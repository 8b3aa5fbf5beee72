#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "arguments.h"
#include "chare_parts.h"
#include "home.h"
#include "names.h"
#include "value.h"
#include "wait.h"

namespace imbrex_python {

/// Extents and indices: None, a number, or two or three in a tuple.
inline nb::object to_python(const ix::no_index&) { return nb::none(); }
inline nb::object to_python(const ix::index1d& i) { return nb::int_(i.x); }
inline nb::object to_python(const ix::index2d& i) { return nb::make_tuple(i.x, i.y); }
inline nb::object to_python(const ix::index3d& i) { return nb::make_tuple(i.x, i.y, i.z); }

/// \name Proxies, as Python has them
///@{
template <class Index>
class python_chare;
template <class Index>
using element_of = of_this_job<ix::element_proxy<python_chare<Index>>>;
template <class Index>
using array_of = of_this_job<ix::array_proxy<python_chare<Index>>>;
template <class Index>
using section_of = of_this_job<ix::section_proxy<python_chare<Index>>>;
inline constexpr const char* a_proxy = "this proxy";
///@}

/// What elements contribute, and how two are combined: the name of an operation, or a function. In the value, since
/// what combines on other ranks has only that.
struct contribution {
  value what;
  value op;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & what & op;
  }
};
struct combine_in_python {
  void operator()(contribution& into, contribution&& from) const;
};

/// A copy, where it can be changed, for one of those who share it.
value own_of(const value& shared);

/// What the object of Python asks of the chare that holds it, on its PE.
class chare_interface {
 public:
  virtual ~chare_interface() = default;
  virtual nb::object my_index() const = 0;
  virtual nb::object my_extent() const = 0;
  virtual nb::object my_proxy() const = 0;
  virtual nb::object my_array() const = 0;
  virtual ix::pe_id my_pe() const = 0;
  virtual ix::rank_id my_rank() const = 0;
  virtual int count_pes() const = 0;
  /// Over its array, or over a section of it.
  virtual void add(contribution c, const nb::object& section) = 0;
  virtual wait_pointer reduce_all(contribution c, const nb::object& section) = 0;
  virtual wait_pointer meet() = 0;
  virtual wait_pointer come_to_point() = 0;
  virtual void move_to(ix::pe_id to) = 0;
  virtual void end() = 0;
  virtual nb::object open_channel(const nb::object& peer, const nb::object& port, const nb::object& peer_port,
                                  const std::string& memory) = 0;
  virtual runtime_handle my_runtime() const = 0;
  /// The number of its GPU of CUDA among those of the process; -1: it has none.
  virtual int my_gpu() const = 0;
};

/// What is done with the object, whatever its index.
class held_object {
 public:
  held_object() = default;
  held_object(held_object&&) = delete;
  /// Whoever still has the object finds no chare behind it.
  ~held_object();
  /// `made`: of class, arguments, named arguments.
  void make(const made_with& made, chare_interface* of);
  /// With the parts that came along.
  void read(const value& state, chare_parts& with, chare_interface* of);
  /// `with`: where its Objects and channels are put.
  value state(chare_parts& with) const;
  /// About as many bytes as its state and those parts have: as they had when it was last asked for.
  std::size_t size_of_state() const;
  /// Of its class.
  const char* name() const { return name_; }
  /// Begins a method: a coroutine to be driven, or what it has returned.
  struct begun {
    owned coroutine;
    value result;
    const char* where = nullptr;
  };
  begun begin(const char* method, const value& arguments) const;

 private:
  /// What the function `by` of imbrex._chare makes.
  void hold(const char* by, const value& from, chare_interface* of, const std::string& where);

  owned object_;
  const char* name_ = nullptr;
  mutable std::size_t known_size_ = 0;
};

/// The chare behind an object of Python, whose class derives from imbrex.Chare.
template <class Index>
class python_chare : public ix::chare<python_chare<Index>, Index>, public chare_interface {
  using base = ix::chare<python_chare<Index>, Index>;
  static constexpr bool in_array = !std::is_same_v<Index, ix::no_index>;

 public:
  python_chare() = default;
  explicit python_chare(const made_with& made) { held_.make(made, this); }

  /// \name What reports and traces say: the names of Python (object/entry/shown_name.h)
  ///@{
  static const char* chare_name() { return "a chare of Python"; }
  static const char* chare_name(const made_with& made) { return made.cls.get(); }
  const char* own_name() const override { return held_.name(); }
  static const char* entry_name(const char* chare, const name_of_python& method, const value&) {
    return chare == chare_name() ? method.get() : method_of_class(chare, method.get());
  }
  ///@}

  /// An entry method of the class; what it returns is dropped.
  ix::task<> receive(name_of_python method, value arguments) {
    auto run = answer(method, std::move(arguments));
    co_await std::move(run);
  }
  ix::task<value> answer(name_of_python method, value arguments) {
    held_object::begun b = held_.begin(method.get(), arguments);
    if (!b.coroutine) co_return b.result;
    auto run = drive(std::move(b.coroutine), b.where);
    value v = co_await std::move(run);
    co_return v;
  }

  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (Archive::is_loading) {
      ar& ix::transient(*this);  // what the object of Python has is pickled
      chare_parts parts;
      value state;
      ar & state;
      parts.serialize(ar, [this]() -> ix::stream& { return base::streams().pack; });
      channels_ = parts.channels();
      held_.read(state, parts, this);
    } else if constexpr (Archive::only_counts) {
      ar.bytes(nullptr, held_.size_of_state());
    } else {
      chare_parts parts(ar.is_of_checkpoint());
      value state = held_.state(parts);
      ar & state;
      parts.serialize(ar, nullptr);
    }
  }

  nb::object my_index() const override { return to_python(base::index()); }
  nb::object my_extent() const override {
    if constexpr (in_array) {
      return to_python(base::extent());
    } else {
      return nb::none();
    }
  }
  nb::object my_proxy() const override { return nb::cast(element_of<Index>(base::proxy())); }
  nb::object my_array() const override {
    if constexpr (in_array) {
      return nb::cast(array_of<Index>(base::array()));
    } else {
      return nb::none();
    }
  }
  ix::pe_id my_pe() const override { return base::pe(); }
  ix::rank_id my_rank() const override { return base::rank(); }
  int count_pes() const override { return base::num_pes(); }
  void add(contribution c, const nb::object& section) override {
    if constexpr (in_array) {
      if (section.is_none()) {
        base::contribute(std::move(c), combine_in_python{});
      } else {
        base::contribute(section_of_mine(section), std::move(c), combine_in_python{});
      }
    } else {
      throw_alone();
    }
  }
  wait_pointer reduce_all(contribution c, const nb::object& section) override {
    if constexpr (in_array) {
      if (section.is_none()) return std::make_shared<wait>([this, c] { return reduced(this, c); }, an_allreduce);
      return std::make_shared<wait>([this, c, s = section_of_mine(section)] { return reduced_over(this, s, c); },
                                    an_allreduce);
    } else {
      throw_alone();
    }
  }
  wait_pointer meet() override {
    if constexpr (in_array) {
      return std::make_shared<wait>([this] { return all_here(this); }, "self.barrier()");
    } else {
      throw_alone();
    }
  }
  wait_pointer come_to_point() override {
    if constexpr (in_array) {
      return std::make_shared<wait>([this] { return at_point(this); }, "self.checkpoint_point()");
    } else {
      throw ix::usage_error(
          "self.checkpoint_point() is for the elements of an array; the main chare has rt.checkpoint_point()");
    }
  }
  void move_to(ix::pe_id to) override { base::migrate_to(to); }
  void end() override { base::destroy(); }
  nb::object open_channel(const nb::object& peer, const nb::object& port, const nb::object& peer_port,
                          const std::string& memory) override;
  runtime_handle my_runtime() const override { return runtime_handle(base::rt()); }
  int my_gpu() const override {
    const ix::device& d = base::on_device();
    return d.kind() == ix::device_kind::cuda ? d.number() : -1;
  }

 private:
  static constexpr const char* an_allreduce = "self.allreduce(...), which contributes nothing until then,";
  [[noreturn]] static void throw_alone() {
    throw ix::usage_error("a chare that is in no array has nobody to reduce with");
  }
  static ix::task<value> reduced(python_chare* self, contribution c) {
    auto all = self->base::allreduce(std::move(c), combine_in_python{});
    const contribution result = co_await std::move(all);
    co_return own_of(result.what);
  }
  using own_section = ix::section_proxy<python_chare>;
  static own_section section_of_mine(const nb::object& o) {
    section_of<Index> s;
    if (!nb::try_cast(o, s))
      throw ix::usage_error("this is no section of the chare's array: array.section([...]) makes one");
    return s.here("this section");
  }
  static ix::task<value> reduced_over(python_chare* self, own_section s, contribution c) {
    auto all = self->base::allreduce(s, std::move(c), combine_in_python{});
    const contribution result = co_await std::move(all);
    co_return own_of(result.what);
  }
  static ix::task<value> all_here(python_chare* self) {
    auto all = self->base::barrier();
    co_await std::move(all);
    co_return value();
  }

  static ix::task<value> at_point(python_chare* self) {
    auto point = ix::checkpoint_point(*self);
    const bool made = co_await point;
    const with_python here;
    co_return value(nb::bool_(made));
  }

  held_object held_;
  /// It owns them, since objects of Python may go anywhere and at any time.
  std::vector<std::shared_ptr<channel_state>> channels_;
};

}  // namespace imbrex_python
