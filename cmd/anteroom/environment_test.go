package main

import (
	"io"
	"testing"

	"github.com/spf13/pflag"
)

// A variable means one thing: flags of the same name that it sets are of one type and of one kind
// of value.
func TestVariablesMeanOneThing(t *testing.T) {
	type meaning struct{ value, kind, command string }
	meanings := map[string]meaning{}
	for cmd := range commands(rootCommand(newTerminal(nil, io.Discard, io.Discard))) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := variable(f)
			if name == "" {
				return
			}
			value, _ := pflag.UnquoteUsage(f)
			now := meaning{value, f.Value.Type(), cmd.CommandPath()}
			before, known := meanings[name]
			if known && (before.value != now.value || before.kind != now.kind) {
				t.Errorf("%s is a %s (%s) to %s and a %s (%s) to %s: rename one flag, or list it as one of the command line alone",
					name, before.value, before.kind, before.command, now.value, now.kind, now.command)
			}
			meanings[name] = now
		})
	}
	if len(meanings) < 15 {
		t.Errorf("%d variables: are the flags found?", len(meanings))
	}
}
