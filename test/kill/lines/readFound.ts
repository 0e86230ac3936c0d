import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { z } from "zod";

const Checkpoint = z.object({
  kind: z.literal("checkpoint"),
  lane: z.number(),
  version: z.number(),
  visit: z.tuple([z.number(), z.number()]).optional(),
  ended: z.literal(true).optional(),
  status: z.string().optional(),
});
const Outcome = z.object({ kind: z.literal("outcome"), call: z.string() });
const Request = z.object({ kind: z.literal("request"), request: z.string(), prompt: z.string() });
const Reply = z.object({ kind: z.literal("reply"), request: z.string() });

/** What the log holds: what need not happen again. */
export interface Found {
  /** Of each lane the version that its next visit is counted from. */
  readonly lanes: ReadonlyMap<number, { readonly base: number; readonly ended: boolean }>;
  /** The calls whose end is recorded. */
  readonly outcomes: ReadonlySet<string>;
  /** The question of each request. */
  readonly prompts: ReadonlyMap<string, string>;
  /** The requests of all replies. */
  readonly replies: readonly string[];
}

export async function readFound(storage: LogPersistenceStorageProvider, agentId: string): Promise<Found> {
  const lanes = new Map<number, { readonly base: number; readonly ended: boolean }>();
  const outcomes = new Set<string>();
  const prompts = new Map<string, string>();
  const replies: string[] = [];
  for await (const { records } of storage.log.read(agentId))
    for (const record of records) {
      if (record.kind === "checkpoint") {
        const { lane, version, visit, ended, status } = Checkpoint.parse(record);
        lanes.set(lane, { base: visit?.[0] ?? version, ended: ended === true || status !== undefined });
      }
      if (record.kind === "outcome") outcomes.add(Outcome.parse(record).call);
      if (record.kind === "reply") replies.push(Reply.parse(record).request);
      if (record.kind === "request") {
        const { request, prompt } = Request.parse(record);
        prompts.set(request, prompt);
      }
    }
  return { lanes, outcomes, prompts, replies };
}
