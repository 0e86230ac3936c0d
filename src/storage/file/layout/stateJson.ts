import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { AgentSummary } from "../../RecordLog.ts";
import { z } from "zod";

/** What `state.json` says. */
export interface StoredState {
  readonly summary: AgentSummary;
  /** The owner that wrote it: under a later one it may be out of date. */
  readonly generation: number;
  /** True while an append that changes the summary is under way: only the log knows which one holds. */
  readonly changing: boolean;
  /** Where the log ended when the file was written: that far it was on the device. Absent: an earlier version wrote it. */
  readonly end?: ChainLink | undefined;
}

const version = "1.0";

/** Each field of a summary: its key in `state.json`, and what it must be. The file has them in this order. */
const summaryFields = {
  agentId: ["task_id", z.string()],
  status: ["status", z.string()],
  createdAt: ["created_at", z.string()],
  updatedAt: ["updated_at", z.string()],
  data: ["data", z.unknown()],
  taskName: ["task_name", z.string().optional()],
  priority: ["priority", z.int().optional()],
  inputRequest: ["input_request", z.unknown().optional()],
  order: ["order", z.string()],
  dueAt: ["due_at", z.string().optional()],
  requestIds: ["request_ids", z.array(z.string())],
  runId: ["run_id", z.string().optional()],
  position: ["position", z.int().nonnegative()],
  reserves: ["reserves", z.array(z.object({ path: z.string(), operation: z.enum(["read", "write"]) })).optional()],
  attempts: ["attempts", z.int().nonnegative().optional()],
  checkpoints: ["checkpoints", z.int().nonnegative().optional()],
} as const satisfies Readonly<Record<keyof AgentSummary, readonly [key: string, schema: z.ZodType]>>;

// A process that can write the file can also write a checksum that fits, so the fields are checked too.
const stateSchema = z.object({
  ...Object.fromEntries<z.ZodType>(Object.values(summaryFields)),
  version: z.literal(version),
  generation: z.int().positive(),
  changing: z.boolean(),
  end: z.object({ position: z.int().nonnegative(), checksum: z.string() }).optional(),
});
const tail = /,"checksum":"([0-9a-f]{64})"\}\n$/;

/** The content of `state.json`. Other programs read it by these keys. */
export function encodeState({ summary, generation, changing, end }: StoredState, sha256: Sha256): string {
  const stored: Readonly<Record<string, unknown>> = { ...summary, data: renamed(summary.data ?? null, storedKeys) };
  const fields = Object.entries(summaryFields).map(([name, [key]]) => [key, stored[name]]);
  const covered = JSON.stringify({ version, ...Object.fromEntries(fields), generation, changing, end }).slice(0, -1);
  return `${covered},"checksum":"${sha256.hex(covered)}"}\n`;
}

/** `undefined` when the file is damaged, was edited by hand or has another version: the log holds the same facts. */
export function decodeState(text: string, sha256: Sha256): StoredState | undefined {
  const [ending, checksum] = tail.exec(text.slice(-80)) ?? [];
  if (ending === undefined || sha256.hex(text.slice(0, -ending.length)) !== checksum) return undefined;
  const state = stateSchema.safeParse(parse(text)).data;
  if (state === undefined) return undefined;
  const { generation, changing, end, ...stored }: Omit<StoredState, "summary"> & { [key: string]: unknown } = state;
  const fields = Object.entries(summaryFields).flatMap(([name, [key]]) =>
    stored[key] === undefined ? [] : [[name, name === "data" ? renamed(stored[key], namedKeys) : stored[key]]],
  );
  return { summary: Object.fromEntries(fields) as AgentSummary, generation, changing, ...(end && { end }) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Fields of the data of a status, as the library names them; other tools read them in `state.json` in snake case. */
const names = [
  ..."taskId createdAt estimatedComplexity inputRequest startedAt pausedAt pauseReason resumeInstructions".split(" "),
  ..."waitingFor promptShownToUser timeoutAt completedAt finalOutput filesModified verificationResults".split(" "),
  ..."failedAt errorType errorMessage stackTrace retryCount cancelledAt".split(" "),
];
const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const storedKeys: ReadonlyMap<string, string> = new Map(names.map((name) => [name, snakeCase(name)]));
const namedKeys: ReadonlyMap<string, string> = new Map(names.map((name) => [snakeCase(name), name]));

/** Only the keys of the data itself change, not those inside its fields. */
function renamed(data: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return data;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [names.get(key) ?? key, value]));
}
