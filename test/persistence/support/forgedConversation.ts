import type { LogPersistenceStorageProvider, LogRecord } from "agent-persistence/storage";

export interface ForgedOptions {
  /** What each run keeps of the one before. Default: the history. */
  readonly keep?: "history" | "nothing";
  /** Records of a run between its message and its end. Default: none. */
  readonly between?: (lane: number, nextNumber: number) => readonly LogRecord[];
}

const runsOfAppend = 500;

/**
 * Writes the log of an agent "a" that was run many times, one question and one answer each, as the library would: but many
 * runs in one append.
 */
export async function forgeConversation(
  { log }: LogPersistenceStorageProvider,
  runs: number,
  { keep = "history", between = () => [] }: ForgedOptions = {},
): Promise<void> {
  const owned = await log.open("a", { host: "test", processId: 1, nonce: "forger" });
  let records: LogRecord[] = [];
  let number = 1;
  for (let run = 1; run <= runs; run++) {
    const turn = forgedRun(run, keep, number, between(run, number + 2));
    records.push(...turn);
    for (const { kind, insert } of turn as (LogRecord & { readonly insert?: readonly unknown[] })[])
      number += kind === "message" ? 1 : (insert?.length ?? 0);
    if (run % runsOfAppend !== 0 && run !== runs) continue;
    await owned.append({ id: `${owned.generation}-${owned.position + 1}`, records }, owned.position);
    records = [];
  }
  await owned.release();
}

/** What run n, `r-<n>`, was asked. */
export function forgedQuestion(run: number): string {
  return `question ${run} ${"?".repeat(100)}`;
}

/** The checkpoints of run n have the versions 2n - 1 and 2n. */
function forgedRun(
  lane: number,
  keep: "history" | "nothing",
  number: number,
  between: readonly LogRecord[],
): readonly LogRecord[] {
  const at = 1_763_000_000_000 + lane;
  const question = forgedQuestion(lane);
  const answer = { role: "assistant", content: `answer ${lane} ${"!".repeat(100)}` };
  const first = 2 * lane - 1;
  return [
    { kind: "run", run: `r-${lane}`, input: question, at },
    { kind: "lane", lane, keep, ...(lane > 1 && { from: first - 1 }) },
    { kind: "structure", lane, fingerprint: "forged", ...(lane === 1 && { structure: { nodes: [], edges: [] } }) },
    { kind: "settings", lane, model: "scripted", tools: [] },
    { kind: "checkpoint", lane, version: first, at, node: "callModel", input: question, iteration: 0 },
    { kind: "answer", lane, visit: [first, 0], ordinal: 0, node: "callModel", message: answer },
    { kind: "message", lane, number, message: { role: "user", content: question } },
    { kind: "message", lane, number: number + 1, message: { $answer: [first, 0, 0] } },
    ...between,
    {
      kind: "checkpoint",
      lane,
      version: first + 1,
      at,
      node: "finish",
      input: answer.content,
      iteration: 1,
      status: "completed",
    },
  ] as readonly LogRecord[];
}
