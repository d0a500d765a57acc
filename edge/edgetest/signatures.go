package edgetest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"slices"
	"testing"
	"unicode/utf8"

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
	text, err := fs.ReadFile(wycheproof.TestVectors, "ed25519_test.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Key struct {
				Public hexText `json:"pk"`
			} `json:"publicKey"`
			Tests []struct {
				ID        int     `json:"tcId"`
				Message   hexText `json:"msg"`
				Signature hexText `json:"sig"`
				Result    string  `json:"result"`
			} `json:"tests"`
		} `json:"testGroups"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		for _, test := range group.Tests {
			if test.Result != "valid" && test.Result != "invalid" {
				t.Fatalf("case %d is %q", test.ID, test.Result)
			}
			cases = append(cases, Signature{test.ID, group.Key.Public, test.Message, test.Signature, test.Result == "valid"})
		}
	}
	if len(cases) < 100 {
		t.Fatalf("%d cases", len(cases))
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

// RunSignatures has a host judge Signatures: by its own verify and, where a receipt can hold the
// message, as receipts by way of HTTP.
func RunSignatures(t *testing.T, start Server, verify func(Signature) bool) {
	cases, published := Signatures(t), Snapshot()
	published.WritesPerMinute = 0
	for _, c := range cases {
		if key := base64.StdEncoding.EncodeToString(c.PublicKey); !slices.Contains(published.RetiredKeys, key) {
			published.RetiredKeys = append(published.RetiredKeys, key)
		}
	}
	base, posted := start(t, published), 0
	for _, c := range cases {
		if got := verify(c); got != c.Valid {
			t.Errorf("case %d: the host says %t, want %t", c.ID, got, c.Valid)
		}
		if !utf8.Valid(c.Message) || len(c.Message) == 0 {
			continue
		}
		posted++
		receipt, err := json.Marshal(map[string]any{"verify": map[string]any{
			"canonical": string(c.Message), "signature": base64.StdEncoding.EncodeToString(c.Signature),
			"public_key_b64": base64.StdEncoding.EncodeToString(c.PublicKey), "signed": true,
		}})
		if err != nil {
			t.Fatal(err)
		}
		var verdict struct {
			SignatureOK *bool  `json:"signature_ok"`
			CheckedKey  string `json:"checked_against_public_key"`
		}
		answer := ask(t, base, "POST", "/api/receipt", string(receipt))
		err = json.Unmarshal(answer.body, &verdict)
		if err != nil || answer.status != 200 || verdict.SignatureOK == nil || *verdict.SignatureOK != c.Valid || verdict.CheckedKey != base64.StdEncoding.EncodeToString(c.PublicKey) {
			t.Errorf("case %d as a receipt: %d %+v %v, want signature_ok %t", c.ID, answer.status, verdict, err, c.Valid)
		}
	}
	if posted < 50 {
		t.Errorf("only %d of %d messages went into receipts", posted, len(cases))
	}
}
