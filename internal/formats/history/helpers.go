package history

import (
	"database/sql"
	"io/fs"
	"iter"
	"math"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/litefile"
)

// Each yields the sessions of several files. A file that cannot be read is yielded as an
// error with its path, and iteration continues.
func Each(files []string, list func(name string) ([]Session, error)) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		for _, name := range files {
			sessions, err := list(name)
			if err != nil && !yield(Session{}, &fs.PathError{Op: "read", Path: name, Err: err}) {
				return
			}
			for _, s := range sessions {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// Exists reports whether a home has a file or directory.
func Exists(home fs.FS, name string) bool {
	_, err := fs.Stat(home, name)
	return err == nil
}

// HasTables reports whether a database has all of these columns of tables, or cannot be read.
func HasTables(home fs.FS, name string, columns map[string][]string) (ok bool) {
	err := litefile.Read(home, name, func(db *sql.DB) error {
		ok = litefile.Check(db, columns, "") == nil
		return nil
	})
	return ok || err != nil
}

// OneLine returns the first line of a prompt, as a title.
func OneLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(strings.TrimSpace(text)); len(runes) > 80 {
		return string(runes[:79]) + "…"
	}
	return strings.TrimSpace(text)
}

// DataImage returns the image in a data URL; false if it is none.
func DataImage(url string) (firn.Image, bool) {
	head, data, ok := strings.Cut(url, ";base64,")
	mime, isData := strings.CutPrefix(head, "data:")
	if !ok || !isData || !strings.HasPrefix(mime, "image/") {
		return firn.Image{}, false
	}
	mime, _, _ = strings.Cut(mime, ";")
	return firn.Image{MimeType: Clean(mime), Data: Clean(data)}, true
}

// Seconds returns the time of a number of seconds since 1970; zero if it is not one of a year
// from 1970 to 9999.
func Seconds(s float64) time.Time {
	const year10000 = 253402300800
	if !(s > 0 && s < year10000) {
		return time.Time{}
	}
	whole, part := math.Modf(s)
	return time.Unix(int64(whole), int64(part*1e9)).UTC().Truncate(time.Microsecond)
}

// ParseTime reads a time in the form of RFC 3339, or one without a zone, which is in the zone
// of this machine. It returns zero for any other text. Sources use it, decoders do not: their
// result must not depend on the machine.
func ParseTime(text string) time.Time {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC()
	}
	for _, layout := range []string{"2006-01-02T15:04:05", time.DateTime} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// Timestamp returns the member "timestamp" of a record as a name and raw JSON; nothing for the
// zero time.
func Timestamp(at time.Time) []string {
	if at.IsZero() {
		return nil
	}
	return []string{"timestamp", Quote(at.Format(time.RFC3339Nano))}
}
