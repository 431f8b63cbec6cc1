// Package encryption encrypts and decrypts a home in place and finds its key.
//
// The file sealed.json marks a home as encrypted. It has the random key of the home,
// encrypted with age: to recipients, or with a passphrase, or both. [Unlock] opens it with an
// identity file, a passphrase, or the key that [Keep] saved for the login session. [Encrypt] and
// [Decrypt] convert one file after the other; each is either plain or encrypted at any time, so
// both can be interrupted and continued.
package encryption

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"filippo.io/age"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
)

// State is how far the conversion of a home is.
type State string

// The states of a home with a marker.
const (
	Encrypting State = "encrypting"
	Encrypted  State = "encrypted"
	Decrypting State = "decrypting"
)

// Marker is the content of sealed.json.
type Marker struct {
	Version int   `json:"version"`
	State   State `json:"state"`
	// ToRecipients and ByPassphrase are the key of the home, encrypted with age.
	ToRecipients []byte `json:"toRecipients,omitempty"`
	ByPassphrase []byte `json:"byPassphrase,omitempty"`
	// Identity is the file with the secret key of a recipient. It is not in the home.
	Identity string `json:"identity,omitempty"`
	// Check proves that a key is that of the home.
	Check []byte `json:"check"`
}

const version = 1

// Locked is the error of every access to a home whose key is not known.
type Locked struct{ Home, Why, Hint string }

// Error returns the reason in one sentence.
func (l *Locked) Error() string { return "the home " + l.Home + " is encrypted and locked: " + l.Why }

// Errors of a locked home.
var (
	// ErrWrong means that an identity or a passphrase does not fit.
	ErrWrong = failure.Of(firn.ErrInvalid, "it does not open the home")
	// ErrNotEncrypted means that a home is not encrypted.
	ErrNotEncrypted = failure.Of(firn.ErrConflict, "the home is not encrypted")
)

func markerPath(home string) string { return filepath.Join(home, sealfs.MarkerName) }

// Read returns the marker of a home; nil if the home is not encrypted.
func Read(home string) (*Marker, error) {
	f, err := vfs.OS{}.Open(markerPath(home), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // read-only
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, err
	}
	return decodeMarker(data)
}

func decodeMarker(data []byte) (*Marker, error) {
	m := new(Marker)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, failure.Of(firn.ErrCorrupt, "%s is damaged: %v", sealfs.MarkerName, err)
	}
	switch {
	case m.Version != version:
		return nil, failure.Of(firn.ErrUnsupported, "%s has version %d; this firn knows version %d", sealfs.MarkerName, m.Version, version)
	case m.State != Encrypting && m.State != Encrypted && m.State != Decrypting:
		return nil, failure.Of(firn.ErrUnsupported, "%s has the unknown state %.20q", sealfs.MarkerName, m.State)
	}
	return m, nil
}

// write saves the marker durably.
func (m *Marker) write(home string) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(vfs.OS{}, markerPath(home), append(data, '\n'))
}

// Same reports whether both markers have the same key and state. Either may be nil.
func (m *Marker) Same(other *Marker) bool {
	if m == nil || other == nil {
		return m == other
	}
	return m.State == other.State && bytes.Equal(m.Check, other.Check)
}

// Mode returns how plain files of the home are handled.
func (m *Marker) Mode() sealfs.Mode {
	switch m.State {
	case Encrypting:
		return sealfs.Converting
	case Decrypting:
		return sealfs.Opening
	}
	return sealfs.Sealed
}

// Recipients returns the number of public keys whose identities open the home.
func (m *Marker) Recipients() int { return bytes.Count(m.ToRecipients, []byte("\n-> X25519 ")) }

// Access is what opens the key of a home.
type Access struct {
	Recipients []age.Recipient
	Passphrase string
	Identity   string // a file
}

// NewMarker returns the marker for a new key.
func NewMarker(key sealfs.Key, a Access) (*Marker, error) {
	m := &Marker{Version: version, State: Encrypting, Identity: a.Identity, Check: check(key)}
	var err error
	if len(a.Recipients) > 0 {
		if m.ToRecipients, err = wrap(key, a.Recipients...); err != nil {
			return nil, err
		}
	}
	if a.Passphrase != "" {
		r, err := age.NewScryptRecipient(a.Passphrase)
		if err != nil {
			return nil, fmt.Errorf("encrypt the key: %w", err)
		}
		if m.ByPassphrase, err = wrap(key, r); err != nil {
			return nil, err
		}
	}
	if m.ToRecipients == nil && m.ByPassphrase == nil {
		return nil, failure.Of(firn.ErrInvalid, "nothing would open the home again")
	}
	return m, nil
}

// ChangeAccess replaces what opens the home, durably. The key must be that of the home.
func (m *Marker) ChangeAccess(home string, key sealfs.Key, a Access) error {
	if !m.fits(key) {
		return ErrWrong
	}
	next, err := NewMarker(key, a)
	if err != nil {
		return err
	}
	next.State = m.State
	if err := next.write(home); err != nil {
		return err
	}
	*m = *next
	return nil
}

func wrap(key sealfs.Key, to ...age.Recipient) ([]byte, error) {
	var b bytes.Buffer
	w, err := age.Encrypt(&b, to...)
	if err == nil {
		_, err = w.Write(key[:])
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encrypt the key: %w", err)
	}
	return b.Bytes(), nil
}

// check returns a value that only the key produces.
func check(key sealfs.Key) []byte {
	h := hmac.New(sha256.New, key[:])
	h.Write([]byte("firn home key")) // a hash never fails
	return h.Sum(nil)[:16]
}

// fits reports whether a key is that of the home.
func (m *Marker) fits(key sealfs.Key) bool { return hmac.Equal(check(key), m.Check) }

// WithIdentities opens the key with secret keys.
func (m *Marker) WithIdentities(identities []age.Identity) (sealfs.Key, error) {
	return m.unwrap(m.ToRecipients, identities...)
}

// WithPassphrase opens the key with a passphrase.
func (m *Marker) WithPassphrase(passphrase string) (sealfs.Key, error) {
	if passphrase == "" {
		return sealfs.Key{}, ErrWrong
	}
	i, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return sealfs.Key{}, ErrWrong
	}
	return m.unwrap(m.ByPassphrase, i)
}

func (m *Marker) unwrap(data []byte, identities ...age.Identity) (key sealfs.Key, err error) {
	if len(data) == 0 || len(identities) == 0 {
		return key, ErrWrong
	}
	r, err := age.Decrypt(bytes.NewReader(data), identities...)
	if err != nil { // the cause may contain parts of a secret
		return key, ErrWrong
	}
	if _, err = io.ReadFull(r, key[:]); err != nil || !m.fits(key) {
		return sealfs.Key{}, failure.Of(firn.ErrCorrupt, "%s is damaged: it has another key", sealfs.MarkerName)
	}
	return key, nil
}
