#include "routines/trampolines.h"

#include "routines/dispatch.h"

// Finds the MPI, with all argument registers kept. MPI routines take no floating-point arguments.
#if defined(__x86_64__)
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
)");
#define IX_JUMP(label)    \
  "  jmp *.Lslot_" #label \
  "(%rip)\n"              \
  ".Lfirst_" #label       \
  ":\n"                   \
  "  leaq .Lslot_" #label \
  "(%rip), %r11\n"        \
  "  jmp imbrex_sessions_first_call\n"
#elif defined(__aarch64__)
asm(R"(
  .text
  .type imbrex_sessions_first_call, @function
imbrex_sessions_first_call:
  stp x29, x30, [sp, #-96]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  stp x8, x16, [sp, #80]
  mov x0, x16
  bl imbrex_sessions_bind
  ldp x8, x16, [sp, #80]
  ldp x6, x7, [sp, #64]
  ldp x4, x5, [sp, #48]
  ldp x2, x3, [sp, #32]
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #96
  ldr x17, [x16]
  br x17
  .size imbrex_sessions_first_call, . - imbrex_sessions_first_call
)");
#define IX_JUMP(label)                    \
  "  adrp x16, .Lslot_" #label            \
  "\n"                                    \
  "  ldr x17, [x16, :lo12:.Lslot_" #label \
  "]\n"                                   \
  "  br x17\n"                            \
  ".Lfirst_" #label                       \
  ":\n"                                   \
  "  adrp x16, .Lslot_" #label            \
  "\n"                                    \
  "  add x16, x16, :lo12:.Lslot_" #label  \
  "\n"                                    \
  "  b imbrex_sessions_first_call\n"
#else
#error "the library's trampolines are written for x86-64 and ARM64"
#endif

asm(R"(
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
  ".Lslot_M" #name ": .quad .Lfirst_M" #name               \
  "\n"                                                     \
  ".Lslot_P" #name ": .quad .Lfirst_P" #name               \
  "\n"                                                     \
  "  .popsection\n" IX_ENTRY(MPI_##name, M##name) IX_ENTRY(PMPI_##name, P##name)
#define IX_ENTRY(symbol, label) IX_ENTRY_QUOTED(symbol, label)
#define IX_ENTRY_QUOTED(symbol, label) \
  "  .p2align 4\n"                     \
  "  .globl " #symbol                  \
  "\n"                                 \
  "  .type " #symbol ", @function\n" #symbol ":\n" IX_JUMP(label) "  .size " #symbol ", . - " #symbol "\n"
#define IX_ANY_ROUTINE(name) IX_TRAMPOLINE(name)
asm(
#include "routines/all_routines.def"
);
#undef IX_ANY_ROUTINE

#define IX_FORMER(name) IX_SAME(MPIX_##name, MPI_##name) IX_SAME(PMPIX_##name, PMPI_##name)
#define IX_SAME(former, symbol) \
  "  .globl " #former "\n  .type " #former ", @function\n  .set " #former ", " #symbol "\n"
asm(
#include "routines/former_names.def"
);
#undef IX_SAME
#undef IX_FORMER

extern "C" __attribute__((visibility("hidden"))) void imbrex_sessions_bind(void** slot) {
  imbrex::sessions::bind_mpi(static_cast<imbrex::sessions::routine_id>((slot - &imbrex_sessions_slots[0].by_name) / 2));
}
