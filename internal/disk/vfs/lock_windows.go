package vfs

import "golang.org/x/sys/windows"

// lockPlace returns the byte range to lock. Windows locks block reads and writes of the
// locked bytes, so the range is one byte beyond the end of any file.
func lockPlace() *windows.Overlapped {
	return &windows.Overlapped{Offset: ^uint32(0) - 1, OffsetHigh: 1<<31 - 1}
}

// Lock takes the lock. Taking it twice through one open file has no effect, as on other
// systems; Windows itself would deadlock.
func (f *file) Lock() error {
	_, err := f.lock(windows.LOCKFILE_EXCLUSIVE_LOCK)
	return err
}

func (f *file) TryLock() (bool, error) {
	return f.lock(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
}

func (f *file) lock(flags uint32) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locked {
		return true, nil
	}
	err := f.call("lock", func(h windows.Handle) error {
		err := windows.LockFileEx(h, flags, 0, 1, 0, lockPlace())
		if err == windows.ERROR_LOCK_VIOLATION && flags&windows.LOCKFILE_FAIL_IMMEDIATELY != 0 {
			return nil
		}
		f.locked = err == nil
		return err
	})
	return f.locked, err
}

func (f *file) Unlock() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.locked {
		return nil
	}
	err := f.call("unlock", func(h windows.Handle) error {
		return windows.UnlockFileEx(h, 0, 1, 0, lockPlace())
	})
	f.locked = err != nil
	return err
}
