package openaiapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/door/conversation"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/wire"
)

// conversationObject is a session as a conversation object of this API.
type conversationObject struct {
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

// metadataType is the type of the entries that store a conversation's metadata. The first
// entry of the session is one, and each update adds one; the latest applies.
const metadataType = "openai.metadata"

// OpenAI's limits on metadata: the number of members, and the lengths of names and values in
// characters.
const (
	maxMetadata      = 16
	maxMetadataName  = 64
	maxMetadataValue = 512
)

// checkMetadata rejects metadata beyond the limits.
func checkMetadata(m map[string]string) error {
	if len(m) > maxMetadata {
		return conversation.BadRequest("metadata", "at most %d metadata pairs are allowed", maxMetadata)
	}
	for name, value := range m {
		if utf8.RuneCountInString(name) > maxMetadataName || utf8.RuneCountInString(value) > maxMetadataValue {
			return conversation.BadRequest("metadata", "the metadata %s is too long: at most %d characters for a name and %d for a value", conversation.Quoted(name), maxMetadataName, maxMetadataValue)
		}
	}
	return nil
}

// metadataEntry returns the entry that stores metadata.
func metadataEntry(m map[string]string) (firn.Entry, error) {
	if m == nil {
		m = map[string]string{}
	}
	data, err := wire.Marshal(m)
	return firn.NewEntry(&firn.Custom{Type: metadataType, Data: data}), err
}

// newConversation creates a session. The metadata member agent names the agent that owns
// it.
func (v *exchange) newConversation() error {
	var q newItems
	if v.HTTP.ContentLength != 0 {
		if err := v.Decode(&q); err != nil {
			return err
		}
	}
	if err := checkMetadata(q.Metadata); err != nil {
		return err
	}
	if err := v.SetDirectory(q.Metadata); err != nil {
		return err
	}
	t, err := optionalInput(q.Items)
	if err != nil {
		return err
	}
	who, err := v.Choose(q.Metadata["agent"])
	if err == nil && who.Model != "" {
		err = conversation.NoModel(who.Name) // a model is given with each response
	}
	if err != nil {
		return err
	}
	at, err := v.CreateSession(who, "conversation")
	if err != nil {
		return err
	}
	if q.Metadata == nil {
		q.Metadata = map[string]string{}
	}
	first, err := metadataEntry(q.Metadata)
	if err != nil {
		return err
	}
	entries := append([]firn.Entry{first}, v.Keeper.Entries(t)...)
	if _, err := v.Put(at, who, entries); err != nil {
		return err
	}
	return v.Reply(http.StatusOK, conversationObject{ID: conversationID(at.Session), Object: "conversation", CreatedAt: v.Now().Unix(), Metadata: q.Metadata})
}

// optionalInput reads items that may be missing.
func optionalInput(raw json.RawMessage) (*conversation.Transcript, error) {
	if !given(raw) {
		return &conversation.Transcript{}, nil
	}
	return input(raw)
}

// inConversation returns the end of a conversation.
func (v *exchange) inConversation(id string, who conversation.Choice) (conversation.Position, error) {
	s, err := v.sessionOf(id, "conversation")
	if err == nil {
		err = conversation.CheckAgent(s, who)
	}
	if err != nil {
		return conversation.Position{}, err
	}
	at := conversation.EndOf(s)
	err = v.CheckModel(&at, who)
	return at, err
}

// sessionOf returns the session of a conversation.
func (v *exchange) sessionOf(id, param string) (wire.Session, error) {
	session, err := parseConversation(id, param)
	if err != nil {
		return wire.Session{}, err
	}
	s, err := v.Client.Session(v.HTTP.Context(), string(session))
	if err != nil || s.Hidden {
		if err == nil || wire.KindOf(err) == wire.NotFound {
			err = noSuch("conversation", id, param)
		}
		return s, err
	}
	return s, nil
}

// oneConversation returns, updates or hides a conversation.
func (v *exchange) oneConversation(id string) error {
	s, err := v.sessionOf(id, "")
	if err != nil {
		return err
	}
	if v.HTTP.Method == http.MethodPost {
		return v.updateConversation(s, id)
	}
	if v.HTTP.Method == http.MethodDelete {
		if _, err := v.Client.Remove(v.HTTP.Context(), s.ID, wire.Remove{Reason: "deleted by a client"}); err != nil {
			return err
		}
		return v.Reply(http.StatusOK, deleted{id, "conversation.deleted", true})
	}
	return v.replyConversation(s, id)
}

// updateConversation replaces the metadata of a conversation.
func (v *exchange) updateConversation(s wire.Session, id string) error {
	var q newItems
	if err := v.Decode(&q); err != nil {
		return err
	}
	if q.Metadata == nil {
		return conversation.BadRequest("metadata", "missing metadata")
	}
	if err := checkMetadata(q.Metadata); err != nil {
		return err
	}
	entry, err := metadataEntry(q.Metadata)
	if err != nil {
		return err
	}
	if _, err := v.Put(conversation.EndOf(s), conversation.Choice{}, []firn.Entry{entry}); err != nil {
		return err
	}
	return v.replyConversation(s, id)
}

// replyConversation answers with a conversation.
func (v *exchange) replyConversation(s wire.Session, id string) error {
	metadata, err := v.metadata(s.ID)
	if err != nil {
		return err
	}
	return v.Reply(http.StatusOK, conversationObject{ID: id, Object: "conversation", CreatedAt: s.Created.Unix(), Metadata: metadata})
}

type deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// metadata returns the metadata of a conversation: the latest that was set, on any branch.
func (v *exchange) metadata(id firn.ID) (map[string]string, error) {
	found := map[string]string{}
	for e, err := range v.Client.Entries(v.HTTP.Context(), id, client.EntryQuery{View: wire.ViewDisk, Back: true}) {
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(e.Line, []byte(metadataType)) {
			continue
		}
		entry, err := native.New().Decode(e.Line)
		if err != nil {
			continue // a gap
		}
		if c, ok := entry.Body.(*firn.Custom); ok && c.Type == metadataType {
			_ = json.Unmarshal(c.Data, &found) // metadata of another form is ignored
			break
		}
	}
	return found, nil
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
	if v.HTTP.Method == http.MethodPost {
		return v.addItems(s)
	}
	limit, back, err := v.paging()
	if err != nil {
		return err
	}
	page, more, err := v.listItems(s.ID, "", v.HTTP.URL.Query().Get("after"), limit, back)
	if err != nil {
		return err
	}
	return v.Reply(http.StatusOK, listOf(page, more))
}

// paging returns the limit and the order of a list.
func (v *exchange) paging() (limit int, back bool, err error) {
	query := v.HTTP.URL.Query()
	limit, order := 20, query.Get("order")
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > 100 {
			return 0, false, conversation.BadRequest("limit", "limit must be a number from 1 to 100")
		}
	}
	if order != "" && order != "asc" && order != "desc" {
		return 0, false, conversation.BadRequest("order", "order must be asc or desc")
	}
	return limit, order != "asc", nil
}

