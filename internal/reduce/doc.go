// Package reduce combines the parts that ranks contribute into one result,
// element by element: sum, product, minimum, maximum and the bitwise operations on
// integers and floats. It knows memory and no ranks.
//
// The invariant: the bits of the result depend on the parts and their order alone.
// Every element is ((p0 op p1) op p2) …, rounded after each step, whatever the
// length and the alignment, in place or not, and the leaves in assembly (AVX2)
// agree with their twin in Go bit by bit. They work on many elements at once, but
// never on two parts of one element in another order. So ranks that reduce the
// same parts have the same result, without asking each other.
//
// Integers wrap. Floats follow IEEE 754 in its default mode: rounding to nearest
// even, denormal numbers as they are. Min and Max are those of Go: -0 is smaller
// than +0, and a NaN among the parts makes the result a NaN. Which one is settled
// for all four operations on floats: that of the lowest part that has one, with
// its sign and payload, made quiet. Only a NaN that no part had (∞ - ∞, 0 · ∞) is
// the processor's own; its sign differs between amd64 and arm64.
//
// All parts are read and the result written once, in one pass, as MPI's reductions
// on shared memory and NCCL's reduceCopy kernels do.
package reduce
