import { RunNotFoundError } from "../../errors/runErrors.ts";
import { UnreadableValueError } from "../../errors/storedDataErrors.ts";
import { readIndex } from "../../inspect/log/readIndex.ts";
import { ownerView } from "../../inspect/show/agentView.ts";
import { type Shown, withValues } from "../../inspect/show/Source.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import { nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { logStorageOf } from "../../storage/checkpoints/CheckpointRecordLog.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../storage/PersistenceStorageProvider.ts";
import { type RunTrace, plainValue } from "./RunTrace.ts";
import { optionalPoint, runPath, type RunPath } from "./runPath.ts";
import { traceVisits } from "./traceVisits.ts";
import type { AgentIndex, PlacedRecord } from "../../inspect/log/AgentIndex.ts";

/** Selects a run. */
export interface RunTraceOptions {
  readonly agentId: string;
  /** Defaults to the run of the checkpoint `at`, or to the newest run. */
  readonly runId?: string | undefined;
  /** The id or name of the last checkpoint of the trace, on any line. Defaults to the newest checkpoint of the run. */
  readonly at?: string | undefined;
}

const schema = strictOptions(() => ({
  agentId: nonEmptyString,
  runId: nonEmptyString.optional(),
  at: nonEmptyString.optional(),
}));

/**
 * Reads a stored run as plain JSON. Does not own the agent and writes nothing.
 *
 * @throws InvalidInputError if an argument is invalid.
 * @throws RunNotFoundError if the log has no such run.
 * @throws CheckpointNotFoundError if the agent has no checkpoint `at`.
 * @throws UnreadableValueError if the log is damaged.
 *
 * @example
 * ```ts
 * const trace = await readRunTrace(storage, { agentId: "order-8" });
 * for (const { node, durationMs, calls } of trace.visits) console.log(node, durationMs, calls.length);
 * ```
 */
export async function readRunTrace(storage: PersistenceStorageProvider, options: RunTraceOptions): Promise<RunTrace> {
  checkSchema(providerSchema, storage, "storage of readRunTrace()");
  checkSchema(schema, options, "options of readRunTrace()");
  const { agentId, runId, at } = options;
  assertAgentId(agentId);
  const { log } = logStorageOf(storage);
  const index = await readIndex(log, agentId);
  const [damage] = index.damage;
  if (damage) throw new UnreadableValueError(`the log of the agent is damaged: ${damage.message}`);
  const runs = [...index.runs.keys()];
  if (runId !== undefined && !runs.includes(runId)) throw new RunNotFoundError(agentId, runId, runs);
  const point = optionalPoint({ agentId, index: index.log }, ["at", at], runId);
  const run = runId ?? point?.runId ?? runs.at(-1);
  if (run === undefined) throw new RunNotFoundError(agentId, "", runs);
  const source = { log, index, owner: await ownerView(log, agentId), maxValueLength: Infinity };
  const path = runPath(source, run, point);
  return withValues(source, (shown) => runTrace(shown, path));
}

function runTrace(shown: Shown, path: RunPath): RunTrace {
  const { index } = shown;
  const { runId, end } = path;
  const run = index.runs.get(runId);
  const { visits, durationMs } = traceVisits(shown, path);
  return withoutUndefined({
    version: 1 as const,
    agentId: index.agentId,
    runId,
    ...runStatus(index, path),
    input: run && plainValue(shown.show(run.record.input)),
    output: end?.record.status === "completed" ? plainValue(shown.show(end.record.input)) : undefined,
    startedAt: run && new Date(run.record.at).toISOString(),
    durationMs,
    checkpointId: end?.id,
    visits,
    nextNode: end?.record.status ? undefined : end?.record.node,
  });
}

function runStatus(
  { events }: AgentIndex,
  { runId, end, isWhole }: RunPath,
): Pick<RunTrace, "status" | "reason" | "error"> {
  const { status: ended, reason } = end?.record ?? {};
  if (ended) return withoutUndefined({ status: ended, reason });
  if (!isWhole) return { status: "in_progress" };
  const last = events.findLast(
    (event): event is PlacedRecord<"status"> =>
      "record" in event && event.record.kind === "status" && event.record.run === runId,
  )?.record;
  if (!last) return { status: "in_progress" };
  return withoutUndefined({ status: last.status, reason: last.reason, error: last.error && errorOf(last.error) });
}

function errorOf({ name, message, code }: NonNullable<RunTrace["error"]>): NonNullable<RunTrace["error"]> {
  return withoutUndefined({ name, message, code });
}
