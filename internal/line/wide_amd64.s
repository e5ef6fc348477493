//go:build amd64 && !noasm && !race

#include "textflag.h"

// func copyWide(dst, src *byte, n int)
// The 64 bytes that dst begins with, then whole lines of dst, four at a time and one by
// one, and at last the 64 bytes it ends with: some of them twice.
TEXT ·copyWide(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VMOVDQU64 (SI), Z0
	VMOVDQU64 -64(SI)(CX*1), Z1
	LEAQ -64(DI)(CX*1), R8
	VMOVDQU64 Z0, (DI)
	MOVQ DI, AX // to where a line begins
	NEGQ AX
	ANDQ $63, AX
	ADDQ AX, DI
	ADDQ AX, SI
	SUBQ AX, CX
	SUBQ $256, CX
	JLE rest
four:
	VMOVDQU64 (SI), Z2
	VMOVDQU64 64(SI), Z3
	VMOVDQU64 128(SI), Z4
	VMOVDQU64 192(SI), Z5
	VMOVDQU64 Z2, (DI)
	VMOVDQU64 Z3, 64(DI)
	VMOVDQU64 Z4, 128(DI)
	VMOVDQU64 Z5, 192(DI)
	ADDQ $256, SI
	ADDQ $256, DI
	SUBQ $256, CX
	JG four
rest:
	ADDQ $192, CX // what is left but the last 64 bytes
	JLE last
one:
	VMOVDQU64 (SI), Z2
	VMOVDQU64 Z2, (DI)
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $64, CX
	JG one
last:
	VMOVDQU64 Z1, (R8)
	VZEROUPPER
	RET
