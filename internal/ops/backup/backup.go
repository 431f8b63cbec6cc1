// Package backup writes a whole home to an archive and restores it.
//
// An archive is a zstd-compressed tar file with the files of the home, followed by
// SHA256SUMS, which sha256sum can check. Standard tools can unpack it. It can be created
// while firn is running. Its parts are consistent because of the order in which they are
// read: references are read before the files they refer to, and transcripts only grow, so
// everything that a table or log in the archive mentions is in the archive. Files that firn
// can regenerate, and files of running processes, are left out.
//
// An archive can be encrypted with age ([Encrypt], [Decrypt]); the age command decrypts it.
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
	// noteName is the first file of an archive, which describes it.
	noteName = "firn-backup.json"
	// sumsName is the last file of an archive. Without it the archive is incomplete.
	sumsName = "SHA256SUMS"
	// format is the version of the archive format.
	format = 1
)

// note is the content of the first file.
type note struct {
	Format int       `json:"firnBackup"`
	Made   time.Time `json:"made"`
}

// Summary describes the contents of an archive.
type Summary struct {
	Made     time.Time `json:"made"`
	Files    int       `json:"files"`
	Sessions int       `json:"sessions"`
	Bytes    int64     `json:"bytes"`
	// Sum is the SHA-256 of the list of sums. It is the same for archives of the same
	// files.
	Sum string `json:"sha256"`
	// Skipped lists the files of the home that are not regular files, such as links.
	Skipped []string `json:"skipped,omitempty"`
	// Unread lists the files that could not be read, each with the reason. The archive does not
	// have them, or has zero bytes in place of their damaged parts.
	Unread []string `json:"unread,omitempty"`
}

// Progress is called with the number of bytes done and the total.
type Progress func(done, total int64)

// sums collects the checksums of files.
type sums struct {
	lines []string
	Summary
}

// add adds a file.
func (s *sums) add(name string, size int64, h hash.Hash) {
	s.lines = append(s.lines, hex.EncodeToString(h.Sum(nil))+"  "+name+"\n")
	s.Files++
	s.Bytes += size
	if isTranscript(name) && !strings.Contains(path.Base(name), "_part") {
		s.Sessions++
	}
}

// text returns the list of checksums, sorted by name.
func (s *sums) text() string {
	slices.SortFunc(s.lines, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	return strings.Join(s.lines, "")
}

// seal completes the summary.
func (s *sums) seal() Summary {
	s.Sum = fmt.Sprintf("%x", sha256.Sum256([]byte(s.text())))
	return s.Summary
}

// isTranscript reports whether a file belongs to a session. Those files come last.
func isTranscript(name string) bool {
	return strings.HasSuffix(name, ".jsonl") && (strings.HasPrefix(name, "agents/") || strings.HasPrefix(name, "bin/") || strings.HasPrefix(name, "archive/")) &&
		!strings.Contains(name, ".torn-") && !strings.Contains(name, ".rescued-")
}

// leftOut reports whether a file is excluded from archives: files that can be regenerated,
// and files of running processes.
func leftOut(name string) bool {
	base := path.Base(name)
	switch name {
	case "index", "sealed.json", ".redo", "gateway.sock", "gateway/lock", "gateway/address.json", "gateway/guests", "gateway/turns":
		return true
	}
	return strings.HasPrefix(base, ".") && strings.Contains(base, ".tmp-") || strings.HasSuffix(base, ".lock")
}
