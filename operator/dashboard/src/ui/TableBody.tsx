import { Component, createRef, type ReactNode } from 'react'

interface TableBodyProps {
  /** The keys of the rows that are shown. */
  keys: readonly string[]
  /** Whether the reader is at work in the table: then rows keep their height. */
  isHeld?: (() => boolean) | undefined
  children: ReactNode
}

const LOOK_MILLISECONDS = 500
type Heights = ReadonlyMap<string, number>

/**
 * The rows of a table. While `isHeld` says so, a row whose text changes keeps its height, so that no other moves under
 * the pointer: one that would be higher has the attribute `data-held`, with which its text must find room in one line.
 * A class, because only classes are told before the document changes, and one for all rows.
 */
export class TableBody extends Component<TableBodyProps> {
  private readonly body = createRef<HTMLTableSectionElement>()
  private readonly held = new Map<HTMLTableRowElement, string>()
  private timer: ReturnType<typeof setInterval> | undefined

  override getSnapshotBeforeUpdate({ keys }: TableBodyProps): Heights | null {
    const next = this.props.keys
    // Where rows come, go or move, it is the reader who wanted it.
    if (!keys.every((key, at) => key === next[at]) || this.props.isHeld?.() !== true) return null
    return new Map(this.rows().map((row) => [row.dataset.row ?? '', heightOf(row)]))
  }

  override componentDidUpdate(_props: TableBodyProps, _state: unknown, before: Heights | null): void {
    this.releaseWhere((row, key) => row.dataset.row !== key)
    if (before === null) return
    const changes = this.rows().map((row) => ({ row, by: heightOf(row) - (before.get(row.dataset.row ?? '') ?? NaN) }))
    for (const { row, by } of changes) {
      // NaN: the row is new.
      if (!(Math.abs(by) > 0.5)) continue
      const key = row.dataset.row ?? ''
      row.style.height = `${before.get(key) ?? 0}px`
      if (by > 0) row.dataset.held = ''
      this.held.set(row, key)
      this.timer ??= setInterval(() => this.look(), LOOK_MILLISECONDS)
    }
  }

  override componentWillUnmount(): void {
    clearInterval(this.timer)
  }

  private rows(): HTMLTableRowElement[] {
    return [...(this.body.current?.rows ?? [])]
  }

  private look(): void {
    if (this.props.isHeld?.() === true) return
    this.releaseWhere(() => true)
    clearInterval(this.timer)
    this.timer = undefined
  }

  private releaseWhere(isOver: (row: HTMLTableRowElement, key: string) => boolean): void {
    for (const [row, key] of this.held) {
      if (!isOver(row, key)) continue
      row.style.height = ''
      delete row.dataset.held
      this.held.delete(row)
    }
  }

  override render(): ReactNode {
    return <tbody ref={this.body}>{this.props.children}</tbody>
  }
}

function heightOf(row: HTMLTableRowElement): number {
  return row.getBoundingClientRect().height
}
