package vectors_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"anteroom/generator/vectors"
)

// foreign verifies promises as "The steps for a promise" of the receipts page describes them, with
// nothing of this program: that the page is enough.
type foreign struct {
	host string
	keys map[string][2]string // the first and last day of each key; "" is not known
}

func (f *foreign) verdict(answer map[string]json.RawMessage) string {
	text := func(raw json.RawMessage) (s string) {
		json.Unmarshal(raw, &s)
		return s
	}
	kind := "registration"
	if answer["charter"] != nil {
		kind = "charter"
	}
	canonical := canonicalOf(kind, answer[kind])
	sum := sha256.Sum256([]byte(canonical))
	if canonical == "" || canonical != text(answer["canonical"]) || hex.EncodeToString(sum[:]) != text(answer["payload_sha256"]) {
		return "invalid"
	}
	var promise struct {
		Text      string
		Signature []byte
		Key       string `json:"public_key_b64"`
	}
	if json.Unmarshal(answer["promise"], &promise) != nil {
		return "invalid"
	}
	begin := `{"commitment":"counted-promise-v0","kind":` + quoted(kind) + `,"payload_sha256":` + string(answer["payload_sha256"]) +
		`,"record_id":` + string(answer["record_id"]) + `,"recorded_at":` + string(answer["recorded_at"]) + `,`
	if !strings.HasPrefix(promise.Text, begin) {
		return "invalid"
	}
	var said struct {
		Host string `json:"issued_by"`
	}
	days, named := f.keys[promise.Key]
	day := text(answer["recorded_at"])[:len("2026-11-20")]
	if json.Unmarshal([]byte(promise.Text), &said) != nil || said.Host != f.host || !named || day < days[0] || days[1] != "" && day > days[1] {
		return "unverified"
	}
	key, _ := base64.StdEncoding.DecodeString(promise.Key)
	if !ed25519.Verify(key, []byte(promise.Text), promise.Signature) {
		return "invalid"
	}
	return "valid"
}

func canonicalOf(kind string, member json.RawMessage) string {
	var m struct {
		AgentName *string `json:"agent_name"`
		Pubkey    *string `json:"pubkey"`
		OrgName   string  `json:"org_name"`
		Leader    *string `json:"commissioner"`
		Roster    []struct {
			Position   string `json:"position"`
			AgentName  string `json:"agent_name"`
			Allocation int    `json:"allocation"`
		} `json:"roster"`
	}
	if json.Unmarshal(member, &m) != nil {
		return ""
	}
	if kind == "charter" {
		return `{"commitment":"org-charter-canon-v0","org_name":` + quoted(m.OrgName) + `,"commissioner":` + quoted(m.Leader) + `,"roster":` + quoted(m.Roster) + `}`
	}
	return `{"commitment":"waitlist-canon-v0","agent_name":` + quoted(m.AgentName) + `,"pubkey":` + quoted(m.Pubkey) + `}`
}

func quoted(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(v)
	return strings.TrimSpace(b.String())
}

// A verifier that was written from the published text gives the verdicts of the vectors.
func TestForeignVerifier(t *testing.T) {
	var file struct {
		TestKeys map[string]json.RawMessage `json:"test_keys"`
		Promises []struct {
			Name   string
			Answer map[string]json.RawMessage
		}
		Verdicts []struct {
			Name, Of, Verdict string
			Set               map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(vectors.PromiseV0, &file); err != nil {
		t.Fatal(err)
	}
	key := func(name string) string {
		var k struct {
			Public string `json:"public_key_b64"`
		}
		if err := json.Unmarshal(file.TestKeys[name], &k); err != nil {
			t.Fatal(err)
		}
		return k.Public
	}
	f := &foreign{"www.example.org", map[string][2]string{key("current"): {}, key("retired"): {"2026-01-01", "2026-11-20"}}}
	answers, seen := map[string]map[string]json.RawMessage{}, map[string]int{}
	for _, p := range file.Promises {
		answers[p.Name] = p.Answer
	}
	for _, v := range file.Verdicts {
		answer := maps.Clone(answers[v.Of])
		maps.Copy(answer, v.Set)
		if got := f.verdict(answer); got != v.Verdict {
			t.Errorf("%s: %s, want %s", v.Name, got, v.Verdict)
		}
		seen[v.Verdict]++
	}
	if len(seen) != 3 || seen["valid"] < 4 || seen["unverified"] < 5 || seen["invalid"] < 5 {
		t.Errorf("verdicts: %v", seen)
	}
}
