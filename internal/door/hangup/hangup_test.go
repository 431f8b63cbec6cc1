package hangup_test

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"firn.dev/internal/door/hangup"
)

// closer is a buffer with a Close method.
type closer struct{ bytes.Buffer }

func (*closer) Close() error { return nil }

func TestWait(t *testing.T) {
	cases := map[string]struct {
		asked, answered string
		ends            bool
	}{
		"nothing asked":         {"", "", true},
		"answered":              {`{"id":1,"method":"a"}` + "\n", `{"id":1,"result":{}}` + "\n", true},
		"not answered":          {`{"id":1,"method":"a"}` + "\n", "", false},
		"another answered":      {`{"id":1,"method":"a"}` + "\n", `{"id":2,"result":{}}` + "\n", false},
		"one of two":            {`{"id":1,"method":"a"}` + "\n" + `{"id":2,"method":"a"}` + "\n", `{"id":2,"result":{}}` + "\n", false},
		"without a newline":     {`{"id":"x","method":"a"}`, `{"id":"x","error":{}}` + "\n", true},
		"a notice":              {`{"method":"note"}` + "\n", "", true},
		"excepted":              {`{"id":1,"method":"long"}` + "\n", "", true},
		"an answer to us":       {`{"id":7,"result":1}` + "\n", "", true},
		"no JSON":               {"hello\n{\n[]\n", "", true},
		"we ask back meanwhile": {`{"id":1,"method":"a"}` + "\n", `{"id":1,"method":"b"}` + "\n", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out := hangup.Wait(strings.NewReader(c.asked), &closer{}, "long")
				ended := make(chan struct{})
				go func() {
					io.Copy(io.Discard, bufio.NewReader(in))
					close(ended)
				}()
				synctest.Wait()
				if _, err := io.WriteString(out, c.answered); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				select {
				case <-ended:
					if !c.ends {
						t.Error("the stream ended before all was answered")
					}
				default:
					if c.ends {
						t.Error("the stream does not end")
					}
					for range 3 { // release it, so that the test can end
						io.WriteString(out, `{"id":1,"result":{}}`+"\n")
						io.WriteString(out, `{"id":2,"result":{}}`+"\n")
					}
					<-ended
				}
			})
		})
	}
}

// TestRefuse checks that a request with a duplicate member is answered and not passed on.
func TestRefuse(t *testing.T) {
	asked := `{"id":1,"method":"a"}` + "\n" + `{"id":2,"method":"a","params":{"x":1,"X":2}}` + "\n" + `{"id":3,"id":4,"method":"a"}` + "\n" + `{"id":5,"method":"note","method":"b"}`
	var buf closer
	in, out := hangup.Wait(strings.NewReader(asked), &buf)
	handed, rest := bufio.NewReader(in), ""
	line, err := handed.ReadString('\n')
	if err != nil || line != `{"id":1,"method":"a"}`+"\n" {
		t.Fatalf("passed on %q, %v", line, err)
	}
	if _, err := io.WriteString(out, `{"id":1,"result":{}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	more, err := io.ReadAll(handed)
	if rest += string(more); err != nil || rest != "" {
		t.Errorf("passed on %q, %v", rest, err)
	}
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"request rejected: the members \"x\" and \"X\" differ only in case"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"request rejected: the member \"id\" is given twice"}}`,
		`{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"request rejected: the member \"method\" is given twice"}}`,
	} {
		if !strings.Contains(buf.String(), want+"\n") {
			t.Errorf("answered %s, want %s", buf.String(), want)
		}
	}
}
