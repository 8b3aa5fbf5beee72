#pragma once

namespace imbrex {

/// Operations on elements that devices have kernels for (combine.hk knows them by number). An operation for reductions
/// that is one of these says so: `static constexpr element_operation on_elements`.
enum class element_operation { sum, product, min, max, bit_and, bit_or, bit_xor, none };

}  // namespace imbrex
