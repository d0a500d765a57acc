package page

// CardWidth and CardHeight are the size of the card in pixels, as previews of links want it.
const CardWidth, CardHeight = 1200, 630
