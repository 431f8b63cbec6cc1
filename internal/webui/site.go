package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// The names that files are asked for by.
const (
	indexName = "index.html"
	assetsDir = "/assets/"
	// iconName is what browsers ask for without being told to.
	iconPath = "/favicon.ico"
)

// How long browsers keep a file. What has its hash in its name is for ever the
// same; of others they ask whether it has changed.
const (
	forEver  = "public, max-age=31536000, immutable"
	askFirst = "no-cache"
)

// site is all files, by their paths.
type site struct {
	index *file
	files map[string]*file
}

// file is one of them, plain and, if that is smaller, packed.
type file struct {
	kind, hash, cache string
	plain, packed     []byte
}

// build makes the files ready to be sent. In the index, each file is asked for
// by a name that changes when it does.
func build(files fs.FS) (*site, error) {
	index, err := fs.ReadFile(files, indexName)
	if err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	s := &site{files: make(map[string]*file)}
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == indexName {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		kept := newFile(name, body, forEver)
		ext := path.Ext(name)
		hashed := assetsDir + strings.TrimSuffix(name, ext) + "-" + kept.hash[:12] + ext
		s.files[hashed] = kept
		asked := *kept
		asked.cache = askFirst
		s.files[assetsDir+name] = &asked
		index = bytes.ReplaceAll(index, []byte(`"`+assetsDir+name+`"`), []byte(`"`+hashed+`"`))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	s.index = newFile(indexName, index, askFirst)
	return s, nil
}

// find is what is sent for a path: a file, or else the index, which knows pages.
func (s *site) find(path string) (*file, bool) {
	if f, ok := s.files[path]; ok {
		return f, true
	}
	if strings.HasPrefix(path, assetsDir) || path == iconPath {
		return nil, false
	}
	return s.index, true
}

// kinds are the types of files. The system's own table would say something else
// on every machine.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".json": "application/json", ".webmanifest": "application/manifest+json", ".woff2": "font/woff2",
}

func newFile(name string, body []byte, cache string) *file {
	sum := sha256.Sum256(body)
	f := &file{kind: kinds[path.Ext(name)], hash: hex.EncodeToString(sum[:16]), cache: cache, plain: body}
	if f.kind == "" {
		f.kind = "application/octet-stream"
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a level that there is
	if _, err := z.Write(body); err == nil && z.Close() == nil && packed.Len() < len(body) {
		f.packed = packed.Bytes()
	}
	return f
}
