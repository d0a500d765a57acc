package pages

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"unicode"

	"anteroom/generator/site"

	"github.com/fyne-io/oksvg"
	"github.com/srwiley/rasterx"
	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/f64"
	"golang.org/x/image/math/fixed"
)

// In pixels, as previews of links want it.
const cardWidth, cardHeight = 1200, 630

// The colours of the style sheet, in light.
var (
	cardPaper = color.RGBA{0xff, 0xff, 0xff, 0xff}
	cardInk   = color.RGBA{0x13, 0x20, 0x1b, 0xff}
	cardQuiet = color.RGBA{0x4a, 0x58, 0x52, 0xff}
	cardGood  = color.RGBA{0x0a, 0x68, 0x38, 0xff}
)

// cardShapes are the ground and a slip, perforated below, that hangs from the slot of the printer.
var cardShapes = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630">
<path fill="#ebefec" d="M0 0h1200v630H0z"/>
<path fill="#b9c4be" d="M760 74h376v502` + perforation + `z"/>
<path fill="#fff" d="M760 72h376v500` + perforation + `z"/>
<path fill="#13201b" d="M744 62h408v20h-408z"/>
</svg>`

var perforation = strings.Repeat("h-4.75a7 7 0 0 0-14 0h-4.75", 16)

// card draws the picture for previews of links: mark, name, summary and host of a service, and next
// to them a receipt with its stamp.
func card(service *site.Service, icon string, receipt []slipRow, isValid bool) []byte {
	p := painter{image.NewRGBA(image.Rect(0, 0, cardWidth, cardHeight))}
	p.shapes(cardShapes, p.Rect)
	const left, width = 72, 630
	p.shapes(icon, image.Rect(left, 72, left+80, 152))
	y := p.write(text{gobold.TTF, 76, cardInk, 2}, service.Name, left, 250, width)
	p.write(text{goregular.TTF, 34, cardQuiet, 5}, service.Summary, left, y-24, width)
	p.write(text{goregular.TTF, 28, cardInk, 1}, service.CanonicalHost, left, 566, width)

	const inside, room = 792, 312
	y = p.write(text{gomonobold.TTF, 24, cardInk, 1}, "Souvenir receipt", inside, 136, room) + 10
	for _, row := range receipt {
		y = p.write(text{gomono.TTF, 17, cardQuiet, 1}, row.Name, inside, y, room)
		y = p.write(text{gomono.TTF, 19, cardInk, 1}, row.Value, inside, y, room) + 8
	}
	if isValid {
		p.stamp("VALID", cardGood, inside+4, 490)
	} else {
		p.stamp("EXAMPLE", cardInk, inside+4, 490)
	}
	var b bytes.Buffer
	_ = png.Encode(&b, p.RGBA) // a buffer takes all
	return b.Bytes()
}

type painter struct{ *image.RGBA }

// shapes draws an SVG of shapes, and leaves out one that needs more.
func (p painter) shapes(svg string, at image.Rectangle) {
	drawing, err := oksvg.ReadIconStream(strings.NewReader(svg), oksvg.StrictErrorMode)
	if err != nil {
		return
	}
	drawing.SetTarget(float64(at.Min.X), float64(at.Min.Y), float64(at.Dx()), float64(at.Dy()))
	scanner := rasterx.NewScannerGV(cardWidth, cardHeight, p.RGBA, p.Rect)
	drawing.Draw(rasterx.NewDasher(cardWidth, cardHeight, scanner), 1)
}

// stamp draws a word in a frame, turned by four degrees to the left. It is drawn twice as large
// first, so that its edges stay smooth.
func (p painter) stamp(word string, ink color.Color, x, y int) {
	face := text{gomonobold.TTF, 64, ink, 1}.face()
	large := painter{image.NewRGBA(image.Rect(0, 0, font.MeasureString(face, word).Ceil()+80, 130))}
	for _, edge := range []struct{ inset, width int }{{4, 3}, {13, 8}} {
		frame := large.Rect.Inset(edge.inset)
		draw.Draw(large.RGBA, frame, image.NewUniform(ink), image.Point{}, draw.Src)
		draw.Draw(large.RGBA, frame.Inset(edge.width), image.NewUniform(cardPaper), image.Point{}, draw.Src)
	}
	(&font.Drawer{Dst: large.RGBA, Src: image.NewUniform(ink), Face: face, Dot: fixed.P(40, 87)}).DrawString(word)
	sin, cos := math.Sincos(-4 * math.Pi / 180)
	turned := f64.Aff3{cos / 2, -sin / 2, float64(x), sin / 2, cos / 2, float64(y)}
	draw.CatmullRom.Transform(p.RGBA, turned, large.RGBA, large.Rect, draw.Over, nil)
}

// text is how words are set: the font, its size in pixels, the colour, and the most lines.
type text struct {
	ttf   []byte
	size  int
	ink   color.Color
	lines int
}

func (t text) face() font.Face {
	f, _ := opentype.Parse(t.ttf) // a font of its package
	face, _ := opentype.NewFace(f, &opentype.FaceOptions{Size: float64(t.size), DPI: 72, Hinting: font.HintingNone})
	return face
}

// write sets words in a column, with the first baseline at y, and returns the next baseline. It
// leaves out characters that the font lacks: its letters are Latin, Greek and Cyrillic.
func (p painter) write(t text, words string, x, y, width int) int {
	f, _ := opentype.Parse(t.ttf)
	var buffer sfnt.Buffer
	words = strings.Map(func(r rune) rune {
		if n, err := f.GlyphIndex(&buffer, r); err == nil && n != 0 || unicode.IsSpace(r) {
			return r
		}
		return -1
	}, words)
	face := t.face()
	for _, line := range wrap(face, words, fixed.I(width), t.lines) {
		(&font.Drawer{Dst: p.RGBA, Src: image.NewUniform(t.ink), Face: face, Dot: fixed.P(x, y)}).DrawString(line)
		y += t.size * 4 / 3
	}
	return y
}

func wrap(face font.Face, words string, width fixed.Int26_6, most int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(words) {
		for font.MeasureString(face, word) > width {
			letters := []rune(strings.TrimSuffix(word, "…"))
			word = string(letters[:len(letters)-1]) + "…"
		}
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
