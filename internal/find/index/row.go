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

// row is what the catalogue tells of a session, and when its files were
// written last: with the owner, the size, the number of parts and the archive
// mark in the info that is the fingerprint of the files it was read from.
// Rows are plain values: equal ones tell the same.
type row struct {
	info     store.Info
	modified time.Time
}

// newRow makes a row in the form it will have when it is read back.
func newRow(info store.Info, modified time.Time) row {
	for _, s := range []*string{&info.Agent, &info.Key, &info.CWD, &info.Directories, &info.Title, &info.Prompt, &info.Fault, &info.Source, &info.Tags, &info.Held} {
		*s, _ = firn.CleanText(*s)
	}
	info.Created, info.Updated = plainTime(info.Created), plainTime(info.Updated)
	return row{info: info, modified: plainTime(modified)}
}

// plainTime is a time without zone and clock reading, so that equal times are
// the same value.
func plainTime(t time.Time) time.Time { return t.Round(0).UTC() }

// fresh reports whether the row still tells how the session is. One with a
// fault never is: what was wrong may have been mended without a trace.
func (r *row) fresh(s store.Standing) bool {
	return r.info.Fault == "" && r.info.Agent == s.Agent && r.info.Bytes == s.Bytes &&
		r.info.Parts == s.Parts && r.info.Archived == s.Archived && r.modified.Equal(s.Modified)
}

// key is the time that says where a row stands in the file: that of the latest
// entry. One with a fault stands behind all others, whatever its time, so that
// every page meets it and asks whether the fault is still there.
func (r *row) key() time.Time {
	if r.info.Fault != "" {
		return time.Unix(farFuture, 0).UTC()
	}
	return r.info.Updated
}

// farFuture is later than any entry, in seconds.
const farFuture = math.MaxInt64 / 100

// Every line begins with the checksum of the rest of it, at a fixed place.
const (
	sealBlank  = `{"crc":"00000000",`
	sealAt     = len(`{"crc":"`)
	sealDigits = 8
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// seal writes the checksum into a line that begins with a blank one.
func seal(line []byte) {
	sum := checksum(line[len(sealBlank):])
	hex.Encode(line[sealAt:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

// unseal checks the checksum of a line.
func unseal(line []byte) error {
	if len(line) < len(sealBlank) || string(line[:sealAt]) != sealBlank[:sealAt] {
		return fmt.Errorf("%w: a line without checksum", firn.ErrCorrupt)
	}
	var want [4]byte
	if _, err := hex.Decode(want[:], line[sealAt:sealAt+sealDigits]); err != nil {
		return fmt.Errorf("%w: a line without checksum", firn.ErrCorrupt)
	}
	sum := checksum(line[len(sealBlank):])
	if want != [4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)} {
		return fmt.Errorf("%w: a line does not match its checksum", firn.ErrCorrupt)
	}
	return nil
}

// appendLine adds a row as a line. Before is the latest key of all the lines
// before it: whoever reads backwards knows from it what is still to come.
func appendLine(dst []byte, r *row, before time.Time) []byte {
	start := len(dst)
	dst = append(dst, sealBlank...)
	dst = appendTime(dst, `"before":`, before)
	dst = appendText(dst, `,"id":`, string(r.info.ID))
	dst = appendText(dst, `,"agent":`, r.info.Agent)
	dst = appendText(dst, `,"key":`, r.info.Key)
	dst = appendText(dst, `,"held":`, r.info.Held)
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
	dst = appendText(dst, `,"source":`, r.info.Source)
	dst = appendText(dst, `,"tags":`, r.info.Tags)
	dst = appendCounts(dst, r.info.Counts)
	dst = appendText(dst, `,"fault":`, r.info.Fault)
	dst = append(dst, '}')
	seal(dst[start:])
	return append(dst, '\n')
}

// appendCounts adds counts that are not all zero, as a list of numbers.
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

// appendTime adds a time as seconds and nanoseconds, with a dot between them:
// exact, in any year.
func appendTime(dst []byte, name string, t time.Time) []byte {
	dst = append(append(dst, name...), '"')
	dst = strconv.AppendInt(dst, t.Unix(), 10)
	dst = strconv.AppendInt(append(dst, '.'), int64(t.Nanosecond()), 10)
	return append(dst, '"')
}

// interned keeps one copy of texts that many rows have in common.
type interned map[string]string

// maxInterned bounds how many are kept.
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

// parseLine is the inverse of appendLine, without the newline.
func parseLine(line []byte, common interned) (r *row, before time.Time, err error) {
	if err := unseal(line); err != nil {
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
		return nil, before, fmt.Errorf("%w: a field of a line is not what it should be", firn.ErrCorrupt)
	}
	if r.info.ID == "" {
		return nil, before, fmt.Errorf("%w: a line of no session", firn.ErrCorrupt)
	}
	return r, before, nil
}

// lineParser reads the fields of a line.
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
		r.info.Held = p.text()
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
	case "source":
		r.info.Source = p.commonText()
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

// check notes a value of the wrong kind, and steps over it.
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

// int reads a count: it is never negative.
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

// counts is the inverse of appendCounts.
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

// parseTime is the inverse of appendTime. It is written out because a list of
// all sessions reads four times for each.
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

// cutNumber reads the number that text begins with.
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
