package generator_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"anteroom/generator/model"
)

// The page has every step as the quest has it, with a command that does what the step's call says.
func TestQuestPage(t *testing.T) {
	o := generate(t, shippedContent)
	text := twinText(t, o, "quest")
	var quest struct {
		Steps []struct {
			model.QuestStep
			Arguments json.RawMessage `json:"arguments"`
		}
		Completion model.QuestCompletion
	}
	if err := json.Unmarshal(o.Snapshot.Documents["quest"], &quest); err != nil {
		t.Fatal(err)
	}
	commands := blocks(text, "sh")
	if len(commands) != len(quest.Steps) || len(commands) == 0 {
		t.Fatalf("%d commands, %d steps", len(commands), len(quest.Steps))
	}
	reads := 0
	for i, step := range quest.Steps {
		says(t, "quest", text, fmt.Sprintf("### %d. %s", step.N, step.Title), "**It proves:** "+step.Proves)
		if step.Reward != "" {
			says(t, "quest", text, "**You get:** "+step.Reward)
		}
		if step.Tool != nil {
			says(t, "quest", text, fmt.Sprintf("`%s` with `%s`", *step.Tool, step.Arguments))
		}
		call, body, hasBody := strings.Cut(step.Call, " with body ")
		method, address, _ := strings.Cut(call, " ")
		switch command := commands[i]; {
		case step.Curl != "" && command != step.Curl:
			t.Errorf("step %d: %s, want %s", step.N, command, step.Curl)
		case method == "GET":
			reads++
			if command != "curl -s "+address {
				t.Errorf("step %d: %s, want a GET of %s", step.N, command, address)
			}
		case step.Curl == "" && (!hasBody || !strings.Contains(command, address+" ") || !strings.Contains(command, "-d '"+body+"'")):
			t.Errorf("step %d: %s, want %s", step.N, command, step.Call)
		}
	}
	says(t, "quest", text, fmt.Sprintf("Steps 1 to %d send nothing about you", reads), quest.Completion.Persist)
	says(t, "quest", text, quest.Completion.YouNowHave...)
	if n := strings.Count(text, "Sends nothing about you |"); n != reads {
		t.Errorf("%d steps say that they send nothing, and %d do", n, reads)
	}
}
