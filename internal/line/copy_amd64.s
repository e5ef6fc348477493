//go:build amd64 && !noasm && !race

#include "textflag.h"

// The vector loops do 1 KiB a turn: EIGHT32 moves 256 bytes by 32-byte registers,
// EIGHT64 512 by 64-byte ones, by plain stores or past the caches.

#define EIGHT32(STORE, at) \
	VMOVDQU (at+0)(SI), Y0; \
	VMOVDQU (at+32)(SI), Y1; \
	VMOVDQU (at+64)(SI), Y2; \
	VMOVDQU (at+96)(SI), Y3; \
	VMOVDQU (at+128)(SI), Y4; \
	VMOVDQU (at+160)(SI), Y5; \
	VMOVDQU (at+192)(SI), Y6; \
	VMOVDQU (at+224)(SI), Y7; \
	STORE Y0, (at+0)(DI); \
	STORE Y1, (at+32)(DI); \
	STORE Y2, (at+64)(DI); \
	STORE Y3, (at+96)(DI); \
	STORE Y4, (at+128)(DI); \
	STORE Y5, (at+160)(DI); \
	STORE Y6, (at+192)(DI); \
	STORE Y7, (at+224)(DI)

#define EIGHT64(STORE, at) \
	VMOVDQU64 (at+0)(SI), Z0; \
	VMOVDQU64 (at+64)(SI), Z1; \
	VMOVDQU64 (at+128)(SI), Z2; \
	VMOVDQU64 (at+192)(SI), Z3; \
	VMOVDQU64 (at+256)(SI), Z4; \
	VMOVDQU64 (at+320)(SI), Z5; \
	VMOVDQU64 (at+384)(SI), Z6; \
	VMOVDQU64 (at+448)(SI), Z7; \
	STORE Z0, (at+0)(DI); \
	STORE Z1, (at+64)(DI); \
	STORE Z2, (at+128)(DI); \
	STORE Z3, (at+192)(DI); \
	STORE Z4, (at+256)(DI); \
	STORE Z5, (at+320)(DI); \
	STORE Z6, (at+384)(DI); \
	STORE Z7, (at+448)(DI)

#define TURN32(STORE) \
	EIGHT32(STORE, 0); \
	EIGHT32(STORE, 256); \
	EIGHT32(STORE, 512); \
	EIGHT32(STORE, 768)

#define TURN64(STORE) \
	EIGHT64(STORE, 0); \
	EIGHT64(STORE, 512)

// func copyAVX2(dst, src *byte, n, times int)
TEXT ·copyAVX2(SB), NOSPLIT, $0-32
	MOVQ times+24(FP), DX
again:
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
loop:
	TURN32(VMOVDQU)
	ADDQ $1024, SI
	ADDQ $1024, DI
	SUBQ $1024, CX
	JNZ loop
	SUBQ $1, DX
	JNZ again
	VZEROUPPER
	RET

// func streamAVX2(dst, src *byte, n int)
TEXT ·streamAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
loop:
	TURN32(VMOVNTDQ)
	ADDQ $1024, SI
	ADDQ $1024, DI
	SUBQ $1024, CX
	JNZ loop
	SFENCE
	VZEROUPPER
	RET

// func copyAVX512(dst, src *byte, n, times int)
TEXT ·copyAVX512(SB), NOSPLIT, $0-32
	MOVQ times+24(FP), DX
again:
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
loop:
	TURN64(VMOVDQU64)
	ADDQ $1024, SI
	ADDQ $1024, DI
	SUBQ $1024, CX
	JNZ loop
	SUBQ $1, DX
	JNZ again
	VZEROUPPER
	RET

// func streamAVX512(dst, src *byte, n int)
TEXT ·streamAVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
loop:
	TURN64(VMOVNTDQ)
	ADDQ $1024, SI
	ADDQ $1024, DI
	SUBQ $1024, CX
	JNZ loop
	SFENCE
	VZEROUPPER
	RET

// func copyRep(dst, src *byte, n int)
TEXT ·copyRep(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	CLD
	REP; MOVSB
	RET

// func readAVX2(src *byte, n int) uint64
TEXT ·readAVX2(SB), NOSPLIT, $0-24
	MOVQ src+0(FP), SI
	MOVQ n+8(FP), CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
loop:
	VPXOR (SI), Y0, Y0
	VPXOR 32(SI), Y1, Y1
	VPXOR 64(SI), Y2, Y2
	VPXOR 96(SI), Y3, Y3
	VPXOR 128(SI), Y0, Y0
	VPXOR 160(SI), Y1, Y1
	VPXOR 192(SI), Y2, Y2
	VPXOR 224(SI), Y3, Y3
	ADDQ $256, SI
	SUBQ $256, CX
	JNZ loop
	VPXOR Y1, Y0, Y0
	VPXOR Y3, Y2, Y2
	VPXOR Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPXOR X1, X0, X0
	VPEXTRQ $0, X0, AX
	VPEXTRQ $1, X0, BX
	XORQ BX, AX
	VZEROUPPER
	MOVQ AX, ret+16(FP)
	RET

// func fillAVX2(dst *byte, n int, word uint64)
TEXT ·fillAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ n+8(FP), CX
	VPBROADCASTQ word+16(FP), Y0
loop:
	VMOVDQU Y0, (DI)
	VMOVDQU Y0, 32(DI)
	VMOVDQU Y0, 64(DI)
	VMOVDQU Y0, 96(DI)
	VMOVDQU Y0, 128(DI)
	VMOVDQU Y0, 160(DI)
	VMOVDQU Y0, 192(DI)
	VMOVDQU Y0, 224(DI)
	ADDQ $256, DI
	SUBQ $256, CX
	JNZ loop
	VZEROUPPER
	RET
