// Package snapshot holds the published content as the edge reads it: the facts that answers are
// made of, and the published documents. Its text has a line for the facts, which is one flat JSON
// object with the format first. Then it has a line for each document: the ID of the document, a
// tab, and compact JSON. So a program that loads a snapshot parses the first line only.
//
//	{"format":"anteroom-snapshot-3","version":"5f1d…","canonical_host":"www.anteroom.example",…}
//	aup	{"version":"0.2",…}
//	endpoints	[{"method":"GET",…},…]
//
// A document is an answer without the members that depend on the request.
package snapshot

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strconv"

	"anteroom/edge/jsondoc"
)

// Format names this layout of a snapshot. Decode refuses a snapshot of any other format.
const Format = "anteroom-snapshot-3"

// Snapshot is the published content as the edge knows it.
type Snapshot struct {
	Format        string
	Version       string // hex SHA-256 of the content
	Service       string // name of the service
	CanonicalHost string
	ApexHost      string
	PreviewHosts  []string
	Epoch         string
	ToolPrefix    string // what the names of MCP tools and prompts begin with
	Notice        string
	NoteCanonical string
	NoteOther     string
	CurrentKey    string   // base64; "" when none is published
	RetiredKeys   []string // base64
	RelayFrom     string
	RelayTo       string
	RelayWebhook  string   // URL that the worker posts messages to; "" where it sends mail
	IndexNowKey   string   // "" where the service tells search engines nothing
	IndexNowURLs  []string // of the search engines' endpoints
	Sitemap       []string // the absolute addresses of the documents to index
	LogLookup     string   // path that LookupDigits of a hash follow; "" without a public log

	WritesPerMinute int64 // for one client address; 0 is without limit
	BatchMessages   int64
	BatchWrites     int64

	AsOf                 string // date of the newest hand verification
	CountsAgeNote        string
	ReceivedExternal     int64
	OriginatedInternally int64
	Shipped              int64

	Documents map[string]JSON
}

// LookupDigits is how many digits of a hash name the file of the public log in which it is looked
// up.
const LookupDigits = 3

// ContractPrefix begins the ID of a document that is a contract: that of an endpoint or of an
// operation, whose ID comes after it.
const ContractPrefix = "contract:"

// JSON is the JSON text of one object or array.
type JSON []byte

// BaseURL is the address of the canonical host, without a slash at its end.
func (s *Snapshot) BaseURL() string { return "https://" + s.CanonicalHost }

// shortDigits is how many digits of the version ShortVersion has.
const shortDigits = 12

// ShortVersion is the version of the content as documents and answers show it.
func (s *Snapshot) ShortVersion() string { return s.Version[:min(len(s.Version), shortDigits)] }

// Serves reports whether the content publishes this host.
func (s *Snapshot) Serves(host string) bool {
	if host == s.CanonicalHost {
		return true
	}
	for _, h := range s.PreviewHosts {
		if host == h {
			return true
		}
	}
	return false
}

// Trailer writes the members that every JSON answer ends with.
func (s *Snapshot) Trailer(w *jsondoc.Writer, servedFrom string) {
	w.Str("notice", s.Notice)
	w.Str("served_from", servedFrom)
	w.Str("canonical_host", s.CanonicalHost)
	note := s.NoteOther
	if servedFrom == s.CanonicalHost {
		note = s.NoteCanonical
	}
	w.Str("host_note", note)
}

// Encode gives the text of a snapshot.
func (s *Snapshot) Encode() []byte {
	var w jsondoc.Writer
	w.Open('{')
	for _, m := range s.members() {
		switch {
		case m.text != nil:
			w.Str(m.name, *m.text)
		case m.list != nil:
			w.Strs(m.name, *m.list)
		default:
			w.Int(m.name, *m.number)
		}
	}
	w.Close('}')
	w.Buf = append(w.Buf, '\n')
	for _, id := range slices.Sorted(maps.Keys(s.Documents)) {
		w.Buf = append(append(w.Buf, id...), '\t')
		w.Buf = append(append(w.Buf, s.Documents[id]...), '\n')
	}
	return w.Buf
}

