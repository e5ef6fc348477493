#include "textflag.h"

// func LoadFence()
TEXT ·LoadFence(SB), NOSPLIT, $0-0
	DMB $0x9 // ISHLD
	RET
