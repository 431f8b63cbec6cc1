package backup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"filippo.io/age"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

const (
	// ageStart is the first line of a file encrypted with age.
	ageStart = "age-encryption.org/v1\n"
	// armorStart begins a file encrypted with age as text.
	armorStart = "-----BEGIN AGE"
	// maxKeyFile limits the size of identity and recipients files.
	maxKeyFile = 1 << 20
)

// Errors about the keys of a backup. They wrap [firn.ErrInvalid].
var (
	// ErrEncrypted means that a backup is encrypted and no identity was given.
	ErrEncrypted = failure.Of(firn.ErrInvalid, "the backup is encrypted")
	// ErrArmored means that a backup is encrypted as text, which only age itself reads.
	ErrArmored = failure.Of(firn.ErrInvalid, "the backup is encrypted as text (armored)")
	// ErrNotEncrypted means that an identity was given for a backup that is not encrypted.
	ErrNotEncrypted = failure.Of(firn.ErrInvalid, "the backup is not encrypted")
	// ErrWrongIdentity means that the backup is encrypted to other recipients.
	ErrWrongIdentity = failure.Of(firn.ErrInvalid, "no key of the identity file decrypts the backup")
	// ErrOpenIdentity means that other users may read the identity file.
	ErrOpenIdentity = failure.Of(firn.ErrInvalid, "other users may read the identity file")
)

// ParseRecipients reads age recipients: public keys, one per line. Blank lines and
// comments are skipped. The error never contains the text, which may be a secret key.
func ParseRecipients(text string) ([]age.Recipient, error) {
	if strings.Contains(strings.ToUpper(text), "AGE-SECRET-KEY-") {
		return nil, failure.Of(firn.ErrInvalid, "read recipients: this is a secret key, not a public key")
	}
	recipients, err := age.ParseRecipients(strings.NewReader(trimLines(text)))
	if err != nil {
		return nil, failure.Of(firn.ErrInvalid, "read recipients: expected public keys age1…, one per line")
	}
	return recipients, nil
}

// ReadRecipients reads a file for [ParseRecipients].
func ReadRecipients(file string) ([]age.Recipient, error) {
	text, err := readKeyFile(file)
	if err != nil {
		return nil, fmt.Errorf("read recipients: %w", err)
	}
	recipients, err := ParseRecipients(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return recipients, nil
}

// ReadIdentities reads a file with age secret keys, which only its owner may be able to read.
// The error never contains the content.
func ReadIdentities(file string) ([]age.Identity, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("read %s (mode %04o): %w", file, info.Mode().Perm(), ErrOpenIdentity)
	}
	text, err := readKeyFile(file)
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	identities, err := parseIdentities(text)
	if err != nil {
		return nil, fmt.Errorf("read identity %s: %w", file, err)
	}
	return identities, nil
}

// parseIdentities reads the content of an identity file.
func parseIdentities(text string) ([]age.Identity, error) {
	if strings.HasPrefix(text, ageStart) || strings.HasPrefix(text, armorStart) {
		return nil, failure.Of(firn.ErrUnsupported, "the file itself is encrypted; decrypt it first")
	}
	identities, err := age.ParseIdentities(strings.NewReader(trimLines(text)))
	if err != nil { // the cause may contain a secret
		return nil, failure.Of(firn.ErrInvalid, "expected secret keys AGE-SECRET-KEY-1…, one per line")
	}
	return identities, nil
}

// readKeyFile reads a file of limited size.
func readKeyFile(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(data) > maxKeyFile {
		err = failure.Of(firn.ErrInvalid, "%s is too large for a file of keys", file)
	}
	return string(data), err
}

// trimLines removes spaces and carriage returns around each line.
func trimLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// Encrypt returns a writer that encrypts an archive to the recipients. The result is complete
// once it is closed, which does not close to. It buffers one chunk of 64 KiB.
func Encrypt(to io.Writer, recipients []age.Recipient) (io.WriteCloser, error) {
	w, err := age.Encrypt(to, recipients...)
	if err != nil {
		return nil, fmt.Errorf("encrypt the backup: %w", err)
	}
	return w, nil
}

// Decrypt returns a reader of the archive in from. Without identities it must not be
// encrypted, with identities it must be: a caller that expects an encrypted archive should not
// restore another one that was put in its place.
func Decrypt(from io.Reader, identities []age.Identity) (io.Reader, error) {
	buffered := bufio.NewReader(from)
	start, err := buffered.Peek(len(ageStart))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read backup: %w", err)
	}
	encrypted := bytes.Equal(start, []byte(ageStart))
	switch {
	case bytes.HasPrefix(start, []byte(armorStart)):
		return nil, ErrArmored
	case encrypted && len(identities) == 0:
		return nil, ErrEncrypted
	case !encrypted && len(identities) > 0:
		return nil, ErrNotEncrypted
	case !encrypted:
		return buffered, nil
	}
	plain, err := age.Decrypt(buffered, identities...)
	var foreign *age.NoIdentityMatchError
	if errors.As(err, &foreign) {
		return nil, ErrWrongIdentity
	}
	if err != nil {
		return nil, fmt.Errorf("read backup: %w", damagedSeal(err))
	}
	return &decrypted{plain}, nil
}

// decrypted is the content of an encrypted archive. Every chunk is authenticated before it
// is returned, and the end is an authenticated chunk too.
type decrypted struct{ from io.Reader }

func (d *decrypted) Read(b []byte) (int, error) {
	n, err := d.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damagedSeal(err)
	}
	return n, err
}

// damagedSeal distinguishes damaged encrypted data from a read error.
func damagedSeal(err error) error {
	var system *fs.PathError
	switch {
	case errors.As(err, &system):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return failure.Of(firn.ErrCorrupt, "truncated: the end of the encrypted data is missing")
	}
	return failure.Of(firn.ErrCorrupt, "the encrypted data was changed or truncated")
}
