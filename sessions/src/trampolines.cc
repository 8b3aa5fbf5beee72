#include "trampolines.h"

#include "dispatch.h"

#if !defined(__x86_64__)
#error "the library's trampolines are written for x86-64"
#endif

// Finds the MPI, with all argument registers kept. MPI routines take no floating-point arguments.
asm(R"(
  .text
  .type imbrex_sessions_first_call, @function
imbrex_sessions_first_call:
  pushq %rbp
  movq %rsp, %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  pushq %r11
  movq %r11, %rdi
  call imbrex_sessions_bind@PLT
  popq %r11
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  jmp *(%r11)
  .size imbrex_sessions_first_call, . - imbrex_sessions_first_call
  .pushsection .data.imbrex_slots, "aw", @progbits
  .balign 64
  .globl imbrex_sessions_slots
  .hidden imbrex_sessions_slots
  .type imbrex_sessions_slots, @object
imbrex_sessions_slots:
  .popsection
)");

#pragma GCC diagnostic ignored "-Woverlength-strings"  // one piece of assembly, so that slots keep their order
#define IX_TRAMPOLINE(name) IX_TRAMPOLINE_QUOTED(name)
#define IX_TRAMPOLINE_QUOTED(name)                         \
  "  .pushsection .data.imbrex_slots, \"aw\", @progbits\n" \
  ".Lslot_" #name ": .quad .Lfirst_" #name                 \
  "\n"                                                     \
  "  .popsection\n"                                        \
  "  .p2align 4\n"                                         \
  "  .globl MPI_" #name                                    \
  "\n"                                                     \
  "  .globl PMPI_" #name                                   \
  "\n"                                                     \
  "  .type MPI_" #name                                     \
  ", @function\n"                                          \
  "  .type PMPI_" #name                                    \
  ", @function\n"                                          \
  "MPI_" #name                                             \
  ":\n"                                                    \
  "PMPI_" #name                                            \
  ":\n"                                                    \
  "  jmp *.Lslot_" #name                                   \
  "(%rip)\n"                                               \
  ".Lfirst_" #name                                         \
  ":\n"                                                    \
  "  leaq .Lslot_" #name                                   \
  "(%rip), %r11\n"                                         \
  "  jmp imbrex_sessions_first_call\n"                     \
  "  .size MPI_" #name ", . - MPI_" #name "\n"
#define IX_ANY_ROUTINE(name) IX_TRAMPOLINE(name)
asm(
#include "all_routines.def"
);
#undef IX_ANY_ROUTINE

extern "C" __attribute__((visibility("hidden"))) void imbrex_sessions_bind(void** slot) {
  imbrex::sessions::bind_mpi(static_cast<imbrex::sessions::routine_id>(slot - imbrex_sessions_slots));
}
