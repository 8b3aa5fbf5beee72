#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "imbrex/base/serialize.h"

namespace imbrex {

namespace detail {

/// What is done with objects of a registered class that a pointer to `Base` owns.
template <class Base>
struct derived_class {
  std::string name;
  std::type_index type;
  void (*size)(sizing_archive&, Base&);
  void (*write)(output_archive&, Base&);
  std::unique_ptr<Base> (*read)(input_archive&);
};

/// As a program has it.
std::string readable_name(const std::type_info& type);
[[noreturn]] void throw_unregistered(const std::type_info& type, const char* base);
[[noreturn]] void throw_unknown_name(const std::string& name, const char* base);
[[noreturn]] void throw_registered_twice(const std::string& name, const char* base);

/// The classes that are registered to travel as `Base`. Filled before main, or before the job; read-only then.
template <class Base>
class derived_classes {
 public:
  static derived_classes& all() {
    static derived_classes classes;
    return classes;
  }
  void add(derived_class<Base> c) {
    for (const derived_class<Base>& other : classes_) {
      if ((other.name == c.name) != (other.type == c.type)) throw_registered_twice(c.name, type_name<Base>());
      if (other.name == c.name) return;
    }
    classes_.push_back(std::move(c));
  }
  const derived_class<Base>* of(const std::type_info& type) const {
    for (const derived_class<Base>& c : classes_) {
      if (c.type == type) return &c;
    }
    return nullptr;
  }
  const derived_class<Base>& named(const std::string& name) const {
    for (const derived_class<Base>& c : classes_) {
      if (c.name == name) return c;
    }
    throw_unknown_name(name, type_name<Base>());
  }

 private:
  std::vector<derived_class<Base>> classes_;
};

template <class C, class Archive>
C owner_of_serialize(void (C::*)(Archive&));
/// Whether the serialize that `Derived` has is that of a base, which knows nothing of the members added.
template <class Derived>
constexpr bool inherits_serialize() {
  if constexpr (requires { owner_of_serialize(&Derived::template serialize<sizing_archive>); }) {
    using owner = decltype(owner_of_serialize(&Derived::template serialize<sizing_archive>));
    return !std::is_same_v<owner, Derived> && sizeof(owner) != sizeof(Derived);
  } else {
    return false;
  }
}

template <class T>
inline constexpr bool has_serialize = has_member_serialize<T, sizing_archive> || has_free_serialize<T, sizing_archive>;

/// An object whose class is exactly `Base`, which needs no name.
template <class Base>
inline constexpr bool travels_as_itself =
    !std::is_abstract_v<Base> && std::is_default_constructible_v<Base> && has_serialize<Base>;

/// What follows of an owned object; one byte of a message.
struct owned {
  static constexpr unsigned char nothing = 0;
  static constexpr unsigned char base = 1;
  static constexpr unsigned char registered = 2;
};

template <class Archive, class T>
void write_polymorphic(Archive& ar, T& holder) {
  using base = std::remove_const_t<typename T::element_type>;
  auto kind = owned::registered;
  if (holder == nullptr) {
    kind = owned::nothing;
    ar.bytes(&kind, 1);
    return;
  }
  base& object = const_cast<base&>(*holder);
  const derived_class<base>* const c = derived_classes<base>::all().of(typeid(object));
  if constexpr (travels_as_itself<base>) {
    if (c == nullptr && typeid(object) == typeid(base)) {
      kind = owned::base;
      ar.bytes(&kind, 1);
      return serialize_value(ar, object);
    }
  }
  if (c == nullptr) throw_unregistered(typeid(object), type_name<base>());
  ar.bytes(&kind, 1);
  ar & c->name;
  if constexpr (std::is_same_v<Archive, sizing_archive>) {
    c->size(ar, object);
  } else {
    c->write(ar, object);
  }
}

template <class T>
void read_polymorphic(input_archive& ar, T& holder) {
  using base = std::remove_const_t<typename T::element_type>;
  auto kind = owned::nothing;
  ar.bytes(&kind, 1);
  if (kind == owned::registered) {
    std::string name;
    ar & name;
    holder = derived_classes<base>::all().named(name).read(ar);
    return;
  }
  if (kind == owned::nothing) {
    holder = nullptr;
    return;
  }
  if constexpr (travels_as_itself<base>) {
    if (kind == owned::base) {
      auto made = std::make_unique<base>();
      serialize_value(ar, *made);
      holder = std::move(made);
      return;
    }
  }
  throw_wrong_value("the kind of owned object", static_cast<std::uint64_t>(kind), 3);
}

template <class Archive, class T>
void serialize_polymorphic(Archive& ar, T& holder) {
  if constexpr (Archive::is_loading) {
    read_polymorphic(ar, holder);
  } else {
    write_polymorphic(ar, holder);
  }
}

}  // namespace detail

/// Lets objects of class `Derived` travel whole where a `std::unique_ptr<Base>` or `std::shared_ptr<Base>` owns them:
/// they are written by the serialize of `Derived`, which names its base's members too, and read into a
/// `std::unique_ptr` of a new `Derived`. `name` stands for the class in messages: the same on all ranks, another for
/// each class. Call it before the job, at best where it cannot be forgotten:
///
///     const bool circles_travel = imbrex::register_derived<shape, circle>("circle");   // at namespace scope
///
/// Sending an object of a class that is not registered throws `usage_error`. True, always. Throws `usage_error` for a
/// name or class that was registered differently.
template <class Base, class Derived>
bool register_derived(const std::string& name) {
  static_assert(std::is_base_of_v<Base, Derived> && std::is_polymorphic_v<Base>,
                "imbrex: register_derived<Base, Derived> is for a class and a base that has virtual functions");
  static_assert(std::has_virtual_destructor_v<Base>, "imbrex: a base of classes that travel has a virtual destructor");
  static_assert(!std::is_abstract_v<Derived> && std::is_default_constructible_v<Derived>,
                "imbrex: a registered class has a default constructor: an object is made, then read");
  static_assert(detail::has_serialize<Derived>,
                "imbrex: a registered class has `template <class Archive> void serialize(Archive& ar)`");
  static_assert(
      !detail::inherits_serialize<Derived>(),
      "imbrex: this class only has the serialize of its base, which leaves its own members behind: give it one "
      "that calls the base's and adds them");
  detail::derived_classes<Base>::all().add(
      {name, typeid(Derived),
       [](sizing_archive& ar, Base& object) { detail::serialize_value(ar, static_cast<Derived&>(object)); },
       [](output_archive& ar, Base& object) { detail::serialize_value(ar, static_cast<Derived&>(object)); },
       [](input_archive& ar) -> std::unique_ptr<Base> {
         auto made = std::make_unique<Derived>();
         detail::serialize_value(ar, *made);
         return made;
       }});
  return true;
}

}  // namespace imbrex
