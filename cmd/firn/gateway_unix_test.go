//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"firn.dev/internal/base/basetest"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestClientScripts runs the scripts of commands that talk to a gateway without one, so that
// they make their own, and with one that has its sessions in files or, for every second
// script, in an embedded NATS server; with FIRN_SCRIPTS=all in all three ways. The home is
// $FIRN_HOME. Besides what TestScripts has, there is
//
//	gateway start [ARGS…]  runs firn serve beside the script; it listens when this returns
//	gateway stop CODE      asks it to end, and checks with which code it does
//	gateway kill           kills it
//	gateway hup            lets it read its settings again
//	[gateway]              holds in the runs with a gateway
//	[files]                holds in the runs with sessions in files
//
// In short mode they run once: with a gateway, where each command does less.
func TestClientScripts(t *testing.T) {
	for _, way := range []struct {
		name         string
		served, nats bool
	}{{"in process", false, false}, {"with a gateway", true, false}, {"with nats", true, true}} {
		if testing.Short() && (way.nats || !way.served) {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Files:               clientScripts(t, way.served, way.nats),
				RequireExplicitExec: true,
				RequireUniqueNames:  true,
				Setup: func(env *testscript.Env) error {
					if way.nats {
						env.Setenv("FIRN_STORE", "nats-embedded:"+filepath.Join(env.WorkDir, "nats"))
					}
					return clientSetup(env)
				},
				Condition: func(cond string) (bool, error) {
					return cond == "gateway" && way.served || cond == "files" && !way.nats, nil
				},
				Cmds: scriptCommands(map[string]func(ts *testscript.TestScript, neg bool, args []string){"begin": func(ts *testscript.TestScript, neg bool, args []string) {
					need(ts, neg, true, "begin [ARGS…]")
					if _, err := os.Stat(ts.MkAbs("home/agents")); way.nats && err == nil {
						ts.Check(ts.Exec("firn", "migrate", "--from", "files", "--to", ts.Getenv("FIRN_STORE")))
					}
					if way.served {
						startGateway(ts, args)
					}
				}}),
			})
		})
	}
}

// clientScripts returns the scripts that TestClientScripts runs in a way.
func clientScripts(t *testing.T, served, nats bool) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("..", "..", "testdata", "script", "client", "*.txtar"))
	if err != nil || len(all) < 2 {
		t.Fatalf("found %d scripts, %v", len(all), err)
	}
	if !served || testing.Short() || os.Getenv("FIRN_SCRIPTS") == "all" {
		return all
	}
	var some []string
	for i, name := range all {
		if i%2 == 0 == nats {
			some = append(some, name)
		}
	}
	return some
}

// TestGatewayScripts runs the scripts of the gateway. Their additional commands are
//
//	tcpaddress             sets TCP to the gateway's TCP address, and LISTEN to its host and port
//	secret NAME FILE       sets a variable to the content of a file
//	logged TEXT            waits until the gateway has logged the text
//	guest begin|end        runs a command on the home until it may end
func TestGatewayScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script", "gateway"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               clientSetup,
		Cmds: scriptCommands(map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"tcpaddress": tcpAddress, "secret": secret, "logged": logged, "guest": guestCommand,
		}),
	})
}

// tcpAddress sets the address of a script's gateway.
func tcpAddress(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 0, "tcpaddress")
	var at struct{ TCP string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("home/gateway/address.json")), &at))
	ts.Setenv("TCP", "http://"+at.TCP)
	ts.Setenv("LISTEN", at.TCP)
}

func secret(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "secret NAME FILE")
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// logged waits for a line in the log of the gateway.
func logged(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "logged TEXT")
	if !theGateway(ts).log.await(args[0]) {
		ts.Fatalf("the gateway did not log %q", args[0])
	}
}

// guestCommand runs a chat on the home until its input ends.
func guestCommand(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "guest begin|end")
	dir := ts.MkAbs(".")
	if args[0] == "end" {
		g, _ := guests.get(dir)
		ts.Check(g.in.Close())
		ts.Check(g.cmd.Wait())
		return
	}
	program, err := exec.LookPath("firn")
	ts.Check(err)
	cmd := exec.Command(program, "chat")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "FIRN_HOME="+ts.Getenv("FIRN_HOME"), "HOME="+ts.Getenv("HOME"), "FIRN_MODEL=")
	in, err := cmd.StdinPipe()
	ts.Check(err)
	output, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil || !strings.HasPrefix(line, "new session ") {
		ts.Fatalf("the chat printed %q, %v", line, err)
	}
	guests.put(dir, &chatWithoutGateway{cmd: cmd, in: in})
}

