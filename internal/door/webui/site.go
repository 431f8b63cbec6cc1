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

// Paths with a special meaning.
const (
	indexName = "index.html"
	assetsDir = "/assets/"
	// iconPath is requested by browsers even if no page refers to it.
	iconPath = "/favicon.ico"
)

// Cache-Control values. A file with its hash in its name never changes; others are
// revalidated.
const (
	cacheForever = "public, max-age=31536000, immutable"
	revalidate   = "no-cache"
)

// site holds all files by path.
type site struct {
	index *file
	files map[string]*file
}

// file is a file of the site, uncompressed and, if that is smaller, gzip-compressed.
type file struct {
	kind, hash, cache string
	plain, packed     []byte
}

// build prepares the files for serving. The index refers to each file by a name that
// contains its hash.
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
		immutable := newFile(name, body, cacheForever)
		ext := path.Ext(name)
		hashed := assetsDir + strings.TrimSuffix(name, ext) + "-" + immutable.hash[:12] + ext
		s.files[hashed] = immutable
		revalidated := *immutable
		revalidated.cache = revalidate
		s.files[assetsDir+name] = &revalidated
		index = bytes.ReplaceAll(index, []byte(`"`+assetsDir+name+`"`), []byte(`"`+hashed+`"`))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the pages: %w", err)
	}
	s.index = newFile(indexName, index, revalidate)
	return s, nil
}

// find returns the file for a path, or the index, which handles all page paths.
func (s *site) find(path string) (*file, bool) {
	if f, ok := s.files[path]; ok {
		return f, true
	}
	if strings.HasPrefix(path, assetsDir) || path == iconPath {
		return nil, false
	}
	return s.index, true
}

// contentTypes maps file extensions to content types. Go's mime package is not used,
// because its table depends on the machine.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".json": "application/json", ".webmanifest": "application/manifest+json", ".woff2": "font/woff2",
}

func newFile(name string, body []byte, cache string) *file {
	sum := sha256.Sum256(body)
	f := &file{kind: contentTypes[path.Ext(name)], hash: hex.EncodeToString(sum[:16]), cache: cache, plain: body}
	if f.kind == "" {
		f.kind = "application/octet-stream"
	}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	if _, err := z.Write(body); err == nil && z.Close() == nil && packed.Len() < len(body) {
		f.packed = packed.Bytes()
	}
	return f
}
