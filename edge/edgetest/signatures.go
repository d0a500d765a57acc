package edgetest

import (
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/c2sp/wycheproof"
)

// Signature is a case for a verifier: an Ed25519 signature and whether it is valid.
type Signature struct {
	ID                            int
	PublicKey, Message, Signature []byte
	Valid                         bool
}

// Signatures are the Ed25519 cases of Wycheproof. Many of them are forged with care.
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

// hexText is a JSON string of hexadecimal digits.
type hexText []byte

// UnmarshalText reads the digits.
func (h *hexText) UnmarshalText(digits []byte) (err error) {
	*h, err = hex.AppendDecode(nil, digits)
	return err
}
