import { ViewPlugin, type EditorView, type ViewUpdate } from '@codemirror/view'

/** Within this many pixels of the end, a person who scrolls down has reached it. */
const END_PIXELS = 24
/** Positions in pixels are rounded. */
const ROUNDING_PIXELS = 1

/** Where a view was scrolled to, and how large it was. */
interface Place {
  top: number
  height: number
  room: number
}

/** Keeps a view at its end until a person leaves it, however slowly lines are measured. */
class LogFollower {
  /** Called when a person leaves the end, or comes back to it. */
  onChange: (follows: boolean) => void = () => undefined
  private readonly view: EditorView
  private readonly sizes: ResizeObserver
  private follows = false
  /** Whether a person has moved the view last, and not `leave`. */
  private isByPerson = false
  private frame = 0
  private last: Place

  constructor(view: EditorView) {
    this.view = view
    this.last = placeOf(view)
    // The end is somewhere else in a window of another size.
    this.sizes = new ResizeObserver(() => this.toEnd())
    this.sizes.observe(view.scrollDOM)
  }

  follow(follows: boolean): void {
    this.follows = follows
    this.toEnd()
  }

  /** Stops following: something before the end is to stay in view. */
  leave(): void {
    this.isByPerson = false
    this.change(false)
  }

  /**
   * Shows the last line, if the view is followed. CodeMirror's own scrollIntoView would scroll the page around the view
   * too, at each new line.
   */
  toEnd(): void {
    cancelAnimationFrame(this.frame)
    if (!this.follows) return
    const { scrollDOM } = this.view
    scrollDOM.scrollTop = scrollDOM.scrollHeight
    this.last = placeOf(this.view)
  }

  /**
   * Lines that were never in view have an estimated height: once they were measured, the end is somewhere else.
   *
   * Not at once: scrolling within CodeMirror's measuring would make it measure again and again.
   */
  update(update: ViewUpdate): void {
    if (!this.follows || !update.geometryChanged) return
    cancelAnimationFrame(this.frame)
    this.frame = requestAnimationFrame(() => this.toEnd())
  }

  scrolled(): void {
    const before = this.last
    const now = placeOf(this.view)
    this.last = now
    const moved = now.top - before.top
    const below = now.height - now.room - now.top
    if (this.follows) {
      // Where lines were removed, or the window is another one, the view moves by itself.
      const isSameSize = now.height === before.height && now.room === before.room
      if (isSameSize && moved < -ROUNDING_PIXELS && below > ROUNDING_PIXELS) this.change(false)
    } else if (this.isByPerson && moved > 0 && below <= END_PIXELS) {
      this.change(true)
    }
  }

  touched(): void {
    this.isByPerson = true
  }

  destroy(): void {
    cancelAnimationFrame(this.frame)
    this.sizes.disconnect()
  }

  private change(follows: boolean): void {
    if (follows === this.follows) return
    this.follows = follows
    this.onChange(follows)
  }
}

function placeOf({ scrollDOM }: EditorView): Place {
  return { top: scrollDOM.scrollTop, height: scrollDOM.scrollHeight, room: scrollDOM.clientHeight }
}

function touched(this: LogFollower): void {
  this.touched()
}

export const logFollower = ViewPlugin.fromClass(LogFollower, {
  eventObservers: {
    scroll() {
      this.scrolled()
    },
    wheel: touched,
    touchstart: touched,
    pointerdown: touched,
    keydown: touched,
  },
})
