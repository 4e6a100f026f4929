/* Jumps of libespalier_accel.so: each function of functions.def goes where its slot points, with the
 * arguments as they came, so that one library stands before MPIs of every ABI. Until the first call
 * all slots point to `resolve`, which has them filled.
 */
        .data
        .balign 8
        .globl  esp_accel_slots
        .hidden esp_accel_slots
esp_accel_slots:
#define FUNCTION(name) .quad resolve
#define FUNCTION4(name) .quad resolve
#define FORTRAN(name) .quad resolve
#include "functions.def"
#undef FUNCTION
#undef FUNCTION4
#undef FORTRAN

        .text
        .set index, 0

#if defined(__x86_64__)
        .macro  jump name
        .globl  \name
        .type   \name, @function
\name:
        endbr64
        movl    $index, %r11d
        leaq    esp_accel_slots(%rip), %r10
        jmp     *(%r10, %r11, 8)
        .size   \name, . - \name
        .set    index, index + 1
        .endm

/* r11: the index. Seven words and the return address: the stack is aligned for the call. */
resolve:
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        pushq   %r11
        call    esp_accel_resolve
        popq    %r11
        popq    %r9
        popq    %r8
        popq    %rcx
        popq    %rdx
        popq    %rsi
        popq    %rdi
        leaq    esp_accel_slots(%rip), %r10
        jmp     *(%r10, %r11, 8)

#elif defined(__aarch64__)
        .macro  jump name
        .globl  \name
        .type   \name, %function
\name:
        hint    #34
        mov     x17, #index
        adrp    x16, esp_accel_slots
        add     x16, x16, :lo12:esp_accel_slots
        ldr     x16, [x16, x17, lsl #3]
        br      x16
        .size   \name, . - \name
        .set    index, index + 1
        .endm

/* x17: the index. */
resolve:
        stp     x29, x30, [sp, #-96]!
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        stp     x8, x17, [sp, #80]
        bl      esp_accel_resolve
        ldp     x8, x17, [sp, #80]
        ldp     x6, x7, [sp, #64]
        ldp     x4, x5, [sp, #48]
        ldp     x2, x3, [sp, #32]
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #96
        adrp    x16, esp_accel_slots
        add     x16, x16, :lo12:esp_accel_slots
        ldr     x16, [x16, x17, lsl #3]
        br      x16
#else
#error "jumps are written for x86-64 and AArch64"
#endif

#define FUNCTION(name) jump name;
#define FUNCTION4(name) jump name;
#define FORTRAN(name) jump name;
#include "functions.def"

        .section .note.GNU-stack, "", %progbits
