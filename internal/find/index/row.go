package index

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/store"
)

// row is the catalog entry of a session. The modification time together with the agent,
// size, parts and archive mark in the info identify the version of the files it was read
// from. Rows can be compared with ==.
type row struct {
	info     store.Info
	modified time.Time
}

// newRow returns a row in the form it has after encoding and parsing.
func newRow(info store.Info, modified time.Time) row {
	for _, s := range []*string{&info.Agent, &info.Key, &info.CWD, &info.Directories, &info.Title, &info.Prompt, &info.Fault, &info.Source, &info.Imported, &info.Tags, &info.BoundKeys} {
		*s, _ = firn.CleanText(*s)
	}
	info.Created, info.Updated = normalizeTime(info.Created), normalizeTime(info.Updated)
	return row{info: info, modified: normalizeTime(modified)}
}

// normalizeTime removes the zone and the monotonic clock, so that equal times compare equal
// with ==.
func normalizeTime(t time.Time) time.Time { return t.Round(0).UTC() }

// matches reports whether the row is up to date for a standing. A row with a fault never
// is, since the fault may have been fixed without a trace.
func (r *row) matches(s store.Status) bool {
	return r.info.Fault == "" && r.info.Agent == s.Agent && r.info.Bytes == s.Bytes &&
		r.info.Parts == s.Parts && r.info.Archived == s.Archived && r.modified.Equal(s.Modified)
}

// key returns the time that determines the position of a row in the file: that of the
// latest entry. Rows with a fault are after all others, so that every page encounters them
// and checks whether the fault persists.
func (r *row) key() time.Time {
	if r.info.Fault != "" {
		return time.Unix(farFuture, 0).UTC()
	}
	return r.info.Updated
}

// farFuture is later than any entry, in seconds.
const farFuture = math.MaxInt64 / 100

