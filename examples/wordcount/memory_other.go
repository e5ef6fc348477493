//go:build !linux

package main

func newSlots(n int) []entry { return make([]entry, n) }
