import { isRepeatable } from "../../agent/tool/recordedCall.ts";
import type { AnyTool } from "../../agent/tool/Tool.ts";
import type { PlannedSteps, RollbackRecord } from "../../checkpoint/records/rollbackRecords.ts";
import { inverseIdOf } from "../../checkpoint/ids/toolCallId.ts";
import { RollbackIncompleteError } from "../../errors/checkpointErrors.ts";
import {
  InverseMissingError,
  ToolCallInDoubtError,
  ToolFailedError,
  ToolOutcomeUnknownError,
} from "../../errors/toolCallErrors.ts";
import { withGrace } from "../../internal/abortable.ts";
import { reasonOf } from "../../internal/reasonOf.ts";
import { type LoggedCall, read } from "../../journal/loggedCalls.ts";
import type { RollbackPlan, RollbackGoal } from "../../journal/planRollback.ts";
import { askWhatHappened } from "../../doubt/askWhatHappened.ts";
import { declarationOf, inverseInDoubt, inverseName, settledInverse } from "../settle/callsInDoubt.ts";
import type { Inverse } from "../inverses/RollbackToolRegistry.ts";
import { callOptions, repeatCall, checkedInput, attempt } from "./repeatCall.ts";
import { revertibleCall, type Rollback, type RollbackReport } from "./RollbackReport.ts";

/**
 * Reverts the calls of a plan one by one, newest first, with a record before and after each inverse.
 *
 * @throws RollbackIncompleteError if a call cannot be reverted. The rollback stays open.
 */
export async function revertCalls(
  rollback: Rollback,
  plan: RollbackPlan,
  participants: readonly PlannedSteps[],
): Promise<Pick<RollbackReport, "reverted" | "failed" | "skipped">> {
  const { journal, target, setup } = rollback;
  const { agentId } = journal;
  await begin(rollback, plan, participants);
  const reverted = plan.reverted.map(revertibleCall);
  const skipped = plan.skipped.map(revertibleCall);
  const failed = plan.inDoubt.map((call) => {
    const shown = revertibleCall(call);
    return { ...shown, error: new ToolCallInDoubtError({ agentId, nodeId: call.node, ...shown }) as unknown };
  });
  for (const [at, call] of plan.revert.entries()) {
    const ofCaller = { ...rollback, setup: setup.at(call.agentPath) ?? setup };
    const revert = () => revertCall(call, ofCaller);
    const end = await (setup.telemetry?.inverse(agentId, call, revert) ?? revert());
    if (end.kind === "reverted" || end.kind === "skipped") {
      (end.kind === "reverted" ? reverted : skipped).push(revertibleCall(end.call));
      continue;
    }
    failed.push({ ...revertibleCall(call), error: end.error });
    if (end.kind === "left" || (await leave(call, end.error, rollback))) continue;
    const unsettled = failed.map((one) => ({ ...one, inverseId: inverseIdOf(one.toolCallId, journal) }));
    const remaining = plan.revert.slice(at + 1).map(revertibleCall);
    throw new RollbackIncompleteError(agentId, target.id, reverted, unsettled, remaining);
  }
  return { reverted, failed, skipped };
}

async function leave(call: LoggedCall, error: unknown, { journal, onFailure }: Rollback): Promise<boolean> {
  if (onFailure !== "leave") return false;
  const { call: id } = call;
  await journal.store([
    { kind: "reverted", call: id, error: { message: reasonOf(error) }, settled: "outside", left: true },
  ]);
  return true;
}

/** Stores the plan before the first call is reverted, so that a resumed rollback reverts no call twice. */
async function begin(
  { journal, log, target, base, onFailure }: Rollback,
  plan: RollbackPlan,
  participants: readonly PlannedSteps[],
): Promise<void> {
  const calls = new Set([...(log.index.rollback?.calls ?? []), ...plan.revert.map(({ call }) => call)]);
  const goal = goalRecord({ target, base });
  const chosen = { ...(onFailure === "leave" && { onFailure }), ...(participants.length > 0 && { participants }) };
  await journal.store([{ kind: "rollback", ...goal, calls: [...calls], closed: plan.closed, ...chosen }]);
}

/** The result for one call. `left`: a decision keeps the effect. `skipped`: the call waits for an answer. */
type InverseEnd =
  | { readonly kind: "reverted" | "skipped"; readonly call: LoggedCall; readonly error?: never }
  | { readonly kind: "left" | "failed"; readonly error: unknown };

