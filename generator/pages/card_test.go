package pages

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

// The card has the size that its meta elements say, is small, and is the same each time.
func TestCard(t *testing.T) {
	draw := func(name, summary string) []byte {
		card := Card(name, summary, "www.tern.example")
		if again := Card(name, summary, "www.tern.example"); !bytes.Equal(card, again) {
			t.Errorf("two cards of %s differ", name)
		}
		config, err := png.DecodeConfig(bytes.NewReader(card))
		if err != nil || config.Width != cardWidth || config.Height != cardHeight {
			t.Errorf("%s: %d by %d, %v", name, config.Width, config.Height, err)
		}
		if len(card) > 40<<10 {
			t.Errorf("%s: %d bytes", name, len(card))
		}
		return card
	}
	host := draw("", "")
	if bytes.Equal(draw("Tern", "One sentence."), host) {
		t.Error("a card does not show the name")
	}
	if !bytes.Equal(draw("海燕", "一"), host) || !bytes.Equal(draw("Tern 🐦", "One 一sentence."), draw("Tern", "One sentence.")) {
		t.Error("a card has more or less than the characters of its font")
	}
	long := strings.Repeat("word ", 60)
	if bytes.Equal(draw("Tern", long), draw("Tern", long[:200])) {
		t.Error("nothing says that a summary was cut")
	}
	draw(strings.Repeat("W", 200), strings.Repeat(long, 10)) // nothing is written outside
}
