package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/store"

	"github.com/klauspost/compress/zstd"
)

// sealed is the content of a seal: all lines of a session up to it, in segments. Its
// payload is a JSON line that lists them, followed by the bytes of the last one if that is
// not an object.
type sealed struct {
	segments []segment
	rest     []byte
}

// segment is a compressed run of lines.
type segment struct {
	at    store.Pos
	Count int    `json:"count"`
	Sum   string `json:"sum"`
	// Bytes is the size of the lines, Blob the object that holds them; it is empty if the
	// seal itself does.
	Bytes int64  `json:"bytes"`
	Blob  string `json:"blob,omitempty"`
	// before is the sum before the segment.
	before sum
}

func (s *segment) end() store.Pos { return s.at + store.Pos(s.Count) }

const (
	// segmentBytes is the size of lines at which a segment ends.
	segmentBytes = 2 << 20
	// sealBytes is the maximum size of a segment within a seal.
	sealBytes = 512 << 10
)

// parseSealed decodes the list of a seal and verifies it against the frame.
func parseSealed(f *frame) (*sealed, error) {
	list, rest, _ := bytes.Cut(f.data, []byte{'\n'})
	s := &sealed{rest: rest}
	if err := json.Unmarshal(list, &s.segments); err != nil {
		return nil, fmt.Errorf("message %d: %w: its list of segments: %w", f.seq, firn.ErrCorrupt, err)
	}
	var at store.Pos
	var before sum
	for i := range s.segments {
		seg := &s.segments[i]
		seg.at, seg.before = at, before
		behind, err := parseSum(seg.Sum)
		if err != nil || seg.Count < 0 {
			return nil, fmt.Errorf("message %d: %w: segment %d of %d makes no sense", f.seq, firn.ErrCorrupt, i+1, len(s.segments))
		}
		at, before = seg.end(), behind
	}
	if at != f.end || before != f.sum {
		return nil, fmt.Errorf("message %d: %w: its segments end at %d, not at %d, or with other lines", f.seq, firn.ErrCorrupt, at, f.end)
	}
	return s, nil
}

// zip holds the compressor and decompressor. Both are safe for concurrent use.
type zip struct {
	*zstd.Encoder
	*zstd.Decoder
}

// newZip returns a zip. It needs some memory, so a store creates it on first use.
func newZip() (zip, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return zip{}, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxSegment))
	return zip{enc, dec}, err
}

// maxSegment is the maximum accepted size of a segment; a single line may be long.
const maxSegment = 1 << 30

// open returns the lines of a segment.
func (st *sealer) open(ctx context.Context, s *sealed, seg segment) (piece, error) {
	data := s.rest
	if seg.Blob != "" {
		var err error
		if data, err = st.blobs.get(ctx, seg.Blob); err != nil {
			return piece{}, err
		}
	}
	z, err := st.zip()
	if err != nil {
		return piece{}, err
	}
	plain, err := z.DecodeAll(data, nil)
	if err != nil {
		return piece{}, fmt.Errorf("segment at %d: %w: %w", seg.at, firn.ErrCorrupt, err)
	}
	lines, err := split(plain, seg.Count)
	if err == nil && seg.before.over(lines).String() != seg.Sum {
		err = errWrongSum
	}
	if err != nil {
		return piece{}, fmt.Errorf("segment at %d: %w: %w", seg.at, firn.ErrCorrupt, err)
	}
	return piece{seg.at, lines}, nil
}

// pack makes segments of lines that follow others. The last one is returned instead of
// stored as an object if it is small enough.
func (st *sealer) pack(ctx context.Context, id firn.ID, before segment, lines [][]byte) (segments []segment, rest []byte, err error) {
	z, err := st.zip()
	if err != nil {
		return nil, nil, err
	}
	chain, err := parseSum(before.Sum)
	if err != nil {
		return nil, nil, err
	}
	for len(lines) > 0 {
		n, size := 0, int64(0)
		for n < len(lines) && size < segmentBytes {
			size += int64(len(lines[n])) + 1
			n++
		}
		chain = chain.over(lines[:n])
		seg := segment{Count: n, Sum: chain.String(), Bytes: size}
		data := z.EncodeAll(join(lines[:n]), nil)
		if lines = lines[n:]; len(lines) == 0 && len(data) <= sealBytes {
			rest = data
		} else if seg.Blob, err = st.blobs.put(ctx, id, data); err != nil {
			return nil, nil, err
		}
		segments = append(segments, seg)
	}
	return segments, rest, nil
}

// Seal replaces all messages of a session with one compressed message, so that an idle
// session is read with one request. Records keep their positions. If an entry is appended
// in the meantime, the error is ErrConflict and nothing has changed.
func (st *Store) Seal(ctx context.Context, id firn.ID) error {
	if err := st.beginOperation(ctx); err != nil {
		return err
	}
	defer st.working.Done()
	s, err := st.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer st.release(s)
	err = st.seal(ctx, s)
	if errors.Is(err, errFenced) {
		err = &store.Conflict{ID: id, Expect: s.tail.end, End: s.tail.end}
	}
	if err != nil {
		return st.failed(ctx, fmt.Errorf("seal session %s: %w", id, err))
	}
	return nil
}

