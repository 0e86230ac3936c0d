import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TimelineItem } from "../../data/TimelineData.ts";
import { laneColumns } from "../../layout/laneColumns.ts";
import { RowOffsets, callsInLine, heightOfRow, timelineRows, type TimelineRow } from "../../layout/timelineRows.ts";
import { GraphDrawing, graphWidth } from "./GraphDrawing.tsx";
import { StepRow, GapRow, MarkRow } from "./StepRow.tsx";

interface TimelineListProps {
  readonly items: readonly TimelineItem[];
  readonly head: string | undefined;
  readonly chosen: string | undefined;
  readonly other: string | undefined;
  readonly onChoose: (key: string, second: boolean) => void;
}

/** The width of a row outside its calls, in pixels. */
const besideCalls = 46;

/** The list of all items with the graph. Only visible rows are in the document. */
export function TimelineList({ items, head, chosen, other, onChoose }: TimelineListProps) {
  const box = useRef<HTMLDivElement>(null);
  const { top, height, width } = useView(box);
  const rows = useMemo(() => timelineRows(items), [items]);
  const graph = useMemo(() => laneColumns(rows, head), [rows, head]);
  const inLine = callsInLine(width - graphWidth(graph) - besideCalls);
  const offsets = useMemo(() => new RowOffsets(rows.map((row) => heightOfRow(row, inLine))), [rows, inLine]);
  const [first, last] = offsets.within(top, height);
  useFollowing(box, offsets.total);
  useChosenInSight(box, rows, offsets, chosen);
  return (
    <div
      class="list"
      ref={box}
      role="listbox"
      aria-label="Timeline"
      aria-multiselectable="true"
      aria-activedescendant={chosen === undefined ? undefined : idOf(chosen)}
      tabIndex={0}
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
            height={offsets.heightOf(first + index)}
            inLine={inLine}
            count={items.length}
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
  readonly height: number;
  readonly inLine: number;
  readonly count: number;
  readonly isHead: boolean;
  readonly isChosen: boolean;
  readonly onChoose: TimelineListProps["onChoose"];
}

function Row({ row, top, height, inLine, count, isHead, isChosen, onChoose }: RowProps) {
  const style = { top: `${top}px`, height: `${height}px` };
  if (row.kind === "gap") {
    return (
      <div class="row" role="presentation" style={style}>
        <GapRow milliseconds={row.milliseconds} />
      </div>
    );
  }
  const { item, number } = row;
  return (
    <div
      class="row item"
      id={idOf(item.key)}
      role="option"
      aria-selected={isChosen}
      aria-posinset={number}
      aria-setsize={count}
      style={style}
      onMouseDown={(event) => event.shiftKey && event.preventDefault()}
      onClick={(event) => onChoose(item.key, event.shiftKey || event.ctrlKey || event.metaKey)}
    >
      {item.kind === "step" ? <StepRow step={item} isHead={isHead} inLine={inLine} /> : <MarkRow item={item} />}
    </div>
  );
}

function keyOf(row: TimelineRow): string {
  return row.kind === "gap" ? row.key : row.item.key;
}

function idOf(key: string): string {
  return `row-${key.replaceAll(/\s/g, "_")}`;
}

/** The visible part of an element, or the whole element during printing. */
interface View {
  readonly top: number;
  readonly height: number;
  readonly width: number;
}

function useView(box: { readonly current: HTMLElement | null }): View {
  const [view, setView] = useState<View>({ top: 0, height: 800, width: 600 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const paper = matchMedia("print");
    const read = (): void => {
      const { scrollTop: top, clientHeight: height, clientWidth: width } = element;
      setView((before) => (paper.matches ? { ...before, top: 0, height: Infinity } : { top, height, width }));
    };
    const observer = new ResizeObserver(read);
    observer.observe(element);
    element.addEventListener("scroll", read, { passive: true });
    paper.addEventListener("change", read);
    read();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", read);
      paper.removeEventListener("change", read);
    };
  }, []);
  return view;
}

/** Scrolls to new items if the end of the list is visible. */
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
