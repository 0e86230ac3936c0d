import type { ContentConflict } from "./ContentConflict.ts";

const marker = /^(?:<{7}|={7}|>{7}|\|{7})(?: .*)?\r?$/;

/** Why a text cannot be the result of a conflict, whoever made it; `undefined` when it can. */
export function resultProblem(text: string, { base, ours, theirs }: ContentConflict): string | undefined {
  if (text.trim() === "" && ours.trim() !== "" && theirs.trim() !== "") return "it is empty, and neither side is";
  const known = new Set([base, ours, theirs].flatMap((side) => side.split("\n")));
  const left = text.split("\n").find((line) => marker.test(line) && !known.has(line));
  return left === undefined ? undefined : `a conflict marker is left: ${JSON.stringify(left)}`;
}
