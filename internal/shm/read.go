package shm

import "fmt"

// ReadAt reads len(p) bytes at off, through the descriptor and not a mapping:
// a file that somebody truncates meanwhile is a short read here, never SIGBUS.
func (f *File) ReadAt(p []byte, off int64) error {
	if err := inside(f.name, off, int64(len(p)), f.size); err != nil {
		return err
	}
	if _, err := f.file.ReadAt(p, off); err != nil {
		return fmt.Errorf("shm: %s: %w", f.name, err)
	}
	return nil
}
