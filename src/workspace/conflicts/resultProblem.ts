import type { ContentConflict } from "./ContentConflict.ts";

/** Repeated conflict marker characters at the start of a line, and the rest of the line. */
const run = /^\s*(?<run>(?<character>[<=>|])\k<character>+)(?<rest>.*)$/s;
const usualSize = 7;

interface Marker {
  readonly line: string;
  readonly character: string;
  readonly size: number;
  readonly rest: string;
}

/**
 * Returns the reason why a text cannot resolve a conflict, or `undefined`. Lines that exist in a version are accepted.
 */
export function resultProblem(text: string, { base, ours, theirs }: ContentConflict): string | undefined {
  if (text.trim() === "" && ours.trim() !== "" && theirs.trim() !== "") return "it is empty, and neither side is";
  const left = leftMarker(newLines(text, [base, ours, theirs]));
  return left === undefined ? undefined : `a conflict marker is left: ${JSON.stringify(left)}`;
}

/** Returns the lines that exist in no version, ignoring indentation. */
export function newLines(text: string, versions: readonly string[]): readonly string[] {
  const known = new Set(versions.flatMap((version) => version.split("\n")).map((line) => line.trim()));
  return text.split("\n").filter((line) => !known.has(line.trim()));
}

/** Returns a remaining marker. A marker shorter than git's counts only if all three markers of its size exist. */
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

/** Returns whether the marker opens a conflict that two markers of the same size close. */
function isOneOfThree({ character, size }: Marker, markers: readonly Marker[]): boolean {
  const at = (wanted: string): number =>
    markers.findIndex((marker) => marker.character === wanted && marker.size === size);
  return character === "<" && at("<") < at("=") && at("=") < at(">");
}
