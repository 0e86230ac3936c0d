import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { RevertibleCall } from "../../agent/feature/RunResult.ts";
import type { AnyTool, ToolCallOptions } from "../../agent/tool/Tool.ts";
import type { OutcomeRecord } from "../../checkpoint/records/callRecords.ts";
import type { PlannedSteps } from "../../checkpoint/records/rollbackRecords.ts";
import type { CheckpointPoint, LogProjection } from "../../checkpoint/state/LogProjection.ts";
import { ExecutionMovedError } from "../../errors/agent/ExecutionMovedError.ts";
import { RollbackIncompleteError } from "../../errors/checkpoint/RollbackIncompleteError.ts";
import { NotSerializableError } from "../../errors/storage/NotSerializableError.ts";
import { InverseMissingError } from "../../errors/toolCall/InverseMissingError.ts";
import { ToolCallInDoubtError } from "../../errors/toolCall/ToolCallInDoubtError.ts";
import { ToolFailedError } from "../../errors/toolCall/ToolFailedError.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { LoggedCall } from "../../journal/loggedCalls.ts";
import type { RollbackPlan } from "../../journal/planRollback.ts";
import type { PersistenceSetup } from "../config/PersistenceSetup.ts";
import { askWhatHappened } from "../doubt/askWhatHappened.ts";
import { declarationOf, inverseIdOf, inverseInDoubt, inverseName, settledInverse } from "../doubt/callsInDoubt.ts";
import { attempt } from "../inverse/InverseRetry.ts";
import type { Inverse } from "../inverse/RollbackToolRegistry.ts";
import { revertibleCall } from "./RollbackReport.ts";

/** What became of the calls of a plan. */
export interface RevertedCalls {
  readonly reverted: readonly RevertibleCall[];
  readonly failed: readonly (RevertibleCall & { readonly error: unknown })[];
}

/**
 * Takes back the calls of a plan one after the other, newest first, each recorded before its inverse begins and after it
 * ended.
 *
 * @throws RollbackIncompleteError when one cannot be taken back; the rollback stays open.
 */
export async function revertCalls(options: RevertOptions): Promise<RevertedCalls> {
  const { journal, plan, target } = options;
  const { agentId } = journal;
  await begin(options);
  const reverted = plan.reverted.map(revertibleCall);
  const failed = plan.inDoubt.map((call) => ({
    ...revertibleCall(call),
    error: new ToolCallInDoubtError({
      agentId,
      toolName: call.tool,
      toolCallId: call.call,
      nodeId: call.node,
    }) as unknown,
  }));
  for (const [at, call] of plan.revert.entries()) {
    const end = await revertCall(call, options);
    if (end.kind === "reverted") {
      reverted.push(revertibleCall(end.call));
      continue;
    }
    failed.push({ ...revertibleCall(call), error: end.error });
    if (end.kind === "left") continue;
    const unsettled = failed.map((one) => ({ ...one, inverseId: inverseIdOf(one.toolCallId, journal) }));
    const remaining = plan.revert.slice(at + 1).map(revertibleCall);
    throw new RollbackIncompleteError(agentId, target.id, reverted, unsettled, remaining);
  }
  return { reverted, failed };
}

/** The plan is durable before anything is undone. A rollback that goes on keeps what it has taken back before. */
async function begin({ journal, index, plan, participants, target }: RevertOptions): Promise<void> {
  const before = index.rollback?.calls ?? [];
  const calls = new Set([...before, ...plan.revert.map(({ call }) => call)]);
  const planned = participants.length > 0 && { participants };
  journal.append([{ kind: "rollback", target: target.version, calls: [...calls], closed: plan.closed, ...planned }]);
  await journal.durable();
}

/** What became of one call: taken back, left as it is because somebody said so, or neither. */
export type InverseEnd =
  | { readonly kind: "reverted"; readonly call: LoggedCall }
  | { readonly kind: "left" | "failed"; readonly error: unknown };

/** Takes one call back. A call without an end is made again first, so that there is surely something to take back. */
export async function revertCall(call: LoggedCall, options: RevertOptions): Promise<InverseEnd> {
  const { setup, index } = options;
  const left = index.left.get(call.call);
  if (left !== undefined) return leftAsItIs(call, left, options);
  const inverse = setup.registry.inverseOf(call.tool);
  if (!inverse) return { kind: "failed", error: new InverseMissingError(call.tool, call.call) };
  const made = await repeatCall(call, inverse.tool, options);
  if ("error" in made) return { kind: "failed", error: made.error };
  const settled = index.inverting.has(call.call) ? await settle(made, inverse, options) : undefined;
  return settled ?? runInverse(made, inverse, options);
}

function leftAsItIs(call: LoggedCall, reason: string, { setup, journal }: RevertOptions): InverseEnd {
  const name = inverseName(call.tool, setup.registry.inverseOf(call.tool));
  return { kind: "left", error: new ToolFailedError(name, inverseIdOf(call.call, journal), reason) };
}

/** An inverse that began before and may have had its effect is settled as a call is; `undefined`: it runs again. */
async function settle(call: LoggedCall, inverse: Inverse, options: RevertOptions): Promise<InverseEnd | undefined> {
  const { setup, journal, signal } = options;
  const { effect } = inverse.kind === "tool" ? inverse.inverse : inverse;
  if (effect === "none" || effect === "idempotent") return undefined;
  const asked = { tool: toolOf(inverse), choice: setup.onToolCallInDoubt, signal, declaration: declarationOf(inverse) };
  try {
    const { settlement, by } = await askWhatHappened(inverseInDoubt(call, inverse, journal), asked);
    if (settlement === "retry" || settlement === "not-done") return undefined;
    const record = settledInverse(call.call, settlement, by);
    journal.append([record]);
    await journal.durable();
    return record.error ? leftAsItIs(call, record.error.message, options) : { kind: "reverted", call };
  } catch (error) {
    if (error instanceof ToolCallInDoubtError) return { kind: "failed", error };
    throw error;
  }
}

