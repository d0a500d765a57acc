package page

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"slices"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// CardPath is where the card is published: the picture of the service in previews of links.
const CardPath = "/card.png"

// CardWidth and CardHeight are the size of the card in pixels, as previews of links want it.
const CardWidth, CardHeight = 1200, 630

// The card's measures, in pixels.
const (
	cardMargin  = 80
	cardStripe  = 16
	nameSize    = 88
	summarySize = 42
	hostSize    = 34
	cardLines   = 5 // of the summary, at most
)

// shades is how many steps there are between the paper and each ink. Two inks and the paper make a
// palette of 16, of which PNG packs two pixels into a byte.
const shades = 7

// ink is the place in the palette before the shades of an ink.
type ink uint8

const (
	dark ink = 0
	blue ink = shades
)

// Card draws the card: the name of the service, its summary and its host. A text that the font
// cannot write is left out; the host is always there.
func Card(name, summary, host string) ([]byte, error) {
	bold, err := opentype.Parse(gobold.TTF)
	if err != nil {
		return nil, fmt.Errorf("draw the card: %w", err)
	}
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("draw the card: %w", err)
	}
	c := make(card, CardHeight*cardRow)
	for y := range cardStripe {
		for x := range CardWidth {
			c.set(x, y, uint8(blue+shades))
		}
	}
	y := cardMargin + nameSize
	for _, text := range []struct {
		font  *sfnt.Font
		size  int
		ink   ink
		words string
		lines int
	}{
		{bold, nameSize, dark, name, 2},
		{regular, summarySize, dark, summary, cardLines},
	} {
		if y, err = c.write(text.font, text.size, text.ink, y, text.words, text.lines); err != nil {
			return nil, err
		}
	}
	if _, err = c.write(regular, hostSize, blue, CardHeight-cardMargin, host, 1); err != nil {
		return nil, err
	}
	picture, err := c.png()
	if err != nil {
		return nil, fmt.Errorf("draw the card: %w", err)
	}
	return picture, nil
}

// card are the pixels as PNG has them: a byte for the filter of each row, which is none, and then
// two pixels in each byte. Package png would ask for each pixel by itself, which takes a tenth of
// the time of all documents.
type card []byte

// cardRow is how many bytes a row of pixels has.
const cardRow = 1 + CardWidth/2

// set gives a pixel its place in the palette.
func (c card) set(x, y int, shade uint8) {
	pair := &c[y*cardRow+1+x/2]
	if x%2 == 0 {
		*pair = *pair&0x0f | shade<<4
	} else {
		*pair = *pair&0xf0 | shade
	}
}

// png is the card as a PNG.
func (c card) png() ([]byte, error) {
	b := bytes.NewBufferString("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, data []byte) {
		text := append([]byte(kind), data...)
		b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data))))
		b.Write(binary.BigEndian.AppendUint32(text, crc32.ChecksumIEEE(text)))
	}
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, CardWidth), CardHeight)
	chunk("IHDR", append(header, 4, 3, 0, 0, 0)) // four bits for each pixel, which is a place in the palette
	chunk("PLTE", cardPalette())
	var packed bytes.Buffer
	w, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err == nil {
		_, err = w.Write(c)
	}
	if err == nil {
		err = w.Close()
	}
	for part := range slices.Chunk(packed.Bytes(), 1<<15) {
		chunk("IDAT", part)
	}
	chunk("IEND", nil)
	return b.Bytes(), err
}

// cardPalette is the paper, and then the shades of each ink, each as red, green and blue.
func cardPalette() []byte {
	paper := [3]int{0xfd, 0xfd, 0xfb}
	palette := []byte{byte(paper[0]), byte(paper[1]), byte(paper[2])}
	for _, full := range [][3]int{{0x1c, 0x20, 0x24}, {0x0b, 0x53, 0x94}} {
		for n := 1; n <= shades; n++ {
			for i := range full {
				palette = append(palette, byte(paper[i]+(full[i]-paper[i])*n/shades))
			}
		}
	}
	return palette
}

// write writes words from a baseline on, and returns the baseline for what comes next.
func (c card) write(f *sfnt.Font, size int, in ink, y int, words string, lines int) (int, error) {
	var buffer sfnt.Buffer
	for _, r := range words {
		if n, err := f.GlyphIndex(&buffer, r); err != nil || n == 0 {
			return y, nil
		}
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: float64(size), DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return y, fmt.Errorf("draw the card: %w", err)
	}
	for _, line := range wrap(face, words, fixed.I(CardWidth-2*cardMargin), lines) {
		at := fixed.P(cardMargin, y)
		before := rune(-1)
		for _, r := range line {
			if before >= 0 {
				at.X += face.Kern(before, r)
			}
			box, mask, from, advance, ok := face.Glyph(at, r)
			if shape, is := mask.(*image.Alpha); ok && is {
				c.blot(in, box, shape, from)
			}
			at.X += advance
			before = r
		}
		y += size * 4 / 3
	}
	return y + size/6, nil
}

// blot puts ink where a mask has some.
func (c card) blot(in ink, box image.Rectangle, mask *image.Alpha, from image.Point) {
	shown := box.Intersect(image.Rect(0, 0, CardWidth, CardHeight))
	for y := shown.Min.Y; y < shown.Max.Y; y++ {
		cover := mask.Pix[mask.PixOffset(from.X+shown.Min.X-box.Min.X, from.Y+y-box.Min.Y):][:shown.Dx()]
		for x := range cover {
			if n := (int(cover[x])*shades + 127) / 255; n > 0 {
				c.set(shown.Min.X+x, y, uint8(in)+uint8(n))
			}
		}
	}
}

// wrap breaks words into lines of a width. Of more lines than there may be it keeps the first, the
// last of them with an ellipsis.
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
