package sessionsync

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/door/api"
	"firn.dev/internal/ops/sessionsync/gatewaytarget"
)

// brokenNetwork is a transport that delays nothing, but loses requests and responses, cuts both, and
// repeats requests.
type brokenNetwork struct {
	http.RoundTripper
	rng *rand.Rand
	// rare is one in how many requests has a fault.
	rare int
}

// RoundTrip implements http.RoundTripper.
func (b brokenNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	send := func(body io.Reader) (*http.Response, error) {
		again := r.Clone(r.Context())
		if again.Body = nil; r.Body != nil {
			again.Body = io.NopCloser(body)
		}
		return b.RoundTripper.RoundTrip(again)
	}
	whole := func() io.Reader { return bytes.NewReader(body) }
	cut := func(from io.Reader) io.Reader { return io.MultiReader(io.LimitReader(from, 20), failing{}) }
	fault := b.rng.IntN(5 * b.rare)
	if fault >= 5 {
		return send(whole())
	}
	switch fault {
	case 0: // the request is lost
		return nil, errors.New("connection refused")
	case 1: // it is cut
		if response, err := send(cut(whole())); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		return nil, io.ErrUnexpectedEOF
	}
	response, err := send(whole())
	if err != nil {
		return nil, err
	}
	switch fault {
	case 2: // the response is lost
		_, _ = io.Copy(io.Discard, response.Body)
		return nil, errors.Join(io.ErrUnexpectedEOF, response.Body.Close())
	case 3: // it is cut
		response.Body = readCloser{cut(response.Body), response.Body}
		return response, nil
	}
	_, _ = io.Copy(io.Discard, response.Body) // the request arrives twice
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	return send(whole())
}

type readCloser struct {
	io.Reader
	io.Closer
}

// failing is a reader that fails.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// toServer is a transport to a server of this process.
type toServer struct{ server *httptest.Server }

// RoundTrip implements http.RoundTripper.
func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	u, err := url.Parse(s.server.URL)
	if err != nil {
		return nil, err
	}
	r.URL.Host = u.Host
	return s.server.Client().Transport.RoundTrip(r)
}

// serveKeeper serves the files of a home, and returns a transport to it.
func serveKeeper(t testing.TB, home string) http.RoundTripper {
	server := httptest.NewServer(api.Owner(api.HandlerOf(api.Services{}, api.Config{SyncFiles: NewKeeper(home)})))
	t.Cleanup(server.Close)
	return toServer{server}
}

// newGatewayTarget returns a target at a gateway whose connections break.
func newGatewayTarget(t testing.TB, rng *rand.Rand) worldTarget {
	home := t.TempDir()
	network := serveKeeper(t, home)
	return worldTarget{func(faults bool) Target {
		transport := network
		if faults {
			transport = brokenNetwork{network, rng, 6}
		}
		return &Listing{Remote: openGateway(t, transport)}
	}, NewKeeper(home).folder.Dir}
}

// openGateway returns the files at a gateway.
func openGateway(t testing.TB, transport http.RoundTripper) *gatewaytarget.Gateway {
	c, err := client.New(client.Options{Transport: transport})
	check(t, err)
	return gatewaytarget.New(gatewaytarget.Options{Client: c, MaxFile: MaxFile, Pause: time.Microsecond})
}

