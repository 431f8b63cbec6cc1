package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
	"firn.dev/store/jetstream"

	js "github.com/nats-io/nats.go/jetstream"
)

// messagesOf counts the messages of a session, and reports whether the last one is a seal.
func messagesOf(t testing.TB, o jetstream.Options, id firn.ID) (n int, sealed bool) {
	t.Helper()
	api := connect(t, o)
	for shard := range o.Shards {
		stream, err := api.Stream(t.Context(), fmt.Sprintf("%s_S%02d", o.Space, shard))
		if err != nil {
			t.Fatal(err)
		}
		subject := fmt.Sprintf("%s.s.%02d.%s", o.Space, shard, id)
		info, err := stream.Info(t.Context(), js.WithSubjectFilter(subject))
		if err != nil {
			t.Fatal(err)
		}
		if n = int(info.State.Subjects[subject]); n > 0 {
			m, err := stream.GetLastMsgForSubject(t.Context(), subject)
			if err != nil {
				t.Fatal(err)
			}
			return n, m.Header.Get("S-Kind") == "seal"
		}
	}
	return 0, false
}

// clock is a clock that tests set.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Date(2026, 3, 15, 10, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) time() time.Time         { return time.Unix(0, c.now.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }

func TestIdleSessionsAreSealed(t *testing.T) {
	t.Parallel()
	o, c := options(t), newClock()
	o.Now, o.SealAfter = c.time, time.Hour
	st := another(t, o)
	want := func(id firn.ID, messages int, sealed bool) {
		t.Helper()
		if n, is := messagesOf(t, o, id); n != messages || is != sealed {
			t.Errorf("session %s has %d messages, sealed %v; want %d, %v", id, n, is, messages, sealed)
		}
	}
	for range 3 {
		mustAppend(t, st, "s1", message("a"))
	}
	c.advance(40 * time.Minute)
	mustAppend(t, st, "s2", message("a"))
	mustAppend(t, st, "s2", message("b"))
	st.Keep(t.Context())
	want("s1", 3, false)
	c.advance(20 * time.Minute)
	all := records(t, st.Read(t.Context(), "s1", store.Start))
	st.Keep(t.Context())
	want("s1", 1, true)
	want("s2", 2, false)
	same(t, st, "s1", all)

	// The session continues at its end, and is sealed again after another idle time.
	if end, err := st.Append(t.Context(), "s1", store.Pos(len(all)), message("b")); err != nil || end != store.Pos(len(all)+1) {
		t.Errorf("append to a sealed session: %d, %v", end, err)
	}
	want("s1", 2, false)
	c.advance(59 * time.Minute)
	st.Keep(t.Context())
	want("s1", 2, false)
	want("s2", 1, true)
	c.advance(time.Minute)
	st.Keep(t.Context())
	want("s1", 1, true)

	// Sessions in the trash bin are not sealed.
	mustAppend(t, st, "s2", message("c"))
	if err := st.Remove(t.Context(), "s2", ""); err != nil {
		t.Fatal(err)
	}
	c.advance(2 * time.Hour)
	st.Keep(t.Context())
	want("s2", 3, false)
}

func TestNeverSealed(t *testing.T) {
	o, c := options(t), newClock()
	o.Now, o.SealAfter = c.time, -1
	st := another(t, o)
	mustAppend(t, st, "s1", message("a"))
	mustAppend(t, st, "s1", message("a"))
	c.advance(1000 * time.Hour)
	st.Keep(t.Context())
	if n, sealed := messagesOf(t, o, "s1"); n != 2 || sealed {
		t.Errorf("there are %d messages, sealed %v", n, sealed)
	}
}