// unreadHeader is the response header with the number of unreadable places among the listed
// items. The API has no item type for them.
const unreadHeader = "X-Firn-Unread"

// listItems returns items on the branch of a session that ends at head, starting after an
// item if one is named, and reports whether there are more.
func (v *exchange) listItems(id firn.ID, head, after string, limit int, back bool) (page []item, more bool, err error) {
	skipping, unread := after != "", 0
	defer func() {
		if unread > 0 {
			v.Header().Set(unreadHeader, strconv.Itoa(unread))
		}
	}()
	for e, err := range v.Client.Entries(v.HTTP.Context(), id, client.EntryQuery{View: wire.ViewBranch, Head: head, Back: back}) {
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
		return nil, false, conversation.BadRequest("after", "the conversation has no item %s", conversation.Quoted(after))
	}
	return page, false, nil
}

// addItems adds items to a conversation.
func (v *exchange) addItems(s wire.Session) error {
	var q newItems
	if err := v.Decode(&q); err != nil {
		return err
	}
	t, err := optionalInput(q.Items)
	if err != nil {
		return err
	}
	entries := v.Keeper.Entries(t)
	if len(entries) == 0 {
		return conversation.BadRequest("items", "missing items")
	}
	if _, err := v.Put(conversation.EndOf(s), conversation.Choice{}, entries); err != nil {
		return err
	}
	var added []item
	for _, e := range entries {
		added = append(added, itemsOf(e)...)
	}
	return v.Reply(http.StatusOK, listOf(added, false))
}
