package anchor

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"reflect"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/chain"
	"firn.dev/internal/disk/vfs/faultfs"
)

func sample(t testing.TB) (Anchor, []byte) {
	t.Helper()
	key, err := HomeKey(faultfs.New(), "/")
	if err != nil {
		t.Fatal(err)
	}
	public, _ := key.Public().(ed25519.PublicKey)
	a := Anchor{Time: time.Unix(1794710747, 0).UTC(), Key: public, Sessions: []State{{"a", 10, chain.Start("a")}, {"b", 20, chain.Start("b")}}}
	return a, a.Sign(key)
}

// TestAnchor reads an anchor again, and rejects it with any byte changed, removed or added.
func TestAnchor(t *testing.T) {
	t.Parallel()
	want, text := sample(t)
	if got, err := Parse(text); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("read %v, %v, want %v", got, err, want)
	}
	for i := range text {
		for _, bad := range [][]byte{
			append(append(bytes.Clone(text[:i]), text[i]^1), text[i+1:]...),
			append(bytes.Clone(text[:i]), text[i+1:]...),
			text[:i],
		} {
			if got, err := Parse(bad); err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("with a change at byte %d it reads %v", i, got)
			} else if err != nil && !errors.Is(err, firn.ErrCorrupt) {
				t.Errorf("with a change at byte %d the error is %v", i, err)
			}
		}
	}
}

// TestHomeKey makes a key once.
func TestHomeKey(t *testing.T) {
	t.Parallel()
	fs := faultfs.New()
	if key, err := ReadKey(fs, "/"); key != nil || err != nil {
		t.Errorf("a home without a key has %v, %v", key, err)
	}
	first, err := HomeKey(fs, "/")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := HomeKey(fs, "/"); err != nil || !again.Equal(first) {
		t.Errorf("the second key differs: %v", err)
	}
	public, _ := first.Public().(ed25519.PublicKey)
	if key, err := ParseKey(Fingerprint(public)); err != nil || !key.Equal(public) {
		t.Errorf("the text of a key reads %v, %v", key, err)
	}
	if err := fs.Put("/"+KeyName, []byte("?")); err != nil {
		t.Fatal(err)
	}
	if _, err := HomeKey(fs, "/"); !errors.Is(err, firn.ErrCorrupt) {
		t.Errorf("a damaged key gives %v", err)
	}
}

func FuzzParse(f *testing.F) {
	_, text := sample(f)
	f.Add(text)
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := Parse(data); err == nil && len(a.Key) != ed25519.PublicKeySize {
			t.Errorf("it reads %v", a)
		}
	})
}
