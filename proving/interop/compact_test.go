package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store/filestore"
)

// TestPiCompacts lets pi compact firn's sessions, including entries that pi does not know.
// firn then reads the summary and the kept tail, and both continue the session.
func TestPiCompacts(t *testing.T) {
	for name, version := range releases {
		for _, shape := range []string{"one line of every kind", "compacted, undone and restored"} {
			t.Run(version+"/"+shape, func(t *testing.T) {
				t.Parallel()
				p := startPi(t, name)
				s := newSession(t, filestore.Options{})
				shapes[shape].build(t, s)
				before, entries := readFile(t, s.file()), len(s.entries(t))
				provider := newProvider(t, "All of it was snow.")
				remoteCall(t, provider.command(t, name, "anthropic-messages", s, "--mode", "rpc"), "compact")
				if after := readFile(t, s.file()); string(after[:len(before)]) != string(before) {
					t.Error("pi changed bytes that were written")
				}
				path := s.path(t)
				if path.Compaction == nil || len(s.entries(t)) <= entries {
					t.Fatalf("firn sees no compaction: %+v", path.Entries)
				}
				if c := path.Compaction.Body.(*firn.Compaction); !strings.Contains(c.Summary, "All of it was snow.") {
					t.Errorf("the summary is %q", c.Summary)
				}
				got := p.openUnchanged(t, s.file())
				if level := path.State.ThinkingLevel; level != "" || got.ThinkingLevel == "off" {
					t.Errorf("firn has the thinking level %q, which was set before the entries that pi kept; pi has %q", level, got.ThinkingLevel)
				}
				got.ThinkingLevel = "off"
				s.mustAgree(t, got)
				mustSendTheSame(t, path, got)
				s.mustBeWhole(t)

				s.talk(t, "after it")
				mustSendTheSame(t, s.path(t), p.openUnchanged(t, s.file()))
			})
		}
	}
}

// remoteCall sends one command to pi in RPC mode, and waits until it succeeds.
func remoteCall(t *testing.T, cmd *exec.Cmd, command string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	output := new(strings.Builder)
	cmd.Stderr = output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(in, "{\"type\":%q}\n", command)
	response, err := awaitResponse(bufio.NewReader(out), command)
	in.Close()
	if waited := cmd.Wait(); err != nil || waited != nil {
		t.Fatalf("pi %s: %v, %v; it printed %q", command, err, waited, output)
	}
	if !response.Success {
		t.Fatalf("pi %s: %s", command, response.Error)
	}
}

// response is pi's response to a command.
type response struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Success bool   `json:"success"`
	Error   string `json:"error"`
}

// awaitResponse reads events until the response to the command arrives.
func awaitResponse(out *bufio.Reader, command string) (response, error) {
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			return response{}, err
		}
		var r response
		if err := json.Unmarshal(line, &r); err != nil {
			return response{}, fmt.Errorf("%w in %q", err, line)
		}
		if r.Type == "response" && r.Command == command {
			return r, nil
		}
	}
}
