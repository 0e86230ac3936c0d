import type { ChainLink } from "../../../checkpoint/format/EntryChain.ts";
import type { Sha256 } from "../../../internal/sha256/Sha256.ts";
import type { AgentSummary } from "../../RecordLog.ts";
import { isSummary } from "../../appends/isSummary.ts";
import { count, like, oneOf, optional, text as isText } from "../../../checkpoint/format/fieldTests.ts";
import { withoutUndefined } from "../../../internal/withoutUndefined.ts";
import { parsedJson } from "../../../internal/parsedJson.ts";

export interface StoredSummary {
  readonly summary: AgentSummary;
  /** The generation of the writer. The state may be outdated under a later owner. */
  readonly generation: number;
  /** The generation in the name of the mark in the index. Defaults to `generation`. */
  readonly marked?: number | undefined;
  /** Whether an append that changes the summary is in progress. If so, the log decides which summary is valid. */
  readonly changing: boolean;
  /** The durable end of the log when the file was written. `undefined` in files of earlier versions. */
  readonly end?: ChainLink | undefined;
}

type Stored = Readonly<Record<string, unknown>>;

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

const storedFields = Object.entries(storedNames);

const isState = like({
  version: oneOf(version),
  generation: (value) => count(value) && value !== 0,
  marked: optional(count),
  changing: (value) => typeof value === "boolean",
  end: optional(like({ position: count, checksum: isText })),
});
const tail = /,"checksum":"([0-9a-f]{64})"\}\n$/;

/** Returns the content of `state.json`. Other programs rely on these keys. */
export function encodeState(state: StoredSummary, sha256: Sha256): string {
  const { summary, generation, changing, end } = state;
  const marked = state.marked === generation ? undefined : state.marked;
  const stored: Stored = { ...summary, data: renamed(summary.data ?? null, storedKeys) };
  const fields = storedFields.map(([name, key]) => [key, stored[name]]);
  const covered = JSON.stringify({ version, ...Object.fromEntries(fields), generation, marked, changing, end }).slice(
    0,
    -1,
  );
  return `${covered},"checksum":"${sha256.hex(covered)}"}\n`;
}

/** Parses `state.json`. `undefined` for a damaged or incompatible file, because the log has the same data. */
export function decodeState(text: string, sha256: Sha256): StoredSummary | undefined {
  const [ending, checksum] = tail.exec(text.slice(-80)) ?? [];
  if (ending === undefined || sha256.hex(text.slice(0, -ending.length)) !== checksum) return undefined;
  const state = parsedJson(text);
  if (!isState(state)) return undefined;
  const stored = state as Omit<StoredSummary, "summary"> & Stored;
  const summary: Record<string, unknown> = {};
  for (const [name, key] of storedFields)
    if (stored[key] !== undefined) summary[name] = name === "data" ? renamed(stored[key], namedKeys) : stored[key];
  const { generation, marked, changing, end } = stored;
  return isSummary(summary) ? withoutUndefined({ summary, generation, marked, changing, end }) : undefined;
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
