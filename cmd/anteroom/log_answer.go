package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/canon"
	"anteroom/edge/jsondoc"
	"anteroom/generator/tlog"
)

// maxLogInput is the largest answer, checkpoint or proof that is read, in bytes.
const maxLogInput = 1 << 20

const wholeAnswer = "give the whole answer to the registration or charter, unchanged"

var recordIDs = regexp.MustCompile(`^[0-9a-f]{32}$`)

// readPromised returns the record of an answer, with the promise to count it, if any. It verifies
// that the promise names the record, and is signed by the receipt key it names. Whether that key
// counts is decided by the service. "-" is stdin.
func readPromised(stdin io.Reader, name string) (*tlog.Promised, error) {
	answer, err := readAnswer(stdin, name)
	if err != nil {
		return nil, err
	}
	hash, err := hashOfAnswer(answer, name)
	if err == nil && answer.Get("promise").Kind == jsondoc.Object {
		return promiseIn(answer, name, hash)
	}
	return &tlog.Promised{Name: name, Hash: hash}, err
}

func readAnswer(stdin io.Reader, name string) (*jsondoc.Value, error) {
	answer, err := cli.ReadObject(stdin, name, maxLogInput, wholeAnswer)
	if err != nil {
		return nil, err
	}
	for _, wrapping := range []string{"result", "structuredContent"} {
		if inner := answer.Get(wrapping); inner.Kind == jsondoc.Object {
			answer = inner
		}
	}
	return answer, nil
}

func hashOfAnswer(answer *jsondoc.Value, name string) (string, error) {
	id, recorded := answer.Get("record_id").Text, answer.Get("recorded")
	payload, hashed := tlog.ParseHash(answer.Get("payload_sha256").Text)
	wrong := "has no payload_sha256 of 64 hexadecimal digits"
	switch {
	case answer.Get("receipt_spec").Kind == jsondoc.String:
		wrong = "is a receipt, which no verification counts"
	case recorded.Kind == jsondoc.Bool && !recorded.True:
		return "", fmt.Errorf("%s is the answer of a dry run: nothing was recorded (do it without dry_run, and %s)",
			name, wholeAnswer)
	case !recordIDs.MatchString(id):
		wrong = "has no record_id of 32 hexadecimal digits"
	case hashed:
		return tlog.RecordHash(id, payload), nil
	case answer.Get("text_sha256").Kind == jsondoc.String: // a suggestion is named by its record_id alone
		return tlog.RecordHash(id, ""), nil
	}
	return "", fmt.Errorf("%s %s (%s)", name, wrong, wholeAnswer)
}

func promiseIn(answer *jsondoc.Value, name, hash string) (*tlog.Promised, error) {
	p := &tlog.Promised{Name: name, Hash: hash}
	given := answer.Get("promise")
	text, key := given.Get("text").Text, given.Get("public_key_b64").Text
	said, err := jsondoc.Parse([]byte(text))
	if err != nil || said.Kind != jsondoc.Object {
		return nil, fmt.Errorf("%s has no promise: anyone could have made this answer (%s)", name, wholeAnswer)
	}
	size := said.Get("size")
	about := canon.Promised{
		Kind: said.Get("kind").Text, PayloadSHA256: answer.Get("payload_sha256").Text,
		RecordID:   answer.Get("record_id").Text,
		RecordedAt: answer.Get("recorded_at").Text, IssuedBy: said.Get("issued_by").Text,
		CountedBy: said.Get("counted_by").Text,
		Log:       said.Get("log").Text, Root: said.Get("root").Text,
	}
	about.Size, _ = strconv.ParseInt(size.Text, 10, 64)
	public, wrong := base64.StdEncoding.DecodeString(key)
	signature, wrong2 := base64.StdEncoding.DecodeString(given.Get("signature").Text)
	_, noDay := time.Parse(time.DateOnly, about.CountedBy)
	switch {
	case canon.Promise(&about) != text || noDay != nil:
		return nil, fmt.Errorf("the promise in %s does not match its record, want %s", name, canon.PromiseRule)
	case wrong != nil || wrong2 != nil || len(public) != ed25519.PublicKeySize ||
		!ed25519.Verify(public, []byte(text), signature):
		return nil, fmt.Errorf("the promise in %s is not signed by the key it names", name)
	}
	p.By, p.Signer, p.Host, p.RecordedAt = about.CountedBy, key, about.IssuedBy, about.RecordedAt
	if about.Log != "" {
		root, err := tlog.ParseRoot(about.Root)
		if err != nil {
			return nil, fmt.Errorf("the promise in %s: root: %w", name, err)
		}
		p.Head = &tlog.Checkpoint{Origin: about.Log, Size: about.Size, Root: root}
	}
	return p, nil
}