func (st *sealer) seal(ctx context.Context, s *session) error {
	if err := st.opened.refreshTail(ctx, s); err != nil {
		return err
	}
	if s.tail.seq == 0 || s.tail.gone() {
		return firn.ErrNotFound
	}
	if s.tail.seal == s.tail.seq {
		return nil // it is already a single seal
	}
	kept, lines, err := st.unsealed(ctx, s)
	if err != nil {
		return err
	}
	f, err := st.sealFrame(ctx, s, kept, lines)
	if err != nil {
		return err
	}
	if f.end != s.tail.end || f.sum != s.tail.sum {
		return fmt.Errorf("%w: the records that were read are not those that were written", firn.ErrCorrupt)
	}
	if err := st.verifySeal(ctx, f); err != nil {
		return err
	}
	old, err := st.eraser.objectsInUse(ctx, s)
	if err != nil {
		return err
	}
	if err := st.opened.put(ctx, s, f, true); err != nil {
		return err
	}
	return st.dropAll(ctx, old, f.objects())
}

// dropAll deletes objects except those that are kept. A concurrent reader of these objects
// notices that the session was sealed.
func (st *sealer) dropAll(ctx context.Context, names map[string]bool, keep []string) error {
	for name := range names {
		if slices.Contains(keep, name) {
			continue
		}
		if _, err := st.blobs.drop(ctx, name); err != nil {
			return fmt.Errorf("delete the object %s: %w", name, err)
		}
	}
	return nil
}

// unsealed returns the reusable segments of the latest seal, and all lines after them.
func (st *sealer) unsealed(ctx context.Context, s *session) (kept []segment, lines [][]byte, err error) {
	if s.tail.seal > 0 {
		if kept, err = st.objectsOf(ctx, s); err != nil {
			return nil, nil, err
		}
	}
	var after store.Pos
	if len(kept) > 0 {
		after = kept[len(kept)-1].end()
	}
	st.reader.readForward(ctx, s.id, s.tail, after, func(r store.Record, e error) bool {
		if err = e; err == nil {
			lines = append(lines, bytes.Clone(r.Line()))
		}
		return err == nil
	})
	return kept, lines, err
}

// objectsOf returns the segments of the latest seal that are full objects.
func (st *sealer) objectsOf(ctx context.Context, s *session) ([]segment, error) {
	waitCtx, cancel := st.engine.withWait(ctx)
	defer cancel()
	m, err := askUntilAnswered(waitCtx, func(ctx context.Context) (*message, error) {
		return st.engine.pick(ctx, st.names.stream(st.names.shard(s.id)), getRequest{Seq: s.tail.seal}, soundFrame)
	})
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("%w: the seal %d is missing", firn.ErrCorrupt, s.tail.seal)
	}
	f, err := parseFrame(m)
	if err != nil {
		return nil, err
	}
	old, err := parseSealed(f)
	if err != nil {
		return nil, err
	}
	n := 0
	for n < len(old.segments) && old.segments[n].Blob != "" && old.segments[n].Bytes >= segmentBytes {
		n++
	}
	return old.segments[:n], nil
}

// sealFrame returns the frame of a seal with segments and lines after them.
func (st *sealer) sealFrame(ctx context.Context, s *session, kept []segment, lines [][]byte) (*frame, error) {
	before := segment{Sum: sum{}.String()}
	if len(kept) > 0 {
		before = kept[len(kept)-1]
	}
	segments, rest, err := st.pack(ctx, s.id, before, lines)
	if err != nil {
		return nil, err
	}
	segments = append(kept[:len(kept):len(kept)], segments...)
	list, err := json.Marshal(segments)
	if err != nil {
		return nil, err
	}
	f := s.tail.nextFrame(kindSeal, st.opened.messageID(s.id, s.tail.end))
	f.data, f.prev, f.seal, f.end, f.size = append(append(list, '\n'), rest...), sum{}, 0, 0, 0
	for _, seg := range segments {
		f.end += store.Pos(seg.Count)
		f.size += seg.Bytes
		if f.sum, err = parseSum(seg.Sum); err != nil {
			return nil, err
		}
	}
	f.count, f.loose, f.base = int(f.end), 0, f.size
	return f, nil
}

// verifySeal reads a seal back before it replaces the messages.
func (st *sealer) verifySeal(ctx context.Context, f *frame) error {
	s, err := parseSealed(f)
	if err != nil {
		return err
	}
	for _, seg := range s.segments {
		if _, err := st.open(ctx, s, seg); err != nil {
			return err
		}
	}
	return nil
}

// verifyInline reads back the segment within a seal.
func (st *sealer) verifyInline(f *frame) error {
	s, err := parseSealed(f)
	if err != nil {
		return err
	}
	for _, seg := range s.segments {
		if seg.Blob == "" {
			if _, err := st.open(context.Background(), s, seg); err != nil {
				return err
			}
		}
	}
	return nil
}
