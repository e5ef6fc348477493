package symmem

import "github.com/symwin/symwin/internal/shm"

// A same-user process can truncate the region's file under everybody. What is
// gone of it reads as zeroes then, private ones (shm.Outlive), so no access
// faults, of an engine or of the program to its window, and none reaches anybody
// else. That is noticed behind the access, where calls look anyway: on entry,
// behind the spin of a wait, and before a call of a lane returns.
//
// Whoever notices says so to the others, if that part of the region is still
// there; else they find out as he did.

// outlive has accesses to b, a mapping of the region, set lost.
func (r *region) outlive(b []byte) { r.outlived = append(r.outlived, shm.Outlive(b, &r.lost, 1)) }

// gone is ErrRegion if part of the region's memory is gone, or nil.
func (r *region) gone() error {
	if r.lost.Load() == 0 {
		return nil
	}
	return regionError("the memory of job %s is gone: its file was truncated", r.job)
}

// gone is the region's, and ends the world.
func (w *World) gone() error {
	err := w.r.gone()
	if err != nil && w.mourned.CompareAndSwap(false, true) {
		w.abort(AbortRegion, nil, err.Error())
	}
	return err
}
