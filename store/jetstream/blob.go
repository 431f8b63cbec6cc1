package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
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
type blobs struct {
	engine  *engine
	bucket  string
	objects jetstream.ObjectStore
}

// pace is how many bytes a second a cluster takes at least.
const pace = 1 << 20

func (b blobs) put(ctx context.Context, id firn.ID, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	name := token(id) + "/" + nonce() + "/" + hex.EncodeToString(sum[:])
	err := b.engine.steadily(ctx, time.Duration(len(data)/pace)*time.Second, func(ctx context.Context) error {
		_, err := b.objects.PutBytes(ctx, name, data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store the object %s: %w", name, err)
	}
	return name, nil
}

// get returns the bytes of an object, which are those that were put. Some replica
// tells them, so it works without a leader; if that one has not all of them the
// leader is asked.
func (b blobs) get(ctx context.Context, name string) ([]byte, error) {
	patient, cancel := b.engine.patient(ctx)
	defer cancel()
	data, err := b.load(patient, name, b.engine.lastAny, b.engine.batch)
	if err == nil {
		return data, nil
	}
	data, err = b.load(patient, name, b.engine.last, b.oneByOne)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", name, err)
	}
	return data, nil
}

// load reads an object in a way that is told: its description first.
func (b blobs) load(ctx context.Context, name string, last func(ctx context.Context, stream, subject string) (*message, error),
	next func(ctx context.Context, stream, subject string, seq uint64) ([]*message, error)) ([]byte, error) {
	stream, subject := b.names()
	m, err := insist(ctx, func(ctx context.Context) (*message, error) {
		return last(ctx, stream, subject+"M."+base64.URLEncoding.EncodeToString([]byte(name)))
	})
	if err != nil {
		return nil, err
	}
	var info jetstream.ObjectInfo
	if m == nil || json.Unmarshal(m.data, &info) != nil || info.Deleted {
		return nil, fmt.Errorf("%w: it is missing", firn.ErrCorrupt)
	}
	var data []byte
	for from, chunks := uint64(1), uint32(0); chunks < info.Chunks; {
		messages, err := insist(ctx, func(ctx context.Context) ([]*message, error) { return next(ctx, stream, subject+"C."+info.NUID, from) })
		if err != nil {
			return nil, err
		}
		if len(messages) == 0 {
			return nil, fmt.Errorf("%w: only %d of %d pieces are there", firn.ErrCorrupt, chunks, info.Chunks)
		}
		for _, m := range messages {
			data, from, chunks = append(data, m.data...), m.seq+1, chunks+1
		}
	}
	sum := sha256.Sum256(data)
	if want := hex.EncodeToString(sum[:]); name[len(name)-min(len(name), len(want)):] != want {
		return nil, fmt.Errorf("%w: its bytes are not those that were stored", firn.ErrCorrupt)
	}
	return data, nil
}

// oneByOne is a batch of one, as the leader has it.
func (b blobs) oneByOne(ctx context.Context, stream, subject string, seq uint64) ([]*message, error) {
	m, err := b.engine.next(ctx, stream, subject, seq)
	if m == nil {
		return nil, err
	}
	return []*message{m}, err
}

// names returns the stream that holds the objects, and how its subjects begin.
func (b blobs) names() (stream, subject string) { return "OBJ_" + b.bucket, "$O." + b.bucket + "." }

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

// drop overwrites an object and deletes it, if it is there, and returns how many
// bytes it had.
func (b blobs) drop(ctx context.Context, name string) (int64, error) {
	info, err := b.objects.GetInfo(ctx, name)
	if err == nil {
		err = b.overwrite(ctx, info.NUID)
	}
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

// overwrite erases the pieces of an object: to delete it only takes them off the
// list, and a server's file has them until it is written anew.
func (b blobs) overwrite(ctx context.Context, nuid string) error {
	stream, subject := b.names()
	pieces := subject + "C." + nuid
	last, err := b.engine.last(ctx, stream, pieces)
	if err != nil || last == nil {
		return err
	}
	var sequences []uint64
	_, err = b.engine.scan(ctx, stream, pieces, 1, last.seq, func(m *message) error {
		sequences = append(sequences, m.seq)
		return nil
	})
	for _, seq := range sequences {
		if err == nil {
			err = b.engine.erase(ctx, stream, seq)
		}
	}
	return err
}