/** Reverts a call. A call without an outcome is first repeated, so that its effect certainly exists. */
async function revertCall(call: LoggedCall, rollback: Rollback): Promise<InverseEnd> {
  const { setup, log } = rollback;
  const left = log.index.left.get(call.call);
  if (left !== undefined) return leftUnreverted(call, left, rollback);
  const inverse = setup.registry.inverseOf(call.tool);
  if (!inverse) return { kind: "failed", error: new InverseMissingError(call.tool, call.call) };
  const made = await repeatCall(call, inverse.tool, rollback);
  if ("error" in made) return { kind: "failed", error: made.error };
  if (made.outcome?.suspended) return { kind: "skipped", call: made };
  const settled = log.index.inverting.has(call.call) ? await settle(made, inverse, rollback) : undefined;
  return settled ?? runInverse(made, inverse, rollback);
}

function leftUnreverted(call: LoggedCall, reason: string, { setup, journal }: Rollback): InverseEnd {
  const name = inverseName(call.tool, setup.registry.inverseOf(call.tool));
  return { kind: "left", error: new ToolFailedError(name, inverseIdOf(call.call, journal), reason) };
}

/** Resolves an inverse in doubt, as for other calls. Returns `undefined` if the inverse runs again. */
async function settle(call: LoggedCall, inverse: Inverse, rollback: Rollback): Promise<InverseEnd | undefined> {
  const { setup, journal, signal } = rollback;
  if (isRepeatable(inverse.effect)) return undefined;
  const asked = {
    tool: toolOf(inverse),
    choice: setup.onToolCallInDoubt,
    signal,
    declaration: declarationOf(inverse),
    reverted: inverse.tool,
  };
  try {
    const { settlement, by } = await withGrace(signal, setup.abortGrace, () =>
      askWhatHappened(inverseInDoubt(call, inverse, journal), asked),
    );
    if (settlement === "retry" || settlement === "not-done") return undefined;
    const record = settledInverse(call.call, settlement, by);
    await journal.store([record]);
    return record.error ? leftUnreverted(call, record.error.message, rollback) : { kind: "reverted", call };
  } catch (error) {
    if (error instanceof ToolCallInDoubtError) return { kind: "failed", error };
    throw error;
  }
}

/** Runs the inverse of a call, unless its schema rejects the recorded input. */
async function runInverse(call: LoggedCall, inverse: Inverse, rollback: Rollback): Promise<InverseEnd> {
  const { journal } = rollback;
  const stored = await checkedInput(toolOf(inverse) ?? inverse.tool, call);
  if ("error" in stored) return { kind: "failed", error: stored.error };
  await journal.store([{ kind: "inverse", call: call.call }]);
  const called = {
    name: inverseName(call.tool, inverse),
    toolCallId: inverseIdOf(call.call, journal),
    timeoutMs: toolOf(inverse)?.timeoutMs,
    effect: inverse.effect,
  };
  const end = await attempt(called, rollback, (signal) =>
    execute(inverse, call, stored.input, { ...rollback, signal }),
  );
  // The inverse may have taken effect. Without a record, it is in doubt, as after a crash.
  if (end.failed && end.error instanceof ToolOutcomeUnknownError)
    return { kind: "failed", error: new ToolCallInDoubtError(inverseInDoubt(call, inverse, journal)) };
  const error = end.failed && { error: { message: reasonOf(end.error) } };
  await journal.store([{ kind: "reverted", call: call.call, ...error }]);
  return end.failed ? { kind: "failed", error: end.error } : { kind: "reverted", call };
}

function execute(inverse: Inverse, call: LoggedCall, input: unknown, rollback: Rollback): unknown {
  if (inverse.kind === "function") {
    const { value: output, unreadable } = read(call.output);
    const facts = { toolCallId: call.call, input, output, abortSignal: rollback.signal };
    if (unreadable !== undefined) Object.defineProperty(facts, "output", { get: () => rethrow(unreadable) });
    return inverse.inverse(input, facts);
  }
  const options = callOptions(inverseIdOf(call.call, rollback.journal), rollback);
  return inverse.inverse.execute(input as never, options);
}

function rethrow(error: unknown): never {
  throw error;
}

/** Returns `undefined` for an inverse that is a function, because it takes the input of the reverted call. */
function toolOf(inverse: Inverse): AnyTool | undefined {
  return inverse.kind === "tool" ? inverse.inverse : undefined;
}

export function goalRecord({ target, base }: RollbackGoal): Pick<RollbackRecord, "target" | "base"> {
  return { target: target.version, ...(base && { base: base.version }) };
}
