package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

// Edit opens a file in the editor of $VISUAL or $EDITOR, or else vi, as git does, until that ends.
func (t *Terminal) Edit(file string) error {
	preset := map[bool]string{true: "notepad", false: "vi"}[runtime.GOOS == "windows"]
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), preset)
	command := exec.Command("sh", "-c", editor+` "$@"`, editor, file)
	if runtime.GOOS == "windows" {
		words := append(strings.Fields(editor), file)
		command = exec.Command(words[0], words[1:]...)
	}
	command.Stdout, command.Stderr = t.Stdout, t.Err
	if terminal, is := t.In.(*os.File); is {
		command.Stdin = terminal
	}
	if w, wrapped := t.Err.(WithoutSecrets); wrapped {
		command.Stderr = w.Writer // the terminal itself
	}
	// An interrupt is for the editor.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	if err := command.Run(); err != nil {
		return fmt.Errorf("run the editor %s: %w (name another one in EDITOR)", editor, err)
	}
	return nil
}

// Choose asks a question whose answer is one of some words, and gives the first letter of that. An
// interrupt before it, of an editor, does not end it.
func (t *Terminal) Choose(ctx context.Context, question string, letters ...string) (string, error) {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	answer, err := t.Ask(ctx, bufio.NewReader(t.In), question+" "+strings.Join(letters, "/"), "", func(answer string) string {
		for _, letter := range letters {
			if answer != "" && strings.HasPrefix(letter, strings.ToLower(answer[:1])) {
				return ""
			}
		}
		return "want one of " + strings.Join(letters, ", ")
	})
	return strings.ToLower(answer[:min(1, len(answer))]), err
}

// Confirm asks a question whose answer is y or n.
func (t *Terminal) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := t.Choose(ctx, question, "y", "n")
	return answer == "y", err
}
