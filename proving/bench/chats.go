package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/find/search"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// chat is a judged conversation of several sessions, with questions.
type chat struct {
	number    int
	sessions  [][]turn
	questions []chatQuestion
}

type turn struct {
	ID      string `json:"dia_id"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// chatQuestion is a question and the turns that answer it.
type chatQuestion struct {
	Text     string   `json:"question"`
	Evidence []string `json:"evidence"`
	Category int      `json:"category"`
}

// unanswerable is the category of questions without an answer.
const unanswerable = 5

var turnID = regexp.MustCompile(`D\d+:\d+`)

// readChats reads a file of judged conversations.
func readChats(path string) ([]chat, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file []struct {
		Conversation map[string]json.RawMessage `json:"conversation"`
		QA           []chatQuestion             `json:"qa"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	all := make([]chat, len(file))
	for k, one := range file {
		all[k].number = k
		for n := 1; ; n++ {
			raw, ok := one.Conversation[fmt.Sprintf("session_%d", n)]
			if !ok {
				break
			}
			var turns []turn
			if err := json.Unmarshal(raw, &turns); err != nil {
				return nil, fmt.Errorf("read %s: %w", path, err)
			}
			all[k].sessions = append(all[k].sessions, turns)
		}
		for _, q := range one.QA {
			var ids []string
			for _, e := range q.Evidence {
				ids = append(ids, turnID.FindAllString(e, -1)...)
			}
			slices.Sort(ids)
			if q.Evidence = slices.Compact(ids); len(ids) > 0 && q.Category != unanswerable {
				all[k].questions = append(all[k].questions, q)
			}
		}
	}
	return all, nil
}

// chatHome is a home with conversations and its index.
type chatHome struct {
	store *filestore.Store
	index *fulltext.Index
	// session is the session of each entry; an entry is named by conversation and turn.
	session map[string]string
}

func (h *chatHome) Close() {
	h.index.Close()
	h.store.Close() // nothing is written any more
}

// newChatHome writes conversations into a home and indexes them.
func newChatHome(ctx context.Context, dir string, chats []chat, embedder fulltext.Embedder) (*chatHome, error) {
	st, err := filestore.Open(dir, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return nil, err
	}
	h := &chatHome{store: st, session: make(map[string]string)}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range chats {
		for n, turns := range c.sessions {
			id := firn.ID(fmt.Sprintf("chat-%d-%d", c.number, n))
			var entries []firn.Entry
			for i, t := range turns {
				if t.ID == "" {
					continue
				}
				m := &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: t.Speaker + ": " + t.Text + caption(t)}}}
				if t.Speaker != turns[0].Speaker {
					m.Role, m.StopReason = firn.RoleAssistant, firn.StopEnd
				}
				name := fmt.Sprintf("%d-%s", c.number, t.ID)
				m.Time = begin.AddDate(0, 0, n).Add(time.Duration(i) * time.Second)
				entries = append(entries, firn.Entry{ID: firn.EntryID(name), Time: m.Time, Body: m})
				h.session[name] = string(id)
			}
			if _, err := st.Append(ctx, id, store.Start, entries...); err != nil {
				st.Close() // the first error counts
				return nil, err
			}
		}
	}
	now := func() time.Time { return begin.AddDate(0, 6, 0) }
	h.index = fulltext.New(vfs.OS{}, filepath.Join(dir, "index"), st, fulltext.Options{Clock: now, Patience: time.Minute, Embedder: embedder})
	if embedder == nil {
		return h, nil
	}
	return h, waitForVectors(ctx, h.index)
}

func caption(t turn) string {
	if t.Caption == "" {
		return ""
	}
	return " [" + t.Caption + "]"
}

// chatMarks is the recall over the questions of conversations.
type chatMarks struct {
	n                         int
	five, ten, first, amongst float64
	kinds                     [unanswerable]struct{ n, ten float64 }
}

// asked is a question with its hits.
type asked struct {
	chat int
	chatQuestion
	hits []search.Hit
}

