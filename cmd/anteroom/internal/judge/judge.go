// Package judge verifies a receipt without the service, by the rules of the endpoint.
package judge

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// Read reads a receipt in a file, or on stdin if name is "-".
func Read(stdin io.Reader, name string) (*jsondoc.Value, error) {
	sent, err := cli.ReadObject(stdin, name, turn.MaxBody, "give the whole receipt as it was received, a JSON object")
	if err != nil {
		return nil, fmt.Errorf("read receipt: %w", err)
	}
	return sent, nil
}

// Verify gives the answer of the verification endpoint to a receipt. keys are the public keys of
// its service, the current one first.
func Verify(sent *jsondoc.Value, keys []snapshot.Key, now time.Time) (*jsondoc.Value, error) {
	// Without the service, the programs that a receipt links are compared with its own host.
	published := &snapshot.Snapshot{CanonicalHost: sent.Get("issued_by").Text, RetiredKeys: keys[1:]}
	current := &turn.Turn{Now: now.Unix(), Request: turn.Request{Host: "localhost"}, Host: turn.HostInfo{PublicKey: keys[0].PublicKey}}
	answer := turn.Run(current, func(current *turn.Turn) turn.Outcome {
		current.Begin(published)
		return current.Outcome(receipt.Verify(current, input.New([]jsondoc.Member{{Name: receipt.VerifyFields[0].Name, Value: *sent}})))
	}, checkSignatures)
	if answer == nil || answer.Status != 200 {
		return nil, errors.New("verify receipt: it cannot be verified")
	}
	verdict, err := jsondoc.Parse(answer.Body)
	return &verdict, err
}

// checkSignatures performs the only effect of a verification.
func checkSignatures(effects []turn.Effect) []turn.Result {
	results := make([]turn.Result, len(effects))
	for i, effect := range effects {
		v := effect.(turn.Verify)
		results[i].OK = ed25519.Verify(v.PublicKey, v.Message, v.Signature)
	}
	return results
}