// chatWithoutGateway is a chat that works on a home without a gateway.
type chatWithoutGateway struct {
	cmd *exec.Cmd
	in  io.Closer
}

var guests = newShelf[*chatWithoutGateway]()

func clientSetup(env *testscript.Env) error {
	env.Values["snapshots"] = make(map[string]string)
	env.Setenv("FIRN_HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("FIRN_MODEL", "")
	return nil
}

// gatewayCommand is the command gateway of scripts.
func gatewayCommand(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) > 0, "gateway start [ARGS…] | stop CODE | kill | hup")
	switch args[0] {
	case "start":
		startGateway(ts, args[1:])
	case "stop":
		need(ts, neg, len(args) == 2, "gateway stop CODE")
		want, err := strconv.Atoi(args[1])
		ts.Check(err)
		g := theGateway(ts)
		ts.Check(g.cmd.Process.Signal(syscall.SIGTERM))
		if got := g.wait(); got != want {
			ts.Fatalf("the gateway ended with %d, want %d", got, want)
		}
	case "kill":
		g := theGateway(ts)
		ts.Check(g.cmd.Process.Kill())
		g.wait()
	case "hup":
		ts.Check(theGateway(ts).cmd.Process.Signal(syscall.SIGHUP))
	default:
		ts.Fatalf("gateway %s: there is no such command", args[0])
	}
}

// served is a gateway that runs next to a script.
type served struct {
	cmd  *exec.Cmd
	done chan struct{}
	log  *gatewayLog
}

// gatewayLog is the log of a gateway, in memory and in a file that scripts can read.
type gatewayLog struct {
	file *os.File
	more chan struct{}

	mu  sync.Mutex
	all bytes.Buffer
	// read is how much was waited for.
	read int
}

func (d *gatewayLog) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all.Write(p)
	select {
	case d.more <- struct{}{}:
	default:
	}
	return d.file.Write(p)
}

// await waits until a text is logged after the previously awaited one.
func (d *gatewayLog) await(text string) bool {
	patience := time.After(basetest.Limit)
	for {
		d.mu.Lock()
		i := strings.Index(d.all.String()[d.read:], text)
		if i >= 0 {
			d.read += i + len(text)
		}
		d.mu.Unlock()
		if i >= 0 {
			return true
		}
		select {
		case <-d.more:
		case <-patience:
			return false
		}
	}
}

// wait waits for its end and returns its exit code.
func (s *served) wait() int {
	<-s.done
	return s.cmd.ProcessState.ExitCode()
}

const gatewayValue = "GATEWAY_PID"

// gateways are those of the scripts that run, by their working directories.
var gateways = newShelf[*served]()

func theGateway(ts *testscript.TestScript) *served {
	g, ok := gateways.get(ts.MkAbs("."))
	if !ok {
		ts.Fatalf("no gateway was started")
	}
	return g
}

// startGateway runs firn serve and returns when it listens, which it reports on stdout
// after writing its address file.
func startGateway(ts *testscript.TestScript, args []string) {
	program, err := exec.LookPath("firn")
	ts.Check(err)
	cmd := exec.Command(program, append([]string{"serve", "--json"}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "FIRN_HOME="+ts.Getenv("FIRN_HOME"), "HOME="+ts.Getenv("HOME"), "FIRN_STORE="+ts.Getenv("FIRN_STORE"), "FIRN_STORE__MIRROR="+ts.Getenv("FIRN_STORE__MIRROR"), "XDG_RUNTIME_DIR="+ts.Getenv("XDG_RUNTIME_DIR"), "FIRN_MODEL=")
	log, err := os.OpenFile(filepath.Join(cmd.Dir, "gateway.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	ts.Check(err)
	reported := &gatewayLog{file: log, more: make(chan struct{}, 1)}
	cmd.Stderr = reported
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	g := &served{cmd: cmd, done: make(chan struct{}), log: reported}
	line, err := bufio.NewReader(out).ReadString('\n')
	go func() {
		io.Copy(io.Discard, out)
		cmd.Wait() // the exit code is checked below
		log.Close()
		close(g.done)
	}()
	ts.Defer(func() {
		cmd.Process.Kill()
		<-g.done
	})
	if err != nil || !strings.Contains(line, `"address"`) {
		output, _ := os.ReadFile(log.Name())
		ts.Fatalf("the gateway does not listen: %v %s\n%s", err, line, output)
	}
	gateways.put(ts.MkAbs("."), g)
	ts.Setenv(gatewayValue, strconv.Itoa(cmd.Process.Pid))
}
