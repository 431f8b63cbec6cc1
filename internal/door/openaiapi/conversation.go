package openaiapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/wire"
)

// conversation is a session as a conversation object of this API.
type conversation struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"`
	CreatedAt int64             `json:"created_at"`
	Metadata  map[string]string `json:"metadata"`
}

// newItems is a request with items.
type newItems struct {
	Items    json.RawMessage   `json:"items"`
	Metadata map[string]string `json:"metadata"`
}

// metadataType is the type of the entry that stores a conversation's metadata. It is the
// first entry of the session.
const metadataType = "openai.metadata"

// maxMetadata is OpenAI's limit on the number of metadata members.
const maxMetadata = 16

// newConversation creates a session. The metadata member agent names the agent that owns
// it.
func (v *exchange) newConversation() error {
	var q newItems
	if v.r.ContentLength != 0 {
		if err := v.decode(&q); err != nil {
			return err
		}
	}
	if len(q.Metadata) > maxMetadata {
		return badRequest("metadata", "at most %d metadata pairs are allowed", maxMetadata)
	}
	if err := v.setDirectory(q.Metadata); err != nil {
		return err
	}
	t, err := optionalInput(q.Items)
	if err != nil {
		return err
	}
	who, err := v.choose(q.Metadata["agent"])
	if err == nil && who.model != "" {
		err = noModel(who.name) // a model is given with each response
	}
	if err != nil {
		return err
	}
	at, err := v.createSession(who, "conversation")
	if err != nil {
		return err
	}
	if q.Metadata == nil {
		q.Metadata = map[string]string{}
	}
	data, err := wire.Marshal(q.Metadata)
	if err != nil {
		return err
	}
	entries := append([]firn.Entry{firn.NewEntry(&firn.Custom{Type: metadataType, Data: data})}, v.itemEntries(t)...)
	if _, err := v.put(at, who, entries); err != nil {
		return err
	}
	return v.reply(http.StatusOK, conversation{ID: conversationID(at.session), Object: "conversation", CreatedAt: v.door.clock().Unix(), Metadata: q.Metadata})
}

// optionalInput reads items that may be missing.
func optionalInput(raw json.RawMessage) (*transcript, error) {
	if !given(raw) {
		return &transcript{}, nil
	}
	return input(raw)
}

// itemEntries turns items into entries.
func (v *exchange) itemEntries(t *transcript) []firn.Entry {
	messages := t.messages
	if len(t.system) > 0 {
		messages = append([]firn.Message{{Role: firn.RoleSystem, Parts: textPart(t.instructions())}}, messages...)
	}
	return entriesOf(messages, digest{}.with(t.messages...), v.door.clock().UTC().Truncate(time.Millisecond))
}

// inConversation returns the end of a conversation.
func (v *exchange) inConversation(id string, who choice) (position, error) {
	s, err := v.sessionOf(id, "conversation")
	if err == nil {
		err = checkAgent(s, who)
	}
	if err != nil {
		return position{}, err
	}
	at := endOf(s)
	err = v.checkModel(&at, who)
	return at, err
}

// sessionOf returns the session of a conversation.
func (v *exchange) sessionOf(id, param string) (wire.Session, error) {
	session, err := parseConversation(id, param)
	if err != nil {
		return wire.Session{}, err
	}
	s, err := v.c.Session(v.r.Context(), string(session))
	if err != nil || s.Hidden {
		if err == nil || wire.KindOf(err) == wire.NotFound {
			err = noSuch("conversation", id, param)
		}
		return s, err
	}
	return s, nil
}

// oneConversation returns or hides a conversation.
func (v *exchange) oneConversation(id string) error {
	s, err := v.sessionOf(id, "")
	if err != nil {
		return err
	}
	if v.r.Method == http.MethodDelete {
		if _, err := v.c.Remove(v.r.Context(), s.ID, wire.Remove{Reason: "deleted by a client"}); err != nil {
			return err
		}
		return v.reply(http.StatusOK, deleted{id, "conversation.deleted", true})
	}
	metadata, err := v.metadata(s.ID)
	if err != nil {
		return err
	}
	return v.reply(http.StatusOK, conversation{ID: id, Object: "conversation", CreatedAt: s.Created.Unix(), Metadata: metadata})
}

type deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// metadata returns the metadata of a conversation.
func (v *exchange) metadata(id firn.ID) (map[string]string, error) {
	const near = 8 // it is near the beginning
	found := map[string]string{}
	page, err := v.c.EntriesPage(v.r.Context(), id, client.EntryQuery{View: wire.ViewDisk, Limit: near})
	for _, e := range page.Items {
		entry, err := native.New().Decode(e.Line)
		if err != nil {
			continue // a gap
		}
		if c, ok := entry.Body.(*firn.Custom); ok && c.Type == metadataType {
			_ = json.Unmarshal(c.Data, &found) // metadata of another form is ignored
			break
		}
	}
	return found, err
}

// itemList is a page of items.
type itemList struct {
	Object  string  `json:"object"`
	Data    []item  `json:"data"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

func listOf(items []item, more bool) itemList {
	l := itemList{Object: "list", Data: items, HasMore: more}
	if n := len(items); n > 0 {
		l.FirstID, l.LastID = &items[0].ID, &items[n-1].ID
	} else {
		l.Data = []item{}
	}
	return l
}

// items lists the items of a conversation, or adds items to it.
func (v *exchange) items(id string) error {
	s, err := v.sessionOf(id, "")
	if err != nil {
		return err
	}
	if v.r.Method == http.MethodPost {
		return v.addItems(s)
	}
	query := v.r.URL.Query()
	limit, order := 20, query.Get("order")
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > 100 {
			return badRequest("limit", "limit must be a number from 1 to 100")
		}
	}
	if order != "" && order != "asc" && order != "desc" {
		return badRequest("order", "order must be asc or desc")
	}
	page, more, err := v.listItems(s.ID, query.Get("after"), limit, order != "asc")
	if err != nil {
		return err
	}
	return v.reply(http.StatusOK, listOf(page, more))
}

// unreadHeader is the response header with the number of unreadable places among the listed
// items. The API has no item type for them.
const unreadHeader = "X-Firn-Unread"

// listItems returns items on the branch of a session, starting after an item if one is
// named, and reports whether there are more.
func (v *exchange) listItems(id firn.ID, after string, limit int, back bool) (page []item, more bool, err error) {
	skipping, unread := after != "", 0
	defer func() {
		if unread > 0 {
			v.w.Header().Set(unreadHeader, strconv.Itoa(unread))
		}
	}()
	for e, err := range v.c.Entries(v.r.Context(), id, client.EntryQuery{View: wire.ViewBranch, Back: back}) {
		if err != nil {
			return nil, false, err
		}
		if e.Damage != nil && e.Damage.Lost && !skipping {
			unread += e.Damage.Count()
		}
		entry, err := native.New().Decode(e.Line)
		if err != nil || e.Out == "tombstoned" {
			continue
		}
		items := itemsOf(entry)
		if back {
			slices.Reverse(items)
		}
		for _, it := range items {
			switch {
			case skipping:
				skipping = it.ID != after
			case len(page) == limit:
				return page, true, nil
			default:
				page = append(page, it)
			}
		}
	}
	if skipping {
		return nil, false, badRequest("after", "the conversation has no item %s", quoted(after))
	}
	return page, false, nil
}

// addItems adds items to a conversation.
func (v *exchange) addItems(s wire.Session) error {
	var q newItems
	if err := v.decode(&q); err != nil {
		return err
	}
	t, err := optionalInput(q.Items)
	if err != nil {
		return err
	}
	entries := v.itemEntries(t)
	if len(entries) == 0 {
		return badRequest("items", "missing items")
	}
	if _, err := v.put(endOf(s), choice{}, entries); err != nil {
		return err
	}
	var added []item
	for _, e := range entries {
		added = append(added, itemsOf(e)...)
	}
	return v.reply(http.StatusOK, listOf(added, false))
}
