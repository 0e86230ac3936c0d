import { reasonOf } from "../../internal/reasonOf.ts";
import type { AnyTool } from "../../agent/tool/Tool.ts";
import { InverseMissingError } from "../../errors/toolCall/InverseMissingError.ts";
import { ToolCallInDoubtError } from "../../errors/toolCall/ToolCallInDoubtError.ts";
import { ToolFailedError } from "../../errors/toolCall/ToolFailedError.ts";
import type { LoggedCall } from "../../journal/loggedCalls.ts";
import { declarationOf, inverseInDoubt, inverseName, settledInverse } from "../doubt/inverseInDoubt.ts";
import { inverseIdOf } from "../inverse/inverseIdOf.ts";
import { attempt } from "../inverse/InverseRetry.ts";
import { repeatCall } from "./repeatCall.ts";
import type { RevertOptions } from "./RevertOptions.ts";
import { rollbackCallOptions, storedInput } from "./rollbackCall.ts";
import type { Inverse } from "../inverse/RollbackToolRegistry.ts";
import { askWhatHappened } from "../doubt/askWhatHappened.ts";

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
