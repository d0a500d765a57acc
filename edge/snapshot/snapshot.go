// Package snapshot holds the published content as the edge reads it: the facts that answers are
// made of, and the published documents. The first line of its text is a flat JSON object of the
// facts, and the only one that is parsed. Each other line is a document: its ID, a tab, compact
// JSON.
//
//	{"format":"anteroom-snapshot-6","version":"5f1d…","canonical_host":"www.anteroom.example",…}
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
	"strings"

	"anteroom/edge/jsondoc"
)

// Format names this layout of a snapshot. Decode refuses a snapshot of any other format.
const Format = "anteroom-snapshot-6"

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
	CurrentKey    string // base64; "" when none is published
	RetiredKeys   []Key
	RelayFrom     string
	RelayTo       string
	RelayBounces  string   // the envelope sender, which what cannot be delivered goes back to
	IndexNowKey   string   // "" where the service tells search engines nothing
	IndexNowURLs  []string // of the search engines' endpoints
	Sitemap       []string // the absolute addresses of the documents to index
	LogLookup     string   // path that LookupDigits of a hash follow; "" without a public log
	LogOrigin     string   // of its newest checkpoint; "" without one
	LogSize       int64    // of that
	LogRoot       string   // of that, in base64
	PromiseDays   int64    // how many days after it was made a record is counted at the latest
	CopyDays      int64    // for how many days a copy of a suggestion is kept that was mailed

	RemindAfterDays int64 // a record may wait for its verification before the operator is reminded; 0 is for ever
	WritesPerMinute int64 // for one client address; 0 is without limit
	BatchMessages   int64
	BatchWrites     int64

	AsOf                 string   // date of the newest hand verification
	Store                string   // identifier of the store that it looked at; "" before the first
	Covered              [3]int64 // the last number of each of records.Kinds that is verified
	CountsAgeNote        string
	ReceivedExternal     int64
	OriginatedInternally int64
	Shipped              int64

	Documents map[string]JSON
}

// Key is a receipt key that signs no more.
type Key struct {
	PublicKey   string // base64
	CurrentFrom string // the first day on which it signed, and
	RetiredOn   string // the last; "" where that is not known
	Revoked     string // why it counts for no receipt; "" where it does
}

// LookupDigits is how many digits of a hash name the file of the public log that has it.
const LookupDigits = 3

// ContractPrefix and the ID of an endpoint or an operation are the ID of its contract.
const ContractPrefix = "contract:"

// JSON is the JSON text of one object or array.
type JSON []byte

// BaseURL is the address of the canonical host, without a slash at its end.
func (s *Snapshot) BaseURL() string { return "https://" + s.CanonicalHost }

// Require returns an error if the snapshot lacks one of the documents.
func (s *Snapshot) Require(ids ...string) error {
	for _, id := range ids {
		if len(s.Documents[id]) < len("{}") {
			return errors.New("load snapshot: it lacks the document " + id + ": generate it with this version of the program")
		}
	}
	return nil
}

// ShortVersion is the version of the content as documents and answers show it.
func (s *Snapshot) ShortVersion() string { return s.Version[:min(len(s.Version), 12)] }

// Serves reports whether the content publishes this host.
func (s *Snapshot) Serves(host string) bool {
	return host == s.CanonicalHost || slices.Contains(s.PreviewHosts, host)
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
	written := *s
	written.facts(
		func(name string, fact *string) { w.Str(name, *fact) },
		func(name string, fact *[]string) { w.Strs(name, *fact) },
		func(name string, fact *int64) { w.Int(name, *fact) },
	)
	w.Close('}')
	w.Buf = append(w.Buf, '\n')
	for _, id := range slices.Sorted(maps.Keys(s.Documents)) {
		w.Buf = append(append(w.Buf, id...), '\t')
		w.Buf = append(append(w.Buf, s.Documents[id]...), '\n')
	}
	return w.Buf
}

