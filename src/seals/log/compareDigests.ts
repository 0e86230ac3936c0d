import type { SealChange } from "../../errors/sealErrors.ts";

/** An append that a seal covers. The digest is `undefined` if the seal that contained it is missing. */
export interface ExpectedAppend {
  readonly position: number;
  readonly digest: string | undefined;
}

export interface FoundAppend {
  readonly position: number;
  readonly digest: string;
}

interface Known {
  readonly expected: ReadonlySet<string | undefined>;
  readonly found: ReadonlySet<string>;
}

/** How many expected and found appends a step consumes, and the change that it names. */
interface Step {
  readonly expected: number;
  readonly found: number;
  readonly changes?: readonly SealChange[];
}

/** Aligns the appends of a log with the sealed ones, and names each difference. Both are in the order of the log. */
export function compareDigests(
  expected: readonly ExpectedAppend[],
  found: readonly FoundAppend[],
): readonly SealChange[] {
  const known = { expected: new Set(expected.map(digestOf)), found: new Set(found.map(({ digest }) => digest)) };
  const changes: SealChange[] = [];
  for (let [at, met] = [0, 0]; at < expected.length || met < found.length;) {
    const step = stepAt(known, expected.slice(at, at + 2), found.slice(met, met + 2));
    changes.push(...(step.changes ?? []));
    at += step.expected;
    met += step.found;
  }
  if (changes.length > 0) return changes;
  const moved = found.find(({ position }, at) => position !== expected[at]?.position);
  return moved ? [{ kind: "edited", position: moved.position }] : [];
}

function stepAt(known: Known, [next, later]: readonly ExpectedAppend[], [met, behind]: readonly FoundAppend[]): Step {
  if (!next) return step("inserted", met, 0, 1);
  if (!met) return step("removed", next, 1, 0);
  const isKnown = known.expected.has(met.digest);
  if (next.digest === met.digest || (next.digest === undefined && !isKnown)) return { expected: 1, found: 1 };
  const isGone = next.digest === undefined || !known.found.has(next.digest);
  if (isGone) return isKnown ? step("removed", next, 1, 0) : step("edited", met, 1, 1);
  if (!isKnown) return step("inserted", met, 0, 1);
  return stepAmongKnown(next, later, met, behind);
}

function stepAmongKnown(
  next: ExpectedAppend,
  later: ExpectedAppend | undefined,
  met: FoundAppend,
  behind: FoundAppend | undefined,
): Step {
  const isNextBehind = behind?.digest === next.digest;
  const isMetLater = later?.digest === met.digest;
  if (isNextBehind && isMetLater && behind)
    return { expected: 2, found: 2, changes: [change("reordered", met), change("reordered", behind)] };
  if (isNextBehind) return step("inserted", met, 0, 1);
  if (isMetLater) return step("removed", next, 1, 0);
  return step("reordered", met, 1, 1);
}

function step(
  kind: SealChange["kind"],
  place: { readonly position: number } | undefined,
  expected: number,
  found: number,
): Step {
  return { expected, found, changes: place ? [change(kind, place)] : [] };
}

function change(kind: SealChange["kind"], { position }: { readonly position: number }): SealChange {
  return { kind, position };
}

function digestOf({ digest }: ExpectedAppend): string | undefined {
  return digest;
}
