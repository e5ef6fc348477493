//go:build symwindebug

package lla2a

// debug: this build looks for misuse that costs time to look for.
const debug = true
