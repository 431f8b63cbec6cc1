package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// followers measures the cost of event followers for appends: the median of appends to a
// session with 1,000 followers against none, within one run. First all follow the same
// session, then each follows another one.
func (b *bench) followers(ctx context.Context, st *filestore.Store, c *client.Client, address string) error {
	const many = 1000
	for _, spread := range []bool{false, true} {
		id := firn.ID(fmt.Sprintf("followed-%t", spread))
		if err := createSession(ctx, st, id); err != nil {
			return err
		}
		if _, err := appendTo(ctx, c, id, 100); err != nil { // warm-up
			return err
		}
		calm, err := appendTo(ctx, c, id, 500)
		if err != nil {
			return err
		}
		stop, err := followAll(ctx, st, address, id, many, spread)
		if err != nil {
			return err
		}
		followed, err := appendTo(ctx, c, id, 500)
		stop()
		if err != nil {
			return err
		}
		name := "all of its session"
		if spread {
			name = "of other sessions"
		}
		r := ratio(followed.part(50), calm.part(50))
		b.note("gateway: append acknowledged beside 1,000 followers "+name+", p50 / p99", followed.String())
		b.want("gateway: p50 of appends beside 1,000 followers "+name+", against none", times(r), "≤ 3 ×", r <= 3)
	}
	return nil
}

// appendTo appends entries to a session one by one.
func appendTo(ctx context.Context, c *client.Client, id firn.ID, n int) (*samples, error) {
	var took samples
	for range n {
		start := time.Now()
		if _, err := c.Append(ctx, id, store.Any, wire.NewEntries{User: "I note this."}); err != nil {
			return nil, err
		}
		took.add(time.Since(start))
	}
	return &took, nil
}

// followAll opens many event streams of a session, or of as many other sessions, and reads
// them. All streams have started when it returns.
func followAll(ctx context.Context, st *filestore.Store, address string, id firn.ID, many int, spread bool) (stop func(), err error) {
	var conns []net.Conn
	stop = func() {
		for _, conn := range conns {
			conn.Close()
		}
	}
	for n := range many {
		at := id
		if spread {
			at = firn.ID(fmt.Sprintf("%s-%04d", id, n))
			if err := createSession(ctx, st, at); err != nil {
				stop()
				return nil, err
			}
		}
		conn, err := net.Dial("unix", strings.TrimPrefix(address, "unix:"))
		if err != nil {
			stop()
			return nil, err
		}
		conns = append(conns, conn)
		fmt.Fprintf(conn, "GET /v1/sessions/%s/events HTTP/1.1\r\nHost: x\r\n\r\n", at)
		in := bufio.NewReaderSize(conn, 4<<10)
		for line := ""; !strings.HasPrefix(line, "event:"); { // wait for the first entry
			if line, err = in.ReadString('\n'); err != nil {
				stop()
				return nil, errors.Join(fmt.Errorf("follower %d", n), err)
			}
		}
		go io.Copy(io.Discard, conn) //nolint:errcheck // it ends with the connection
	}
	return stop, nil
}