// Every line starts with a checksum of the rest of it, at a fixed offset.
const (
	checksumBlank  = `{"crc":"00000000",`
	checksumOffset = len(`{"crc":"`)
	checksumDigits = 8
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// writeChecksum writes the checksum into a line that starts with checksumBlank.
func writeChecksum(line []byte) {
	sum := checksum(line[len(checksumBlank):])
	hex.Encode(line[checksumOffset:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// verifyChecksum returns ErrCorrupt if the checksum of a line is wrong.
func verifyChecksum(line []byte) error {
	if len(line) < len(checksumBlank) || string(line[:checksumOffset]) != checksumBlank[:checksumOffset] {
		return fmt.Errorf("%w: a line without checksum", firn.ErrCorrupt)
	}
	var want [4]byte
	if _, err := hex.Decode(want[:], line[checksumOffset:checksumOffset+checksumDigits]); err != nil {
		return fmt.Errorf("%w: a line without checksum", firn.ErrCorrupt)
	}
	sum := checksum(line[len(checksumBlank):])
	if want != [4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)} {
		return fmt.Errorf("%w: a line does not match its checksum", firn.ErrCorrupt)
	}
	return nil
}

// appendLine appends a row as a line. before is the latest key of all preceding lines, for
// readers that go backwards.
func appendLine(dst []byte, r *row, before time.Time) []byte {
	start := len(dst)
	dst = append(dst, checksumBlank...)
	dst = appendTime(dst, `"before":`, before)
	dst = appendText(dst, `,"id":`, string(r.info.ID))
	dst = appendText(dst, `,"agent":`, r.info.Agent)
	dst = appendText(dst, `,"key":`, r.info.Key)
	dst = appendText(dst, `,"held":`, r.info.BoundKeys)
	dst = appendText(dst, `,"cwd":`, r.info.CWD)
	if r.info.Directories != "" {
		dst = appendText(dst, `,"directories":`, r.info.Directories)
	}
	dst = appendText(dst, `,"title":`, r.info.Title)
	dst = appendText(dst, `,"prompt":`, r.info.Prompt)
	dst = appendTime(dst, `,"created":`, r.info.Created)
	dst = appendTime(dst, `,"updated":`, r.info.Updated)
	dst = appendTime(dst, `,"modified":`, r.modified)
	dst = strconv.AppendInt(append(dst, `,"bytes":`...), r.info.Bytes, 10)
	dst = strconv.AppendInt(append(dst, `,"parts":`...), int64(r.info.Parts), 10)
	dst = strconv.AppendUint(append(dst, `,"end":`...), uint64(r.info.End), 10)
	if r.info.Archived {
		dst = append(dst, `,"archived":true`...)
	}
	if r.info.Hidden {
		dst = append(dst, `,"hidden":true`...)
	}
	if r.info.Empty {
		dst = append(dst, `,"empty":true`...)
	}
	dst = appendText(dst, `,"source":`, r.info.Source)
	dst = appendText(dst, `,"imported":`, r.info.Imported)
	dst = appendText(dst, `,"tags":`, r.info.Tags)
	dst = appendCounts(dst, r.info.Counts)
	dst = appendText(dst, `,"fault":`, r.info.Fault)
	dst = append(dst, '}')
	writeChecksum(dst[start:])
	return append(dst, '\n')
}

// appendCounts appends counts as a list of numbers, unless all are zero.
func appendCounts(dst []byte, c store.Counts) []byte {
	if c == (store.Counts{}) {
		return dst
	}
	dst = append(dst, `,"counts":[`...)
	for _, n := range []int64{int64(c.Turns), int64(c.Messages), int64(c.Compactions), int64(c.Branches), c.Tokens, c.Window} {
		dst = append(strconv.AppendInt(dst, n, 10), ',')
	}
	return append(strconv.AppendFloat(dst, c.Cost, 'g', -1, 64), ']')
}

func appendText(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return rawjson.AppendString(append(dst, name...), text)
}

// appendTime appends a time as seconds and nanoseconds separated by a dot, which is exact
// for any year.
func appendTime(dst []byte, name string, t time.Time) []byte {
	dst = append(append(dst, name...), '"')
	dst = strconv.AppendInt(dst, t.Unix(), 10)
	dst = strconv.AppendInt(append(dst, '.'), int64(t.Nanosecond()), 10)
	return append(dst, '"')
}

// interned deduplicates strings that many rows have in common.
type interned map[string]string

// maxInterned is the maximum number of strings.
const maxInterned = 1000

func (in interned) text(b []byte) string {
	if s, ok := in[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(in) < maxInterned {
		in[s] = s
	}
	return s
}

// parseLine parses a line of appendLine without its newline.
func parseLine(line []byte, common interned) (r *row, before time.Time, err error) {
	if err := verifyChecksum(line); err != nil {
		return nil, before, err
	}
	r = new(row)
	p := lineParser{Reader: rawjson.New(line), common: common}
	if p.Object() {
		for p.Member() {
			p.field(r, &before)
		}
	}
	if err := p.End(); err != nil {
		return nil, before, fmt.Errorf("%w: %w", firn.ErrCorrupt, err)
	}
	if p.bad {
		return nil, before, fmt.Errorf("%w: a line has an invalid field", firn.ErrCorrupt)
	}
	if r.info.ID == "" {
		return nil, before, fmt.Errorf("%w: a line of no session", firn.ErrCorrupt)
	}
	return r, before, nil
}

// lineParser parses the fields of a line.
type lineParser struct {
	rawjson.Reader
	common interned
	bad    bool
}

func (p *lineParser) field(r *row, before *time.Time) {
	switch string(p.Key()) {
	case "before":
		*before = p.time()
	case "id":
		r.info.ID = firn.ID(p.text())
	case "agent":
		r.info.Agent = p.commonText()
	case "key":
		r.info.Key = p.text()
	case "held":
		r.info.BoundKeys = p.text()
	case "cwd":
		r.info.CWD = p.commonText()
	case "directories":
		r.info.Directories = p.commonText()
	case "title":
		r.info.Title = p.text()
	case "prompt":
		r.info.Prompt = p.text()
	case "created":
		r.info.Created = p.time()
	case "updated":
		r.info.Updated = p.time()
	case "modified":
		r.modified = p.time()
	case "bytes":
		r.info.Bytes = p.int()
	case "parts":
		r.info.Parts = int(p.int())
	case "end":
		r.info.End = firn.Pos(p.uint())
	case "archived":
		r.info.Archived = p.flag()
	case "hidden":
		r.info.Hidden = p.flag()
	case "empty":
		r.info.Empty = p.flag()
	case "source":
		r.info.Source = p.commonText()
	case "imported":
		r.info.Imported = p.commonText()
	case "tags":
		r.info.Tags = p.commonText()
	case "counts":
		r.info.Counts = p.counts()
	case "fault":
		r.info.Fault = p.text()
	default:
		p.Skip()
	}
}

// check records a value of the wrong type and skips it.
func (p *lineParser) check(ok bool) {
	if !ok {
		p.bad = true
		p.Skip()
	}
}

func (p *lineParser) text() string {
	s, ok := p.Text()
	p.check(ok)
	return s
}

func (p *lineParser) commonText() string {
	b, ok := p.Bytes()
	p.check(ok)
	return p.common.text(b)
}

func (p *lineParser) flag() bool {
	b, ok := p.Bool()
	p.check(ok)
	return b
}

// int parses a count, which must not be negative.
func (p *lineParser) int() int64 {
	n, ok := p.Int()
	p.check(ok)
	p.bad = p.bad || n < 0
	return n
}

func (p *lineParser) uint() uint64 {
	n, err := strconv.ParseUint(string(p.Raw()), 10, 64)
	p.bad = p.bad || err != nil
	return n
}

// counts parses the result of appendCounts.
func (p *lineParser) counts() store.Counts {
	var n [7]float64
	if json.Unmarshal(p.Raw(), &n) != nil {
		p.bad = true
		return store.Counts{}
	}
	for _, v := range n[:6] {
		p.bad = p.bad || v < 0 || v > 1<<53
	}
	return store.Counts{
		Turns: int(n[0]), Messages: int(n[1]), Compactions: int(n[2]), Branches: int(n[3]),
		Tokens: int64(n[4]), Window: int64(n[5]), Cost: n[6],
	}
}

func (p *lineParser) time() time.Time {
	text, ok := p.Bytes()
	p.check(ok)
	t, ok := parseTime(text)
	p.bad = p.bad || !ok
	return t
}

// parseTime parses the result of appendTime. It is optimized because a list of all sessions
// parses four times per row.
func parseTime(text []byte) (time.Time, bool) {
	digits, negative := bytes.CutPrefix(text, []byte{'-'})
	sec, nanos, ok := cutNumber(digits)
	if !ok || len(nanos) == 0 || nanos[0] != '.' {
		return time.Time{}, false
	}
	nsec, rest, ok := cutNumber(nanos[1:])
	if !ok || len(rest) > 0 || nsec >= int64(time.Second) {
		return time.Time{}, false
	}
	if negative {
		sec = -sec
	}
	return time.Unix(sec, nsec).UTC(), true
}

// cutNumber parses the number at the beginning of text.
func cutNumber(text []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for ; i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
		if n > math.MaxInt64/20 {
			return 0, nil, false
		}
		n = 10*n + int64(text[i]-'0')
	}
	return n, text[i:], i > 0
}
