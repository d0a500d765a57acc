package main

import (
	"cmp"
	"fmt"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

func logCommand(t *cli.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "log",
	}
	cmd.AddCommand(logProveCommand(t), logCheckCommand(t), logWitnessCommand(t))
	return cmd
}

// provedReport is what is said of a proof, in JSON.
type provedReport struct {
	Kind         string   `json:"kind"`
	CountsAs     *string  `json:"counts_as"` // null if that is not known
	Entry        string   `json:"entry"`
	Index        int64    `json:"index"` // in its tree
	Verification string   `json:"verification"`
	AsOf         string   `json:"as_of"`
	Origin       string   `json:"origin"`
	Size         int64    `json:"size"`
	Cosigned     []string `json:"cosigned"`
	Keys         string   `json:"keys_from"` // "" if they were taken on trust
	Proof        string   `json:"proof"`
}

func reportOf(p *tlog.Proved, from string) *provedReport {
	return &provedReport{
		Kind: p.Entry.Kind, Entry: p.Entry.Hash, Index: p.Proof.Index, Verification: p.Verification.Board, AsOf: p.Verification.AsOf,
		Origin: p.Checkpoint.Origin, Size: p.Checkpoint.Size, Cosigned: append([]string{}, p.Checkpoint.Cosigned...),
		Keys: from, Proof: string(p.Proof.Append(nil)), CountsAs: orNull(p.CountsAs),
	}
}

// String says what a proof proves.
func (r *provedReport) String() string {
	text := fmt.Sprintf("entry %d of %s: a record that counts as %s, by the hand verification as of %s (%s)\n"+
		"signed with the first %d entries, %s", r.Index, r.Origin, r.Kind, r.AsOf, r.Verification, r.Size, cosignedBy(r.Cosigned))
	if r.CountsAs != nil && *r.CountsAs != r.Kind {
		text += "\ncorrected since: it counts as " + *r.CountsAs
	}
	return text
}

// cosignedBy says which witnesses have cosigned.
func cosignedBy(names []string) string {
	return "cosigned by " + cmp.Or(strings.Join(names, ", "), "no known witness")
}
