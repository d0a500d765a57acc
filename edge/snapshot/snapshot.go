// Package snapshot is what a turn may read of the content: the facts that answers are made
// of and the published documents, as one flat JSON object with Format first.
//
//	{"format":"anteroom-snapshot-1","version":"5f1d…","service":"Anteroom Example","canonical_host":"www.anteroom.example",…,
//	 "documents":{"aup":{"version":"0.2",…},…}}
//
// The generator writes it with encoding/json; Decode reads it on the edge. A document is the
// compact JSON text of an answer without the members that depend on the request.
package snapshot

import (
	"errors"
	"strconv"

	"anteroom/edge/jsondoc"
)

// Format names this layout. A module refuses a snapshot of another one.
const Format = "anteroom-snapshot-1"

// Snapshot is the published content as the edge knows it.
type Snapshot struct {
	Format        string   `json:"format"`
	Version       string   `json:"version"` // hex SHA-256 of the content
	Service       string   `json:"service"` // its name
	CanonicalHost string   `json:"canonical_host"`
	ApexHost      string   `json:"apex_host"`
	PreviewHosts  []string `json:"preview_hosts"`
	Epoch         string   `json:"epoch"`
	Notice        string   `json:"notice"`
	NoteCanonical string   `json:"host_note_canonical"`
	NoteOther     string   `json:"host_note_other"`
	CurrentKey    string   `json:"receipt_key"`  // base64; "" when none is published
	RetiredKeys   []string `json:"retired_keys"` // base64
	RelayFrom     string   `json:"relay_from"`
	RelayTo       string   `json:"relay_to"`

	WritesPerMinute int64 `json:"writes_per_minute"` // for one client address; 0 is without limit
	BatchMessages   int64 `json:"batch_messages"`
	BatchWrites     int64 `json:"batch_writes"`

	AsOf                 string `json:"as_of"` // date of the newest hand verification
	CountsAgeNote        string `json:"counts_age_note"`
	ReceivedExternal     int64  `json:"received_external"`
	OriginatedInternally int64  `json:"originated_internally"`
	Shipped              int64  `json:"shipped"`

	Documents map[string]Document `json:"documents"`
}

// Document is the JSON text of one object or array.
type Document []byte

// MarshalJSON gives the text itself.
func (d Document) MarshalJSON() ([]byte, error) { return d, nil }

// BaseURL is https:// and the canonical host.
func (s *Snapshot) BaseURL() string { return "https://" + s.CanonicalHost }

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

// Decode reads a snapshot. The documents alias doc. It returns an error, and no snapshot, where
// doc is not a snapshot of this Format, has an unknown member, or lacks one.
func Decode(doc []byte) (*Snapshot, error) {
	v, err := jsondoc.Parse(doc)
	if err != nil || v.Kind != jsondoc.Object {
		return nil, errors.New("decode snapshot: it is not a JSON object")
	}
	s := &Snapshot{Documents: map[string]Document{}}
	for i := range v.Members {
		m := &v.Members[i]
		if fault := s.set(m.Name, &m.Value); fault != "" {
			return nil, errors.New("decode snapshot: member " + m.Name + " " + fault)
		}
	}
	if missing := members - len(v.Members); missing != 0 {
		return nil, errors.New("decode snapshot: it lacks " + strconv.Itoa(missing) + " of its members")
	}
	return s, nil
}

// members is how many members a snapshot has.
const members = 23

// set takes over a member, and says what is wrong with it.
func (s *Snapshot) set(name string, v *jsondoc.Value) (fault string) {
	var text *string
	var list *[]string
	var number *int64
	switch name {
	case "format":
		if v.Text != Format {
			return "is " + v.Text + ", and this program reads " + Format + ": generate and deploy both from the same version"
		}
		text = &s.Format
	case "version":
		text = &s.Version
	case "service":
		text = &s.Service
	case "canonical_host":
		text = &s.CanonicalHost
	case "apex_host":
		text = &s.ApexHost
	case "preview_hosts":
		list = &s.PreviewHosts
	case "epoch":
		text = &s.Epoch
	case "notice":
		text = &s.Notice
	case "host_note_canonical":
		text = &s.NoteCanonical
	case "host_note_other":
		text = &s.NoteOther
	case "receipt_key":
		text = &s.CurrentKey
	case "retired_keys":
		list = &s.RetiredKeys
	case "relay_from":
		text = &s.RelayFrom
	case "relay_to":
		text = &s.RelayTo
	case "writes_per_minute":
		number = &s.WritesPerMinute
	case "batch_messages":
		number = &s.BatchMessages
	case "batch_writes":
		number = &s.BatchWrites
	case "as_of":
		text = &s.AsOf
	case "counts_age_note":
		text = &s.CountsAgeNote
	case "received_external":
		number = &s.ReceivedExternal
	case "originated_internally":
		number = &s.OriginatedInternally
	case "shipped":
		number = &s.Shipped
	case "documents":
		if v.Kind != jsondoc.Object {
			return "is not an object"
		}
		for i := range v.Members {
			s.Documents[v.Members[i].Name] = v.Members[i].Value.Raw
		}
		return ""
	default:
		return "is unknown"
	}
	switch {
	case text != nil && v.Kind == jsondoc.String:
		*text = v.Text
	case text != nil:
		return "is not a string"
	case list != nil && v.Kind == jsondoc.Array:
		for i := range v.Items {
			*list = append(*list, v.Items[i].Text)
		}
	case list != nil:
		return "is not an array"
	default:
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if err != nil {
			return "is not an integer"
		}
		*number = n
	}
	return ""
}
