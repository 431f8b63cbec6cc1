package sessionsync

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// A pipe connects a sync with a folder on another machine: [Pipe] asks, [ServePipe] answers.
// The answering side begins with a line that names the protocol. Every question and answer is
// a line of JSON, followed by as many bytes as its size says.
const greeting = `{"firn_sync_target":1}`

// maxLine limits the length of a line, maxNoise the lines before the greeting, which the start
// files of a shell may print.
const (
	maxLine  = 64 << 10
	maxNoise = 100
)

// question asks for something: the names of all files, the content of a file, or to create one.
type question struct {
	Op   string `json:"op"`
	Name string `json:"name,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// answer is the answer to a question. Kind is set for errors.
type answer struct {
	Size  int64  `json:"size"`
	Kind  string `json:"kind,omitempty"`
	Error string `json:"error,omitempty"`
}

// The operations of questions.
const (
	opList = "list"
	opGet  = "get"
	opPut  = "put"
)

// pipeKinds are the kinds of errors that the asking side distinguishes.
var pipeKinds = map[string]error{"not-found": firn.ErrNotFound, "corrupt": firn.ErrCorrupt, "invalid": firn.ErrInvalid, "not-allowed": fs.ErrPermission}

// Pipe is a folder on another machine. It implements [Remote], and is not safe for concurrent
// use. After an error of the connection, every call fails.
type Pipe struct {
	in   *bufio.Reader
	out  io.Writer
	rate *Rate
}

// OpenPipe waits for the greeting of the other side. Rate limits the bandwidth; it may be nil.
func OpenPipe(in io.Reader, out io.Writer, rate *Rate) (*Pipe, error) {
	p := &Pipe{bufio.NewReaderSize(in, maxLine), out, rate}
	for range maxNoise {
		line, err := readLine(p.in)
		if err != nil {
			return nil, failure.Of(firn.ErrUnavailable, "the connection ended before firn answered")
		}
		if string(line) == greeting {
			return p, nil
		}
	}
	return nil, failure.Of(firn.ErrUnavailable, "something other than firn answered")
}

// readLine reads a line without its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimRight(line, "\r\n")), nil
}

// All implements [Remote].
func (p *Pipe) All(ctx context.Context) ([]string, error) {
	data, err := p.ask(ctx, question{Op: opList}, nil)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	return strings.Split(string(data), "\n"), nil
}

// Get implements [Remote].
func (p *Pipe) Get(ctx context.Context, name string) ([]byte, error) {
	return p.ask(ctx, question{Op: opGet, Name: name}, nil)
}

// Put implements [Remote].
func (p *Pipe) Put(ctx context.Context, name string, data []byte) error {
	_, err := p.ask(ctx, question{Op: opPut, Name: name, Size: int64(len(data))}, data)
	return err
}

// ask sends a question and reads the answer.
func (p *Pipe) ask(ctx context.Context, q question, data []byte) ([]byte, error) {
	err := writeMessage(p.out, q, p.rate.Reader(ctx, bytes.NewReader(data)))
	var a answer
	if err == nil {
		a, err = decodeMessage[answer](p.in)
	}
	var body []byte
	if err == nil {
		body, err = readBody(p.rate.Reader(ctx, p.in), a.Size)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, failure.Of(firn.ErrUnavailable, "the connection to the target ended: %v", err)
	case a.Error == "":
		return body, nil
	case pipeKinds[a.Kind] != nil:
		return nil, failure.Of(pipeKinds[a.Kind], "%.400s", a.Error)
	}
	return nil, fmt.Errorf("on the other machine: %.400s", a.Error)
}

// writeMessage writes a message and its body.
func writeMessage(out io.Writer, message any, body io.Reader) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return err
	}
	_, err = io.Copy(out, body)
	return err
}

// decodeMessage reads a message without its body.
func decodeMessage[T any](in *bufio.Reader) (message T, err error) {
	line, err := readLine(in)
	if err != nil {
		return message, err
	}
	return message, json.Unmarshal(line, &message)
}

// readBody reads the body of a message.
func readBody(in io.Reader, size int64) ([]byte, error) {
	if size < 0 || size > MaxFile {
		return nil, failure.Of(firn.ErrTooLarge, "a message of %d bytes", size)
	}
	data, err := io.ReadAll(io.LimitReader(in, size))
	if err == nil && int64(len(data)) < size {
		err = io.ErrUnexpectedEOF
	}
	return data, err
}

// ServePipe answers questions about a folder until the other side closes the connection. It
// reaches nothing outside the folder.
func ServePipe(ctx context.Context, folder Folder, from io.Reader, out io.Writer) error {
	if _, err := io.WriteString(out, greeting+"\n"); err != nil {
		return err
	}
	in := bufio.NewReaderSize(from, maxLine)
	for {
		q, err := decodeMessage[question](in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var data []byte
		if err == nil {
			data, err = readBody(in, q.Size)
		}
		if err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		body, err := reply(ctx, folder, q, data)
		a := answer{Size: int64(len(body))}
		if err != nil {
			a = answer{Kind: kindOf(err), Error: err.Error()}
		}
		if err := writeMessage(out, a, bytes.NewReader(body)); err != nil {
			return err
		}
	}
}

// reply does what a question asks for. A body without an error is the answer.
func reply(ctx context.Context, folder Folder, q question, data []byte) ([]byte, error) {
	if q.Op != opList && !isTargetName(q.Name) {
		return nil, failure.Of(firn.ErrInvalid, "%.100q is not the name of a file of a sync", q.Name)
	}
	switch q.Op {
	case opList:
		names, err := allOf(ctx, folder)
		return []byte(strings.Join(names, "\n")), err
	case opGet:
		return folder.Get(ctx, q.Name)
	case opPut:
		return nil, folder.Put(ctx, q.Name, data)
	}
	return nil, failure.Of(firn.ErrInvalid, "the operation %.40q is unknown; this firn is too old", q.Op)
}

func kindOf(err error) string {
	for kind, known := range pipeKinds {
		if errors.Is(err, known) {
			return kind
		}
	}
	return "failed"
}

// isTargetName reports whether firn writes files of this name.
func isTargetName(name string) bool {
	parts := strings.Split(name, "/")
	if name == markFile {
		return true
	}
	return fs.ValidPath(name) && len(parts) == 3 && (parts[0] == manifestDir || parts[0] == pieceDir) && !strings.ContainsAny(name, "\\:\n\x00") &&
		!strings.HasPrefix(parts[1], ".") && !strings.HasPrefix(parts[2], ".")
}

// allOf lists the files of a sync in a target.
func allOf(ctx context.Context, t Target) ([]string, error) {
	var all []string
	for _, top := range []string{manifestDir, pieceDir} {
		dirs, err := t.List(ctx, top)
		if err != nil && !errors.Is(err, firn.ErrCorrupt) {
			return nil, err
		}
		for _, dir := range dirs {
			names, err := t.List(ctx, top+"/"+dir)
			switch {
			case errors.Is(err, firn.ErrCorrupt):
				all = append(all, top+"/"+dir) // a file
			case err != nil:
				return nil, err
			}
			for _, name := range names {
				all = append(all, top+"/"+dir+"/"+name)
			}
		}
	}
	// Names are separated by line breaks; firn writes none with one.
	return slices.DeleteFunc(all, func(name string) bool { return strings.Contains(name, "\n") }), nil
}
