package pages

import (
	"bytes"
	"image/png"
	"strings"
	"testing"

	"anteroom/generator/site"

	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/math/fixed"
)

// The card has the size that its meta elements say, is small, and is the same each time.
func TestCard(t *testing.T) {
	mark := icon
	draw := func(name, summary string) []byte {
		service := &site.Service{Name: name, Summary: summary, CanonicalHost: "www.tern.example"}
		rows := []slipRow{{Name: "payload_sha256", Value: strings.Repeat("a", 64)}}
		picture := card(service, mark, rows, true)
		if again := card(service, mark, rows, true); !bytes.Equal(picture, again) {
			t.Errorf("two cards of %s differ", name)
		}
		config, err := png.DecodeConfig(bytes.NewReader(picture))
		if err != nil || config.Width != cardWidth || config.Height != cardHeight {
			t.Errorf("%s: %d by %d, %v", name, config.Width, config.Height, err)
		}
		if len(picture) > 128<<10 {
			t.Errorf("%s: %d bytes", name, len(picture))
		}
		return picture
	}
	host := draw("", "")
	if bytes.Equal(draw("Tern", "One sentence."), host) {
		t.Error("a card does not show the name")
	}
	if !bytes.Equal(draw("海燕", "一"), host) || !bytes.Equal(draw("Tern 🐦", "One 一sentence."), draw("Tern", "One sentence.")) {
		t.Error("a card has more or less than the characters of its font")
	}
	long := strings.Repeat("word ", 60)
	narrow := text{goregular.TTF, 34, cardInk, 5}.face()
	if lines := wrap(narrow, long, fixed.I(600), 5); len(lines) != 5 || !strings.HasSuffix(lines[4], "…") {
		t.Errorf("a summary was cut to %q", lines)
	}
	draw(strings.Repeat("W", 200), strings.Repeat(long, 10)) // it is cut at the sides

	tern := draw("Tern", "")
	mark = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="M0 0h8v8z" fill="#0a0"/></svg>`
	if bytes.Equal(draw("Tern", ""), tern) {
		t.Error("a card does not show the mark of its service")
	}
	mark = "" // leaves a blank
	without := draw("Tern", "")
	mark = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><text x="1" y="7">T</text></svg>`
	if bytes.Equal(without, tern) || !bytes.Equal(draw("Tern", ""), without) {
		t.Error("a card shows a part of a mark that is more than shapes")
	}
}
