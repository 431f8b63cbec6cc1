package anchor

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// pemType is the type of the PEM block of a key file.
const pemType = "PRIVATE KEY"

// ReadKey reads an ed25519 private key: a PEM file in PKCS #8, as openssl genpkey writes it.
func ReadKey(fsys vfs.FS, path string) (ed25519.PrivateKey, error) {
	f, err := fsys.Open(path, vfs.Read)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read-only
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != pemType {
		return nil, fmt.Errorf("read the key %s: %w: it is not a PEM file with a private key", path, firn.ErrInvalid)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the key %s: %w: %w", path, firn.ErrInvalid, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read the key %s: %w: it is not an ed25519 key", path, firn.ErrInvalid)
	}
	return private, nil
}

// OwnKey returns the key at a path in the home, and creates it if there is none.
func OwnKey(fsys vfs.FS, path string) (key ed25519.PrivateKey, created bool, err error) {
	if key, err = ReadKey(fsys, path); !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	_, key, err = ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, false, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, false, err
	}
	if err := WriteNew(fsys, path, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der})); err != nil {
		return nil, false, err
	}
	return key, true, nil
}

// PublicKey returns the text of the public key of a private one.
func PublicKey(key ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// WriteNew writes a file that only its owner can read, durably. It fails if the file exists.
func WriteNew(fsys vfs.FS, path string, data []byte) error {
	f, err := fsys.Open(path, vfs.Create)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, fsys.Remove(path))
	}
	return fsys.SyncDir(filepath.Dir(path))
}
