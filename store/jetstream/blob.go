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

	"firn.dev"

	"github.com/nats-io/nats.go/jetstream"
)

// blobs stores data that is too large for a message. The name of an object consists of the
// session's ID, a unique number and the hash of its bytes. No two messages share an object,
// so it can be deleted with its message.
type blobs struct {
	engine  *engine
	bucket  string
	objects jetstream.ObjectStore
}

// minRate is the minimum transfer rate assumed of a cluster, in bytes per second.
const minRate = 1 << 20

func (b blobs) put(ctx context.Context, id firn.ID, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	name := token(id) + "/" + nonce() + "/" + hex.EncodeToString(sum[:])
	err := b.engine.retryFor(ctx, time.Duration(len(data)/minRate)*time.Second, func(ctx context.Context) error {
		_, err := b.objects.PutBytes(ctx, name, data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store the object %s: %w", name, err)
	}
	return name, nil
}

// get returns the bytes of an object after verifying them. It reads from one replica, so it
// works without a leader; if that replica lacks some of them, it reads from all.
func (b blobs) get(ctx context.Context, name string) ([]byte, error) {
	waitCtx, cancel := b.engine.withWait(ctx)
	defer cancel()
	stream, _ := b.names()
	data, first := b.load(waitCtx, name, func(pieces string, want uint32) ([]*message, error) {
		return b.run(waitCtx, stream, pieces, want)
	})
	if first == nil {
		return data, nil
	}
	data, err := b.load(waitCtx, name, func(pieces string, want uint32) ([]*message, error) {
		last, err := b.engine.lastSeq(waitCtx, stream)
		if err != nil {
			return nil, err
		}
		var all []*message
		_, err = b.engine.scan(waitCtx, stream, pieces, 1, last, func(m *message) error {
			all = append(all, m)
			return nil
		})
		return all, err
	})
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", name, err)
	}
	return data, nil
}

// run returns the pieces of an object from one replica.
func (b blobs) run(ctx context.Context, stream, pieces string, want uint32) ([]*message, error) {
	var all []*message
	for from := uint64(1); uint32(len(all)) < want; {
		messages, err := b.engine.batch(ctx, stream, pieces, from)
		if err != nil || len(messages) == 0 {
			return all, err
		}
		all = append(all, messages...)
		from = messages[len(messages)-1].seq + 1
	}
	return all, nil
}

func (b blobs) description(subject, name string) string {
	return subject + "M." + base64.URLEncoding.EncodeToString([]byte(name))
}

// info returns the metadata of an object from any replica, or nil if none has it.
func (b blobs) info(ctx context.Context, name string) (*jetstream.ObjectInfo, error) {
	stream, subject := b.names()
	ok := sound(func(m *message) bool { return json.Unmarshal(m.data, new(jetstream.ObjectInfo)) == nil })
	m, err := askUntilAnswered(ctx, func(ctx context.Context) (*message, error) {
		m, err := b.engine.latest(ctx, stream, b.description(subject, name), ok)
		if err != nil {
			if m, err := b.engine.lastAny(ctx, stream, b.description(subject, name), ok); err == nil && m != nil {
				return m, nil // metadata is immutable
			}
		}
		return m, err
	})
	if err != nil || m == nil {
		return nil, err
	}
	var info jetstream.ObjectInfo
	if err := json.Unmarshal(m.data, &info); err != nil {
		return nil, fmt.Errorf("%w: its description: %w", firn.ErrCorrupt, err)
	}
	return &info, nil
}

// load reads an object using fetch to get its pieces.
func (b blobs) load(ctx context.Context, name string, fetch func(pieces string, want uint32) ([]*message, error)) ([]byte, error) {
	info, err := b.info(ctx, name)
	if err != nil {
		return nil, err
	}
	if info == nil || info.Deleted {
		return nil, fmt.Errorf("%w: it is missing", firn.ErrCorrupt)
	}
	_, subject := b.names()
	messages, err := fetch(subject+"C."+info.NUID, info.Chunks)
	if err != nil {
		return nil, err
	}
	if uint32(len(messages)) < info.Chunks {
		return nil, fmt.Errorf("%w: only %d of %d pieces are there", firn.ErrCorrupt, len(messages), info.Chunks)
	}
	var data []byte
	for _, m := range messages {
		data = append(data, m.data...)
	}
	sum := sha256.Sum256(data)
	if want := hex.EncodeToString(sum[:]); name[len(name)-min(len(name), len(want)):] != want {
		return nil, fmt.Errorf("%w: its bytes are not those that were stored", firn.ErrCorrupt)
	}
	return data, nil
}

// names returns the stream that holds the objects, and the prefix of its subjects.
func (b blobs) names() (stream, subject string) { return "OBJ_" + b.bucket, "$O." + b.bucket + "." }

// of lists the objects of a session that were created before a time. It scans all objects.
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

// drop overwrites and deletes an object if it exists, and returns its size in bytes.
func (b blobs) drop(ctx context.Context, name string) (int64, error) {
	waitCtx, cancel := b.engine.withWait(ctx)
	defer cancel()
	info, err := b.info(waitCtx, name)
	if err != nil || info == nil || info.Deleted {
		return 0, err
	}
	if err := b.overwrite(ctx, info.NUID); err != nil {
		return 0, err
	}
	err = b.objects.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) { // the leader has lost it; another server will become leader
		err = &Unavailable{Write: true, Cause: err}
	}
	if err != nil {
		return 0, err
	}
	return int64(info.Size), nil
}

// overwrite erases the pieces of an object. Deleting alone only removes them from the
// index; a server's file keeps the bytes until it is rewritten.
func (b blobs) overwrite(ctx context.Context, nuid string) error {
	stream, subject := b.names()
	pieces := subject + "C." + nuid
	last, err := b.engine.lastSeq(ctx, stream)
	if err != nil {
		return err
	}
	var sequences []uint64
	_, err = b.engine.scan(ctx, stream, pieces, 1, last, func(m *message) error {
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
