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
	"bytes"
	"errors"
	"strconv"

	"anteroom/edge/jsondoc"

	"github.com/go-json-experiment/json/jsontext"
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
	s := &Snapshot{Documents: map[string]Document{}}
	texts := map[string]*string{
		"format": &s.Format, "version": &s.Version, "service": &s.Service, "canonical_host": &s.CanonicalHost,
		"apex_host": &s.ApexHost, "epoch": &s.Epoch, "notice": &s.Notice, "host_note_canonical": &s.NoteCanonical,
		"host_note_other": &s.NoteOther, "receipt_key": &s.CurrentKey, "relay_from": &s.RelayFrom, "relay_to": &s.RelayTo,
		"as_of": &s.AsOf, "counts_age_note": &s.CountsAgeNote,
	}
	lists := map[string]*[]string{"preview_hosts": &s.PreviewHosts, "retired_keys": &s.RetiredKeys}
	numbers := map[string]*int64{
		"writes_per_minute": &s.WritesPerMinute, "batch_messages": &s.BatchMessages, "batch_writes": &s.BatchWrites,
		"received_external": &s.ReceivedExternal, "originated_internally": &s.OriginatedInternally, "shipped": &s.Shipped,
	}
	missing := len(texts) + len(lists) + len(numbers) + 1
	err := members(doc, func(name string, value []byte) error {
		missing--
		switch text, list, number := texts[name], lists[name], numbers[name]; {
		case text != nil:
			v, err := jsondoc.Parse(value)
			if err != nil || v.Kind != jsondoc.String {
				return errors.New("is not a string")
			}
			*text = v.Text
			if name == "format" && s.Format != Format {
				return errors.New("is " + s.Format + ", and this program reads " + Format + ": generate and deploy both from the same version")
			}
		case list != nil:
			v, err := jsondoc.Parse(value)
			if err != nil || v.Kind != jsondoc.Array {
				return errors.New("is not an array")
			}
			for _, item := range v.Items {
				*list = append(*list, item.Text)
			}
		case number != nil:
			n, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil {
				return errors.New("is not an integer")
			}
			*number = n
		case name == "documents":
			return members(value, func(id string, document []byte) error {
				s.Documents[id] = document
				return nil
			})
		default:
			return errors.New("is unknown")
		}
		return nil
	})
	if err == nil && missing != 0 {
		err = errors.New("it lacks " + strconv.Itoa(missing) + " of its members")
	}
	if err != nil {
		return nil, errors.New("decode snapshot: " + err.Error())
	}
	return s, nil
}

// members calls each with every member of the object in doc, its value as compact text aliasing doc.
func members(doc []byte, each func(name string, value []byte) error) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(doc))
	if begin, err := dec.ReadToken(); err != nil || begin.Kind() != '{' {
		return errors.New("it is not a JSON object")
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		end := dec.InputOffset()
		if err := each(name, doc[end-int64(len(value)):end]); err != nil {
			return errors.New("member " + name + " " + err.Error())
		}
	}
	_, err := dec.ReadToken()
	return err
}
