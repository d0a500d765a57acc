package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/project"

	"github.com/spf13/cobra"
)

func initCommand(t *cli.Terminal) *cobra.Command {
	s := &project.Service{}
	questions := s.Questions()
	var yes, update bool
	cmd := &cobra.Command{
		Use: "init [DIR]",
		RunE: func(cmd *cobra.Command, args []string) error {
			if update {
				return updateTexts(t, filepath.Join(append(args, ".")...))
			} else if len(args) == 0 {
				return cli.Usage(errors.New("missing argument DIR"))
			}
			ask := t.Interactive && !yes
			dir, err := project.Vacant(args[0])
			if err = errors.Join(err, checkAnswers(questions, ask, yes)); err != nil {
				return cli.Usage(err)
			}
			if ask {
				if err := askAnswers(cmd.Context(), t, questions); err != nil {
					return fmt.Errorf("init %s: %w (nothing was written; flags replace the questions)", args[0], err)
				}
			}
			if err := project.Scaffold(dir, s, t.Now()); err != nil {
				return hintPermission(fmt.Errorf("init %s: %w", args[0], err))
			}
			t.Printf("%s: %s, a new service (its README.md has the next steps). Run next:", args[0], s.Name)
			t.Printf("  cd %s", args[0])
			t.Printf("  anteroom generate")
			t.Printf("  anteroom serve")
			return nil
		},
	}
	cmd.Flags().BoolVar(&update, "update", false, "replace the neutral texts of a service with this program's")
	for _, q := range questions {
		cmd.Flags().StringVar(q.Value, q.Flag, "", q.Text)
		cmd.MarkFlagsMutuallyExclusive("update", q.Flag)
	}
	cmd.Flags().SetAnnotation("host", cli.OnlyHere, []string{"true"}) // serve has a --host too, for other hosts
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask; use the proposed value of each missing flag")
	return cmd
}

func updateTexts(t *cli.Terminal, dir string) error {
	report, err := project.Update(dir, t.Now())
	for _, line := range report {
		t.Printf("%s", line)
	}
	if err != nil {
		return hintPermission(fmt.Errorf("init --update %s: %w", dir, err))
	}
	t.Printf("%s: the other files, with boards and settings, are yours. Run next:", dir)
	t.Printf("  anteroom generate --check")
	return nil
}

func checkAnswers(questions []*project.Question, ask, yes bool) (faults error) {
	for _, q := range questions {
		if *q.Value == "" && !ask && q.Preset != nil && (yes || q.Optional) && faults == nil {
			*q.Value = q.Preset()
		}
		switch want := q.Check(*q.Value); {
		case *q.Value != "" && want != "":
			faults = errors.Join(faults, fmt.Errorf("--%s %q: %s", q.Flag, *q.Value, want))
		case *q.Value == "" && !ask && (q.Preset == nil || !yes && !q.Optional):
			faults = errors.Join(faults, fmt.Errorf("--%s is missing: %s", q.Flag, q.Text))
		}
	}
	return faults
}

func askAnswers(ctx context.Context, t *cli.Terminal, questions []*project.Question) (err error) {
	lines := bufio.NewReader(t.In)
	for _, q := range questions {
		if *q.Value != "" {
			continue
		}
		preset := ""
		if q.Preset != nil {
			preset = q.Preset()
		}
		if *q.Value, err = t.Ask(ctx, lines, q.Text, preset, q.Check); err != nil {
			return err
		}
	}
	return nil
}
