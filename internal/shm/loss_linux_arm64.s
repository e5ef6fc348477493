#include "textflag.h"

// func faultHandler() uintptr
TEXT ·faultHandler(SB), NOSPLIT, $0-8
	MOVD $·onFault(SB), R0
	MOVD R0, ret+0(FP)
	RET

// onFault is called by the kernel as a C function: R0 the signal, R1 its siginfo,
// R2 the context. It may change any register: the kernel restores all of them.
// RET goes to the restorer, and from there to the access that faulted.
TEXT ·onFault(SB), NOSPLIT|NOFRAME, $0-0
	MOVW 8(R1), R3
	CMPW $2, R3 // BUS_ADRERR: no such byte in the file
	BNE  next
	MOVD 16(R1), R4 // the address
	MOVD $·guarded(SB), R5
	MOVD $1024, R6 // maxMappings

look:
	LDAR (R5), R10 // turn
	TBZ  $0, R10, other
	MOVD 8(R5), R8 // low
	MOVD 16(R5), R7 // end
	DMB  $9 // ISHLD: both before turn again
	MOVD (R5), R11
	CMP  R10, R11
	BNE  other
	CMP  R8, R4
	BLO  other
	CMP  R7, R4
	BLO  found

other:
	ADD $40, R5
	SUB $1, R6
	CBNZ R6, look

next:
	MOVD ·nextInRow(SB), R9
	JMP  (R9)

found:
	MOVD R0, R12
	MOVD R1, R13
	MOVD R2, R14
	MOVD R5, R15
	MOVD ·pageMask(SB), R9
	AND  R9, R4, R0
	SUB  R0, R7, R1
	MOVD $3, R2      // PROT_READ|PROT_WRITE
	MOVD $0x4032, R3 // MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS|MAP_NORESERVE
	MOVD $-1, R4
	MOVD $0, R5
	MOVD $222, R8    // mmap
	SVC
	CMN  $4095, R0
	BHS  fail
	MOVD 24(R15), R9 // lost
	MOVD 32(R15), R10 // bit

again:
	LDAXRW (R9), R11
	ORRW   R10, R11, R11
	STLXRW R11, (R9), R16
	CBNZW  R16, again
	RET

fail:
	MOVD R12, R0
	MOVD R13, R1
	MOVD R14, R2
	B    next
