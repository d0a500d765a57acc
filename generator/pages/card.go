package pages

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// In pixels, as previews of links want it.
const cardWidth, cardHeight = 1200, 630

const (
	cardMargin  = 80
	cardStripe  = 16
	nameSize    = 88
	summarySize = 42
	hostSize    = 34
	cardLines   = 5 // of the summary, at most
)

// shades lie between the paper and each ink. Two inks and the paper make a palette of 16, of which
// PNG packs two pixels into a byte.
const shades = 7

// ink is the palette index before the shades of an ink.
type ink uint8

const (
	dark ink = 0
	pale ink = shades
)

// Card draws the picture for previews of links. It leaves out characters that the font lacks: its
// letters are Latin, Greek and Cyrillic.
func Card(name, summary, host string) []byte {
	p := painter{card: image.NewPaletted(image.Rect(0, 0, cardWidth, cardHeight), cardPalette())}
	for i := range cardStripe * cardWidth {
		p.card.Pix[i] = uint8(dark + shades)
	}
	p.y = cardMargin + nameSize
	p.write(gobold.TTF, nameSize, dark, name, 2)
	p.write(goregular.TTF, summarySize, dark, summary, cardLines)
	p.y = cardHeight - cardMargin
	p.write(goregular.TTF, hostSize, pale, host, 1)
	var b bytes.Buffer
	_ = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, p.card) // a buffer takes all
	return b.Bytes()
}

func cardPalette() color.Palette {
	paper := [3]int{0xeb, 0xef, 0xec}
	palette := color.Palette{color.RGBA{0xeb, 0xef, 0xec, 0xff}}
	for _, full := range [][3]int{{0x13, 0x20, 0x1b}, {0x4a, 0x58, 0x52}} {
		for n := 1; n <= shades; n++ {
			mix := func(i int) uint8 { return uint8(paper[i] + (full[i]-paper[i])*n/shades) }
			palette = append(palette, color.RGBA{mix(0), mix(1), mix(2), 0xff})
		}
	}
	return palette
}

type painter struct {
	card *image.Paletted
	y    int
}

func (p *painter) write(ttf []byte, size int, in ink, words string, lines int) {
	f, _ := opentype.Parse(ttf) // a font of its package
	var buffer sfnt.Buffer
	words = strings.Map(func(r rune) rune {
		if n, err := f.GlyphIndex(&buffer, r); err == nil && n != 0 || unicode.IsSpace(r) {
			return r
		}
		return -1
	}, words)
	face, _ := opentype.NewFace(f, &opentype.FaceOptions{Size: float64(size), DPI: 72, Hinting: font.HintingNone})
	for _, line := range wrap(face, words, fixed.I(cardWidth-2*cardMargin), lines) {
		d := font.Drawer{Dst: brush{p.card, in}, Src: image.Opaque, Face: face, Dot: fixed.P(cardMargin, p.y)}
		d.DrawString(line)
		p.y += size * 4 / 3
	}
	p.y += size / 6
}

type brush struct {
	card *image.Paletted
	ink  ink
}

func (b brush) ColorModel() color.Model { return color.AlphaModel }
func (b brush) Bounds() image.Rectangle { return b.card.Rect }
func (b brush) At(int, int) color.Color { return color.Transparent }
func (b brush) Set(x, y int, c color.Color) {
	_, _, _, cover := c.RGBA()
	if n := (int(cover>>8)*shades + 127) / 255; n > 0 {
		b.card.SetColorIndex(x, y, uint8(b.ink)+uint8(n))
	}
}

func wrap(face font.Face, words string, width fixed.Int26_6, most int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(words) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line == "" || font.MeasureString(face, longer) <= width {
			line = longer
			continue
		}
		if len(lines) == most-1 {
			return append(lines, line+"…")
		}
		lines, line = append(lines, line), word
	}
	return append(lines, line)
}
