import type { Edit } from "./findEdits.ts";
import type { MergeVersions, Span } from "./MergeResult.ts";

/** The same place in each version, at which at least one side has changed something. */
export interface Change {
  /** The side whose lines are taken. `undefined`: the sides contradict each other. */
  readonly take: "ours" | "theirs" | undefined;
  readonly spans: MergeVersions<Span>;
}

/** Comes after every edit. */
const nowhere: Span = { start: Number.POSITIVE_INFINITY, end: Number.POSITIVE_INFINITY };
const none: Edit = { from: nowhere, to: nowhere };

/** A list of edits of the common base, with the place of its next one. */
interface Side {
  readonly edits: readonly Edit[];
  readonly lines: Int32Array;
  /** How many lines longer this version is than the base, at its end. */
  readonly growth: number;
  at: number;
}

/**
 * Combines the edits of both sides. Edits that overlap or touch contradict each other, unless they are the same edit, which
 * needs no change of ours.
 */
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

/** The lines of a version that its next edit does not reach. */
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

/** What a side has in the place of a span of the base that its edit is part of. */
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

/** Changes that touch become one, which contradicts itself unless both take the same side. */
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
