package symmem

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/symwin/symwin/internal/shm"
)

// region is a region as this process has it mapped.
type region struct {
	birth
	control []byte // header, commons and control blocks
	windows []byte // all windows; nil for observers and for the launcher
	head    *commons
	blocks  []*block

	file    *shm.File // the named file; nil for heap regions
	winFile *shm.File // where the windows lie: file, or the memfd
	winOff  int64     // offset of window 0 in winFile

	unmap func() error // of a private region

	lost     atomic.Uint32 // not 0: somebody has touched what the file has no longer
	outlived []func()      // end the watch over the mappings
}

// checkJob accepts what can be part of a file name and read in a list.
func checkJob(job string) error {
	if job == "" || len(job) > maxJob {
		return usage("a job name has 1 to %d characters, this one %d", maxJob, len(job))
	}
	for _, c := range []byte(job) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '@'
		if !ok {
			return usage("job name %q: letters, digits and -_.@ only", job)
		}
	}
	return nil
}

// heapRegion is a region in this process's own memory.
func heapRegion(job string, g Geometry) *region {
	g.Backing = BackingHeap
	r := &region{birth: birth{Geometry: g, job: job}}
	r.control = alignedHeap(g.controlBytes())
	r.windows = alignedHeap(g.windowsBytes())
	r.head, r.blocks = overlay(r.control, g.Size)
	return r
}

// privateRegion is a region in private memory of this process, for a world of
// one: pages are taken as they are touched, so a large window costs nothing.
func privateRegion(job string, g Geometry) (*region, error) {
	g.Backing = BackingHeap
	r := &region{birth: birth{Geometry: g, job: job}}
	r.control = alignedHeap(g.controlBytes())
	r.head, r.blocks = overlay(r.control, g.Size)
	windows, free, err := shm.Heap(g.windowsBytes())
	if err != nil {
		return nil, fmt.Errorf("a private window of %s: %w", sizeText(g.Window), err)
	}
	r.windows, r.unmap = windows, free
	return r, nil
}

// createRegion makes a region with its name. EEXIST comes back as it is.
func createRegion(job string, g Geometry) (*region, error) {
	g, err := g.normal()
	if err != nil {
		return nil, err
	}
	if g.Backing, err = chooseBacking(g); err != nil {
		return nil, err
	}
	b := birth{Geometry: g, job: job, creator: uint32(os.Getpid()), space: pidSpace()}
	var mem *shm.File
	if g.Backing == BackingMemfd {
		if mem, err = shm.CreateMem(g.windowsBytes()); err != nil {
			return nil, fmt.Errorf("the windows' memfd: %w", err)
		}
		b.memfdPid, b.memfd = uint32(os.Getpid()), uint32(mem.Fd())
		if b.memfdIno, err = mem.Inode(); err != nil {
			return nil, errors.Join(err, mem.Close())
		}
	}
	f, err := shm.Create(shm.Name(job), b.fileBytes(), b.write)
	if err != nil {
		if mem != nil {
			_ = mem.Close()
		}
		var full *shm.NoSpaceError
		if errors.As(err, &full) {
			need := blocksOff + int64(g.Size)*blockBytes
			// Looked at anew: what was written up to there has gone.
			have, _ := shm.Free()
			return nil, &NoSpaceError{Rank: -1, Need: need, Have: min(have, need), Where: full.Where + forControl}
		}
		return nil, foreign(err)
	}
	r := &region{birth: b, file: f, winFile: mem}
	if err := r.mapControl(); err != nil {
		_ = f.Unlink()
		r.close()
		return nil, err
	}
	return r, nil
}

