package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/chat"
	"firn.dev/wire"
)

// The formats of answers and of messages on stdin.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatStream = "stream-json"
)

// ask answers the prompt, or the messages on stdin, and prints the answers.
func (p chatCommands) ask(cmd *cobra.Command, f chatFlags, o chat.Options) (err error) {
	var out eventWriter
	if f.output == formatStream {
		out = eventWriter{w: p.stdout}
		defer func() {
			if err != nil {
				out.writeError(err)
			}
		}()
	}
	asker, err := chat.NewAsker(cmd.Context(), o, out.started, out.event)
	if err != nil {
		return err
	}
	defer asker.Close()
	questions := one(chat.Question{Text: o.Prompt})
	if f.input == formatStream {
		questions = readQuestions(p.input(cmd.Context()))
	}
	for q, err := range questions {
		if err != nil {
			return err
		}
		answer, err := asker.Ask(cmd.Context(), q)
		if err != nil {
			return err
		}
		if err := p.printAnswer(&out, answer); err != nil {
			return err
		}
	}
	return nil
}

// printAnswer prints an answer in the output format.
func (p chatCommands) printAnswer(out *eventWriter, answer chat.Answer) error {
	if out.w != nil {
		out.write("result", answer)
		return out.err
	}
	if answer.Silent && !p.json {
		return nil
	}
	return p.print(answer, func() string { return strings.TrimSuffix(answer.Text, "\n") + "\n" })
}

// one yields one question.
func one(q chat.Question) iter.Seq2[chat.Question, error] {
	return func(yield func(chat.Question, error) bool) { yield(q, nil) }
}

// eventWriter writes the lines of the output format stream-json; without a writer it does
// nothing.
type eventWriter struct {
	w   io.Writer
	err error
}

// streamed are the events of a turn that are printed. Their data is that of the protocol.
var streamed = []string{
	wire.DeltaText, wire.DeltaThinking, wire.ToolStarted, wire.ToolProgress, wire.ToolCompleted, wire.ApprovalRequested, wire.ApprovalAnswered,
	wire.TurnQueued, wire.CompactionStarted, wire.CompactionCompleted, wire.Retry, wire.NoticeEvent, wire.Gap,
}

// started prints the session.
func (e *eventWriter) started(s chat.Started) { e.write("session", s) }

// event prints an event of a turn.
func (e *eventWriter) event(v wire.Event) {
	if slices.Contains(streamed, v.Name) {
		e.write(v.Name, v.Data)
	}
}

// writeError prints the error that ended the program.
func (e *eventWriter) writeError(err error) {
	o := classify(err)
	e.write("error", struct {
		problem
		Code int `json:"exitCode"`
	}{problem{o.kind, messageOf(err, o), o.hint}, o.code})
}

// write prints an object as a line, with its type as the first member.
func (e *eventWriter) write(kind string, data any) {
	if e.w == nil || e.err != nil {
		return
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(data); err != nil {
		e.err = fmt.Errorf("print an event: %w", err)
		return
	}
	members := strings.TrimSpace(b.String())
	if !strings.HasPrefix(members, "{") || members == "{}" {
		members = "}"
	} else {
		members = "," + members[1:]
	}
	if _, err := fmt.Fprintf(e.w, "{\"type\":%q%s\n", kind, members); err != nil {
		e.err = fmt.Errorf("print an event: %w", err)
	}
}

// readQuestions reads the messages of the input format stream-json. Blank lines are skipped.
func readQuestions(r io.Reader) iter.Seq2[chat.Question, error] {
	return func(yield func(chat.Question, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxPrompt)
		n := 0
		for lines.Scan() {
			if n++; len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			q, err := parseQuestion(lines.Bytes())
			if err != nil {
				err = &usageError{fmt.Sprintf("input line %d: %v", n, err), `each line is a message: {"type":"user","text":"…"}`}
			}
			if !yield(q, err) || err != nil {
				return
			}
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(chat.Question{}, fmt.Errorf("input line %d: %w: more than %d bytes", n+1, firn.ErrTooLarge, maxPrompt))
		} else if err != nil {
			yield(chat.Question{}, fmt.Errorf("read messages: %w", err))
		}
	}
}

// inputMessage is a line of the input format stream-json: the text and images of a message,
// or a message with content as Anthropic's API has it.
type inputMessage struct {
	Type    string       `json:"type"`
	Text    string       `json:"text"`
	Images  []wire.Image `json:"images"`
	Message *struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// parseQuestion parses a line of the input format stream-json.
func parseQuestion(line []byte) (chat.Question, error) {
	var m inputMessage
	if err := json.Unmarshal(line, &m); err != nil {
		return chat.Question{}, fmt.Errorf("not a JSON object of a message: %w", err)
	}
	if m.Type != "user" {
		return chat.Question{}, fmt.Errorf("unknown type %q: expected user", prose.OneLine(m.Type, 40))
	}
	q := chat.Question{Text: m.Text, Images: m.Images}
	if m.Message != nil {
		if m.Message.Role != "" && m.Message.Role != "user" {
			return q, fmt.Errorf("unknown role %q: expected user", prose.OneLine(m.Message.Role, 40))
		}
		if err := addContent(&q, m.Message.Content); err != nil {
			return q, err
		}
	}
	if strings.TrimSpace(q.Text) == "" && len(q.Images) == 0 {
		return q, errors.New("the message is empty")
	}
	return q, nil
}

// addContent adds the content of a message: a string, or blocks of text and images.
func addContent(q *chat.Question, content json.RawMessage) error {
	var text string
	if json.Unmarshal(content, &text) == nil {
		q.Text += text
		return nil
	}
	var blocks []struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      string `json:"data"`
		} `json:"source"`
	}
	if err := json.Unmarshal(content, &blocks); err != nil {
		return errors.New("content is neither a string nor a list of blocks")
	}
	for _, b := range blocks {
		switch {
		case b.Type == "text":
			q.Text += b.Text
		case b.Type == "image" && b.Source.Type == "base64":
			q.Images = append(q.Images, wire.Image{MimeType: b.Source.MediaType, Data: b.Source.Data})
		default:
			return fmt.Errorf("unknown block %q: expected text, or image with base64 data", prose.OneLine(b.Type, 40))
		}
	}
	return nil
}
