// Package anchor reads and writes anchors: signed lists of the sums of all sessions at one
// time. Kept outside of a home, an anchor shows that history was replaced together with its
// hash chains.
//
// An anchor is text: a line for its version, its time and its key, a line for each session,
// and a signature of all lines before it.
package anchor

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/chain"
	"firn.dev/internal/disk/vfs"
)

// KeyName is the file of a home with the private key that signs its anchors.
const KeyName = "anchor.key"

// State is the state of a session: the sum of its lines before End.
type State struct {
	Session firn.ID
	End     firn.Pos
	Sum     chain.Sum
}

// Anchor is the state of all sessions of a home at a time, signed with Key.
type Anchor struct {
	Time     time.Time
	Key      ed25519.PublicKey
	Sessions []State
}

const (
	first     = "firn anchor 1"
	timeMark  = "time "
	keyMark   = "key ed25519 "
	stateMark = "session "
	signMark  = "signature "
)

// Sign returns the text of an anchor.
func (a Anchor) Sign(key ed25519.PrivateKey) []byte {
	var b bytes.Buffer
	public, _ := key.Public().(ed25519.PublicKey) // it is one
	fmt.Fprintf(&b, "%s\n%s%s\n%s%s\n", first, timeMark, a.Time.UTC().Format(time.RFC3339), keyMark, base64.StdEncoding.EncodeToString(public))
	for _, s := range a.Sessions {
		fmt.Fprintf(&b, "%s%s %d %x\n", stateMark, s.Session, s.End, s.Sum)
	}
	fmt.Fprintf(&b, "%s%s\n", signMark, base64.StdEncoding.EncodeToString(ed25519.Sign(key, b.Bytes())))
	return b.Bytes()
}

// Parse reads an anchor and checks its signature. The caller must check whose key it is.
func Parse(data []byte) (a Anchor, err error) {
	bad := func(what string) (Anchor, error) {
		return Anchor{}, fmt.Errorf("read the anchor: %w: %s", firn.ErrCorrupt, what)
	}
	at := bytes.LastIndex(data, []byte("\n"+signMark))
	if !bytes.HasPrefix(data, []byte(first+"\n")) || at < 0 {
		return bad("it is not an anchor of firn, or it is not complete")
	}
	signed, signature := data[:at+1], strings.TrimSpace(string(data[at+1+len(signMark):]))
	lines := strings.Split(strings.TrimSuffix(string(signed), "\n"), "\n")
	if len(lines) < 3 {
		return bad("it is not complete")
	}
	when, hasTime := strings.CutPrefix(lines[1], timeMark)
	key, hasKey := strings.CutPrefix(lines[2], keyMark)
	if a.Time, err = time.Parse(time.RFC3339, when); err != nil || !hasTime {
		return bad("it has no time")
	}
	a.Key, err = base64.StdEncoding.DecodeString(key)
	if err != nil || !hasKey || len(a.Key) != ed25519.PublicKeySize {
		return bad("it has no key")
	}
	sign, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || !ed25519.Verify(a.Key, signed, sign) {
		return bad("its signature does not match: it was changed")
	}
	for _, line := range lines[3:] {
		s, ok := parseState(line)
		if !ok {
			return bad("a line is not a session")
		}
		a.Sessions = append(a.Sessions, s)
	}
	return a, nil
}

func parseState(line string) (s State, ok bool) {
	rest, ok := strings.CutPrefix(line, stateMark)
	fields := strings.Fields(rest)
	if !ok || len(fields) != 3 || firn.ID(fields[0]).Check() != nil {
		return s, false
	}
	end, err := strconv.ParseUint(fields[1], 10, 64)
	sum, hexErr := hex.DecodeString(fields[2])
	if err != nil || hexErr != nil || len(sum) != len(s.Sum) {
		return s, false
	}
	return State{firn.ID(fields[0]), firn.Pos(end), chain.Sum(sum)}, true
}

// Fingerprint returns a key as text.
func Fingerprint(key ed25519.PublicKey) string {
	return "ed25519:" + base64.StdEncoding.EncodeToString(key)
}

// ParseKey reads the text of a public key.
func ParseKey(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(text), "ed25519:"))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%w key %q: expected ed25519: and 44 characters", firn.ErrInvalid, text)
	}
	return key, nil
}

// ReadKey returns the private key of a home; nil if it has none.
func ReadKey(fsys vfs.FS, home string) (ed25519.PrivateKey, error) {
	path := filepath.Join(home, KeyName)
	file, err := fsys.Open(path, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of anchors: %w", err)
	}
	defer file.Close() // read-only
	buf := make([]byte, 256)
	n, _ := file.ReadAt(buf, 0) // a short file is not a key
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(buf[:n])))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fmt.Errorf("read the key of anchors: %w: %s is not a key", firn.ErrCorrupt, path)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// HomeKey returns the private key of a home, and makes one if it has none.
func HomeKey(fsys vfs.FS, home string) (ed25519.PrivateKey, error) {
	key, err := ReadKey(fsys, home)
	if key != nil || err != nil {
		return key, err
	}
	_, key, err = ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("make a key for anchors: %w", err)
	}
	text := base64.StdEncoding.EncodeToString(key.Seed()) + "\n"
	if err := vfs.WriteFile(fsys, filepath.Join(home, KeyName), []byte(text)); err != nil {
		return nil, fmt.Errorf("make a key for anchors: %w", err)
	}
	return key, nil
}
