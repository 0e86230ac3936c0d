import type { ContentConflict } from "./ContentConflict.ts";

/** A run of one of the characters of conflict markers at the start of a line, and what follows it. */
const run = /^\s*(?<run>(?<character>[<=>|])\k<character>+)(?<rest>.*)$/s;
/** The size of git's own markers. */
const usualSize = 7;

interface Marker {
  readonly line: string;
  readonly character: string;
  readonly size: number;
  readonly rest: string;
}

/**
 * Why a text cannot be the result of a conflict; `undefined` when it can. Lines that a version has are no problem.
 */
export function resultProblem(text: string, { base, ours, theirs }: ContentConflict): string | undefined {
  if (text.trim() === "" && ours.trim() !== "" && theirs.trim() !== "") return "it is empty, and neither side is";
  const left = leftMarker(newLines(text, [base, ours, theirs]));
  return left === undefined ? undefined : `a conflict marker is left: ${JSON.stringify(left)}`;
}

/** The lines of a text that no version has, whatever their indent. */
export function newLines(text: string, versions: readonly string[]): readonly string[] {
  const known = new Set(versions.flatMap((version) => version.split("\n")).map((line) => line.trim()));
  return text.split("\n").filter((line) => !known.has(line.trim()));
}

/** A marker of git's size or longer stands for itself; a shorter one counts if all three of its size are there. */
function leftMarker(lines: readonly string[]): string | undefined {
  const markers = lines.flatMap(markerIn);
  const usual = markers.find(({ character, size, rest }) =>
    character === "=" ? size === usualSize && rest.trim() === "" : size >= usualSize,
  );
  return (usual ?? markers.find((marker) => isOneOfThree(marker, markers)))?.line;
}

function markerIn(line: string): readonly Marker[] {
  const { run: found = "", character = "", rest = "" } = run.exec(line)?.groups ?? {};
  return found === "" ? [] : [{ line, character, size: found.length, rest }];
}

/** Whether it opens a conflict that the other two of its size close. */
function isOneOfThree({ character, size }: Marker, markers: readonly Marker[]): boolean {
  const at = (wanted: string): number =>
    markers.findIndex((marker) => marker.character === wanted && marker.size === size);
  return character === "<" && at("<") < at("=") && at("=") < at(">");
}
