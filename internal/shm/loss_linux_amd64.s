#include "textflag.h"

// func faultHandler() uintptr
TEXT ·faultHandler(SB), NOSPLIT, $0-8
	LEAQ ·onFault(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// onFault is called by the kernel as a C function: DI the signal, SI its siginfo,
// DX the context. It may change any register: the kernel restores all of them.
// RET goes to the restorer, and from there to the access that faulted.
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0-0
	CMPL 8(SI), $2 // BUS_ADRERR: no such byte in the file
	JNE  next
	MOVQ 16(SI), R8 // the address
	LEAQ ·guarded(SB), R9
	MOVL $1024, CX // maxMappings

look:
	MOVQ  0(R9), R10 // turn
	TESTQ $1, R10
	JEQ   other
	CMPQ  R8, 8(R9) // low
	JB    other
	MOVQ  16(R9), R11 // end
	CMPQ  R8, R11
	JAE   other
	CMPQ  R10, 0(R9) // loads stay in order
	JEQ   found

other:
	ADDQ $40, R9
	DECL CX
	JNZ  look

next:
	MOVQ ·nextInRow(SB), AX
	JMP  AX

found:
	MOVQ DI, R12
	MOVQ SI, R13
	MOVQ DX, R14
	MOVQ R9, R15
	MOVQ R8, DI
	ANDQ ·pageMask(SB), DI
	MOVQ R11, SI
	SUBQ DI, SI
	MOVL $3, DX      // PROT_READ|PROT_WRITE
	MOVL $0x4032, R10 // MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS|MAP_NORESERVE
	MOVQ $-1, R8
	XORL R9, R9
	MOVL $9, AX      // mmap
	SYSCALL
	CMPQ AX, $-4095
	JAE  fail
	MOVQ 24(R15), AX // lost
	MOVQ 32(R15), CX // bit
	LOCK
	ORL  CX, (AX)
	RET

fail:
	MOVQ R12, DI
	MOVQ R13, SI
	MOVQ R14, DX
	JMP  next