// TestKeeper adds files at a gateway: only whole ones with the right names are kept, and none is
// changed.
func TestKeeper(t *testing.T) {
	home := t.TempDir()
	g := openGateway(t, serveKeeper(t, home))
	ctx := t.Context()
	data := bytes.Repeat([]byte("sealed "), 100_000)
	piece := piecePath(nameOf(data))
	manifest := manifestDir + "/m/0000000001-" + nameOf(data)
	if names, err := g.All(ctx); err != nil || len(names) != 0 {
		t.Fatalf("an empty target: %v, %v", names, err)
	}
	if _, err := g.Get(ctx, piece); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
	for range 2 {
		check(t, g.Put(ctx, markFile, []byte(mark)))
		check(t, g.Put(ctx, piece, data))
		check(t, g.Put(ctx, manifest, data))
	}
	names, err := g.All(ctx)
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{markFile, manifest, piece}) {
		t.Errorf("%v, %v", names, err)
	}
	if got, err := g.Get(ctx, piece); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, name := range []string{piecePath(strings.Repeat("0", 64)), "pieces/aa/b", "manifests/m/1", "firn-sync.json2", "pieces/../../firn.toml", "pieces/aa/.tmp-" + nameOf(data), manifestDir + "/../" + nameOf(data), piece + "x", `pieces\aa\` + nameOf(data)} {
		if err := g.Put(ctx, name, data); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s was kept: %v", name, err)
		}
	}
	for _, name := range []string{markFile, piece, manifest} {
		if err := g.Put(ctx, name, []byte("other")); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s was changed: %v", name, err)
		}
	}
	if got, err := g.Get(ctx, piece); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, name := range []string{"../firn.toml", "firn.toml", "pieces/aa/../../../firn.toml"} {
		if _, err := g.Get(ctx, name); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	check(t, filepath.WalkDir(home, func(path string, e os.DirEntry, err error) error {
		if strings.HasPrefix(e.Name(), ".tmp-") {
			t.Errorf("%s is left", path)
		}
		return err
	}))
}

// TestKeeperKilled kills the gateway at every step of a request. The file is absent or whole, and can be added
// again.
func TestKeeperKilled(t *testing.T) {
	data := bytes.Repeat([]byte("sealed "), 10_000)
	name := piecePath(nameOf(data))
	for steps := 0; ; steps++ {
		k := NewKeeper(t.TempDir())
		killed := &Keeper{Folder{FS: killableFS{k.folder.FS, &fuse{steps}}, Dir: k.folder.Dir}}
		_, err := killed.PutFile(t.Context(), name, bytes.NewReader(data))
		if err == nil {
			if steps < 5 {
				t.Errorf("a file takes %d steps", steps)
			}
			return
		}
		if !errors.Is(err, errKilled) || !errors.Is(err, firn.ErrNotSaved) {
			t.Fatalf("step %d: %v", steps, err)
		}
		for range 2 {
			names, err := k.All(t.Context())
			check(t, err)
			for _, name := range names {
				file, size, err := k.OpenFile(t.Context(), name)
				check(t, err)
				got, err := io.ReadAll(file)
				if err = errors.Join(err, file.Close()); err != nil || !bytes.Equal(got, data) || size != int64(len(data)) {
					t.Errorf("step %d: %d bytes, %v", steps, len(got), err)
				}
			}
			_, err = k.PutFile(t.Context(), name, bytes.NewReader(data))
			check(t, err)
		}
	}
}

// TestKeeperFaults adds and reads files through a network with faults. Every file is whole.
func TestKeeperFaults(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	home := t.TempDir()
	network := serveKeeper(t, home)
	g := openGateway(t, brokenNetwork{network, rng, 2})
	kept := make(map[string][]byte)
	for i := range 60 {
		data := bytes.Repeat([]byte{byte(i)}, i*1000)
		name := piecePath(nameOf(data))
		if err := g.Put(t.Context(), name, data); err == nil {
			kept[name] = data
		} else if !errors.Is(err, firn.ErrUnavailable) {
			t.Errorf("put: %v", err)
		}
		if got, err := g.Get(t.Context(), name); err == nil && !bytes.Equal(got, data) || err != nil && !errors.Is(err, firn.ErrUnavailable) && kept[name] != nil {
			t.Errorf("get: %d bytes of %d, %v", len(got), len(data), err)
		}
		if names, err := g.All(t.Context()); err == nil && len(names) < len(kept) || err != nil && !errors.Is(err, firn.ErrUnavailable) {
			t.Errorf("list: %d names of %d, %v", len(names), len(kept), err)
		}
	}
	if len(kept) < 30 {
		t.Errorf("%d files were kept", len(kept))
	}
	g = openGateway(t, network)
	names, err := g.All(t.Context())
	check(t, err)
	for _, name := range names {
		if data, err := g.Get(t.Context(), name); err != nil || piecePath(nameOf(data)) != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}