// write writes the header page and, as zeroes, all the rest of the control part:
// its pages are there from birth on, so nobody who reads another rank's block
// can fault on a full file system.
func (b *birth) write(w io.WriterAt) error {
	if _, err := w.WriteAt(b.encode(), 0); err != nil {
		return err
	}
	zeroes := make([]byte, 64<<10)
	for off, end := int64(pageBytes), blocksOff+int64(b.Size)*blockBytes; off < end; {
		n, err := w.WriteAt(zeroes[:min(int64(len(zeroes)), end-off)], off)
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// chooseBacking turns auto into shm or memfd by the room there is.
func chooseBacking(g Geometry) (Backing, error) {
	if g.Backing != BackingAuto {
		return g.Backing, nil
	}
	free, err := shm.Free()
	if err != nil {
		return 0, err
	}
	// A container's default of 64 MiB holds a job's control blocks, but not
	// its data; a memfd is bounded by memory alone.
	if free < 256<<20 {
		return BackingMemfd, nil
	}
	return BackingShm, nil
}

// openRegion checks and maps the control part of an attached file.
func openRegion(f *shm.File) (*region, error) {
	page := make([]byte, pageBytes)
	if f.Size() < pageBytes {
		return nil, regionError("%s has %d bytes, less than a header", f.Name(), f.Size())
	}
	if err := f.ReadAt(page, 0); err != nil {
		return nil, regionError("reading the header of %s: %v", f.Name(), err)
	}
	b, err := decodeBirth(page, f.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	r := &region{birth: b, file: f}
	if err := r.mapControl(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *region) mapControl() error {
	m, err := r.file.Map(0, r.controlBytes())
	if err != nil {
		return fmt.Errorf("mapping the control blocks of %s: %w", r.file.Name(), err)
	}
	r.control = m
	r.outlive(m)
	r.head, r.blocks = overlay(m, r.Size)
	return nil
}

// mapWindows maps all windows; ranks do, observers do not.
func (r *region) mapWindows() error {
	if r.Backing == BackingMemfd {
		if r.winFile == nil {
			if r.space != 0 && pidSpace() != 0 && r.space != pidSpace() {
				return usage("the windows of job %s are a memfd of process %d in another PID namespace, where this rank cannot get at it: "+
					"give all ranks one PID namespace (docker --pid=container:NAME, shareProcessNamespace: true in Kubernetes), "+
					"or use --backing shm (SYMWIN_BACKING=shm) with a %s that is large enough", r.job, r.memfdPid, shm.Dir())
			}
			mem, err := shm.AttachPid(int(r.memfdPid), int(r.memfd))
			if err != nil {
				return fmt.Errorf("the windows' memory (descriptor %d of process %d, which created the job): %w", r.memfd, r.memfdPid, err)
			}
			r.winFile = mem
			if ino, err := mem.Inode(); err != nil || ino != r.memfdIno {
				return regionError("descriptor %d of process %d is not the windows' memory: the job's creator is gone, and its number another's", r.memfd, r.memfdPid)
			}
		}
		if got := r.winFile.Size(); got != r.windowsBytes() {
			return regionError("the windows' memory has %d bytes, should have %d", got, r.windowsBytes())
		}
	} else {
		r.winFile, r.winOff = r.file, r.controlBytes()
	}
	r.winFile.ShareWith(r.Size)
	m, err := r.winFile.Map(r.winOff, r.windowsBytes())
	if err != nil {
		return fmt.Errorf("mapping %d windows of %s (address space: see ulimit -v; --window makes them smaller): %w",
			r.Size, sizeText(r.Window), err)
	}
	r.windows = m
	r.outlive(m)
	return nil
}

// window is rank's window.
func (r *region) window(rank int) []byte {
	off := int64(rank) * r.Window
	return r.windows[off : off+r.Window : off+r.Window]
}

// reserve makes memory for part of rank's own window.
func (r *region) reserve(rank int, off, n int64) error {
	if r.winFile == nil {
		return nil // heap: the process's own memory
	}
	return noSpace(r.winFile.Reserve(r.winOff+int64(rank)*r.Window+off, n), rank)
}

// release gives the memory of part of rank's own window back. It reads as zeroes
// afterwards.
func (r *region) release(rank int, off, n int64) error {
	switch part := r.window(rank)[off : off+n]; {
	case r.unmap != nil: // private mapping: pages go back
		return shm.Discard(part)
	case r.winFile == nil:
		clear(part)
		return nil
	}
	return r.winFile.Release(r.winOff+int64(rank)*r.Window+off, n)
}

// close unmaps and closes whatever is there.
func (r *region) close() {
	r.unmapAll()
	r.closeFiles()
}

// closeFiles lets go of the descriptors: ps no longer finds the region here, and
// its locks are free.
func (r *region) closeFiles() {
	if r.winFile != nil && r.winFile != r.file {
		_ = r.winFile.Close()
	}
	if r.file != nil {
		_ = r.file.Close()
	}
}

func (r *region) unmapAll() {
	for _, end := range r.outlived {
		end()
	}
	switch {
	case r.unmap != nil: // private
		_ = r.unmap()
	case r.file == nil: // heap
		return
	default:
		if r.windows != nil {
			_ = shm.Unmap(r.windows)
		}
		if r.control != nil {
			_ = shm.Unmap(r.control)
		}
	}
	r.unmap, r.outlived, r.control, r.windows, r.head, r.blocks = nil, nil, nil, nil, nil, nil
}

// noSpace turns the shm package's want of space into ours.
func noSpace(err error, rank int) error {
	var full *shm.NoSpaceError
	if errors.As(err, &full) {
		return &NoSpaceError{Rank: rank, Need: full.Need, Have: full.Have, Where: full.Where}
	}
	return err
}

// foreign turns the shm package's verdict on what has a region's name into ours.
func foreign(err error) error {
	var f *shm.ForeignError
	if errors.As(err, &f) {
		return fmt.Errorf("%w: %w", ErrRegion, err)
	}
	return err
}
