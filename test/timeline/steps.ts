import type { TimelineStep } from "../../src/timeline/data/TimelineData.ts";

/** Steps from words: `b<a!` is step b, which follows a and was left. */
export function itemsOf(...words: readonly string[]): readonly TimelineStep[] {
  return words.map((word) => stepOf(word));
}

export function stepOf(word: string, more: Partial<TimelineStep> = {}): TimelineStep {
  const [key = "", parent] = word.replace("!", "").split("<");
  return {
    kind: "step",
    key,
    lane: "1",
    node: `node ${key}`,
    answers: [],
    calls: [],
    waits: [],
    changes: { messages: [], removed: [], storage: {}, files: [] },
    records: [],
    ...(parent !== undefined && { parent }),
    ...(word.endsWith("!") && { left: "reverted" as const }),
    ...more,
  };
}
