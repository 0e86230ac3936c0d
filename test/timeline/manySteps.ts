import type { TimelineItem } from "../../src/timeline/data/TimelineData.ts";
import { pageAssets, pageHtml } from "../../src/timeline/timelinePage.ts";

/** A page of so many steps, every tenth of which begins a branch that was left. */
export async function manySteps(count: number): Promise<string> {
  const at = Date.UTC(2026, 10, 23);
  async function* items(): AsyncGenerator<TimelineItem> {
    for (let index = 0; index < count; index += 1) {
      const isLeft = index % 10 === 9 && index < count - 1;
      const parent = index - (index % 10 === 0 ? 2 : 1);
      yield {
        kind: "step",
        key: `s${index}`,
        checkpoint: `1-${index}`,
        version: index,
        ...(parent >= 0 && { parent: `s${parent}` }),
        ...(isLeft && { left: "reverted" as const }),
        lane: "1",
        at: at + index * 1_000,
        node: `step ${index}`,
        next: "callModel",
        answers: [{ text: `Answer ${index}`, failed: [] }],
        calls: [[{ id: `c${index}`, tool: "signUp", state: "succeeded", input: `{ index: ${index} }` }]],
        waits: [],
        changes: { messages: [], removed: [], storage: {}, files: [] },
        records: [],
      };
    }
  }
  const hidden = { secrets: 0, redacted: 0, paths: [], idle: [], off: false };
  const agent = { id: "many", status: "completed", head: `s${count - 1}`, checkpoints: count, left: 0, hidden, at };
  const parts = { ...(await pageAssets()), title: "many", items: items(), agent: async () => agent };
  const pieces: string[] = [];
  for await (const piece of pageHtml(parts)) pieces.push(piece);
  return pieces.join("");
}
