package doctor

// Disk describes the file system of a home.
type Disk struct {
	// Free and Total are in bytes. Total is zero if unknown.
	Free, Total int64
	// Network is the type of a network or FUSE file system, where locks and syncs may be
	// unreliable. It is empty for local file systems.
	Network string
}

// DiskOf returns the disk of a path.
func DiskOf(path string) (Disk, error) { return diskOf(path) }
