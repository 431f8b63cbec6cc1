package sessionsync

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"

	"filippo.io/age"

	"firn.dev"
)

// Identity is the secret that all machines of one user share. It decrypts everything on a
// target and proves that a manifest was written by one of the machines.
type Identity struct {
	secret *age.X25519Identity
	mac    []byte
}

// NewIdentity returns a new random identity.
func NewIdentity() (*Identity, error) {
	secret, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("create a sync identity: %w", err)
	}
	return withSecret(secret)
}

// ParseIdentity reads an identity in the form of [Identity.Text]. Blank lines and comments
// are skipped.
func ParseIdentity(text string) (*Identity, error) {
	var found *age.X25519Identity
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		secret, err := age.ParseX25519Identity(line)
		if err != nil || found != nil { // the cause may contain the secret
			return nil, fmt.Errorf("read the sync identity: expected one line AGE-SECRET-KEY-1…: %w", firn.ErrInvalid)
		}
		found = secret
	}
	if found == nil {
		return nil, fmt.Errorf("read the sync identity: it is empty: %w", firn.ErrInvalid)
	}
	return withSecret(found)
}

func withSecret(secret *age.X25519Identity) (*Identity, error) {
	mac, err := hkdf.Key(sha256.New, []byte(secret.String()), nil, "firn sync manifest", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of manifests: %w", err)
	}
	return &Identity{secret, mac}, nil
}

// Text returns the identity as a file that other machines read. It is a secret.
func (i *Identity) Text() string {
	return "# firn sync identity: decrypts everything on the sync targets; keep it secret\n# public key: " + i.Recipient() + "\n" + i.secret.String() + "\n"
}

// Recipient returns the public key of the identity.
func (i *Identity) Recipient() string { return i.secret.Recipient().String() }

// sign returns the proof that data comes from a machine with this identity.
func (i *Identity) sign(data []byte) []byte {
	h := hmac.New(sha256.New, i.mac)
	h.Write(data) // a hash never fails
	return h.Sum(nil)
}
