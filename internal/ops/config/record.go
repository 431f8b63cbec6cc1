package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// RecordName is the file in the home that records which store holds its sessions. Without
// it, they are in the home's own files or in the store of the settings.
const RecordName = "store.json"

// StoreRecord is the store that holds the sessions of a home. It contains no credentials:
// store URLs have none, and the settings name the credentials file.
type StoreRecord struct {
	// URL is the store URL, as in store.url. In the file, a directory below the home is
	// relative to it, so that a home can be moved.
	URL string `json:"store"`
	// Space is the space of a store on servers.
	Space string    `json:"space,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Before is the previous store, which still holds everything written until Since.
	Before string `json:"before,omitempty"`

	// file is the path it was read from.
	file string
}

// ReadRecord reads the record of a home. It returns nil if there is none. An invalid record
// is an error, since the location of the sessions would be unknown.
func ReadRecord(fsys vfs.FS, home string) (*StoreRecord, error) {
	f, err := fsys.Open(filepath.Join(home, RecordName), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) || err != nil && !isDir(fsys, home) {
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, maxFile))
		f.Close() // read-only
	}
	if err != nil {
		return nil, fmt.Errorf("read the store record: %w", err)
	}
	var r StoreRecord
	if err = json.Unmarshal(data, &r); err == nil {
		err = checkStore(r.URL)
	}
	if err != nil {
		return nil, fmt.Errorf("read the store record: %w: %s: %w", firn.ErrCorrupt, filepath.Join(home, RecordName), err)
	}
	r.URL, r.Before = underHome(home, r.URL), underHome(home, r.Before)
	r.file = filepath.Join(home, RecordName)
	return &r, nil
}

func isDir(fsys vfs.FS, path string) bool {
	info, err := fsys.Stat(path)
	return err != nil || info.Mode.IsDir()
}

// Write writes the record to the home. It is durable when Write returns; a crash leaves the
// old or the new record.
func (r StoreRecord) Write(fsys vfs.FS, home string) error {
	if SameStore(home, r, StoreRecord{URL: "file:"}) {
		r.URL = "file:"
	}
	r.URL, r.Before = belowHome(home, r.URL), belowHome(home, r.Before)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := vfs.WriteFile(fsys, filepath.Join(home, RecordName), append(data, '\n')); err != nil {
		return fmt.Errorf("write the store record: %w", err)
	}
	return nil
}

// underHome makes the directory of a store URL absolute.
func underHome(home, url string) string {
	return mapDir(url, func(dir string) string {
		if filepath.IsAbs(dir) {
			return dir
		}
		return filepath.Join(home, filepath.FromSlash(dir))
	})
}

// belowHome makes the directory of a store URL relative to the home if it is below it.
func belowHome(home, url string) string {
	return mapDir(url, func(dir string) string {
		rel, err := filepath.Rel(home, dir)
		if err != nil || rel == "." || !within(dir, home) {
			return dir
		}
		return filepath.ToSlash(rel)
	})
}

// mapDir applies change to the directory in a store URL, if there is one.
func mapDir(url string, change func(dir string) string) string {
	for _, scheme := range []string{"file:", embeddedScheme} {
		if dir, ok := strings.CutPrefix(url, scheme); ok && dir != "" {
			return scheme + change(dir)
		}
	}
	return url
}

// SameStore reports whether two records name the same store: the same directory, or lists
// with at least one server in common.
func SameStore(home string, a, b StoreRecord) bool {
	whole := func(r StoreRecord) string {
		if dir, ok := (Store{URL: r.URL}).Files(home); ok {
			return "file:" + realPath(dir)
		}
		if dir, ok := (Store{URL: r.URL}).Embedded(); ok {
			return embeddedScheme + realPath(dir) + "#" + r.Space
		}
		return ""
	}
	if x, y := whole(a), whole(b); x != "" || y != "" {
		return x == y
	}
	if a.Space != b.Space {
		return false
	}
	there := make(map[string]bool)
	for _, host := range hostsOf(a.URL) {
		there[host] = true
	}
	for _, host := range hostsOf(b.URL) {
		if there[host] {
			return true
		}
	}
	return false
}

func realPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// hostsOf returns the servers of a URL with their ports.
func hostsOf(url string) []string {
	var hosts []string
	for host := range strings.SplitSeq(url, ",") {
		if _, rest, ok := strings.Cut(host, "://"); ok {
			host = rest
		}
		host = strings.ToLower(strings.TrimRight(host, "/"))
		if !strings.Contains(host[strings.LastIndexByte(host, ']')+1:], ":") {
			host += ":4222"
		}
		hosts = append(hosts, host)
	}
	return hosts
}
