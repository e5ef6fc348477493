package shm_test

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/symwin/symwin/internal/shm"
)

// Two processes that do this with one job key share memory; here one does both.
func Example() {
	name := shm.Name(fmt.Sprintf("example-%d", os.Getpid()))
	first, err := shm.Create(name, 1<<20, func(w io.WriterAt) error {
		_, err := w.WriteAt([]byte(shm.Magic+"header"), 0)
		return err
	})
	if err != nil {
		panic(err)
	}
	defer first.Close()

	if _, err := shm.Create(name, 1<<20, nil); !errors.Is(err, shm.ErrExist) {
		panic(err)
	}
	second, err := shm.Attach(name)
	if err != nil {
		panic(err)
	}
	defer second.Close()
	if err := second.Unlink(); err != nil { // all have come: no name is needed any more
		panic(err)
	}

	if err := first.Reserve(4096, 4096); err != nil {
		panic(err)
	}
	a, _ := first.Map(0, first.Size())
	b, _ := second.Map(0, second.Size())
	copy(a[4096:], "from the first to the second")
	fmt.Printf("%s: %s\n", b[len(shm.Magic):][:6], b[4096:][:28])
	// Output: header: from the first to the second
}
