import type { Edit } from "./findEdits.ts";
import type { MergeVersions, Span } from "./MergeResult.ts";

/** A region of the base that at least one side changed. */
export interface Change {
  /** The side whose lines the merge takes. `undefined` if the sides conflict. */
  readonly take: "ours" | "theirs" | undefined;
  readonly spans: MergeVersions<Span>;
}

/** A position after every edit. */
const nowhere: Span = { start: Number.POSITIVE_INFINITY, end: Number.POSITIVE_INFINITY };
const none: Edit = { from: nowhere, to: nowhere };

/** The edits of one side, and the index of the next edit. */
interface Side {
  readonly edits: readonly Edit[];
  readonly lines: Int32Array;
  /** The number of lines of this version minus the number of lines of the base. */
  readonly growth: number;
  at: number;
}

/** Combines the edits of both sides. Edits that overlap or touch conflict. Equal edits need no change of `ours`. */
export function combineEdits(
  { base, ours, theirs }: MergeVersions<Int32Array>,
  edits: { readonly ours: readonly Edit[]; readonly theirs: readonly Edit[] },
): readonly Change[] {
  const own: Side = { edits: edits.ours, lines: ours, growth: ours.length - base.length, at: 0 };
  const other: Side = { edits: edits.theirs, lines: theirs, growth: theirs.length - base.length, at: 0 };
  const changes: Change[] = [];
  while (own.at < own.edits.length || other.at < other.edits.length) {
    const [one, two] = [own.edits[own.at] ?? none, other.edits[other.at] ?? none];
    if (one.from.end < two.from.start) {
      append(changes, { take: "ours", spans: { base: one.from, ours: one.to, theirs: opposite(one.from, other) } });
      own.at++;
    } else if (two.from.end < one.from.start) {
      append(changes, { take: "theirs", spans: { base: two.from, ours: opposite(two.from, own), theirs: two.to } });
      other.at++;
    } else {
      if (!isSameEdit(one, two, own.lines, other.lines)) append(changes, contradiction(one, two));
      if (one.from.end >= two.from.end) other.at++;
      if (two.from.end >= one.from.end) own.at++;
    }
  }
  return changes;
}

/** Returns the lines of a side that correspond to base lines before the next edit of this side. */
function opposite({ start, end }: Span, { edits, at, growth }: Side): Span {
  const next = edits[at];
  const shift = next === undefined ? growth : next.to.start - next.from.start;
  return { start: start + shift, end: end + shift };
}

function contradiction(one: Edit, two: Edit): Change {
  const base = {
    start: Math.min(one.from.start, two.from.start),
    end: Math.max(one.from.end, two.from.end),
  };
  return { take: undefined, spans: { base, ours: extended(one, base), theirs: extended(two, base) } };
}

/** Returns the lines of a side for a span of the base that contains the edit. */
function extended({ from, to }: Edit, base: Span): Span {
  return { start: to.start - (from.start - base.start), end: to.end + (base.end - from.end) };
}

function isSameEdit(one: Edit, two: Edit, ours: Int32Array, theirs: Int32Array): boolean {
  if (one.from.start !== two.from.start || one.from.end !== two.from.end) return false;
  if (one.to.end - one.to.start !== two.to.end - two.to.start) return false;
  for (let at = one.to.start; at < one.to.end; at++)
    if (ours[at] !== theirs[at - one.to.start + two.to.start]) return false;
  return true;
}

/** Adds a change, joined with the last change if they touch. Different sides make a conflict. */
function append(changes: Change[], change: Change): void {
  const last = changes.at(-1);
  const { ours, theirs } = change.spans;
  if (last === undefined || (ours.start > last.spans.ours.end && theirs.start > last.spans.theirs.end)) {
    changes.push(change);
    return;
  }
  const take = last.take === change.take ? last.take : undefined;
  changes[changes.length - 1] = { take, spans: joined(last.spans, change.spans) };
}

export function joined(first: MergeVersions<Span>, last: MergeVersions<Span>): MergeVersions<Span> {
  return {
    base: { start: first.base.start, end: last.base.end },
    ours: { start: first.ours.start, end: last.ours.end },
    theirs: { start: first.theirs.start, end: last.theirs.end },
  };
}
