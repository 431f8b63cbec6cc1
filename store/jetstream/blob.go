package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"firn"

	"github.com/nats-io/nats.go/jetstream"
)

// blobs keeps what is too large for a message. An object is named by the session
// it is of, a number of its own and the hash of its bytes. No two messages share
// one, so it can be deleted with the one that names it.
type blobs struct{ objects jetstream.ObjectStore }

func (b blobs) put(ctx context.Context, id firn.ID, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	name := token(id) + "/" + nonce() + "/" + hex.EncodeToString(sum[:])
	if _, err := b.objects.PutBytes(ctx, name, data); err != nil {
		return "", fmt.Errorf("store the object %s: %w", name, err)
	}
	return name, nil
}

// get returns the bytes of an object, which are those that were put.
func (b blobs) get(ctx context.Context, name string) ([]byte, error) {
	data, err := b.objects.GetBytes(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("object %s: %w: it is missing", name, firn.ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", name, err)
	}
	sum := sha256.Sum256(data)
	if want := hex.EncodeToString(sum[:]); name[len(name)-min(len(name), len(want)):] != want {
		return nil, fmt.Errorf("object %s: %w: its bytes are not those that were stored", name, firn.ErrCorrupt)
	}
	return data, nil
}

// of lists the objects of a session that were made before a time. It looks at
// all objects there are.
func (b blobs) of(ctx context.Context, id firn.ID, before time.Time) ([]string, error) {
	infos, err := b.objects.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	var names []string
	for _, info := range infos {
		if strings.HasPrefix(info.Name, token(id)+"/") && info.ModTime.Before(before) {
			names = append(names, info.Name)
		}
	}
	return names, err
}

// drop deletes an object, if it is there, and returns how many bytes it had.
func (b blobs) drop(ctx context.Context, name string) (int64, error) {
	info, err := b.objects.GetInfo(ctx, name)
	if err == nil {
		err = b.objects.Delete(ctx, name)
	}
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return int64(info.Size), nil
}
