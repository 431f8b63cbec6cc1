package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// modeVariable makes this test binary a server.
const modeVariable = "FIRN_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		serve(mode)
		return
	}
	os.Exit(m.Run())
}

// text is a result with one text.
func text(format string, args ...any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

// input are the arguments of the tools of the test server.
type input struct {
	Text string `json:"text,omitempty"`
	File string `json:"file,omitempty"`
}

// serve runs a server on stdin and stdout.
func serve(mode string) {
	switch mode {
	case "silent":
		_, _ = bufio.NewReader(os.Stdin).WriteTo(nowhere{})
		return
	case "dead":
		fmt.Fprintln(os.Stderr, "the license has expired")
		os.Exit(3)
	case "garbage":
		fmt.Println("{ this is no message")
		_, _ = bufio.NewReader(os.Stdin).WriteTo(nowhere{})
		return
	case "banner":
		fmt.Println("Welcome to the server!")
	case "gate": // starts when the file appears
		waitFile(os.Getenv("GATE"))
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	if mode == "escapes" {
		addEscapes(s)
	} else {
		addTools(s)
	}
	_ = s.Run(context.Background(), &sdk.StdioTransport{})
}

// addEscapes adds a tool whose texts have escape sequences for terminals.
func addEscapes(s *sdk.Server) {
	sdk.AddTool(s, &sdk.Tool{Name: "paint", Description: "a \x1b]0;title\a\x1b[2J tool"},
		func(_ context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
			if in.Text == "die" {
				fmt.Fprintln(os.Stderr, "\x1b]52;c;evil\a \u009b2J")
				os.Exit(4)
			}
			return text("red \x1b[31m\r\n\tred\u202e"), nil, nil
		})
}

// nowhere is a writer that discards its input.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// addTools adds the tools of the test server.
func addTools(s *sdk.Server) {
	add := func(name string, readOnly bool, do func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "the tool " + name, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: readOnly}},
			func(ctx context.Context, q *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
				r, err := do(ctx, q, in)
				return r, nil, err
			})
	}
	add("echo", true, func(_ context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, error) {
		return text("%s", in.Text), nil
	})
	add("env", true, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		return text("%s", strings.Join(os.Environ(), "\n")), nil
	})
	add("pid", true, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		return text("%d", os.Getpid()), nil
	})
	add("die", false, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(4)
		return nil, nil
	})
	add("fail", false, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		return nil, errors.New("no such thing")
	})
	add("hang", false, func(ctx context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, error) {
		_ = os.WriteFile(in.File+".started", nil, 0o600)
		<-ctx.Done()
		_ = os.WriteFile(in.File, []byte("canceled"), 0o600)
		return nil, ctx.Err()
	})
	add("freeze", false, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		_ = exec.Command("kill", "-STOP", fmt.Sprint(os.Getpid())).Run()
		return text("thawed"), nil
	})
	add("garbage", false, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		fmt.Println(`{"jsonrpc": nonsense`)
		select {}
	})
	add("big", false, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		return text("%s", strings.Repeat("0123456789", 200_000)), nil
	})
	add("mixed", false, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "a text"}, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")},
			&sdk.ImageContent{MIMEType: "image/svg+xml", Data: []byte("svg")}, &sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")},
			&sdk.ResourceLink{URI: "file:///a", Name: "a"}, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:y", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:z", MIMEType: "application/zip", Blob: []byte("zip")}},
		}, StructuredContent: map[string]any{"n": 1}}, nil
	})
	add("structured", false, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: json.RawMessage(`{"answer":42}`)}, nil
	})
	add("progress", false, func(ctx context.Context, q *sdk.CallToolRequest, _ input) (*sdk.CallToolResult, error) {
		_ = q.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: q.Params.GetProgressToken(), Message: "half way", Progress: 1, Total: 2})
		return text("done"), nil
	})
	add("child", false, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		c := exec.Command("sleep", "600")
		if err := c.Start(); err != nil {
			return nil, err
		}
		return text("%d", c.Process.Pid), nil
	})
	add("grow", false, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
		add("grown", false, func(context.Context, *sdk.CallToolRequest, input) (*sdk.CallToolResult, error) {
			return text("new"), nil
		})
		return text("there is one more"), nil
	})
}

// waitFile waits until a file exists.
func waitFile(path string) {
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
