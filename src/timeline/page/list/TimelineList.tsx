import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TimelineItem } from "../../data/TimelineData.ts";
import { laneColumns } from "../../layout/laneColumns.ts";
import { RowOffsets } from "../../layout/RowOffsets.ts";
import { timelineRows, type TimelineRow } from "../../layout/timelineRows.ts";
import { GraphDrawing, graphWidth } from "./GraphDrawing.tsx";
import { GapRow, MarkRow } from "./MarkRow.tsx";
import { StepRow } from "./StepRow.tsx";

interface TimelineListProps {
  readonly items: readonly TimelineItem[];
  readonly head: string | undefined;
  readonly chosen: string | undefined;
  readonly other: string | undefined;
  readonly onChoose: (key: string, second: boolean) => void;
  readonly onOpen: () => void;
}

/** How many rows the page keys go. */
const pageOfRows = 10;

/** The list of everything that happened, with the graph beside it. Only the rows in sight are in the document. */
export function TimelineList({ items, head, chosen, other, onChoose, onOpen }: TimelineListProps) {
  const box = useRef<HTMLDivElement>(null);
  const { top, height } = useScroll(box);
  const rows = useMemo(() => timelineRows(items), [items]);
  const graph = useMemo(() => laneColumns(rows, head), [rows, head]);
  const offsets = useMemo(() => new RowOffsets(rows.map((row) => row.height)), [rows]);
  const [first, last] = offsets.within(top, height);
  useFollowing(box, offsets.total);
  useChosenInSight(box, rows, offsets, chosen);
  const move = (event: KeyboardEvent): void => {
    if (event.key === "Enter") return onOpen();
    const key = rowByKey(event.key, rows, chosen);
    if (key === undefined) return;
    event.preventDefault();
    onChoose(key, event.shiftKey);
  };
  return (
    <div
      class="list"
      ref={box}
      role="listbox"
      aria-label="Timeline"
      aria-multiselectable="true"
      aria-activedescendant={chosen === undefined ? undefined : idOf(chosen)}
      tabIndex={0}
      onKeyDown={move}
    >
      <div
        class="rows"
        role="presentation"
        style={{ height: `${offsets.total}px`, "--graph": `${graphWidth(graph)}px` }}
      >
        <GraphDrawing rows={rows} graph={graph} offsets={offsets} first={first} last={last} head={head} />
        {rows.slice(first, last + 1).map((row, index) => (
          <Row
            key={keyOf(row)}
            row={row}
            top={offsets.topOf(first + index)}
            place={[first + index + 1, rows.length]}
            isHead={keyOf(row) === head}
            isChosen={keyOf(row) === chosen || keyOf(row) === other}
            onChoose={onChoose}
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  readonly row: TimelineRow;
  readonly top: number;
  readonly place: readonly [position: number, count: number];
  readonly isHead: boolean;
  readonly isChosen: boolean;
  readonly onChoose: TimelineListProps["onChoose"];
}

function Row({ row, top, place, isHead, isChosen, onChoose }: RowProps) {
  const style = { top: `${top}px`, height: `${row.height}px` };
  if (row.kind === "gap") {
    return (
      <div class="row" role="presentation" style={style}>
        <GapRow milliseconds={row.milliseconds} />
      </div>
    );
  }
  const { item } = row;
  return (
    <div
      class="row item"
      id={idOf(item.key)}
      role="option"
      aria-selected={isChosen}
      aria-posinset={place[0]}
      aria-setsize={place[1]}
      style={style}
      onMouseDown={(event) => event.shiftKey && event.preventDefault()}
      onClick={(event) => onChoose(item.key, event.shiftKey || event.ctrlKey || event.metaKey)}
    >
      {item.kind === "step" ? <StepRow step={item} isHead={isHead} /> : <MarkRow item={item} />}
    </div>
  );
}

function keyOf(row: TimelineRow): string {
  return row.kind === "gap" ? row.key : row.item.key;
}

function idOf(key: string): string {
  return `row-${key.replaceAll(/\s/g, "_")}`;
}

/** Where an element is scrolled to, and how much of it is to be seen. */
function useScroll(box: { readonly current: HTMLElement | null }): { readonly top: number; readonly height: number } {
  const [view, setView] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const read = (): void => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    element.addEventListener("scroll", read, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", read);
    };
  }, []);
  return view;
}

/** Who looks at the end of the list sees what is added. */
function useFollowing(box: { readonly current: HTMLElement | null }, total: number): void {
  const before = useRef(total);
  useLayoutEffect(() => {
    const element = box.current;
    const wasAtEnd = element !== null && element.scrollTop + element.clientHeight >= before.current - 8;
    if (wasAtEnd && element.scrollTop > 0) element.scrollTop = total;
    before.current = total;
  }, [total]);
}

function useChosenInSight(
  box: { readonly current: HTMLElement | null },
  rows: readonly TimelineRow[],
  offsets: RowOffsets,
  chosen: string | undefined,
): void {
  useEffect(() => {
    const element = box.current;
    const index = rows.findIndex((row) => keyOf(row) === chosen);
    if (element === null || index < 0) return;
    const [top, bottom] = [offsets.topOf(index), offsets.topOf(index + 1)];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
  }, [chosen]);
}

/** The row that a key leads to. Pauses are passed over. */
function rowByKey(key: string, rows: readonly TimelineRow[], chosen: string | undefined): string | undefined {
  const keys = rows.flatMap((row) => (row.kind === "item" ? [row.item.key] : []));
  const now = keys.indexOf(chosen ?? "");
  const to: Readonly<Record<string, number>> = {
    ArrowDown: now + 1,
    j: now + 1,
    ArrowUp: Math.max(0, now - 1),
    k: Math.max(0, now - 1),
    PageDown: now + pageOfRows,
    PageUp: Math.max(0, now - pageOfRows),
    Home: 0,
    End: keys.length - 1,
  };
  const index = Object.hasOwn(to, key) ? to[key] : undefined;
  return index === undefined ? undefined : keys[Math.min(index, keys.length - 1)];
}
