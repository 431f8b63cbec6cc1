package doctor

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
)

// AcceptedName is the file of a home that lists the accepted faults. It is append-only.
const AcceptedName = "verify-accepted.jsonl"

// allFindings is a Limit that lists every finding.
const allFindings = 1 << 30

// Acceptance is one line of that file: the faults found when they were accepted.
type Acceptance struct {
	At     time.Time       `json:"at"`
	Note   string          `json:"note,omitempty"`
	Faults []AcceptedFault `json:"faults"`
}

// AcceptedFault is a fault with a hash of the affected bytes, so that different damage at
// the same place is a new fault.
type AcceptedFault struct {
	Finding
	Hash string `json:"hash,omitempty"`
}

// key identifies a fault. It includes the message only if the fault has no place in a file.
func (f *AcceptedFault) key() string {
	at, message := int64(-1), f.Message
	if f.At != nil {
		at, message = f.At.Offset, ""
	}
	return fmt.Sprintf("%s|%s|%s|%d|%s|%s|%s", f.Kind, f.Session, f.File, at, f.Entry, f.Hash, message)
}

// VerifyAccepted runs [Verify] on a home and moves accepted faults to the field Accepted of
// the report. If accept is set, it first accepts all remaining faults, with a note. Faults
// can only be accepted in a home.
func VerifyAccepted(verify func(limit int) (*Report, error), target Target, accept bool, note string, now time.Time) (*Report, error) {
	if accept && !target.Home {
		return nil, fmt.Errorf("%w: %s is not in a home; faults can only be accepted in a home", firn.ErrInvalid, target.Root)
	}
	path := filepath.Join(target.Root, AcceptedName)
	known, err := readAccepted(target.fs, path)
	if !target.Home || err == nil && len(known) == 0 && !accept {
		return verify(0)
	}
	if err != nil {
		return nil, err
	}
	report, err := verify(allFindings)
	if err != nil {
		return nil, err
	}
	if accept {
		now := Acceptance{At: now.UTC(), Note: note}
		for _, f := range report.Findings {
			if one := target.accepted(f); f.Severity == Fault && !f.proof() && !known[one.key()] {
				now.Faults, known[one.key()] = append(now.Faults, one), true
			}
		}
		if err := addAccepted(target.fs, path, now); err != nil {
			return nil, err
		}
		report.NewlyAccepted = len(now.Faults)
	}
	report.setAside(func(f Finding) bool { one := target.accepted(f); return known[one.key()] })
	return report, nil
}

// proof reports whether a finding is about an anchor. It cannot be accepted: an attacker who changed
// the sessions could also write the acceptance.
func (f *Finding) proof() bool { return strings.HasPrefix(string(f.Kind), "anchor-") }

// setAside removes accepted faults from a report and applies the limit of findings per kind
// and session to the others.
func (r *Report) setAside(accepted func(Finding) bool) {
	all := r.Findings
	r.Findings, r.Faults, r.Warnings, r.Infos, r.Faulty, r.Unlisted = []Finding{}, 0, 0, 0, 0, nil
	type group struct {
		session firn.ID
		kind    Kind
	}
	listed, sick := make(map[group]int), make(map[firn.ID]bool)
	for _, f := range all {
		if f.Severity == Fault && !f.proof() && accepted(f) {
			r.Accepted = append(r.Accepted, f)
			continue
		}
		if f.Severity == Fault && f.Session != "" && !sick[f.Session] {
			sick[f.Session] = true
			r.Faulty++
		}
		g := group{f.Session, f.Kind}
		if listed[g]++; listed[g] > defaultLimit {
			r.countOnly(f)
		} else {
			r.add(f)
		}
	}
}

// hashedBytes is the maximum number of bytes hashed of a damaged line.
const hashedBytes = 1 << 20

// accepted returns a fault with the hash of its line.
func (t *Target) accepted(f Finding) AcceptedFault {
	out := AcceptedFault{Finding: f}
	if f.Severity != Fault || f.At == nil {
		return out
	}
	file, err := t.fs.Open(filepath.Join(t.Root, filepath.FromSlash(f.File)), vfs.Read)
	if err != nil {
		return out
	}
	defer file.Close() // read-only
	line, err := bufio.NewReader(io.NewSectionReader(file, f.At.Offset, hashedBytes)).ReadBytes('\n')
	if err == nil || errors.Is(err, io.EOF) {
		sum := sha256.Sum256(line)
		out.Hash = hex.EncodeToString(sum[:8])
	}
	return out
}

// readAccepted reads the keys of all accepted faults. Unreadable lines are skipped.
func readAccepted(fsys vfs.FS, path string) (map[string]bool, error) {
	known := make(map[string]bool)
	file, err := fsys.Open(path, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the accepted faults: %w", err)
	}
	defer file.Close() // read-only
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read the accepted faults: %w", err)
	}
	for line := range bytes.Lines(data) {
		var a Acceptance
		if json.Unmarshal(line, &a) != nil {
			continue
		}
		for _, f := range a.Faults {
			known[f.key()] = true
		}
	}
	return known, nil
}

// addAccepted appends a line to the file and syncs it. It terminates a torn last line
// first.
func addAccepted(fsys vfs.FS, path string, a Acceptance) error {
	if len(a.Faults) == 0 {
		return nil
	}
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	file, err := fsys.Open(path, vfs.Append)
	if err == nil {
		_, err = file.Write(append(append([]byte{'\n'}, line...), '\n'))
		err = errors.Join(err, file.Sync(), file.Close())
	}
	if err == nil {
		err = vfs.SyncNames(fsys, filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("accept faults: %w", err)
	}
	return nil
}

// AcceptThere separates accepted faults of sessions in another store. If accept is set, it
// first accepts the others. It returns the remaining and the accepted faults.
func AcceptThere(home string, faults []Finding, accept bool, note string, now time.Time) (left, accepted []Finding, err error) {
	path := filepath.Join(home, AcceptedName)
	known, err := readAccepted(sealfs.Home(home), path)
	if err != nil {
		return nil, nil, err
	}
	fresh := Acceptance{At: now.UTC(), Note: note}
	for _, f := range faults {
		one := AcceptedFault{Finding: f}
		switch {
		case known[one.key()]:
			accepted = append(accepted, f)
		case accept:
			fresh.Faults, accepted = append(fresh.Faults, one), append(accepted, f)
		default:
			left = append(left, f)
		}
	}
	return left, accepted, addAccepted(sealfs.Home(home), path, fresh)
}
