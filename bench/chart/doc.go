// Package chart draws what was measured: lines over sizes or ranks on logarithmic
// axes ([Sheet]), and a matrix of times as a heat map ([Heat]), as SVG and as PNG
// of twice the density. It knows nothing of operations and peers; what is drawn
// stands in the values.
//
// The invariant: a drawing is read without zooming, without colours and without
// the fonts of a machine. It is laid out for the width it is drawn at, not scaled
// to it; every line has a marker or a dash of its own beside its colour; the
// legend stands beside the lines and not over them; letters of a PNG come with
// the program, and those of an SVG have the widths of the fonts that browsers
// have. It is made with gonum.org/v1/plot.
package chart
