package sessionsync

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// TestAddress reads addresses of buckets and folders. The text of an address is read as the
// same address.
func TestAddress(t *testing.T) {
	here, err := filepath.Abs("x")
	check(t, err)
	for text, want := range map[string]Address{
		"x":                    {Kind: KindFolder, Path: here},
		"s3://bucket":          {Kind: KindS3, Bucket: "bucket"},
		"s3://bucket//a/../b/": {Kind: KindS3, Bucket: "bucket", Path: "b"},
		"s3://bucket/a b?endpoint=https://host:9000&region=eu": {Kind: KindS3, Bucket: "bucket", Path: "a b", Endpoint: "https://host:9000", Region: "eu"},
		"ssh://nas":                          {Kind: KindSSH, Host: "nas"},
		"ssh://ann@nas:2222/srv/../srv/f":    {Kind: KindSSH, User: "ann", Host: "nas", Port: "2222", Path: "/srv/f"},
		"ssh://[fe80::1%25eth0]/~/my%20sync": {Kind: KindSSH, Host: "fe80::1%eth0", Path: "my sync"},
		"ssh://nas/~/":                       {Kind: KindSSH, Host: "nas"},
	} {
		a, err := ParseAddress(text)
		if err != nil || a != want {
			t.Errorf("%s is %+v, %v", text, a, err)
		}
		if again, err := ParseAddress(a.String()); err != nil || again != a {
			t.Errorf("%s is written as %s and read as %+v, %v", text, a, again, err)
		}
	}
	for _, bad := range []string{"s3://", "s3://x", "s3://key:hunter2@bucket/x", "s3://bucket?secret=hunter2", "s3://bucket#x", "s3://%zz", "ftp://host/x", "ssh://", "ssh://-oProxyCommand=hunter2/x", "ssh://-l@host/x", "ssh://ann:hunter2@host/x", "ssh://host/x?y", "ssh://host/a%0Ab", "s3://bucket?region=a&region=b"} {
		if _, err := ParseAddress(bad); !errors.Is(err, firn.ErrInvalid) || failure.Hint(err) == "" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, hint %q", bad, err, failure.Hint(err))
		}
	}
}

// FuzzAddress reads any text as an address. What is accepted is read again as the same.
func FuzzAddress(f *testing.F) {
	f.Add("s3://bucket/a%20b?endpoint=https%3A%2F%2Fhost&region=eu")
	f.Add("/mnt/share")
	f.Add("ssh://ann@[::1]:22/~/x")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		if again, err := ParseAddress(a.String()); err != nil || again != a {
			t.Errorf("%q is written as %q and read as %+v, %v", text, a, again, err)
		}
	})
}
