package sessionsync

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"
	"github.com/klauspost/compress/zstd"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// MaxFile limits the size of a decompressed piece or manifest. A piece is about
// [pieceBytes] and one line of at most store.max_line.
const MaxFile = 256 << 20

// seal compresses and encrypts data. It returns the name of the result: the hash of its
// bytes, which reveals nothing of the content.
func (i *Identity) seal(plain []byte) (sealed []byte, name string, err error) {
	var out bytes.Buffer
	err = errors.Join(i.sealTo(&out, plain))
	if err != nil {
		return nil, "", fmt.Errorf("encrypt: %w", err)
	}
	return out.Bytes(), nameOf(out.Bytes()), nil
}

func (i *Identity) sealTo(out io.Writer, plain []byte) error {
	encrypted, err := age.Encrypt(out, i.secret.Recipient())
	if err != nil {
		return err
	}
	compressed, err := zstd.NewWriter(encrypted, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if _, err := compressed.Write(plain); err != nil {
		return err
	}
	if err := compressed.Close(); err != nil {
		return err
	}
	return encrypted.Close()
}

// nameOf returns the name of sealed data.
func nameOf(sealed []byte) string {
	sum := sha256.Sum256(sealed)
	return hex.EncodeToString(sum[:])
}

// errForeign means that sealed data is for another sync identity.
var errForeign = failure.Of(firn.ErrCorrupt, "it is not encrypted for the sync identity of this home")

// open decrypts sealed data after comparing it with its name.
func (i *Identity) open(name string, sealed []byte) ([]byte, error) {
	if nameOf(sealed) != name {
		return nil, failure.Of(firn.ErrCorrupt, "its bytes do not match its name")
	}
	decrypted, err := age.Decrypt(bytes.NewReader(sealed), i.secret)
	var foreign *age.NoIdentityMatchError
	if errors.As(err, &foreign) {
		return nil, errForeign
	}
	if err != nil {
		return nil, failure.Of(firn.ErrCorrupt, "decrypt: %v", err)
	}
	reader, err := zstd.NewReader(decrypted, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxFile))
	if err != nil {
		return nil, failure.Of(firn.ErrCorrupt, "decompress: %v", err)
	}
	defer reader.Close()
	plain, err := io.ReadAll(io.LimitReader(reader, MaxFile+1))
	if err == nil && len(plain) > MaxFile {
		err = errors.New("it is too large")
	}
	if err != nil {
		return nil, failure.Of(firn.ErrCorrupt, "decompress: %v", err)
	}
	return plain, nil
}
