package edgetest

import (
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/c2sp/wycheproof"
)

// Signature is an Ed25519 signature, valid or not.
type Signature struct {
	ID                            int
	PublicKey, Message, Signature []byte
	Valid                         bool
}

// Signatures returns the Ed25519 cases of Wycheproof.
func Signatures(t testing.TB) (cases []Signature) {
	t.Helper()
	var file struct {
		Groups []struct {
			Key   struct{ PK hexText } `json:"publicKey"`
			Tests []struct {
				TCID     int
				Msg, Sig hexText
				Result   string
			}
		} `json:"testGroups"`
	}
	text, err := fs.ReadFile(wycheproof.TestVectors, "ed25519_test.json")
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	for _, group := range file.Groups {
		for _, c := range group.Tests {
			cases = append(cases, Signature{c.TCID, group.Key.PK, c.Msg, c.Sig, c.Result == "valid"})
		}
	}
	if err != nil || len(cases) < 100 {
		t.Fatalf("%d cases of signatures, %v", len(cases), err)
	}
	return cases
}

type hexText []byte

// UnmarshalText decodes hexadecimal digits.
func (h *hexText) UnmarshalText(digits []byte) (err error) {
	*h, err = hex.AppendDecode(nil, digits)
	return err
}