// Decode reads the text of a snapshot, which aliases it. It returns an error if the text is not of
// this Format, has an unknown fact, or lacks one. The documents are taken unread.
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
	known, faulty := 0, ""
	get := func(name string, kind jsondoc.Kind) *jsondoc.Value {
		v := facts.Get(name)
		if known++; v.Kind != kind {
			faulty = name
		}
		return v
	}
	s.facts(
		func(name string, fact *string) { *fact = get(name, jsondoc.String).Text },
		func(name string, fact *[]string) {
			items := get(name, jsondoc.Array).Items
			*fact = make([]string, len(items))
			for i := range items {
				if (*fact)[i] = items[i].Text; items[i].Kind != jsondoc.String {
					faulty = name
				}
			}
		},
		func(name string, fact *int64) {
			n, ok := jsondoc.Integer(get(name, jsondoc.Number).Text)
			if *fact = n; !ok {
				faulty = name
			}
		},
	)
	if len(facts.Members) != known {
		return nil, errors.New("decode snapshot: it has " + strconv.Itoa(len(facts.Members)) + " facts, and not " + strconv.Itoa(known))
	}
	if faulty != "" {
		return nil, errors.New("decode snapshot: it lacks the fact " + faulty + ", or that is of another type")
	}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		id, document, found := bytes.Cut(line, []byte{'\t'})
		if !found || s.Documents[string(id)] != nil {
			return nil, errors.New("decode snapshot: a line is not a document, or a second one with its id: " + string(id))
		}
		s.Documents[string(id)] = document
	}
	return s, nil
}

// facts calls text, list or number with each fact, in order.
func (s *Snapshot) facts(text func(string, *string), list func(string, *[]string), number func(string, *int64)) {
	text("format", &s.Format)
	text("version", &s.Version)
	text("service", &s.Service)
	text("canonical_host", &s.CanonicalHost)
	text("apex_host", &s.ApexHost)
	list("preview_hosts", &s.PreviewHosts)
	text("epoch", &s.Epoch)
	text("tool_prefix", &s.ToolPrefix)
	text("notice", &s.Notice)
	text("host_note_canonical", &s.NoteCanonical)
	text("host_note_other", &s.NoteOther)
	text("receipt_key", &s.CurrentKey)
	keys := make([]string, len(s.RetiredKeys)) // each as space-separated fields
	for i, k := range s.RetiredKeys {
		keys[i] = k.PublicKey + " " + k.CurrentFrom + " " + k.RetiredOn + " " + k.Revoked
	}
	list("retired_keys", &keys)
	s.RetiredKeys = make([]Key, len(keys))
	for i, text := range keys {
		k := &s.RetiredKeys[i]
		k.PublicKey, text, _ = strings.Cut(text, " ")
		k.CurrentFrom, text, _ = strings.Cut(text, " ")
		k.RetiredOn, k.Revoked, _ = strings.Cut(text, " ")
	}
	text("relay_from", &s.RelayFrom)
	text("relay_to", &s.RelayTo)
	text("relay_bounces", &s.RelayBounces)
	text("indexnow_key", &s.IndexNowKey)
	list("indexnow_urls", &s.IndexNowURLs)
	list("sitemap", &s.Sitemap)
	text("log_lookup", &s.LogLookup)
	number("remind_after_days", &s.RemindAfterDays)
	text("log_origin", &s.LogOrigin)
	number("log_size", &s.LogSize)
	text("log_root", &s.LogRoot)
	number("promise_days", &s.PromiseDays)
	number("copy_days", &s.CopyDays)
	number("writes_per_minute", &s.WritesPerMinute)
	number("batch_messages", &s.BatchMessages)
	number("batch_writes", &s.BatchWrites)
	text("as_of", &s.AsOf)
	text("store", &s.Store)
	number("registrations_covered", &s.Covered[0])
	number("charters_covered", &s.Covered[1])
	number("suggestions_covered", &s.Covered[2])
	text("counts_age_note", &s.CountsAgeNote)
	number("received_external", &s.ReceivedExternal)
	number("originated_internally", &s.OriginatedInternally)
	number("shipped", &s.Shipped)
}
