#include "imbrex/device/kernel/text/text_kernels.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/device/kernel/text/kernel_unit.h"

namespace imbrex {

namespace {

/// Kernels live for ever, as those that are built with a program do: tasks, graphs and devices keep their addresses.
std::shared_ptr<detail::kernel_unit> unit_of(const std::string& text, const std::string& shown) {
  static std::mutex mutex;
  static auto& known = *new std::map<std::pair<std::string, std::string>, std::shared_ptr<detail::kernel_unit>>();
  const std::lock_guard alone(mutex);
  std::shared_ptr<detail::kernel_unit>& unit = known[{text, shown}];
  if (unit == nullptr) unit = std::make_shared<detail::kernel_unit>(text, shown);
  return unit;
}

const char* text_of(kernel_argument::kind k) {
  switch (k) {
    case kernel_argument::kind::read: return "a pointer to const";
    case kernel_argument::kind::read_write: return "a pointer";
    default: return "a value";
  }
}

}  // namespace

void detail::check_signature(const kernel_source& k, std::span<const kernel_argument> wanted) {
  if (k.arguments.size() != wanted.size()) {
    throw usage_error(
        fmt::format("kernel '{}' has {} parameters in its text, and {} in the type that it was asked for by", k.name,
                    k.arguments.size(), wanted.size()));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const kernel_argument &a = k.arguments[i], &b = wanted[i];
    if (a.what == b.what && (a.bytes == b.bytes || a.bytes == 0)) continue;
    throw usage_error(
        fmt::format("parameter {} of kernel '{}' is {} of {} bytes in its text, and {} of {} in the type that "
                    "it was asked for by",
                    i + 1, k.name, text_of(a.what), a.bytes, text_of(b.what), b.bytes));
  }
}

const void* detail::typed_kernel(const kernel_source& k, const void* (*copy)(const kernel_source&)) {
  static std::mutex mutex;
  static auto& known =
      *new std::map<std::pair<const kernel_source*, const void* (*)(const kernel_source&)>, const void*>();
  const std::lock_guard alone(mutex);
  const void*& typed = known[{&k, copy}];
  if (typed == nullptr) typed = copy(k);
  return typed;
}

text_kernels::text_kernels(const std::string& text, const std::string& shown) : unit_(unit_of(text, shown)) {}

const kernel_source& text_kernels::find(std::string_view name) const { return unit_->kernel(unit_->number_of(name)); }

const kernel_source& text_kernels::get(std::string_view name) const {
  const kernel_source& k = find(name);
  for (std::size_t i = 0; i < k.arguments.size(); ++i) {
    if (k.arguments[i].what == kernel_argument::kind::value && k.arguments[i].bytes == 0) {
      throw usage_error(
          fmt::format("parameter {} of kernel '{}' is a {}: ask for the kernel by its type, "
                      "get<void(...)>(\"{}\"), which says how large that is",
                      i + 1, k.name, types(name)[i], k.name));
    }
  }
  return k;
}

std::vector<std::string> text_kernels::names() const {
  std::vector<std::string> all;
  for (const detail::kernel_declaration& d : unit_->declared()) all.push_back(d.name);
  return all;
}

const std::vector<std::string>& text_kernels::parameters(std::string_view name) const {
  return unit_->declared()[unit_->number_of(name)].names;
}

const std::vector<std::string>& text_kernels::types(std::string_view name) const {
  return unit_->declared()[unit_->number_of(name)].types;
}

}  // namespace imbrex
