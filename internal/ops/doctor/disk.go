package doctor

// Disk tells of the disk that a home is on.
type Disk struct {
	// Free and Total count bytes. Total is zero if it is not known.
	Free, Total int64
	// Network names the kind of file system if it is one over a network, or
	// one that a program provides: locks and syncs may mean little there.
	Network string
}

// DiskOf tells of the disk that a path is on.
func DiskOf(path string) (Disk, error) { return diskOf(path) }