// TestManyMessagesAreSealed waits for the background work to seal them.
func TestManyMessagesAreSealed(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.SealAfter = 0
	nc, err := o.Server.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync(o.Space + ".s.>") // receives everything that is published
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	st := another(t, o)
	await := func(id firn.ID) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), basetest.Limit)
		defer cancel()
		for {
			m, err := sub.NextMsgWithContext(ctx)
			if err != nil {
				t.Fatalf("session %s is not sealed: %v", id, err)
			}
			if strings.HasSuffix(m.Subject, "."+string(id)) && m.Header.Get("S-Kind") == "seal" {
				return
			}
		}
	}
	for range jetstream.ManyMessages + 1 {
		mustAppend(t, st, "many", message("a"))
	}
	await("many")
	for range 6 {
		mustAppend(t, st, "large", message(strings.Repeat("x", 100_000)))
	}
	await("large")
	if got := len(records(t, st.Read(t.Context(), "large", store.Start))); got != 7 {
		t.Errorf("there are %d records", got)
	}
}

// TestSealingDuringAppends seals continuously while two stores append.
func TestSealingDuringAppends(t *testing.T) {
	t.Parallel()
	o, c := options(t), newClock()
	o.Now, o.SealAfter = c.time, time.Nanosecond
	st := another(t, o)
	other := another(t, o)
	const each = 60
	stop := make(chan struct{})
	var keeping, writing sync.WaitGroup
	for _, k := range []*jetstream.Store{st, other} {
		keeping.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					c.advance(time.Hour) // so that failed attempts are forgotten
					k.Keep(t.Context())
				}
			}
		})
	}
	var counted [2][]store.Pos
	for w, k := range []*jetstream.Store{st, other} {
		writing.Go(func() {
			for i := range each {
				e := message(fmt.Sprint(w, " ", i))
				end, err := k.Append(t.Context(), "s1", store.Any, e)
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				counted[w] = append(counted[w], end)
			}
		})
	}
	writing.Wait()
	close(stop)
	keeping.Wait()
	all := records(t, st.Read(t.Context(), "s1", store.Start))
	if len(all) != 2*each+1 {
		t.Errorf("there are %d records", len(all))
	}
	for w := range counted {
		for i, end := range counted[w] {
			if int(end) > len(all) || !strings.Contains(all[end-1].line, fmt.Sprintf(`"%d %d"`, w, i)) {
				t.Errorf("entry %d of writer %d is not before %d", i, w, end)
			}
		}
	}
}

// TestCloseEndsTheBackground closes a store that has much to seal.
func TestCloseEndsTheBackground(t *testing.T) {
	o, c := options(t), newClock()
	o.Now, o.SealAfter = c.time, time.Minute
	st := another(t, o)
	for i := range 20 {
		mustAppend(t, st, firn.ID(fmt.Sprint("s", i)), message("a"))
	}
	c.advance(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	st.Keep(ctx) // as if the store is closed meanwhile
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Append(t.Context(), "s1", store.Any, message("b")); !errors.Is(err, firn.ErrClosed) {
		t.Errorf("append to a closed store: %v", err)
	}
	if got := len(list(t, another(t, o))); got != 20 {
		t.Errorf("there are %d sessions", got)
	}
}

// TestIndexIsWrittenInTheBackground checks that rows that a census found missing exist for the
// next store.
func TestIndexIsWrittenInTheBackground(t *testing.T) {
	o := options(t)
	st := another(t, o)
	const sessions = 20
	for i := range sessions {
		mustAppend(t, st, firn.ID(fmt.Sprint("s", i)), message("a"))
	}
	before := census(t, st)
	rows := func() int {
		kv, err := connect(t, o).KeyValue(t.Context(), o.Space+"_IDX")
		if err != nil {
			t.Fatal(err)
		}
		status, err := kv.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return int(status.Values())
	}
	if n := rows(); n != 0 {
		t.Errorf("a census has written %d rows", n)
	}
	if st.KeepIndex(t.Context(), sessions); rows() != 0 {
		t.Error("rows are written although few are missing")
	}
	st.KeepIndex(t.Context(), sessions-1)
	if n := rows(); n < sessions {
		t.Errorf("%d rows are written, want %d", n, sessions)
	}
	if got := census(t, another(t, o)); len(got) != sessions || got[7] != before[7] {
		t.Errorf("there are %d sessions", len(got))
	}
}
