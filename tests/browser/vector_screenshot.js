// Returns what the page shows, as plain data, in the order in which it is painted. Evaluated by vector_screenshot.py.
async () => {
  const shapes = []
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const page = { left: 0, top: 0, right: window.innerWidth, bottom: window.innerHeight }

  /** Returns a colour of any notation as red, green, blue (0 to 255) and alpha (0 to 1). */
  function rgba(colour) {
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = colour
    canvas.fillRect(0, 0, 1, 1)
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data
    return [red, green, blue, alpha / 255]
  }

  const overlap = (one, other) => ({
    left: Math.max(one.left, other.left),
    top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right),
    bottom: Math.min(one.bottom, other.bottom),
  })
  const isEmpty = (area) => area.right - area.left <= 0.5 || area.bottom - area.top <= 0.5
  const edges = ({ left, top, right, bottom }) => ({ left, top, right, bottom })
  const pixels = (length) => parseFloat(length) || 0
  const font = (style) => `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`

  function look(style) {
    return {
      size: pixels(style.fontSize),
      weight: Number(style.fontWeight),
      italic: style.fontStyle === 'italic',
      mono: style.fontFamily.includes('mono'),
      colour: rgba(style.color),
    }
  }

  function addText(text, box, clip, style, isUnderlined = false) {
    const shown = text.replace(/\s/g, ' ')
    if (shown.trim() === '' || isEmpty(overlap(box, clip))) return
    canvas.font = font(style)
    const metrics = canvas.measureText(shown)
    // A text is as high as its font, so that its base line is where the ascent ends.
    const spare = box.bottom - box.top - metrics.fontBoundingBoxAscent - metrics.fontBoundingBoxDescent
    shapes.push({
      kind: 'text',
      text: shown,
      box,
      clip,
      baseline: box.top + spare / 2 + metrics.fontBoundingBoxAscent,
      underlined: isUnderlined,
      ...look(style),
    })
  }

  /** Adds a text node, a line at a time. A line that its box cuts with an ellipsis ends with it here too. */
  function addTextNode(node, style, { clip, ellipsis, isUnderlined }) {
    const range = document.createRange()
    const lines = []
    for (let at = 0; at < node.data.length; at += 1) {
      range.setStart(node, at)
      range.setEnd(node, at + 1)
      const box = [...range.getClientRects()].find(({ width }) => width > 0)
      if (box === undefined) continue
      let line = lines.at(-1)
      if (ellipsis !== undefined && box.bottom > ellipsis.bottom + 2) {
        if (line !== undefined) line.isCut = true
        break
      }
      if (line === undefined || Math.abs(line.box.top - box.top) > 2) {
        line = { text: '', box: edges(box) }
        lines.push(line)
      }
      if (ellipsis !== undefined && box.right > ellipsis.right + 0.5) {
        line.isCut = true
        continue
      }
      line.text += node.data[at]
      line.box.right = Math.max(line.box.right, box.right)
    }
    for (const { text, box, isCut } of lines) {
      if (!isCut) {
        addText(transformed(text, style), trimmed(text, box, style), clip, style, isUnderlined)
        continue
      }
      canvas.font = font(style)
      let kept = text
      const width = () => canvas.measureText(`${kept.trimEnd()}…`).width
      while (kept !== '' && box.left + width() > ellipsis.right + 0.5) kept = kept.slice(0, -1)
      addText(`${kept.trimEnd()}…`, { ...box, right: box.left + width() }, clip, style, isUnderlined)
    }
  }

  const transformed = (text, style) => (style.textTransform === 'uppercase' ? text.toUpperCase() : text)

  /** A space at the end of a line is part of its box, but not of a text in an SVG. */
  function trimmed(text, box, style) {
    const spaces = text.length - text.trimEnd().length
    if (spaces === 0) return box
    canvas.font = font(style)
    return { ...box, right: box.right - canvas.measureText(' '.repeat(spaces)).width }
  }

  function addBox(element, style, clip) {
    const box = edges(element.getBoundingClientRect())
    if (isEmpty(overlap(box, clip))) return
    const sides = ['Top', 'Right', 'Bottom', 'Left'].map((side) => ({
      width: style[`border${side}Style`] === 'none' ? 0 : pixels(style[`border${side}Width`]),
      colour: rgba(style[`border${side}Color`]),
    }))
    const shape = {
      kind: 'box',
      box,
      clip,
      fill: rgba(style.backgroundColor),
      sides,
      radius: pixels(style.borderTopLeftRadius),
      shadow: style.boxShadow !== 'none' && !style.boxShadow.includes('inset'),
    }
    if (style.outlineStyle !== 'none' && pixels(style.outlineWidth) > 0) {
      shape.outline = {
        width: pixels(style.outlineWidth),
        offset: pixels(style.outlineOffset),
        colour: rgba(style.outlineColor),
      }
    }
    const isDrawn = shape.fill[3] > 0 || shape.shadow || shape.outline || sides.some(isSeen)
    if (isDrawn) shapes.push(shape)
  }

  const isSeen = ({ width, colour }) => width > 0 && colour[3] > 0

  /** Adds the triangle of a summary: the browser's own, or one that is made of borders. */
  function addMarker(summary, style, clip) {
    const before = getComputedStyle(summary, '::before')
    const isDrawn = before.content !== 'none' && pixels(before.borderLeftWidth) > 0
    if (!isDrawn && style.display !== 'list-item') return
    const { left, top } = summary.getBoundingClientRect()
    shapes.push({
      kind: 'marker',
      x: left + pixels(style.paddingLeft) + 1,
      y: top + pixels(style.paddingTop) + pixels(style.lineHeight) / 2,
      isOpen: summary.parentElement.open,
      clip,
      colour: rgba(isDrawn ? before.borderLeftColor : style.color),
    })
  }

  function addField(field, style, clip) {
    const isPlaceholder = field.value === ''
    const value = isPlaceholder ? field.placeholder : field.type === 'password' ? '•'.repeat(field.value.length) : field.value
    if (!value || ['checkbox', 'radio', 'file'].includes(field.type)) return
    const box = field.getBoundingClientRect()
    canvas.font = font(style)
    const metrics = canvas.measureText(value)
    const height = metrics.fontBoundingBoxAscent + metrics.fontBoundingBoxDescent
    const begin = box.left + pixels(style.borderLeftWidth) + pixels(style.paddingLeft)
    const end = box.right - pixels(style.borderRightWidth) - pixels(style.paddingRight) - metrics.width
    const left = ['right', 'end'].includes(style.textAlign) ? end : style.textAlign === 'center' ? (begin + end) / 2 : begin
    const middle =
      field.tagName === 'TEXTAREA' ? box.top + pixels(style.paddingTop) + height / 2 : (box.top + box.bottom) / 2
    const line = { left, right: left + metrics.width, top: middle - height / 2, bottom: middle + height / 2 }
    const shown = isPlaceholder ? getComputedStyle(field, '::placeholder') : style
    addText(value, line, overlap(clip, edges(box)), shown)
  }

  const DRAWN = ['path', 'circle', 'rect', 'line', 'polyline', 'polygon', 'ellipse']
  const GEOMETRY = ['d', 'cx', 'cy', 'r', 'x', 'y', 'width', 'height', 'rx', 'ry', 'x1', 'y1', 'x2', 'y2', 'points']

  function addIcon(icon, style, clip) {
    const box = edges(icon.getBoundingClientRect())
    if (isEmpty(overlap(box, clip))) return
    const parts = [...icon.querySelectorAll(DRAWN.join())].map((part) => [
      part.tagName,
      Object.fromEntries(GEOMETRY.filter((name) => part.hasAttribute(name)).map((name) => [name, part.getAttribute(name)])),
    ])
    const { width, height } = icon.viewBox.baseVal
    const paint = (value) => (value === 'none' ? null : rgba(value))
    shapes.push({
      kind: 'icon',
      box,
      clip,
      viewBox: [width, height],
      parts,
      fill: paint(style.fill),
      stroke: paint(style.stroke),
      strokeWidth: pixels(style.strokeWidth),
    })
  }

  const pictures = []
  function addPicture(picture, clip) {
    const shape = { kind: 'picture', box: edges(picture.getBoundingClientRect()), clip, svg: '' }
    shapes.push(shape)
    pictures.push(fetch(picture.src).then(async (answer) => (shape.svg = await answer.text())))
  }

  function isHidden(element, style) {
    const box = element.getBoundingClientRect()
    const clips = style.overflowX !== 'visible' || style.clipPath !== 'none' || style.clip !== 'auto'
    return style.display === 'none' || style.opacity === '0' || (clips && (box.width <= 1 || box.height <= 1))
  }

  function walk(element, outer) {
    const style = getComputedStyle(element)
    if (isHidden(element, style)) return
    let clip = style.position === 'fixed' ? page : outer.clip
    const isVisible = style.visibility === 'visible'
    if (isVisible) addBox(element, style, clip)
    if (element instanceof SVGSVGElement) return void (isVisible && addIcon(element, style, clip))
    if (element.tagName === 'IMG') return void (isVisible && addPicture(element, clip))
    if (element.tagName === 'INPUT' || element.tagName === 'TEXTAREA') return addField(element, style, clip)
    if (element.tagName === 'SUMMARY') addMarker(element, style, clip)
    let ellipsis = style.display.startsWith('inline') && style.display !== 'inline-block' ? outer.ellipsis : undefined
    if (style.overflowX !== 'visible') {
      const box = element.getBoundingClientRect()
      const inner = {
        left: box.left + pixels(style.borderLeftWidth),
        top: box.top + pixels(style.borderTopWidth),
        right: box.right - pixels(style.borderRightWidth),
        bottom: box.bottom - pixels(style.borderBottomWidth),
      }
      clip = overlap(clip, inner)
      const isCutRight = style.textOverflow === 'ellipsis' && element.scrollWidth > element.clientWidth
      const isCutBelow = style.webkitLineClamp !== 'none' && element.scrollHeight > element.clientHeight
      const bottom = isCutBelow ? inner.bottom : Infinity
      if (isCutRight || isCutBelow) ellipsis = { right: inner.right - pixels(style.paddingRight), bottom }
    }
    if (isEmpty(clip)) return
    const isUnderlined = outer.isUnderlined || style.textDecorationLine.includes('underline')
    const inherited = { clip, ellipsis, isUnderlined }
    // The end of a name that is cut in the middle is drawn by its style: see MiddleText.
    const drawn = element.dataset.text
    if (isVisible && drawn !== undefined && getComputedStyle(element, '::before').content !== 'none')
      addText(drawn, edges(element.getBoundingClientRect()), clip, style, isUnderlined)
    // What has a position of its own is painted last.
    const floating = []
    for (const child of element.childNodes) {
      if (child instanceof Text) isVisible && addTextNode(child, style, inherited)
      else if (child instanceof Element && getComputedStyle(child).position === 'absolute') floating.push(child)
      else if (child instanceof Element) walk(child, inherited)
    }
    for (const child of floating) walk(child, inherited)
  }

  walk(document.body, { clip: page, ellipsis: undefined, isUnderlined: false })
  await Promise.all(pictures)
  const background = rgba(getComputedStyle(document.documentElement).backgroundColor)
  return { width: page.right, height: page.bottom, background, title: document.title, shapes }
}
