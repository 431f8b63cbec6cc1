package s3

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

// The credentials of the server.
const (
	accessKey = "firn-test"
	secretKey = "firn-test-secret"
	bucket    = "sessions"
)

// limit is the longest time that a test waits for something that takes milliseconds on an
// idle machine. A test that reaches it hangs.
const limit = 5 * time.Minute

// program is the program, suite the tests of internal/ops/sessionsync.
var program, suite string

// server is the address of the server's socket, root the directory of its buckets.
var server, root string

// TestMain builds the program and starts the server. The server is this program again, with
// its directory in the environment.
func TestMain(m *testing.M) {
	if dir := os.Getenv("FIRN_S3_SERVER"); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// serve runs the S3 server until the process is killed.
func serve(dir string) error {
	side := filepath.Join(dir, "meta")
	store, err := meta.NewSideCar(side)
	if err != nil {
		return err
	}
	files, err := posix.New(filepath.Join(dir, "root"), store, posix.PosixOpts{SideCarDir: side})
	if err != nil {
		return err
	}
	return embedgw.RunVersityGW(context.Background(), files, &embedgw.Config{
		RootUserAccess: accessKey, RootUserSecret: secretKey, Ports: []string{filepath.Join(dir, "socket")},
		MaxConnections: 1000, MaxRequests: 1000, MultipartMaxParts: 10000, KeepAlive: true, Quiet: true, HealthPath: "/health", IAMDir: filepath.Join(dir, "iam"),
	})
}

// runAll runs the tests with the server.
func runAll(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "firn-s3-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	program, suite = filepath.Join(dir, "firn"), filepath.Join(dir, "suite")
	for _, args := range [][]string{{"build", "-ldflags=-w", "-o", program, "./cmd/firn"}, {"test", "-c", "-vet=off", "-ldflags=-w", "-o", suite, "./internal/ops/sessionsync"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join("..", "..")
		if out, err := cmd.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("go %v: %w: %s", args, err, out)
		}
	}
	root, server = filepath.Join(dir, "root"), filepath.Join(dir, "socket")
	for _, made := range []string{filepath.Join(root, bucket), filepath.Join(dir, "meta"), filepath.Join(dir, "iam")} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			return 1, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	var log bytes.Buffer
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "FIRN_S3_SERVER="+dir)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	}()
	if err := awaitServer(ended); err != nil {
		return 1, fmt.Errorf("start the server: %w: %s", err, log.Bytes())
	}
	return m.Run(), nil
}

// awaitServer waits until the server answers.
func awaitServer(ended chan error) error {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("it ended: %w", err)
		default:
		}
		resp, err := toServer.Get("http://server/health")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
	return context.DeadlineExceeded
}

// toServer sends requests to the server.
var toServer = &http.Client{Transport: &http.Transport{
	DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", server)
	},
	DisableCompression: true,
}}
