//go:build amd64 && !noasm && !race

#include "textflag.h"

// func Pause()
TEXT ·Pause(SB), NOSPLIT, $0-0
	PAUSE
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

// LINES is a leaf that does something to each cache line of so many bytes from p on.
#define LINES(NAME, SOMETHING) \
TEXT NAME(SB), NOSPLIT, $0-16; \
	MOVQ p+0(FP), AX; \
	MOVQ bytes+8(FP), CX; \
loop: \
	SOMETHING; \
	ADDQ $64, AX; \
	SUBQ $64, CX; \
	JG   loop; \
	RET

#define PREFETCHW BYTE $0x0f; BYTE $0x0d; BYTE $0x08 // of (AX)

// func TakeLines(p *uint64, bytes int)
LINES(·TakeLines, PREFETCHW)

// func FetchLines(p *uint64, bytes int)
LINES(·FetchLines, PREFETCHT0 (AX))