/** An input that is refused is not tried. */
async function runInverse(call: LoggedCall, inverse: Inverse, options: RevertOptions): Promise<InverseEnd> {
  const { setup, journal, signal } = options;
  const stored = await storedInput(toolOf(inverse) ?? inverse.tool, call);
  if ("error" in stored) return { kind: "failed", error: stored.error };
  journal.append([{ kind: "inverse", call: call.call }]);
  await journal.durable();
  const execute = executionOf(inverse, call, stored.input, options);
  const end = await attempt(execute, setup.inverseRetry, journal.clock, signal);
  const error = end.failed && { error: { message: reasonOf(end.error) } };
  journal.append([{ kind: "reverted", call: call.call, ...error }]);
  await journal.durable();
  return end.failed ? { kind: "failed", error: end.error } : { kind: "reverted", call };
}

function executionOf(inverse: Inverse, call: LoggedCall, input: unknown, options: RevertOptions): () => unknown {
  if (inverse.kind === "function") {
    const facts = { toolCallId: call.call, input, output: call.output(), abortSignal: options.signal };
    return () => inverse.inverse(input, facts);
  }
  const given = rollbackCallOptions(inverseIdOf(call.call, options.journal), options);
  // The schema has just made this input.
  return () => inverse.inverse.execute(input as never, given);
}

/** The tool that is an inverse; `undefined` for a function, which takes the input of the original. */
function toolOf(inverse: Inverse): AnyTool | undefined {
  return inverse.kind === "tool" ? inverse.inverse : undefined;
}

/**
 * A call that has ended, as it is. One in doubt that may be made again under its id is: then it has surely had its effect,
 * and what takes it back gets its output.
 */
export async function repeatCall(
  call: LoggedCall,
  tool: AnyTool,
  options: RevertOptions,
): Promise<LoggedCall | { readonly error: unknown }> {
  if (call.outcome && !call.outcome.retry) return call;
  const { setup, journal, signal } = options;
  const stored = await storedInput(tool, call);
  if ("error" in stored) return stored;
  await beginAgain(call, journal);
  const given = rollbackCallOptions(call.call, options);
  // The schema has just made this input.
  const execute = () => tool.execute(stored.input as never, given);
  const end = await attempt(execute, setup.inverseRetry, journal.clock, signal);
  if (end.failed) return { error: end.error };
  const { outcome, output } = endOf(call, end.output, journal);
  journal.append([outcome]);
  await journal.durable();
  return { ...call, outcome, output: () => output };
}

/** Leave that was given from outside is for one try. */
async function beginAgain({ intent, outcome, lane }: LoggedCall, journal: Journal): Promise<void> {
  if (!intent || !outcome?.retry) return;
  journal.append([{ ...intent, lane }]);
  await journal.durable();
}

function endOf(
  { lane, visit, call, tool }: LoggedCall,
  given: unknown,
  { writer }: Journal,
): { readonly outcome: OutcomeRecord; readonly output?: unknown } {
  const ended = { kind: "outcome", lane, visit, call } as const;
  try {
    const output = frozenCopy(given);
    return { outcome: { ...ended, output: writer.value(output, `the output of tool "${tool}"`) }, output };
  } catch (error) {
    const { path, reason } =
      error instanceof NotSerializableError ? error : { path: "", reason: `cannot be copied: ${reasonOf(error)}` };
    return { outcome: { ...ended, lost: { path, reason } } };
  }
}

/** The input of a recorded call. Stored arguments are hostile: the schema that stands in the code judges them again. */
export async function storedInput(
  tool: AnyTool,
  call: LoggedCall,
): Promise<{ readonly input: unknown } | { readonly error: unknown }> {
  try {
    return {
      input: await checkSchemaAsync(tool.inputSchema, call.input(), `stored input of tool "${tool.name}"`),
    };
  } catch (error) {
    return { error };
  }
}

/** What a tool gets that is called by a rollback: no node runs, so that its context is closed. */
export function rollbackCallOptions(
  toolCallId: string,
  { journal, target, signal }: Pick<RevertOptions, "journal" | "target" | "signal">,
): ToolCallOptions {
  const { agentId, generation } = journal;
  const context = inverseContext({ agentId, runId: target.runId, nodeId: target.record.node, signal });
  return { toolCallId, generation, messages: [], abortSignal: signal, context };
}

/** What an inverse tool gets as its context: it says where the rollback goes; everything else is closed, since no node runs. */
export function inverseContext(facts: {
  readonly agentId: string;
  readonly runId: string;
  readonly nodeId: string;
  readonly signal: AbortSignal;
}): AgentContext {
  const closed = (): never => {
    throw new ExecutionMovedError(facts.nodeId);
  };
  return {
    ...facts,
    get llm() {
      return closed();
    },
    get tools() {
      return closed();
    },
    get storage() {
      return closed();
    },
    setProgress: closed,
    recordDecision: closed,
    require: closed,
    requestInput: closed,
    feature: closed,
  };
}

/** What taking calls back needs to know. */
export interface RevertOptions {
  readonly setup: PersistenceSetup;
  readonly journal: Journal;
  /** Of the log from which the plan was made. */
  readonly index: LogProjection;
  readonly plan: RollbackPlan;
  /** What participants do after the calls are reverted; it is stored with the plan. */
  readonly participants: readonly PlannedSteps[];
  readonly target: CheckpointPoint;
  readonly signal: AbortSignal;
}
