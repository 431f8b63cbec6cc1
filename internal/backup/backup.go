// Package backup is a whole home in one file, of which a home can be made again.
//
// The file is a tar archive, compressed with zstd, that other programs unpack too:
// files of the home as they lie there, and behind them SHA256SUMS, which sha256sum
// checks. It is made while firn runs. That the parts fit each other is a matter of
// order: what points is read before what it points at, and transcripts only grow, so
// whatever a table or a log of the copy speaks of is in the copy. What firn can make
// again, and what belongs to processes that run, is left out.
package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// noteName is the first file of an archive: what it is.
	noteName = "firn-backup.json"
	// sumsName is the last one: without it the archive is not whole.
	sumsName = "SHA256SUMS"
	// format is the number of this form of archives.
	format = 1
)

// note is what the first file says.
type note struct {
	Format int       `json:"firnBackup"`
	Made   time.Time `json:"made"`
}

// Summary tells what is in an archive.
type Summary struct {
	Made     time.Time `json:"made"`
	Files    int       `json:"files"`
	Sessions int       `json:"sessions"`
	Bytes    int64     `json:"bytes"`
	// Sum is the SHA-256 of the list of sums: the same for archives of the same files.
	Sum string `json:"sha256"`
	// Skipped are files of the home that are no plain files, such as links.
	Skipped []string `json:"skipped,omitempty"`
	// Unread are files that could not be opened, each with the reason.
	Unread []string `json:"unread,omitempty"`
}

// Progress is told how many bytes are done, of how many.
type Progress func(done, total int64)

// sums gathers the sums of files.
type sums struct {
	lines []string
	Summary
}

// add takes notice of a file.
func (s *sums) add(name string, size int64, h hash.Hash) {
	s.lines = append(s.lines, hex.EncodeToString(h.Sum(nil))+"  "+name+"\n")
	s.Files++
	s.Bytes += size
	if isTranscript(name) && !strings.Contains(path.Base(name), "_part") {
		s.Sessions++
	}
}

// text is the list, sorted by name.
func (s *sums) text() string {
	slices.SortFunc(s.lines, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	return strings.Join(s.lines, "")
}

// seal finishes the summary.
func (s *sums) seal() Summary {
	s.Sum = fmt.Sprintf("%x", sha256.Sum256([]byte(s.text())))
	return s.Summary
}

// isTranscript reports whether a file is one of a session: those come last.
func isTranscript(name string) bool {
	return strings.HasSuffix(name, ".jsonl") && (strings.HasPrefix(name, "agents/") || strings.HasPrefix(name, "bin/") || strings.HasPrefix(name, "archive/")) &&
		!strings.Contains(name, ".torn-") && !strings.Contains(name, ".rescued-")
}

// leftOut reports whether something of a home is not part of a copy: what is made
// again by itself, and what speaks of processes.
func leftOut(name string) bool {
	base := path.Base(name)
	switch name {
	case "index", "gateway.sock", "gateway/lock", "gateway/address.json", "gateway/guests", "gateway/turns":
		return true
	}
	return strings.HasPrefix(base, ".") && strings.Contains(base, ".tmp-") || strings.HasSuffix(base, ".lock")
}
