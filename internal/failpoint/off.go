//go:build !symwinfail || !unix

package failpoint

// Enabled tells whether this program was built with failpoints.
const Enabled = false

// Hit is called where a process may fail.
func Hit(name string) {}

// Arm is refused: this program has no failpoints.
func Arm(faults string) { panic("failpoint: built without -tags symwinfail") }

// Before has nothing to come before.
func Before(f func(name, action string)) {}

// OnGarbage has nothing to set off f.
func OnGarbage(f func()) {}