// Decode reads the text of a snapshot, which aliases the text from then on. It returns an error,
// and no snapshot, where the text is not of this Format, has an unknown fact, or lacks one. The
// documents are taken unread.
func Decode(text []byte) (*Snapshot, error) {
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	facts, err := jsondoc.Parse(line)
	if err != nil || facts.Kind != jsondoc.Object {
		return nil, errors.New("decode snapshot: its first line is not a JSON object")
	}
	if format := facts.Get("format").Text; format != Format {
		return nil, errors.New("decode snapshot: its format is " + `"` + format + `"` + ", and this program reads " + Format +
			": generate and deploy both from the same version")
	}
	s := &Snapshot{Documents: map[string]JSON{}}
	members := s.members()
	if len(facts.Members) != len(members) {
		return nil, errors.New("decode snapshot: it has " + strconv.Itoa(len(facts.Members)) + " facts, and not " + strconv.Itoa(len(members)))
	}
	for _, m := range members {
		if !m.set(facts.Get(m.name)) {
			return nil, errors.New("decode snapshot: it lacks the fact " + m.name + ", or that is of another type")
		}
	}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		id, document, found := bytes.Cut(line, []byte{'\t'})
		if !found || s.Documents[string(id)] != nil {
			return nil, errors.New("decode snapshot: a line is no document, or a second one with its id: " + string(id))
		}
		s.Documents[string(id)] = document
	}
	return s, nil
}

// member is a fact: its name, and the one of three places in which its value is kept.
type member struct {
	name   string
	text   *string
	list   *[]string
	number *int64
}

func (s *Snapshot) members() []member {
	return []member{
		{name: "format", text: &s.Format},
		{name: "version", text: &s.Version},
		{name: "service", text: &s.Service},
		{name: "canonical_host", text: &s.CanonicalHost},
		{name: "apex_host", text: &s.ApexHost},
		{name: "preview_hosts", list: &s.PreviewHosts},
		{name: "epoch", text: &s.Epoch},
		{name: "tool_prefix", text: &s.ToolPrefix},
		{name: "notice", text: &s.Notice},
		{name: "host_note_canonical", text: &s.NoteCanonical},
		{name: "host_note_other", text: &s.NoteOther},
		{name: "receipt_key", text: &s.CurrentKey},
		{name: "retired_keys", list: &s.RetiredKeys},
		{name: "relay_from", text: &s.RelayFrom},
		{name: "relay_to", text: &s.RelayTo},
		{name: "relay_webhook", text: &s.RelayWebhook},
		{name: "indexnow_key", text: &s.IndexNowKey},
		{name: "indexnow_urls", list: &s.IndexNowURLs},
		{name: "sitemap", list: &s.Sitemap},
		{name: "log_lookup", text: &s.LogLookup},
		{name: "writes_per_minute", number: &s.WritesPerMinute},
		{name: "batch_messages", number: &s.BatchMessages},
		{name: "batch_writes", number: &s.BatchWrites},
		{name: "as_of", text: &s.AsOf},
		{name: "counts_age_note", text: &s.CountsAgeNote},
		{name: "received_external", number: &s.ReceivedExternal},
		{name: "originated_internally", number: &s.OriginatedInternally},
		{name: "shipped", number: &s.Shipped},
	}
}

// set keeps a value where it is of the right type, and reports whether it is.
func (m *member) set(v *jsondoc.Value) bool {
	switch {
	case m.text != nil && v.Kind == jsondoc.String:
		*m.text = v.Text
	case m.list != nil && v.Kind == jsondoc.Array:
		*m.list = make([]string, len(v.Items))
		for i, item := range v.Items {
			if item.Kind != jsondoc.String {
				return false
			}
			(*m.list)[i] = item.Text
		}
	case m.number != nil && v.Kind == jsondoc.Number:
		n, ok := jsondoc.Integer(v.Text)
		*m.number = n
		return ok
	default:
		return false
	}
	return true
}
