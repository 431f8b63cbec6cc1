package sessionsync

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"

	"firn.dev"
	"firn.dev/internal/base/failure"
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
			return nil, failure.Of(firn.ErrInvalid, "read the sync identity: expected one line AGE-SECRET-KEY-1…")
		}
		found = secret
	}
	if found == nil {
		return nil, failure.Of(firn.ErrInvalid, "read the sync identity: it is empty")
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

// CheckAccess rejects a target on which machines with another identity publish. Without an
// identity, that is every target with manifests. Missing and damaged manifests are skipped.
func (i *Identity) CheckAccess(ctx context.Context, t Target) error {
	machines, err := t.List(ctx, manifestDir)
	if err != nil {
		return err
	}
	foreign := false
	for _, machine := range machines {
		files, err := t.List(ctx, manifestDir+"/"+machine)
		if errors.Is(err, firn.ErrCorrupt) {
			continue
		}
		if err != nil {
			return err
		}
		for _, file := range slices.Backward(files) {
			at, ok := parsePlace(machine, file)
			if !ok {
				continue
			}
			opened, err := i.canOpen(ctx, t, at)
			if opened {
				return nil
			}
			if errors.Is(err, errForeign) {
				foreign = true
				break
			}
			if !isLost(err) {
				return err
			}
		}
	}
	switch {
	case !foreign:
		return nil
	case i == nil:
		return failure.WithHint(failure.Of(firn.ErrConflict, "other machines publish on this target, and this home has no sync identity"), takeHint)
	}
	return failure.WithHint(failure.Of(firn.ErrConflict, "other machines publish on this target with another sync identity"), takeHint)
}

// takeHint is the way to the identity of the other machines.
const takeHint = "print theirs there with firn sync identity, and give it to firn sync add as --identity FILE"

// canOpen reports whether the identity decrypts a manifest.
func (i *Identity) canOpen(ctx context.Context, t Target, at place) (bool, error) {
	if i == nil {
		return false, errForeign
	}
	sealed, err := t.Get(ctx, at.path())
	if err == nil {
		_, err = i.decodeManifest(at, sealed)
	}
	return err == nil, err
}
