//go:build !linux

// Command soak is the fault campaign. It needs Linux; elsewhere it says so.
package main

import "fmt"

func main() { fmt.Println("soak: needs Linux") }
