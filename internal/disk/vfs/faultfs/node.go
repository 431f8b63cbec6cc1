package faultfs

import (
	"io/fs"
	"math/rand/v2"
	"time"

	"firn.dev/internal/disk/vfs"
)

// sector is the number of bytes that a disk writes atomically.
const sector = 512

// node is a file or directory, independent of its names.
type node struct {
	inode        uint64
	dir          bool
	links, opens int
	mtime        time.Time
	owner        *handle // holder of the lock

	// names are the current names in a directory; kept are the durable ones.
	names, kept map[string]*node

	// data is the current content. disk is the durable content, of which diskSize bytes
	// belong to the file.
	data     []byte
	disk     []byte
	diskSize int64
	// dirty holds all versions of every sector changed since the last sync, oldest first;
	// sizes holds the sizes of the file. After a crash, any of them or the durable version
	// may be found.
	dirty map[int64][]version
	sizes []sizeVersion
}

// version is the content of a sector after a change. If it is shorter than a sector, the
// rest is zeros.
type version struct {
	seq  uint64
	data []byte
}

type sizeVersion struct {
	seq  uint64
	size int64
}

func (f *FS) newNode(dir bool) *node {
	f.inodes++
	n := &node{inode: f.inodes, dir: dir, mtime: time.Now()}
	if dir {
		n.names, n.kept = map[string]*node{}, map[string]*node{}
	} else {
		n.dirty = map[int64][]version{}
	}
	return n
}

func (n *node) info() vfs.Info {
	info := vfs.Info{
		Size: int64(len(n.data)), ModTime: n.mtime, Mode: 0o600,
		Device: 1, Inode: n.inode, Links: uint64(n.links),
	}
	if n.dir {
		info.Mode = fs.ModeDir | 0o700
	}
	return info
}

// write writes bytes into the file, filling a hole before them with zeros.
func (n *node) write(seq uint64, p []byte, off int64) {
	end := off + int64(len(p))
	if end > int64(len(n.data)) {
		n.data = resize(n.data, end)
	}
	if end > n.lastSize() { // The file grows, or it grew before and a failed sync lost that.
		n.sizes = append(n.sizes, sizeVersion{seq, end})
	}
	copy(n.data[off:], p)
	n.mtime = time.Now()
	n.recordVersions(seq, off, end)
}

// truncate sets the size, appending zeros if it grows.
func (n *node) truncate(seq uint64, size int64) {
	old := int64(len(n.data))
	n.data = resize(n.data, size)
	n.sizes = append(n.sizes, sizeVersion{seq, size})
	n.mtime = time.Now()
	n.recordVersions(seq, size, max(old, size))
}

// recordVersions records the current content of the sectors between two offsets.
func (n *node) recordVersions(seq uint64, from, to int64) {
	first := from / sector
	start := min(first*sector, int64(len(n.data)))
	stop := min((to+sector-1)/sector*sector, int64(len(n.data)))
	now := append([]byte(nil), n.data[start:max(start, stop)]...)
	for s := first; s*sector < to; s++ {
		n.dirty[s] = append(n.dirty[s], version{seq, sectorOf(now, s-first)})
	}
}

// sectorOf returns a sector of p, which is short or empty at the end of p.
func sectorOf(p []byte, s int64) []byte {
	size := int64(len(p))
	return p[min(s*sector, size):min((s+1)*sector, size)]
}

// putSector replaces a sector and pads it with zeros.
func putSector(p []byte, s int64, data []byte) []byte {
	if need := s*sector + int64(len(data)); int64(len(p)) < need {
		p = resize(p, need)
	}
	rest := sectorOf(p, s)
	clear(rest[copy(rest, data):])
	return p
}

// resize truncates p or pads it with zeros.
func resize(p []byte, size int64) []byte {
	if size <= int64(len(p)) {
		return p[:size]
	}
	return append(p, make([]byte, size-int64(len(p)))...)
}

// sync writes all dirty data to the disk. Data that an earlier failed sync dropped is no
// longer dirty and stays lost until it is written again.
func (n *node) sync() {
	if n.dir {
		return
	}
	for s := range n.dirty {
		n.disk = putSector(n.disk, s, sectorOf(n.data, s))
	}
	if len(n.sizes) > 0 {
		n.diskSize = n.lastSize()
		n.disk = resize(n.disk, n.diskSize)
	}
	n.markClean()
}

// markClean discards all dirty versions.
func (n *node) markClean() {
	clear(n.dirty)
	n.sizes = nil
}

// failSync writes some of the dirty data to the disk and drops the rest. With evict,
// dropped data cannot be read anymore either.
func (n *node) failSync(chance *rand.Rand, evict bool) {
	for _, s := range sortedKeys(n.dirty) {
		if chance.IntN(2) == 0 {
			n.disk = putSector(n.disk, s, sectorOf(n.data, s))
		} else if evict && s*sector < int64(len(n.data)) {
			old := append([]byte(nil), sectorOf(n.disk, s)...)
			rest := sectorOf(n.data, s)
			clear(rest[copy(rest, old):])
		}
	}
	if len(n.sizes) > 0 && chance.IntN(2) == 0 {
		n.diskSize = int64(len(n.data))
	}
	n.markClean()
}
