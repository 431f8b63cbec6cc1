package mcpclient

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// endWait is how long a server may take to exit after its input is closed, and again after
// it is asked to terminate.
const endWait = 2 * time.Second

// process is a server that runs as a child process.
type process struct {
	cmd    *exec.Cmd
	reader *messageReader
	writer io.WriteCloser
	// exited is closed when the process has exited; failure is set before.
	exited  chan struct{}
	failure error
	stderr  io.Closer
	copied  sync.WaitGroup

	mu   sync.Mutex
	last string // the last line on stderr
}

// startProcess starts a server in its own process group. Lines on stderr, and lines on stdout
// that are no messages, are passed to log.
func startProcess(s Server, log func(line string)) (*process, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir, cmd.Env = s.Dir, s.Env
	inGroup(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, writer: stdin, stderr: stderr, exited: make(chan struct{})}
	p.reader = newMessageReader(stdout, log)
	p.copied.Go(func() { p.copyLines(stderr, log) })
	go p.wait() // ends when the process exits; end waits for it
	return p, nil
}

// wait waits for the process to exit, and kills the rest of its group. Its output is read to
// the end, but not for long: a process that left the group may keep it open.
func (p *process) wait() {
	state, err := p.cmd.Process.Wait()
	killGroup(p.cmd)
	time.AfterFunc(endWait, func() { _, _ = p.reader.Close(), p.stderr.Close() })
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	p.failure = err
	close(p.exited)
}

// copyLines passes the lines of r to log and remembers the last one.
func (p *process) copyLines(r io.Reader, log func(string)) {
	in := bufio.NewReaderSize(r, 4<<10)
	for {
		line, more, err := in.ReadLine()
		if err != nil {
			return
		}
		if text := brief(string(line)); text != "" {
			p.mu.Lock()
			p.last = text
			p.mu.Unlock()
			log(text)
		}
		for more && err == nil { // the rest of a long line
			_, more, err = in.ReadLine()
		}
	}
}

// transport returns the connection to the process.
func (p *process) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: p.reader, Writer: p.writer, MaxLineLength: maxLine}
}

// reason returns why the process no longer answers.
func (p *process) reason() string {
	if err := p.reader.failure(); err != nil && errors.Is(err, errLine) {
		return "it sent a line that is " + err.Error()
	}
	text := "it closed its output"
	select {
	case <-p.exited:
		p.copied.Wait()
		text = "it exited"
		if p.failure != nil {
			text += " with " + p.failure.Error()
		}
	case <-time.After(endWait):
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != "" {
		text += ": " + p.last
	}
	return text
}

// end ends the process: it closes its input, then asks it to terminate, then kills its group.
func (p *process) end(ctx context.Context) {
	_ = p.writer.Close()
	for _, next := range []func(*exec.Cmd){terminateGroup, killGroup} {
		select {
		case <-p.exited:
			return
		case <-time.After(endWait):
		case <-ctx.Done():
		}
		next(p.cmd)
	}
	<-p.exited
}
