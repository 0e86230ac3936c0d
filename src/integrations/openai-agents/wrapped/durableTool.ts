import { invokeFunctionTool } from "@openai/agents-core";
import {
  getFunctionToolApprovalInput,
  hasDynamicFunctionToolApprovalPolicy,
  prepareFunctionToolInput,
} from "@openai/agents-core/utils/internal";
import { ToolFailedError } from "../../../errors/toolCall/ToolFailedError.ts";
import { isToolFailure, toldToModel } from "../../../agent/tool/Tool.ts";
import { inRun } from "./currentRun.ts";
import type { DurableRun } from "./DurableRun.ts";
import { inputOf } from "./inputOf.ts";
import { noteOriginal } from "./originals.ts";
import { unrecordedCode } from "./runnerConfig.ts";
import type { AnyTool, AnyFunctionTool, AnyContext } from "./AnyAgent.ts";

type Invoke = AnyFunctionTool["invoke"];
type Details = NonNullable<Parameters<Invoke>[2]>;

/** What the SDK tells the model of a tool that threw. */
const failure = "An error occurred while running the tool. Please try again.";

/** The tool, whose calls a durable run records. Tools that are not functions are left as they are. */
export function durableTool<Given extends AnyTool>(given: Given, run: DurableRun): Given {
  if (given.type !== "function") return given;
  const tool: AnyFunctionTool = given;
  const known = run.tools.get(tool);
  if (known) return known as Given;
  const durable: AnyFunctionTool = Object.create(Object.getPrototypeOf(tool) as object | null, {
    ...Object.getOwnPropertyDescriptors(tool),
    ...memberDescriptors(tool, run),
  });
  run.tools.set(tool, durable);
  noteOriginal(durable, tool);
  run.knownTools.meet(tool);
  return durable as Given;
}

function memberDescriptors(tool: AnyFunctionTool, run: DurableRun): PropertyDescriptorMap {
  const invoke: Invoke = (runContext, input, details) => call(run, { tool, runContext, input, details });
  const { inputGuardrails = [], outputGuardrails = [] } = tool;
  const members: Partial<AnyFunctionTool> = {
    invoke,
    // The time of the tool counts, not that of the records: the tool itself is invoked with its limit.
    timeoutMs: undefined as never,
    inputGuardrails: inputGuardrails.map((guardrail) => ({ ...guardrail, run: unrecordedCode(guardrail.run) })),
    outputGuardrails: outputGuardrails.map((guardrail) => ({ ...guardrail, run: unrecordedCode(guardrail.run) })),
    // The SDK knows a policy that is not a function of yours by its identity.
    ...(hasDynamicFunctionToolApprovalPolicy(tool) && { needsApproval: policyOf(tool) }),
  };
  return Object.fromEntries(
    Object.entries(members).map(([key, value]) => [
      key,
      { value: value as unknown, enumerable: true, configurable: true, writable: true },
    ]),
  );
}

/** The SDK gives a policy the input as the schema returns it, which it finds by the `invoke` of the tool. */
function policyOf(tool: AnyFunctionTool): AnyFunctionTool["needsApproval"] {
  return async (runContext, input, callId) => {
    const prepared = prepareFunctionToolInput(tool, JSON.stringify(input));
    const parsed: unknown = prepared?.result.success ? getFunctionToolApprovalInput(prepared.result.value) : input;
    return tool.needsApproval(runContext, parsed as never, callId);
  };
}

interface Invocation {
  readonly tool: AnyFunctionTool;
  readonly runContext: AnyContext;
  readonly input: string;
  readonly details?: Details | undefined;
}

async function call(run: DurableRun, invocation: Invocation): Promise<unknown> {
  const { tool, runContext, input, details } = invocation;
  const toolCallId = details?.toolCall?.callId;
  // Calls that no recorded answer asked for have no place in the log.
  if (details === undefined || toolCallId === undefined || !run.ids.has(toolCallId))
    return invokeFunctionTool({ tool, runContext, input, ...(details && { details }) });
  try {
    return await run.loop.call(toolCallId, {
      tool: run.knownTools.named(tool.name),
      input: inputOf(input),
      perform: ({ abortSignal }) => perform(run, toolCallId, { ...invocation, details }, abortSignal),
    });
  } catch (error) {
    // As the tool threw it, while it is known: then the SDK ends the run. When that is repeated, the model is told.
    // oxlint-disable-next-line typescript/only-throw-error -- a tool may throw anything
    if (error instanceof ToolFailedError && error.cause !== undefined) throw error.cause;
    if (isToolFailure(error)) return toldToModel(error);
    throw error;
  }
}

async function perform(
  run: DurableRun,
  toolCallId: string,
  { details, ...invocation }: Invocation & { readonly details: Details },
  abortSignal: AbortSignal,
): Promise<unknown> {
  const signalled = { ...invocation, details: withSignal(details, abortSignal) };
  const output: unknown = await inRun(run, toolCallId, () => invokeFunctionTool(signalled));
  // The SDK makes a text for the model of whatever happens within a tool. These are no outcomes.
  if (run.loop.failure) throw run.loop.failure.error;
  if (output === failure) abortSignal.throwIfAborted();
  return output;
}

/** The SDK keeps more in the details of a call than their types say. */
function withSignal(details: Details, signal: AbortSignal): Details {
  const signals = details.signal ? [details.signal, signal] : [signal];
  const member = { value: AbortSignal.any(signals), enumerable: true, configurable: true, writable: true };
  return Object.create(Object.prototype, { ...Object.getOwnPropertyDescriptors(details), signal: member }) as Details;
}