// ask asks the questions of a conversation.
func (h *chatHome) ask(ctx context.Context, c chat, weights *search.Features) ([]asked, error) {
	var all []asked
	none := 0
	for _, question := range c.questions {
		q, err := search.Parse(question.Text, time.Now())
		if err != nil {
			q = search.Words(question.Text)
		}
		q.Limit, q.Before, q.After, q.Weights = 50, &none, &none, weights
		answer, err := h.index.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, asked{c.number, question, answer.Hits})
	}
	return all, nil
}

// add judges a question: the share of its turns among the first hits, and whether their
// sessions are.
func (m *chatMarks) add(h *chatHome, a asked) {
	rank := make(map[string]int)
	var sessions []string
	for i, hit := range a.hits {
		rank[string(hit.Entry)] = i + 1
		if s := string(hit.Session); !slices.Contains(sessions, s) {
			sessions = append(sessions, s)
		}
	}
	share := 1 / float64(len(a.Evidence))
	five, ten, at := 0.0, 0.0, -1
	for _, id := range a.Evidence {
		name := fmt.Sprintf("%d-%s", a.chat, id)
		if r := rank[name]; r > 0 && r <= 10 {
			ten += share
			if r <= 5 {
				five += share
			}
		}
		if s := slices.Index(sessions, h.session[name]); s >= 0 && (at < 0 || s < at) {
			at = s
		}
	}
	m.n++
	m.five, m.ten = m.five+five, m.ten+ten
	if at == 0 {
		m.first++
	}
	if at >= 0 && at < 5 {
		m.amongst++
	}
	if k := a.Category; k > 0 && k < len(m.kinds) {
		m.kinds[k].n++
		m.kinds[k].ten += ten
	}
}

func (m *chatMarks) String() string {
	n := float64(max(m.n, 1)) / 100
	text := fmt.Sprintf("n=%d R@5=%.1f R@10=%.1f S@1=%.1f S@5=%.1f", m.n, m.five/n, m.ten/n, m.first/n, m.amongst/n)
	for i, name := range []string{"", "several turns", "when", "open", "one turn"} {
		if k := m.kinds[i]; k.n > 0 {
			text += fmt.Sprintf(", %s %.0f", name, 100*k.ten/k.n)
		}
	}
	return text
}

// recallChats measures recall on a file of judged conversations, each in its own home and
// all in one, and without each feature.
func recallChats(ctx context.Context, w io.Writer, dir string, o chatOptions) error {
	chats, err := readChats(o.path)
	if err != nil {
		return err
	}
	embedder, err := o.embedder()
	if err != nil {
		return err
	}
	homes := make([]*chatHome, len(chats))
	for i, c := range chats {
		if homes[i], err = newChatHome(ctx, filepath.Join(dir, fmt.Sprint(i)), []chat{c}, embedder); err != nil {
			return err
		}
		defer homes[i].Close()
	}
	all, err := newChatHome(ctx, filepath.Join(dir, "all"), chats, embedder)
	if err != nil {
		return err
	}
	defer all.Close()
	measure := func(name string, weights *search.Features, home func(int) *chatHome) error {
		m := &chatMarks{}
		for i, c := range chats {
			answers, err := home(i).ask(ctx, c, weights)
			if err != nil {
				return err
			}
			for _, a := range answers {
				m.add(home(i), a)
			}
		}
		fmt.Fprintf(w, "%-24s %s\n", name, m)
		return nil
	}
	each := func(i int) *chatHome { return homes[i] }
	if o.learn {
		return learnWeights(ctx, w, chats, homes)
	}
	if err := measure("each in its own home", nil, each); err != nil {
		return err
	}
	if err := measure("all in one home", nil, func(int) *chatHome { return all }); err != nil {
		return err
	}
	if err := recallUnasked(ctx, w, chats, homes, all); err != nil || o.quick {
		return err
	}
	for f, name := range search.FeatureNames {
		if search.Feature(f) == search.FeatureVector && embedder == nil {
			continue
		}
		weights := search.QuestionWeights()
		weights[f] = 0
		if err := measure("without "+name, &weights, each); err != nil {
			return err
		}
	}
	return nil
}
