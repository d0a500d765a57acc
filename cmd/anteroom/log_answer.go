package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/assets"
	"anteroom/edge/canon"
	"anteroom/edge/endpoint/org"
	"anteroom/edge/jsondoc"
	"anteroom/edge/native/disk"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	merkle "golang.org/x/mod/sumdb/tlog"
)

// maxLogInput is the largest answer that is read, in bytes.
const maxLogInput = 1 << 20

const wholeAnswer = "give the whole answer to the registration or charter, unchanged"

// errEdited means that the texts of an answer do not belong together: no verdict rests on it.
var errEdited = errors.New("the answer was edited")

// readPromised returns the record of an answer, with the promise to count it, if any. It rebuilds
// the canonical texts of both, as the verify kit does. The log decides whether the promise's key
// counts. "-" is stdin.
func readPromised(stdin io.Reader, name string) (*tlog.Promised, error) {
	text, err := cli.ReadFile(stdin, name, maxLogInput)
	if err != nil {
		return nil, err
	}
	var whole jsondoc.Value
	if text, err = disk.PlainText(text); err == nil {
		whole, err = jsondoc.Parse(text)
	}
	if err == nil && whole.Kind != jsondoc.Object {
		err = fmt.Errorf("got %s, want an object", whole.Kind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (%s)", name, err, wholeAnswer)
	}
	answer := &whole
	for _, wrapping := range []string{"result", "structuredContent"} {
		if inner := answer.Get(wrapping); inner.Kind == jsondoc.Object {
			answer = inner
		}
	}
	id, recorded := answer.Get("record_id").Text, answer.Get("recorded")
	wrong := ""
	switch {
	case answer.Get("receipt_spec").Kind == jsondoc.String:
		wrong = "is a receipt, which no verification counts"
	case recorded.Kind == jsondoc.Bool && !recorded.True:
		return nil, fmt.Errorf("%s is the answer of a dry run: nothing was recorded (do it without dry_run, and %s)",
			name, wholeAnswer)
	case len(id) != 32 || records.CheckID(id) != nil:
		wrong = "has no record_id of 32 hexadecimal digits"
	case answer.Get("text_sha256").Kind == jsondoc.String: // only its record_id names a suggestion
		return &tlog.Promised{Name: name, Kind: tlog.Suggestion, Hash: tlog.RecordHash(id, "")}, nil
	}
	p := &tlog.Promised{Name: name, Kind: tlog.Registration}
	canonical := registrationIn(answer.Get(p.Kind))
	if charter := answer.Get(tlog.Charter); charter.Kind != jsondoc.Absent {
		p.Kind, canonical = tlog.Charter, charterIn(charter)
	}
	payload := assets.SumOf([]byte(canonical))
	switch {
	case wrong != "":
	case answer.Get(p.Kind).Kind != jsondoc.Object:
		wrong = "has no registration and no charter"
	case canonical == "" || canonical != answer.Get("canonical").Text || payload != answer.Get("payload_sha256").Text:
		return nil, fmt.Errorf("%s: %w: its %s does not match canonical and payload_sha256 (%s)",
			name, errEdited, p.Kind, wholeAnswer)
	}
	if wrong != "" {
		return nil, fmt.Errorf("%s %s (%s)", name, wrong, wholeAnswer)
	}
	p.Hash = tlog.RecordHash(id, payload)
	if promise := answer.Get("promise"); promise.Kind != jsondoc.Absent && promise.Kind != jsondoc.Null {
		p.RecordedAt = answer.Get("recorded_at").Text
		about := canon.Promised{Kind: p.Kind, PayloadSHA256: payload, RecordID: id, RecordedAt: p.RecordedAt}
		if !readPromise(promise, p, about) {
			return nil, fmt.Errorf("%s: %w: its promise does not match its record, want %s", name, errEdited, canon.PromiseRule)
		}
	}
	return p, nil
}

// textOf returns a string that is not empty, or "" with ok for null.
func textOf(v *jsondoc.Value) (text string, ok bool) {
	return v.Text, v.Kind == jsondoc.String && v.Text != "" || v.Kind == jsondoc.Null
}

func registrationIn(v *jsondoc.Value) string {
	name, named := textOf(v.Get("agent_name"))
	key, keyed := textOf(v.Get("pubkey"))
	if !named || !keyed || name+key == "" {
		return ""
	}
	return canon.Registration(name, key)
}

func charterIn(v *jsondoc.Value) string {
	name := v.Get("org_name")
	leader, is := textOf(v.Get("commissioner"))
	var roster []canon.Seat
	for i := range v.Get("roster").Items {
		seat := &v.Get("roster").Items[i]
		n, whole := jsondoc.Integer(string(seat.Get("allocation").Raw))
		agent := seat.Get("agent_name")
		if agent.Kind == jsondoc.String && agent.Text != "" && whole && i < len(org.Positions) &&
			seat.Get("position").Text == org.Positions[i] {
			roster = append(roster, canon.Seat{Position: org.Positions[i], AgentName: agent.Text, Allocation: int(n)})
		}
	}
	if name.Kind != jsondoc.String || !is || len(roster) != len(org.Positions) ||
		len(v.Get("roster").Items) != len(roster) {
		return ""
	}
	return canon.Charter(name.Text, leader, canon.Roster(roster))
}

// readPromise adds an answer's promise to its record. It reports whether the text is exactly the
// canonical one about that record.
func readPromise(given *jsondoc.Value, p *tlog.Promised, about canon.Promised) bool {
	text := given.Get("text").Text
	said, err := jsondoc.Parse([]byte(text))
	if err != nil {
		return false
	}
	about.IssuedBy, about.CountedBy = said.Get("issued_by").Text, said.Get("counted_by").Text
	about.Log, about.Root = said.Get("log").Text, said.Get("root").Text
	about.Size, _ = jsondoc.Integer(string(said.Get("size").Raw))
	if about.Log != "" {
		root, err := merkle.ParseHash(about.Root)
		if err != nil || root.String() != about.Root || about.Size < 0 {
			return false
		}
		p.Head = &tlog.Checkpoint{Origin: about.Log, Size: about.Size, Root: root}
	}
	if site.Wanted("time", about.RecordedAt) != "" || site.Wanted("date", about.CountedBy) != "" ||
		about.CountedBy < about.RecordedAt[:len(time.DateOnly)] ||
		about.IssuedBy == "" || (about.Log == "") != (about.Root == "") || canon.Promise(&about) != text {
		return false
	}
	p.By, p.Host, p.Signer = about.CountedBy, about.IssuedBy, given.Get("public_key_b64").Text
	public, err := base64.StdEncoding.DecodeString(p.Signer)
	signature, err2 := base64.StdEncoding.Strict().DecodeString(given.Get("signature").Text)
	p.Signed = err == nil && err2 == nil && len(public) == ed25519.PublicKeySize &&
		ed25519.Verify(public, []byte(text), signature)
	return true
}
