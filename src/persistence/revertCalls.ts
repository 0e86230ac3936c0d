import { checkSchemaAsync } from "../agent/checkSchema.ts";
import { reasonOf } from "../agent/reasonOf.ts";
import type { RevertibleCall } from "../agent/RunResult.ts";
import type { AnyTool } from "../agent/Tool.ts";
import type { CheckpointPoint } from "../checkpoint/LogIndex.ts";
import type { PlannedSteps } from "../checkpoint/records.ts";
import { toolCallIdAt, type RunLine } from "../checkpoint/toolCallId.ts";
import { ToolCallInDoubtError } from "../errors/ToolCallInDoubtError.ts";
import type { Journal } from "../journal/Journal.ts";
import type { LoggedCall } from "../journal/loggedCalls.ts";
import type { RollbackPlan } from "../journal/planRollback.ts";
import { inverseContext } from "./inverseContext.ts";
import { revertibleCall } from "./RollbackReport.ts";
import type { Inverse, RollbackToolRegistry } from "./RollbackToolRegistry.ts";

export interface RevertOptions {
  readonly journal: Journal;
  readonly registry: RollbackToolRegistry;
  readonly plan: RollbackPlan;
  /** Calls whose inverse began before a crash and has no recorded end. */
  readonly inverting: ReadonlySet<string>;
  /** What participants do after the calls are reverted; it is stored with the plan. */
  readonly participants: readonly PlannedSteps[];
  readonly target: CheckpointPoint;
  /** The line that is left. */
  readonly line: RunLine;
  readonly signal: AbortSignal;
}

/** What became of the calls of a plan. */
export interface RevertedCalls {
  readonly reverted: readonly RevertibleCall[];
  readonly failed: readonly (RevertibleCall & { readonly error: unknown })[];
}

/** Runs the inverses of a plan one after the other, newest call first, each recorded before it begins and after it ended. */
export async function revertCalls(options: RevertOptions): Promise<RevertedCalls> {
  const { journal, plan, participants, target } = options;
  journal.append([
    {
      kind: "rollback",
      target: target.version,
      calls: plan.revert.map(({ call }) => call),
      closed: plan.closed,
      ...(participants.length > 0 && { participants }),
    },
  ]);
  await journal.durable();
  const reverted: RevertibleCall[] = [];
  const failed = plan.inDoubt.map((call) => ({
    ...revertibleCall(call),
    error: new ToolCallInDoubtError({
      agentId: journal.agentId,
      toolName: call.tool,
      toolCallId: call.call,
      nodeId: call.node,
    }) as unknown,
  }));
  for (const call of plan.revert) {
    const failure = doubtOf(call, options) ?? (await recordInverse(call, options));
    if (failure) failed.push({ ...revertibleCall(call), error: failure.error });
    else reverted.push(revertibleCall(call));
  }
  return { reverted, failed };
}

interface Failure {
  readonly error: unknown;
}

/**
 * An inverse that began before a crash and may have had its effect follows the effect that it declares. One that is not
 * repeated stays in doubt: no later rollback repeats it either.
 */
function doubtOf(call: LoggedCall, { journal, registry, inverting }: RevertOptions): Failure | undefined {
  const inverse = registry.inverseOf(call.tool);
  if (!inverse || !inverting.has(call.call)) return undefined;
  const { effect } = inverse.kind === "tool" ? inverse.inverse : inverse;
  if (effect === "none" || effect === "idempotent") return undefined;
  const toolName = inverse.kind === "tool" ? inverse.inverse.name : `inverse of ${call.tool}`;
  const { agentId } = journal;
  return { error: new ToolCallInDoubtError({ agentId, toolName, toolCallId: call.call, nodeId: call.node }) };
}

async function recordInverse(call: LoggedCall, options: RevertOptions): Promise<Failure | undefined> {
  const { journal } = options;
  journal.append([{ kind: "inverse", call: call.call }]);
  await journal.durable();
  const failure = await tryInverse(call, options);
  journal.append([
    { kind: "reverted", call: call.call, ...(failure && { error: { message: reasonOf(failure.error) } }) },
  ]);
  await journal.durable();
  return failure;
}

async function tryInverse(call: LoggedCall, options: RevertOptions): Promise<Failure | undefined> {
  try {
    const inverse = options.registry.inverseOf(call.tool);
    if (inverse) await runInverse(inverse, call, options);
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Stored arguments are hostile: the schema that stands in the code judges them again. */
async function runInverse(
  inverse: Inverse,
  call: LoggedCall,
  { journal, line, target, signal }: RevertOptions,
): Promise<unknown> {
  if (inverse.kind === "function") {
    const input = await checked(inverse.tool, call.input());
    return inverse.inverse(input, { toolCallId: call.call, input, output: call.output(), abortSignal: signal });
  }
  const input = await checked(inverse.inverse, call.input());
  const { agentId, runId } = line;
  // The schema has just made this input.
  return inverse.inverse.execute(input as never, {
    toolCallId: toolCallIdAt(line, `inverse of ${call.call}`, journal.sha256),
    generation: journal.generation,
    messages: [],
    abortSignal: signal,
    context: inverseContext({ agentId, runId, nodeId: target.record.node, signal }),
  });
}

function checked(tool: AnyTool, input: unknown): Promise<unknown> {
  return checkSchemaAsync(tool.inputSchema, input, `the stored input of tool "${tool.name}"`);
}
