package bench

// maxSize bounds what may be asked for, far above any memory, so that sums and
// products of sizes do not overflow.
const maxSize = 1 << 40

// sizes lists the sizes from low to high, each factor times the one before; high
// itself is measured even where no power of factor meets it. low is at least 1,
// factor at least 2.
func sizes(low, high, factor int64) []int64 {
	list := []int64{low}
	for n := low; n < high; {
		if n > high/factor {
			n = high
		} else {
			n *= factor
		}
		list = append(list, n)
	}
	return list
}
