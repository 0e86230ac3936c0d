import { attachClientToolSearchExecutor, getClientToolSearchExecutor, invokeFunctionTool } from "@openai/agents-core";
import {
  getFunctionToolApprovalInput,
  hasDynamicFunctionToolApprovalPolicy,
  prepareFunctionToolInput,
} from "@openai/agents-core/utils/internal";
import { InvalidInputError } from "../../../errors/agentErrors.ts";
import { ToolFailedError } from "../../../errors/toolCallErrors.ts";
import { isToolFailure, toldToModel } from "../../../agent/tool/Tool.ts";
import { type DurableRun, currentCall, inRun } from "./DurableRun.ts";
import { parsedInput } from "./recordedAnswer.ts";
import { noteOriginal, originalOf } from "./originals.ts";
import { unrecordedCode } from "./runnerConfig.ts";
import type { AnySdkTool, AnyComputerTool, AnyFunctionTool, AnyHostedTool, AnyContext } from "./AnyAgent.ts";

type Invoke = AnyFunctionTool["invoke"];
type Details = NonNullable<Parameters<Invoke>[2]>;

/** The message that the SDK sends to the model for a failed tool. */
const failure = "An error occurred while running the tool. Please try again.";

/**
 * Returns a tool whose calls a durable run records. A client tool search is also wrapped, because it loads tools. A
 * computer tool keeps its computer until the end of the run. Other tools are returned unchanged.
 */
export function wrappedTool<Given extends AnySdkTool>(given: Given, run: DurableRun): Given {
  const tool: AnySdkTool = originalOf(given);
  const known = run.tools.get(tool);
  if (known) return known as Given;
  if (run.executesNothing && unrecorded.has(tool.type)) throw refused(tool, run);
  if (tool.type === "hosted_tool") return durableToolSearch(tool, run) as Given;
  if (tool.type === "computer") return durableComputerTool(tool, run) as Given;
  if (tool.type !== "function") return given;
  const durable: AnyFunctionTool = Object.create(Object.getPrototypeOf(tool) as object | null, {
    ...Object.getOwnPropertyDescriptors(tool),
    ...memberDescriptors(tool, run),
  });
  run.tools.set(tool, durable);
  noteOriginal(durable, tool);
  run.knownTools.meet(tool);
  return durable as Given;
}

/** Calls of these tools are not recorded, so a replay would make them. */
const unrecorded: ReadonlySet<string> = new Set(["computer", "shell", "apply_patch"]);

function refused({ name, type }: AnySdkTool, run: DurableRun): InvalidInputError {
  const expected = `expected no ${type} tool such as "${name}": its calls are not recorded, and a replay would make them`;
  run.refusal ??= new InvalidInputError("agent of replay()", [{ path: "tools", expected }]);
  return run.refusal;
}

function durableComputerTool(tool: AnyComputerTool, run: DurableRun): AnyComputerTool {
  const { agentId, runId, knownTools } = run;
  const durable = knownTools.computers.keeping(tool, () => ({ agentId, runId, call: currentCall() }));
  run.tools.set(tool, durable);
  noteOriginal(durable, tool);
  return durable;
}

function durableToolSearch(tool: AnyHostedTool, run: DurableRun): AnyHostedTool {
  const search = getClientToolSearchExecutor<unknown>(tool);
  if (!search) return tool;
  const durable = attachClientToolSearchExecutor<unknown>({ ...tool }, async (args) => {
    const availableTools = args.availableTools.map(originalOf);
    const found = await search({ ...args, agent: originalOf(args.agent), availableTools });
    return [found ?? []].flat().map((each) => wrappedTool(each, run));
  });
  run.tools.set(tool, durable);
  noteOriginal(durable, tool);
  return durable;
}

function memberDescriptors(tool: AnyFunctionTool, run: DurableRun): PropertyDescriptorMap {
  const invoke: Invoke = (runContext, input, details) => call(run, { tool, runContext, input, details });
  const { inputGuardrails = [], outputGuardrails = [] } = tool;
  const members: Partial<AnyFunctionTool> = {
    invoke,
    // The timeout applies to the original tool only, so that writing records does not count.
    timeoutMs: undefined as never,
    inputGuardrails: inputGuardrails.map((guardrail) => ({ ...guardrail, run: unrecordedCode(guardrail.run) })),
    outputGuardrails: outputGuardrails.map((guardrail) => ({ ...guardrail, run: unrecordedCode(guardrail.run) })),
    // The SDK recognizes a policy that is not a user's function by its identity.
    ...(hasDynamicFunctionToolApprovalPolicy(tool) && { needsApproval: policyOf(tool) }),
  };
  return Object.fromEntries(
    Object.entries(members).map(([key, value]) => [
      key,
      { value: value as unknown, enumerable: true, configurable: true, writable: true },
    ]),
  );
}

/** Returns the policy of the original tool. The SDK finds the parsed input by the tool's `invoke`. */
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
  // A call is recorded only if a recorded response requests it.
  if (details === undefined || toolCallId === undefined || !run.ids.has(toolCallId))
    return invokeFunctionTool({ tool, runContext, input, ...(details && { details }) });
  try {
    return await run.loop.call(toolCallId, {
      tool: run.knownTools.named(tool.name),
      input: parsedInput(input),
      perform: ({ abortSignal }) => perform(run, toolCallId, { ...invocation, details }, abortSignal),
    });
  } catch (error) {
    // Rethrows the original error if it is available, and the SDK ends the run. In a replay the model gets a message
    // instead.
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
  // The SDK turns any error inside a tool into text for the model. Such text is not an outcome of the tool.
  if (run.loop.failure) throw run.loop.failure.error;
  if (output === failure) abortSignal.throwIfAborted();
  return output;
}

/** The details of a call have more fields at runtime than in the SDK's types. */
function withSignal(details: Details, signal: AbortSignal): Details {
  const signals = details.signal ? [details.signal, signal] : [signal];
  const member = { value: AbortSignal.any(signals), enumerable: true, configurable: true, writable: true };
  return Object.create(Object.prototype, { ...Object.getOwnPropertyDescriptors(details), signal: member }) as Details;
}
