// Package anchor records the state of all sessions of a home at a time, signed, so that the
// record proves later that nothing up to it was changed or removed.
//
// An [Anchor] holds the state of each session's hash chain. Whoever can write to the home
// can recreate its chains and anchors; an anchor proves something only if a copy of it, or
// of its root, is kept where that person cannot write.
package anchor

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
)

// version is the version of the format.
const version = 1

// Anchor is a signed list of sessions with the states of their hash chains.
type Anchor struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	// Sessions are sorted by ID.
	Sessions []Session `json:"sessions"`
	// Root is the hash over the version, the time and the sessions, in hex.
	Root string `json:"root"`
	// Key is the public key and Signature the signature of Root, both in base64.
	Key       string `json:"key"`
	Signature string `json:"signature"`
}

// Session is a session in an anchor.
type Session struct {
	ID firn.ID `json:"id"`
	// State is the state of its hash chain after its last line.
	State string `json:"state"`
	// Entry is its last entry, by which people recognize the place.
	Entry firn.EntryID `json:"entry,omitempty"`
}

// New returns a signed anchor. It sorts the sessions.
func New(now time.Time, sessions []Session, key ed25519.PrivateKey) *Anchor {
	slices.SortFunc(sessions, func(a, b Session) int { return cmp.Compare(a.ID, b.ID) })
	a := &Anchor{Version: version, Time: now.UTC().Truncate(time.Second), Sessions: sessions}
	if a.Sessions == nil {
		a.Sessions = []Session{}
	}
	a.Root = hex.EncodeToString(a.root())
	a.Key = base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
	a.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(key, a.signed()))
	return a
}

// root returns the hash over the content. Every field is quoted, so that no two contents
// have the same text.
func (a *Anchor) root() []byte {
	h := sha256.New()
	fmt.Fprintf(h, "firn anchor %d\n%s\n%d\n", a.Version, a.Time.UTC().Format(time.RFC3339), len(a.Sessions))
	for _, s := range a.Sessions {
		fmt.Fprintf(h, "%q %q %q\n", s.ID, s.State, s.Entry)
	}
	return h.Sum(nil)
}

// signed returns the bytes that are signed.
func (a *Anchor) signed() []byte { return []byte("firn anchor root " + a.Root) }

// maxBytes is the maximum size of an anchor: about a million sessions.
const maxBytes = 256 << 20

// Parse reads an anchor and checks its root and signature. It returns ErrCorrupt if they do
// not fit the content.
func Parse(data []byte) (*Anchor, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("read the anchor: %w: it has %d bytes", firn.ErrTooLarge, len(data))
	}
	var a Anchor
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("read the anchor: %w: it is not an anchor: %w", firn.ErrInvalid, err)
	}
	switch {
	case a.Root == "" || a.Version == 0:
		return nil, fmt.Errorf("read the anchor: %w: it is not an anchor", firn.ErrInvalid)
	case a.Version != version:
		return nil, fmt.Errorf("read the anchor: %w: it has version %d, and this firn knows version %d", firn.ErrUnsupported, a.Version, version)
	}
	if err := a.check(); err != nil {
		return nil, fmt.Errorf("read the anchor: %w: %w", firn.ErrCorrupt, err)
	}
	return &a, nil
}

// check checks the root, the signature and the sessions.
func (a *Anchor) check() error {
	if a.Root != hex.EncodeToString(a.root()) {
		return errors.New("its root does not fit its sessions: it was changed")
	}
	key, err := base64.StdEncoding.Strict().DecodeString(a.Key)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return errors.New("its key is not an ed25519 key")
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(a.Signature)
	if err != nil || !ed25519.Verify(key, a.signed(), signature) {
		return errors.New("its signature does not fit its root")
	}
	for i, s := range a.Sessions {
		if i > 0 && s.ID <= a.Sessions[i-1].ID {
			return errors.New("its sessions are not sorted")
		}
		if _, err := hashchain.ParseState(s.State); err != nil {
			return fmt.Errorf("the state of session %s: %w", s.ID, err)
		}
	}
	return nil
}

// Encode returns the anchor as JSON, one session per line.
func (a *Anchor) Encode() ([]byte, error) {
	b, err := json.Marshal(struct {
		Version   int       `json:"version"`
		Time      time.Time `json:"time"`
		Root      string    `json:"root"`
		Key       string    `json:"key"`
		Signature string    `json:"signature"`
	}{a.Version, a.Time, a.Root, a.Key, a.Signature})
	if err != nil {
		return nil, err
	}
	b = append(b[:len(b)-1], `,"sessions":[`...)
	for i, s := range a.Sessions {
		line, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, '\n'), line...)
	}
	return append(b, "\n]}\n"...), nil
}
