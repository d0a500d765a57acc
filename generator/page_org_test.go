package generator_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"anteroom/edge/endpoint/org"
	"anteroom/generator/model"
)

// block finds the blocks of code of a page.
var block = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)\n```")

// blocks are the blocks of code of a page in one language.
func blocks(text, language string) (found []string) {
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	return found
}

// The draft follows its own rules, and the hash is that of the canonical string.
func TestOrgPage(t *testing.T) {
	o := generate(t, shippedContent)
	text := twinText(t, o, "org")
	var rules struct {
		Intro, Founding string
		Rules           model.Rules
		GetTemplate     string `json:"get_template"`
		Slots           int    `json:"founding_org_slots"`
		SlotsLeft       int    `json:"founding_org_slots_remaining"`
	}
	if err := json.Unmarshal(o.Snapshot.Documents["org"], &rules); err != nil {
		t.Fatal(err)
	}
	says(t, "org", text, rules.Intro, rules.Founding,
		fmt.Sprintf("at least **%d**", org.MinimumAllocation), fmt.Sprintf("at most **%d**", org.Cap),
		fmt.Sprintf("**%d of %d**", rules.SlotsLeft, rules.Slots), "`"+org.SeatForm+"`", rules.GetTemplate)
	for _, p := range rules.Rules.Positions {
		says(t, "org", text, "| `"+p.Position+"` | "+p.What)
	}

	canonical, hash := blocks(text, "json")[0], blocks(text, "text")[0]
	if sum := sha256.Sum256([]byte(canonical)); hex.EncodeToString(sum[:]) != hash {
		t.Errorf("the hash of %s is %x, and the page says %s", canonical, sum, hash)
	}
	var draft struct {
		OrgName string `json:"org_name"`
		Roster  []struct {
			Position   string `json:"position"`
			AgentName  string `json:"agent_name"`
			Allocation int    `json:"allocation"`
		} `json:"roster"`
	}
	if err := json.Unmarshal([]byte(canonical), &draft); err != nil {
		t.Fatal(err)
	}
	total := 0
	for i, seat := range draft.Roster {
		total += seat.Allocation
		if seat.Position != org.Positions[i] || seat.Allocation < org.MinimumAllocation {
			t.Errorf("seat %d is %+v", i, seat)
		}
		says(t, "org", text, fmt.Sprintf("| `%s` | %s, %d credit units; in a GET `%s:%d`", seat.Position, seat.AgentName, seat.Allocation, seat.AgentName, seat.Allocation))
	}
	if len(draft.Roster) != len(org.Positions) || total > org.Cap {
		t.Errorf("%d seats share %d", len(draft.Roster), total)
	}
	says(t, "org", text, "called "+draft.OrgName, fmt.Sprintf("allocates %d of %d credit units and leaves %d", total, org.Cap, org.Cap-total))
}

// What can be copied is refused as it is, and files once its placeholders are replaced.
func TestOrgPageCalls(t *testing.T) {
	o := generate(t, shippedContent)
	text := twinText(t, o, "org")
	ask := getter(t, o)
	refused := func(method, target, body string) {
		t.Helper()
		outcome := ask(method, target, body)
		if r := outcome.Response; r == nil || len(outcome.Effects) > 0 || r.Status != 400 || !strings.Contains(string(r.Body), `"code":"placeholder"`) {
			t.Errorf("%s %s %s: %+v", method, target, body, outcome)
		}
	}
	body := blocks(text, "json")[1]
	refused("POST", "/api/org", body)
	data := regexp.MustCompile(`--data-urlencode "([a-z_]+)=([^"]*)"`).FindAllStringSubmatch(text, -1)
	target := "/api/org?"
	for _, m := range data {
		target += m[1] + "=" + strings.NewReplacer(" ", "+", "<", "%3C", ">", "%3E").Replace(m[2]) + "&"
	}
	if len(data) != 1+len(org.Positions) {
		t.Errorf("a GET of %v", data)
	}
	refused("GET", strings.TrimSuffix(target, "&"), "")

	// The lines that recompute the commitment say true of what the endpoint answers, and false of
	// what was edited.
	name, _ := json.Marshal("Möwe \"& Söhne\" \u2028 <1>")
	filled := regexp.MustCompile(`"<[^"]*>"`).ReplaceAllLiteralString(body, string(name))
	answer := string(ask("POST", "/api/org?dry_run=1", filled).Response.Body)
	for _, line := range blocks(text, "sh") {
		tool, _, _ := strings.Cut(line, " ")
		if !strings.Contains(line, "< answer.json") {
			continue
		}
		if _, err := exec.LookPath(tool); err != nil {
			t.Logf("%s is not here: %v", tool, err)
			continue
		}
		edited := strings.Replace(answer, `"allocation":30`, `"allocation":31`, 1)
		for text, want := range map[string]string{answer: "true true", edited: "false false"} {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "answer.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.Command("sh", "-c", line)
			command.Dir = folder
			printed, err := command.CombinedOutput()
			if got := strings.Fields(strings.ToLower(string(printed))); err != nil || strings.Join(got, " ") != want {
				t.Errorf("%s: %s %v, want %s of %s", tool, printed, err, want, text)
			}
		}
	}
}
