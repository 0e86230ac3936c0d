import type { MergeVersions } from "../../../src/workspace/merge/MergeResult.ts";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";

/** A file and two changed versions of it. Every third seed has single lines, half of them repeated, or nearly all. */
export function randomVersions(seed: number): MergeVersions<string> {
  const random = seededNumbers(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const repeated = [0, 0.5, 0.9][seed % 3] ?? 0;
  let next = 0;
  const line = () => (random() < repeated ? `word ${below(12)}` : `line ${seed}.${next++}`);
  const base = Array.from({ length: 15 + below(151) }, line);
  const changed = () => {
    const lines = [...base];
    for (let edits = 1 + below(6); edits > 0; edits--) {
      const added = Array.from({ length: below(4) }, line);
      lines.splice(below(lines.length + 1), below(4), ...added);
    }
    return lines;
  };
  const ending = seed % 7 === 0 ? "\r\n" : "\n";
  const text = (lines: readonly string[]) => lines.join(ending) + (random() < 0.1 ? "" : ending);
  return { base: text(base), ours: text(changed()), theirs: text(changed()) };
}
