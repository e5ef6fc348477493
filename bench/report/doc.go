// Package report makes one page of HTML of what was measured: a header, and for
// each operation how it was measured, its drawings and its table. It knows nothing
// of operations and peers; what stands on the page stands in the values.
//
// The invariant: the page is one file and needs nothing else. It asks no network
// for anything, runs no script and takes the fonts that are there; it follows the
// reader's choice of light or dark, and is laid out for a telephone as for a wide
// screen, with drawings made for either. Whatever text goes in comes out as text.
package report
