//go:build !symwindebug

package lla2a

// debug switches on what finds misuse that costs time to look for: build with
// -tags symwindebug.
const debug = false
