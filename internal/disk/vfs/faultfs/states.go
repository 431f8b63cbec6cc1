package faultfs

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
)

// CrashStates yields possible states of the file system after a power cut now: not all of
// them, but the extreme ones, each distinct state once, and at most limit. It begins with
// nothing kept, everything kept, and only sizes kept (so that the new bytes are zeros),
// each with and without the changes of names. Then it alternates between these: everything
// up to some change kept and nothing after it; a single change of names lost or kept; a
// single sector lost, older or kept; a single file with another size. The states have the
// properties described at [FS.CrashRandom]. The file system must not be changed during
// iteration.
func (f *FS) CrashStates(limit int) iter.Seq[*FS] {
	return func(yield func(*FS) bool) {
		f.mu.Lock()
		choices := f.extremes()
		f.mu.Unlock()
		seen := map[[sha256.Size]byte]bool{}
		for _, c := range choices {
			if len(seen) >= limit {
				return
			}
			f.mu.Lock()
			left := f.crash(c)
			f.mu.Unlock()
			sum := left.sum()
			if seen[sum] {
				continue
			}
			seen[sum] = true
			if !yield(left) {
				return
			}
		}
	}
}

// sum returns a hash of all names and contents.
func (f *FS) sum() [sha256.Size]byte {
	h := sha256.New()
	f.root.walk("", func(name string, n *node) {
		fmt.Fprintf(h, "%q %v %d\n", name, n.dir, len(n.data))
		h.Write(n.data)
	})
	return [sha256.Size]byte(h.Sum(nil))
}

// extremes lists the choices to try, the most extreme first.
func (f *FS) extremes() []choice {
	var first []choice
	for _, names := range []func(*nameChange) bool{allNames, noNames} {
		first = append(first,
			choice{names, oldSize, oldSector},
			choice{names, newSize, newSector},
			choice{names, newSize, oldSector})
	}
	files := f.unsynced()
	return append(first, interleave(f.prefixes(files), f.singleNames(), singleSectors(files), singleSizes(files))...)
}

func allNames(*nameChange) bool      { return true }
func noNames(*nameChange) bool       { return false }
func oldSize(n *node) int64          { return n.diskSize }
func newSize(n *node) int64          { return n.lastSize() }
func oldSector(*node, int64) int     { return 0 }
func newSector(n *node, s int64) int { return len(n.dirty[s]) }

// interleave takes one choice of each list in turn, so that a limit cuts all lists equally.
func interleave(lists ...[]choice) []choice {
	var all []choice
	for i, more := 0, true; more; i++ {
		more = false
		for _, list := range lists {
			if i < len(list) {
				all, more = append(all, list[i]), true
			}
		}
	}
	return all
}

// unsynced lists the files that a crash may change, ordered by inode: files with a current,
// durable or pending name.
func (f *FS) unsynced() []*node {
	found := map[*node]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		if n == nil || found[n] {
			return
		}
		found[n] = true
		for _, name := range sortedKeys(n.names) {
			visit(n.names[name])
		}
		for _, name := range sortedKeys(n.kept) {
			visit(n.kept[name])
		}
	}
	visit(f.root)
	for _, c := range f.changes {
		for _, e := range c.effects {
			visit(e.dir)
			visit(e.to)
		}
	}
	var files []*node
	for n := range found {
		if len(n.dirty) > 0 || len(n.sizes) > 0 {
			files = append(files, n)
		}
	}
	slices.SortFunc(files, func(a, b *node) int { return int(a.inode) - int(b.inode) })
	return files
}

// prefixes returns choices that keep everything up to some change and nothing after it.
func (f *FS) prefixes(files []*node) []choice {
	var seqs []uint64
	for _, c := range f.changes {
		seqs = append(seqs, c.seq)
	}
	for _, n := range files {
		for _, v := range n.sizes {
			seqs = append(seqs, v.seq)
		}
		for _, versions := range n.dirty {
			for _, v := range versions {
				seqs = append(seqs, v.seq)
			}
		}
	}
	slices.Sort(seqs)
	var all []choice
	for _, seq := range slices.Compact(seqs) {
		all = append(all, prefix(seq))
	}
	return all
}

func prefix(seq uint64) choice {
	return choice{
		name: func(c *nameChange) bool { return c.seq <= seq },
		size: func(n *node) int64 {
			size := n.diskSize
			for _, v := range n.sizes {
				if v.seq <= seq {
					size = v.size
				}
			}
			return size
		},
		sector: func(n *node, s int64) int {
			i := 0
			for i < len(n.dirty[s]) && n.dirty[s][i].seq <= seq {
				i++
			}
			return i
		},
	}
}

// singleNames returns choices that lose or keep a single change of names, with all bytes
// kept and with all lost.
func (f *FS) singleNames() []choice {
	var all []choice
	for _, one := range f.changes {
		for _, kept := range []bool{false, true} {
			names := func(c *nameChange) bool { return (c == one) == kept }
			all = append(all, choice{names, newSize, newSector}, choice{names, oldSize, oldSector})
		}
	}
	return all
}

// singleSectors returns choices in which a single sector is older or newer than the rest,
// with all sizes kept: it has some change but no later ones, or is the only sector written.
func singleSectors(files []*node) []choice {
	var all []choice
	for _, one := range files {
		for _, at := range sortedKeys(one.dirty) {
			with := func(version int, rest func(*node, int64) int) choice {
				return choice{allNames, newSize, func(n *node, s int64) int {
					if n == one && s == at {
						return version
					}
					return rest(n, s)
				}}
			}
			for version := range one.dirty[at] {
				all = append(all, with(version, newSector))
			}
			all = append(all, with(len(one.dirty[at]), oldSector))
		}
	}
	return all
}

// singleSizes returns choices that give one file each of its possible sizes, with all bytes
// kept and with all lost.
func singleSizes(files []*node) []choice {
	var all []choice
	for _, one := range files {
		for _, size := range one.possibleSizes() {
			sizes := func(n *node) int64 {
				if n == one {
					return size
				}
				return newSize(n)
			}
			all = append(all, choice{allNames, sizes, newSector}, choice{allNames, sizes, oldSector})
		}
	}
	return all
}

// String lists the file system: directories by path with a trailing slash, files by path,
// size and quoted content.
func (f *FS) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var text []byte
	f.root.walk("", func(name string, n *node) {
		if n.dir {
			text = fmt.Appendf(text, "%s/\n", name)
		} else {
			text = fmt.Appendf(text, "%s %d %q\n", name, len(n.data), n.data)
		}
	})
	return string(text)
}
