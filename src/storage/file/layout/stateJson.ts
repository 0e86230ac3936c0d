import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { AgentSummary } from "../../RecordLog.ts";
import { z } from "zod";
import { parsedJson } from "../../../internal/parsedJson.ts";

export interface StoredSummary {
  readonly summary: AgentSummary;
  /** The generation of the writer. The state may be outdated under a later owner. */
  readonly generation: number;
  /** Whether an append that changes the summary is in progress. The log then decides which summary is valid. */
  readonly changing: boolean;
  /** The durable end of the log when the file was written. `undefined` in files of earlier versions. */
  readonly end?: ChainLink | undefined;
}

const version = "1.0";

/** The key of each summary field in `state.json`, in file order. */
const storedNames = {
  agentId: "task_id",
  status: "status",
  createdAt: "created_at",
  updatedAt: "updated_at",
  data: "data",
  taskName: "task_name",
  priority: "priority",
  inputRequest: "input_request",
  order: "order",
  dueAt: "due_at",
  requestIds: "request_ids",
  runId: "run_id",
  position: "position",
  reserves: "reserves",
  controls: "controls",
  attempts: "attempts",
  checkpoints: "checkpoints",
} as const satisfies Readonly<Record<keyof AgentSummary, string>>;

// Validates the fields, because a process that can write the file can also forge the checksum.
const stateSchema = z.lazy(() =>
  z.object({
    task_id: z.string(),
    status: z.string(),
    created_at: z.string(),
    updated_at: z.string(),
    data: z.unknown(),
    task_name: z.string().optional(),
    priority: z.int().optional(),
    input_request: z.unknown().optional(),
    order: z.string(),
    due_at: z.string().optional(),
    request_ids: z.array(z.string()),
    run_id: z.string().optional(),
    position: z.int().nonnegative(),
    reserves: z.array(z.object({ path: z.string(), operation: z.enum(["read", "write"]) })).optional(),
    controls: z.record(z.string(), z.unknown()).optional(),
    attempts: z.int().nonnegative().optional(),
    checkpoints: z.int().nonnegative().optional(),
    version: z.literal(version),
    generation: z.int().positive(),
    changing: z.boolean(),
    end: z.object({ position: z.int().nonnegative(), checksum: z.string() }).optional(),
  } satisfies Readonly<Record<(typeof storedNames)[keyof AgentSummary], z.ZodType>> & z.ZodRawShape),
);
const tail = /,"checksum":"([0-9a-f]{64})"\}\n$/;

/** Returns the content of `state.json`. Other programs rely on these keys. */
export function encodeState({ summary, generation, changing, end }: StoredSummary, sha256: Sha256): string {
  const stored: Readonly<Record<string, unknown>> = { ...summary, data: renamed(summary.data ?? null, storedKeys) };
  const fields = Object.entries(storedNames).map(([name, key]) => [key, stored[name]]);
  const covered = JSON.stringify({ version, ...Object.fromEntries(fields), generation, changing, end }).slice(0, -1);
  return `${covered},"checksum":"${sha256.hex(covered)}"}\n`;
}

/** Parses `state.json`. `undefined` for a damaged or incompatible file, because the log has the same data. */
export function decodeState(text: string, sha256: Sha256): StoredSummary | undefined {
  const [ending, checksum] = tail.exec(text.slice(-80)) ?? [];
  if (ending === undefined || sha256.hex(text.slice(0, -ending.length)) !== checksum) return undefined;
  const state = stateSchema.safeParse(parsedJson(text)).data;
  if (state === undefined) return undefined;
  const { generation, changing, end, ...stored }: Omit<StoredSummary, "summary"> & { [key: string]: unknown } = state;
  const fields = Object.entries(storedNames).flatMap(([name, key]) =>
    stored[key] === undefined ? [] : [[name, name === "data" ? renamed(stored[key], namedKeys) : stored[key]]],
  );
  return { summary: Object.fromEntries(fields) as AgentSummary, generation, changing, ...(end && { end }) };
}

/** Field names of status data. `state.json` stores them in snake case for other tools. */
const names = [
  ..."taskId createdAt estimatedComplexity inputRequest startedAt pausedAt pauseReason resumeInstructions".split(" "),
  ..."waitingFor promptShownToUser timeoutAt completedAt finalOutput filesModified verificationResults".split(" "),
  ..."failedAt errorType errorMessage stackTrace retryCount cancelledAt".split(" "),
];
const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const storedKeys: ReadonlyMap<string, string> = new Map(names.map((name) => [name, snakeCase(name)]));
const namedKeys: ReadonlyMap<string, string> = new Map(names.map((name) => [snakeCase(name), name]));

/** Renames only top-level keys of the data. */
function renamed(data: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return data;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [names.get(key) ?? key, value]));
}
