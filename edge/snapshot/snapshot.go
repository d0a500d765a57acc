// Package snapshot holds the published content that a turn may read: facts, and documents without
// the members that depend on a request. The first line of its text is a flat JSON object with the
// facts. Each other line is a document: its ID, a tab, compact JSON, which is not parsed.
//
//	{"format":"anteroom-snapshot-8","version":"5f1d…","canonical_host":"www.anteroom.example",…}
//	aup	{"version":"0.2",…}
//	endpoints	[{"method":"GET",…},…]
package snapshot

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"

	"anteroom/edge/jsondoc"
)

const Format = "anteroom-snapshot-8"

type Snapshot struct {
	Format        string
	Version       string // hex SHA-256 of the content
	Service       string // name of the service
	CanonicalHost string
	ApexHost      string
	PreviewHosts  []string
	Epoch         string
	ToolPrefix    string // of the names of MCP tools and prompts
	Notice        string
	NoteCanonical string
	NoteOther     string
	CurrentKey    string // published receipt key in base64, or ""
	RetiredKeys   []Key
	RelayFrom     string
	RelayTo       string
	RelayBounces  string   // envelope sender, to which undeliverable mail returns
	IndexNowKey   string   // "" if the service has no key for search engines
	IndexNowURLs  []string // of the search engines' endpoints
	Sitemap       []string // absolute addresses of the documents to index
	LogOrigin     string   // of the newest checkpoint, or ""
	LogSize       int64    // of the newest checkpoint
	LogRoot       string   // of the newest checkpoint, in base64
	PromiseDays   int64    // most days from a record to its hand verification
	CopyDays      int64    // days a copy of a mailed suggestion is kept

	WritesPerMinute int64 // of one client address; 0 for no limit
	BatchMessages   int64
	BatchWrites     int64

	AsOf                 string   // date of the newest hand verification
	Store                string   // identifier of the store it verified; "" before the first
	Covered              [3]int64 // the last verified number of each of records.Kinds
	Segments             []string // the newest verified records of each kind, for records.Behind
	CountsAgeNote        string
	ReceivedExternal     int64
	OriginatedInternally int64
	Shipped              int64

	Documents map[string]JSON
}

// Key is a receipt key that no longer signs.
type Key struct {
	PublicKey   string // base64
	CurrentFrom string // first day of signing, or "" if unknown
	RetiredOn   string // last day of signing, or "" if unknown
	Revoked     string // why its receipts are invalid, or ""
}

// ContractPrefix and the ID of an endpoint or an operation are the ID of its contract.
const ContractPrefix = "contract:"

type JSON []byte

// BaseURL has no final slash.
func (s *Snapshot) BaseURL() string { return "https://" + s.CanonicalHost }

func (s *Snapshot) Require(ids ...string) error {
	for _, id := range ids {
		if len(s.Documents[id]) < len("{}") {
			return errors.New("load snapshot: document " + id + ": missing (run anteroom generate)")
		}
	}
	return nil
}

// ShortVersion is the form in documents and answers.
func (s *Snapshot) ShortVersion() string { return s.Version[:min(len(s.Version), 12)] }

func (s *Snapshot) Serves(host string) bool {
	return host == s.CanonicalHost || slices.Contains(s.PreviewHosts, host)
}

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

func (s *Snapshot) Encode() []byte {
	var w jsondoc.Writer
	w.Open('{')
	for _, f := range s.facts() {
		switch value := f.value.(type) {
		case *string:
			w.Str(f.name, *value)
		case *int64:
			w.Int(f.name, *value)
		case *[]string:
			w.Strs(f.name, *value)
		case *[]Key:
			w.Begin(f.name, '[')
			for _, k := range *value {
				w.Item(k.PublicKey + " " + k.CurrentFrom + " " + k.RetiredOn + " " + k.Revoked)
			}
			w.Close(']')
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

// Decode parses the text of a snapshot, which aliases it. It returns an error if the text has
// another Format, or if a fact is missing.
func Decode(text []byte) (*Snapshot, error) {
	line, rest, _ := bytes.Cut(text, []byte{'\n'})
	head, err := jsondoc.Parse(line)
	if err != nil || head.Kind != jsondoc.Object {
		return nil, errors.New("decode snapshot: the first line is not a JSON object")
	}
	if format := head.Get("format").Text; format != Format {
		return nil, errors.New("decode snapshot: got format " + `"` + format + `"` + ", want " + Format +
			" (generate and deploy with one version of the program)")
	}
	s := &Snapshot{Documents: map[string]JSON{}}
	for _, f := range s.facts() {
		sent := head.Get(f.name)
		if sent.Kind == jsondoc.Absent {
			return nil, errors.New("decode snapshot: fact " + f.name + ": missing")
		}
		texts := make([]string, len(sent.Items))
		for i := range texts {
			texts[i] = sent.Items[i].Text
		}
		switch value := f.value.(type) {
		case *string:
			*value = sent.Text
		case *int64:
			*value, _ = jsondoc.Integer(sent.Text)
		case *[]string:
			*value = texts
		case *[]Key:
			*value = make([]Key, len(texts))
			for i, text := range texts {
				k := &(*value)[i]
				k.PublicKey, text, _ = strings.Cut(text, " ")
				k.CurrentFrom, text, _ = strings.Cut(text, " ")
				k.RetiredOn, k.Revoked, _ = strings.Cut(text, " ")
			}
		}
	}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		id, document, found := bytes.Cut(line, []byte{'\t'})
		if !found || s.Documents[string(id)] != nil {
			return nil, errors.New("decode snapshot: invalid or duplicate document: " + string(id))
		}
		s.Documents[string(id)] = document
	}
	return s, nil
}

type fact struct {
	name  string
	value any // *string, *int64, *[]string or *[]Key
}

func (s *Snapshot) facts() []fact {
	return []fact{
		{"format", &s.Format},
		{"version", &s.Version},
		{"service", &s.Service},
		{"canonical_host", &s.CanonicalHost},
		{"apex_host", &s.ApexHost},
		{"preview_hosts", &s.PreviewHosts},
		{"epoch", &s.Epoch},
		{"tool_prefix", &s.ToolPrefix},
		{"notice", &s.Notice},
		{"host_note_canonical", &s.NoteCanonical},
		{"host_note_other", &s.NoteOther},
		{"receipt_key", &s.CurrentKey},
		{"retired_keys", &s.RetiredKeys},
		{"relay_from", &s.RelayFrom},
		{"relay_to", &s.RelayTo},
		{"relay_bounces", &s.RelayBounces},
		{"indexnow_key", &s.IndexNowKey},
		{"indexnow_urls", &s.IndexNowURLs},
		{"sitemap", &s.Sitemap},
		{"log_origin", &s.LogOrigin},
		{"log_size", &s.LogSize},
		{"log_root", &s.LogRoot},
		{"promise_days", &s.PromiseDays},
		{"copy_days", &s.CopyDays},
		{"writes_per_minute", &s.WritesPerMinute},
		{"batch_messages", &s.BatchMessages},
		{"batch_writes", &s.BatchWrites},
		{"as_of", &s.AsOf},
		{"store", &s.Store},
		{"registrations_covered", &s.Covered[0]},
		{"charters_covered", &s.Covered[1]},
		{"suggestions_covered", &s.Covered[2]},
		{"newest_covered", &s.Segments},
		{"counts_age_note", &s.CountsAgeNote},
		{"received_external", &s.ReceivedExternal},
		{"originated_internally", &s.OriginatedInternally},
		{"shipped", &s.Shipped},
	}
}
