//go:build amd64 && !noasm && !race

#include "textflag.h"

// func Pause()
TEXT ·Pause(SB), NOSPLIT, $0-0
	PAUSE
	RET

// func StoreRelease64(p *uint64, v uint64)
TEXT ·StoreRelease64(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ v+8(FP), BX
	MOVQ BX, (AX)
	RET

// func StoreRelease32(p *uint32, v uint32)
TEXT ·StoreRelease32(SB), NOSPLIT, $0-12
	MOVQ p+0(FP), AX
	MOVL v+8(FP), BX
	MOVL BX, (AX)
	RET

// func PublishRecord(dst, src *[8]uint64)
// Word 0 first, word 7 last: x86 keeps the order of stores.
TEXT ·PublishRecord(SB), NOSPLIT, $0-16
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ 0(SI), AX
	MOVQ 8(SI), BX
	MOVQ 16(SI), CX
	MOVQ 24(SI), DX
	MOVQ AX, 0(DI)
	MOVQ BX, 8(DI)
	MOVQ CX, 16(DI)
	MOVQ DX, 24(DI)
	MOVQ 32(SI), AX
	MOVQ 40(SI), BX
	MOVQ 48(SI), CX
	MOVQ 56(SI), DX
	MOVQ AX, 32(DI)
	MOVQ BX, 40(DI)
	MOVQ CX, 48(DI)
	MOVQ DX, 56(DI)
	RET
